//! Queries on a connection, plain (RFC 7766) or over TLS (RFC 7858): one after another, each after its length.

use std::net::IpAddr;
use std::time::Duration;

use dns::answer::TCP_BYTES;
use dns::{Carrier, Transport, answer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::NameContext;
use super::counts::AnswerCounts;
use crate::listener::until;

/// How long a connection may stay without a whole query, and how long an answer may take to be read.
const IDLE: Duration = Duration::from_secs(10);

/// Answers the queries of a connection until it ends, or is idle when the process ends.
///
/// # Errors
/// The connection broke off, or was idle for too long.
pub(super) async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    client: IpAddr,
    carrier: Carrier,
    context: &NameContext,
) -> std::io::Result<()> {
    let protocol = if carrier == Carrier::Encrypted { "tls" } else { "tcp" };
    let mut counts = AnswerCounts::new(context.events.clone(), protocol);
    let mut drain = context.drain.clone();
    let mut query = Vec::new();
    let mut buffer = vec![0; TCP_BYTES + 2];
    loop {
        let first = tokio::select! {
            first = tokio::time::timeout(IDLE, stream.read_u8()) => first??,
            () = until(&mut drain) => return stream.shutdown().await,
        };
        tokio::time::timeout(IDLE, read(&mut stream, first, &mut query)).await??;
        let transport = Transport { carrier, cookies: &context.cookies, client, now: context.now() };
        let snapshot = context.snapshots.load();
        let (length, message) = buffer.split_at_mut(2);
        let answered = answer(&snapshot.names.catalog, &query, &transport, message);
        drop(snapshot);
        if answered.bytes == 0 {
            return Ok(());
        }
        counts.count(&answered);
        // INVARIANT: a message has at most `TCP_BYTES`.
        length.copy_from_slice(&u16::try_from(answered.bytes).unwrap_or(0).to_be_bytes());
        let reply = buffer.get(..answered.bytes + 2).unwrap_or(&[]);
        let sent = async {
            stream.write_all(reply).await?;
            stream.flush().await
        };
        tokio::time::timeout(IDLE, sent).await??;
    }
}

/// Reads a query whose length begins with `first`.
async fn read<S: AsyncRead + Unpin>(stream: &mut S, first: u8, query: &mut Vec<u8>) -> std::io::Result<()> {
    let length = u16::from_be_bytes([first, stream.read_u8().await?]);
    query.resize(usize::from(length), 0);
    stream.read_exact(query).await?;
    Ok(())
}
