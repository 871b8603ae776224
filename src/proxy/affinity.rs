//! Session affinity: sends all requests of a client to the same origin, where a zone is set so.

use std::net::IpAddr;

use http::header;
use model::Balance;
use pingora::Result;
use pingora::http::ResponseHeader;
use pingora::proxy::Session;

use super::context::Context;
use super::headers;
use crate::upstream::Pool;

/// The cookie that names a browser. Its value is an id that means nothing else.
const COOKIE: &[u8] = b"svc_affinity";
/// Longest value that is looked at.
const MAX_VALUE_BYTES: usize = 64;

/// What identifies the client of a request to a pool. A browser without the cookie gets one with its answer.
pub(super) fn client(pool: &Pool, session: &Session, ctx: &mut Context) -> Option<Vec<u8>> {
    match pool.balance {
        Balance::RoundRobin | Balance::LeastConnections => None,
        Balance::ClientAddress => Some(match ctx.client.to_canonical() {
            IpAddr::V4(address) => address.octets().to_vec(),
            // A client has at least this network, and may change the rest.
            IpAddr::V6(address) => address.octets().into_iter().take(8).collect(),
        }),
        Balance::Cookie => {
            let cookies = headers::bytes(&session.req_header().headers, &header::COOKIE);
            let found = headers::cookies(cookies, COOKIE).next();
            let is_value = |value: &&[u8]| !value.is_empty() && value.len() <= MAX_VALUE_BYTES;
            let known = found.filter(is_value).map(<[u8]>::to_vec);
            ctx.gets_affinity = known.is_none();
            Some(known.unwrap_or_else(|| ctx.ray.clone().into_bytes()))
        }
    }
}

/// Gives a browser the cookie that it had not.
pub(super) fn keep(response: &mut ResponseHeader, ctx: &Context) -> Result<()> {
    if !ctx.gets_affinity {
        return Ok(());
    }
    let security = if ctx.tls { "; Secure" } else { "" };
    let name = String::from_utf8_lossy(COOKIE);
    let cookie = format!("{name}={}; Path=/; HttpOnly; SameSite=Lax{security}", ctx.ray);
    response.append_header(header::SET_COOKIE, cookie).map(|_| ())
}
