//! Compresses responses on their way to clients, where rules ask for it.
//!
//! What an origin compressed itself, parts of a body, and what does not get smaller goes on as it is. Everything that
//! came is sent at once, so that nothing waits for a block to be full.

use body::compress::{ContentEncoding, Encoder};
use body::{is_event_stream, is_grpc, media_type};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use model::Phase;
use pingora::http::ResponseHeader;
use pingora::proxy::Session;
use pingora::{ErrorType, OrErr, Result};

use super::context::{Context, Route};
use super::headers;
use super::inspect::Inspection;

/// The shortest body that gets smaller.
const MIN_BYTES: u64 = 256;

/// Fields that are of the bytes of a body as the origin sent them.
const OF_BYTES: [&str; 5] = ["content-length", "accept-ranges", "content-md5", "digest", "content-digest"];

impl Inspection {
    /// Begins to compress a response, if rules say so and the client takes it.
    pub(super) fn compress_response(
        &self,
        session: &Session,
        response: &mut ResponseHeader,
        ctx: &mut Context,
    ) -> Result<()> {
        let phase = Phase::HttpResponseCompression;
        let has_rules = matches!(&ctx.route, Route::Zone(zone) if zone.entry_points.of(phase).is_some());
        if !has_rules || ctx.error_body.is_some() || !may_be_compressed(response) {
            return Ok(());
        }
        // INVARIANT: no rule of this phase ends a request.
        self.walk_response(phase, session, response, ctx);
        let Some(encodings) = ctx.decisions.encodings.as_deref().filter(|encodings| !encodings.is_empty())
        else {
            return Ok(());
        };
        // Caches must know, whatever this client takes (RFC 9110 section 12.5.5).
        if !varies(response) {
            response.append_header(header::VARY, "accept-encoding")?;
        }
        let request = session.req_header();
        // HTTP/1.0 knows no chunks, and an answer to HEAD has no body to know the length of.
        if request.version == http::Version::HTTP_10 || request.method == http::Method::HEAD {
            return Ok(());
        }
        let fields = request.headers.get_all(header::ACCEPT_ENCODING).iter().map(HeaderValue::as_bytes);
        let Some(encoding) = ContentEncoding::accepted(encodings, fields) else { return Ok(()) };
        let encoder = Encoder::new(encoding).or_err(ErrorType::InternalError, "no memory for an encoder")?;
        ctx.encoder = Some(Box::new(encoder));
        for name in OF_BYTES {
            response.remove_header(name);
        }
        weaken_etag(response)?;
        response.insert_header(header::CONTENT_ENCODING, encoding.word())?;
        response.insert_header(header::TRANSFER_ENCODING, "chunked")
    }
}

/// Compresses a piece of a response; with `end` all that is left.
///
/// # Errors
/// If the encoder fails. The client has the head by then, so its connection ends.
pub(super) fn compress(body: &mut Option<Bytes>, end: bool, ctx: &mut Context) -> Result<()> {
    let Some(encoder) = &mut ctx.encoder else { return Ok(()) };
    let failed = "a response cannot be compressed";
    let mut out = match body.take().filter(|piece| !piece.is_empty()) {
        Some(piece) => encoder.push(&piece).or_err(ErrorType::InternalError, failed)?,
        None => Vec::new(),
    };
    if end && let Some(encoder) = ctx.encoder.take() {
        out.extend(encoder.finish().or_err(ErrorType::InternalError, failed)?);
    }
    *body = (!out.is_empty()).then(|| out.into());
    Ok(())
}

/// Whether a response is one that gets smaller, and that may be changed.
fn may_be_compressed(response: &ResponseHeader) -> bool {
    let field = |name| headers::bytes(&response.headers, name);
    let status = response.status;
    let is_whole = status != StatusCode::PARTIAL_CONTENT
        && status != StatusCode::NO_CONTENT
        && status != StatusCode::RESET_CONTENT
        && status != StatusCode::NOT_MODIFIED
        && !response.headers.contains_key(header::CONTENT_RANGE);
    let is_long = headers::content_length(&response.headers).is_none_or(|length| length >= MIN_BYTES);
    let is_fixed = headers::words(&response.headers, header::CACHE_CONTROL)
        .any(|word| word.eq_ignore_ascii_case(b"no-transform"));
    is_whole
        && is_long
        && !is_fixed
        && !response.headers.contains_key(header::CONTENT_ENCODING)
        && gets_smaller(media_type(field(&header::CONTENT_TYPE)))
}

/// Whether a response says already that it depends on the codings that the client takes.
fn varies(response: &ResponseHeader) -> bool {
    headers::words(&response.headers, header::VARY)
        .any(|name| name == b"*" || name.eq_ignore_ascii_case(b"accept-encoding"))
}

/// Whether bodies of a media type get smaller; streams of messages do not wait for anything and are left out.
fn gets_smaller(media_type: &[u8]) -> bool {
    const TYPES: [&str; 14] = [
        "application/javascript",
        "application/json",
        "application/manifest+json",
        "application/rtf",
        "application/vnd.ms-fontobject",
        "application/wasm",
        "application/x-javascript",
        "application/x-ndjson",
        "application/xml",
        "application/yaml",
        "font/otf",
        "font/ttf",
        "image/bmp",
        "image/x-icon",
    ];
    let name = String::from_utf8_lossy(media_type).to_ascii_lowercase();
    let is_stream = is_event_stream(media_type) || is_grpc(media_type);
    let is_known = name.starts_with("text/")
        || name.ends_with("+json")
        || name.ends_with("+xml")
        || TYPES.contains(&name.as_str());
    is_known && !is_stream
}

/// A compressed body is not the same byte for byte, so its tag is a weak one (RFC 9110 section 8.8.1).
fn weaken_etag(response: &mut ResponseHeader) -> Result<()> {
    let Some(tag) = response.headers.get(header::ETAG) else { return Ok(()) };
    if tag.as_bytes().starts_with(b"W/") {
        return Ok(());
    }
    match HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat()) {
        Ok(weak) => response.insert_header(header::ETAG, weak),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, fields: &[(&'static str, &str)]) -> ResponseHeader {
        let mut response = ResponseHeader::build(status, None).unwrap();
        for (name, value) in fields {
            response.append_header(*name, *value).unwrap();
        }
        response
    }

    #[test]
    fn what_is_whole_long_and_of_a_known_type_is_compressed() {
        let html = ("content-type", "Text/HTML; charset=utf-8");
        for fields in [
            &[html][..],
            &[html, ("content-length", "256")],
            &[html, ("cache-control", "public, max-age=1")],
            &[("content-type", "application/problem+json")],
            &[("content-type", "image/svg+xml")],
            &[("content-type", "application/json,text/plain")],
        ] {
            assert!(may_be_compressed(&response(200, fields)), "{fields:?}");
            assert!(may_be_compressed(&response(404, fields)), "{fields:?}");
            for status in [204, 205, 206, 304] {
                assert!(!may_be_compressed(&response(status, fields)), "{status}");
            }
        }
        for fields in [
            &[][..],
            &[html, ("content-length", "255")],
            &[html, ("content-length", "0")],
            &[html, ("content-encoding", "gzip")],
            &[html, ("content-encoding", "identity")],
            &[html, ("content-range", "bytes 0-1/2")],
            &[html, ("cache-control", "max-age=1"), ("cache-control", "private, No-Transform")],
            &[("content-type", "text/event-stream")],
            &[("content-type", "application/grpc-web+json")],
            &[("content-type", "image/png")],
            &[("content-type", "application/octet-stream")],
        ] {
            assert!(!may_be_compressed(&response(200, fields)), "{fields:?}");
        }
    }

    #[test]
    fn what_varies_already_is_known() {
        for (vary, expected) in
            [("cookie, Accept-Encoding", true), ("*", true), ("cookie", false), ("x-accept-encoding", false)]
        {
            assert_eq!(varies(&response(200, &[("vary", vary)])), expected, "{vary}");
        }
        assert!(!varies(&response(200, &[])));
    }

    #[test]
    fn tags_of_compressed_bodies_are_weak() {
        for (tag, expected) in [("\"a\"", "W/\"a\""), ("W/\"a\"", "W/\"a\"")] {
            let mut response = response(200, &[("etag", tag)]);
            weaken_etag(&mut response).unwrap();
            assert_eq!(response.headers["etag"], expected);
        }
    }
}
