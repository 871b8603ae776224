//! Queries on a connection, plain (RFC 7766) or over TLS (RFC 7858), and requests for zones: one after another, each
//! after its length.

use std::net::IpAddr;
use std::time::Duration;

use dns::answer::TCP_BYTES;
use dns::{Carrier, Transfer, Transport, answer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::NameContext;
use super::counts::AnsweredQuery;
use crate::clock::rfc3339;
use crate::events::kinds::ZoneHandedOver;
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
    let mut counts = context.counts(protocol);
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
        if let Some(transfer) = Transfer::requested(&snapshot.names.catalog, &query, &transport) {
            drop(snapshot);
            hand_over(&transfer, &mut stream, &mut buffer, client, context).await?;
            continue;
        }
        let (length, message) = buffer.split_at_mut(2);
        let answered = answer(&snapshot.names.catalog, &query, &transport, message);
        context.notified(&answered);
        if answered.bytes == 0 {
            return Ok(());
        }
        counts.count(AnsweredQuery { query: &query, client, answered: &answered }, &snapshot);
        let bytes = answered.bytes;
        drop(snapshot);
        // INVARIANT: a message has at most `TCP_BYTES`.
        length.copy_from_slice(&u16::try_from(bytes).unwrap_or(0).to_be_bytes());
        let reply = buffer.get(..bytes + 2).unwrap_or(&[]);
        send(&mut stream, reply).await?;
    }
}

/// Sends a message, with its length before it.
async fn send<S: AsyncWrite + Unpin>(stream: &mut S, message: &[u8]) -> std::io::Result<()> {
    let sent = async {
        stream.write_all(message).await?;
        stream.flush().await
    };
    tokio::time::timeout(IDLE, sent).await?
}

/// Sends a zone, or its last changes, in as many messages as it takes.
async fn hand_over<S: AsyncWrite + Unpin>(
    transfer: &Transfer,
    stream: &mut S,
    buffer: &mut [u8],
    client: IpAddr,
    context: &NameContext,
) -> std::io::Result<()> {
    let mut bytes = 0;
    let outcome = async {
        let mut messages = transfer.messages();
        loop {
            let (length, message) = buffer.split_at_mut(2);
            let written = messages.write_next(message, context.now()).map_err(std::io::Error::other)?;
            let Some(written) = written else { return Ok(()) };
            // INVARIANT: a message has at most `TCP_BYTES`.
            length.copy_from_slice(&u16::try_from(written).unwrap_or(0).to_be_bytes());
            send(stream, buffer.get(..written + 2).unwrap_or(&[])).await?;
            bytes += written;
        }
    }
    .await;
    let outcome: std::io::Result<()> = outcome;
    context.events.emit(&ZoneHandedOver {
        zone: transfer.zone_name().to_string(),
        client: client.to_string(),
        query_type: if transfer.is_whole() { "AXFR" } else { "IXFR" },
        bytes,
        is_signed: transfer.is_signed(),
        error: outcome.as_ref().err().map(ToString::to_string),
    });
    if outcome.is_ok() {
        context.transfers.handed_over(transfer.zone_name().clone(), rfc3339(context.clock.now()));
    }
    outcome
}

/// Reads a query whose length begins with `first`.
async fn read<S: AsyncRead + Unpin>(stream: &mut S, first: u8, query: &mut Vec<u8>) -> std::io::Result<()> {
    let length = u16::from_be_bytes([first, stream.read_u8().await?]);
    query.resize(usize::from(length), 0);
    stream.read_exact(query).await?;
    Ok(())
}
