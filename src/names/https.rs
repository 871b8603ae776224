//! Queries over HTTPS (RFC 8484), as far as they are no matter of HTTP.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use dns::answer::{TCP_BYTES, lowest_ttl};
use dns::{Carrier, Transport, answer};

use super::NameContext;
use super::counts::AnsweredQuery;

/// The path of queries.
pub(crate) const QUERY_PATH: &str = "/dns-query";
/// What queries and answers are.
pub(crate) const MEDIA_TYPE: &str = "application/dns-message";
/// Longest query that is read, in bytes.
pub(crate) const MAX_QUERY_BYTES: usize = TCP_BYTES;

/// An answer, and for how many seconds caches keep it.
pub(crate) struct HttpsAnswer {
    pub(crate) message: Bytes,
    pub(crate) max_age: u32,
}

/// The query in the query string of a GET request; `None` if it has none that can be read.
pub(crate) fn query_of(query_string: &str) -> Option<Vec<u8>> {
    let value = query_string.split('&').find_map(|argument| argument.strip_prefix("dns="))?;
    URL_SAFE_NO_PAD.decode(value).ok()
}

/// Answers a query; `None` if it is none.
pub(crate) fn answer_query(context: &NameContext, query: &[u8], client: IpAddr) -> Option<HttpsAnswer> {
    let transport =
        Transport { carrier: Carrier::Encrypted, cookies: &context.cookies, client, now: context.now() };
    let mut buffer = vec![0; TCP_BYTES];
    let snapshot = context.snapshots.load();
    let answered = answer(&snapshot.names.catalog, query, &transport, &mut buffer);
    buffer.truncate(answered.bytes);
    if buffer.is_empty() {
        return None;
    }
    context.https_counts.lock().count(AnsweredQuery { query, client, answered: &answered }, &snapshot);
    let max_age = lowest_ttl(&buffer).unwrap_or(0);
    Some(HttpsAnswer { message: buffer.into(), max_age })
}
