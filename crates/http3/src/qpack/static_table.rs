//! The static table (RFC 9204 appendix A).

use std::collections::HashMap;
use std::sync::LazyLock;

/// A field that is in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) index: u8,
    /// Whether its value is the same.
    pub(super) is_exact: bool,
}

/// The field of an index.
pub(super) fn get(index: u64) -> Option<(&'static str, &'static str)> {
    TABLE.get(usize::try_from(index).ok()?).copied()
}

/// Where a field is; with its name alone if its value is another.
pub(super) fn find(name: &str, value: &[u8]) -> Option<Found> {
    let places = BY_NAME.get(name)?;
    let value_of = |index: &u8| get(u64::from(*index)).map(|(_, value)| value.as_bytes());
    match places.iter().find(|index| value_of(index) == Some(value)) {
        Some(index) => Some(Found { index: *index, is_exact: true }),
        None => places.first().map(|index| Found { index: *index, is_exact: false }),
    }
}

static BY_NAME: LazyLock<HashMap<&'static str, Vec<u8>, foldhash::fast::RandomState>> = LazyLock::new(|| {
    let mut by_name: HashMap<_, Vec<u8>, _> = HashMap::default();
    for (index, (name, _)) in (0..).zip(TABLE) {
        by_name.entry(name).or_default().push(index);
    }
    by_name
});

#[rustfmt::skip]
const TABLE: [(&str, &str); 99] = [
    (":authority", ""),
    (":path", "/"),
    ("age", "0"),
    ("content-disposition", ""),
    ("content-length", "0"),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("referer", ""),
    ("set-cookie", ""),
    (":method", "CONNECT"),
    (":method", "DELETE"),
    (":method", "GET"),
    (":method", "HEAD"),
    (":method", "OPTIONS"),
    (":method", "POST"),
    (":method", "PUT"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "103"),
    (":status", "200"),
    (":status", "304"),
    (":status", "404"),
    (":status", "503"),
    ("accept", "*/*"),
    ("accept", "application/dns-message"),
    ("accept-encoding", "gzip, deflate, br"),
    ("accept-ranges", "bytes"),
    ("access-control-allow-headers", "cache-control"),
    ("access-control-allow-headers", "content-type"),
    ("access-control-allow-origin", "*"),
    ("cache-control", "max-age=0"),
    ("cache-control", "max-age=2592000"),
    ("cache-control", "max-age=604800"),
    ("cache-control", "no-cache"),
    ("cache-control", "no-store"),
    ("cache-control", "public, max-age=31536000"),
    ("content-encoding", "br"),
    ("content-encoding", "gzip"),
    ("content-type", "application/dns-message"),
    ("content-type", "application/javascript"),
    ("content-type", "application/json"),
    ("content-type", "application/x-www-form-urlencoded"),
    ("content-type", "image/gif"),
    ("content-type", "image/jpeg"),
    ("content-type", "image/png"),
    ("content-type", "text/css"),
    ("content-type", "text/html; charset=utf-8"),
    ("content-type", "text/plain"),
    ("content-type", "text/plain;charset=utf-8"),
    ("range", "bytes=0-"),
    ("strict-transport-security", "max-age=31536000"),
    ("strict-transport-security", "max-age=31536000; includesubdomains"),
    ("strict-transport-security", "max-age=31536000; includesubdomains; preload"),
    ("vary", "accept-encoding"),
    ("vary", "origin"),
    ("x-content-type-options", "nosniff"),
    ("x-xss-protection", "1; mode=block"),
    (":status", "100"),
    (":status", "204"),
    (":status", "206"),
    (":status", "302"),
    (":status", "400"),
    (":status", "403"),
    (":status", "421"),
    (":status", "425"),
    (":status", "500"),
    ("accept-language", ""),
    ("access-control-allow-credentials", "FALSE"),
    ("access-control-allow-credentials", "TRUE"),
    ("access-control-allow-headers", "*"),
    ("access-control-allow-methods", "get"),
    ("access-control-allow-methods", "get, post, options"),
    ("access-control-allow-methods", "options"),
    ("access-control-expose-headers", "content-length"),
    ("access-control-request-headers", "content-type"),
    ("access-control-request-method", "get"),
    ("access-control-request-method", "post"),
    ("alt-svc", "clear"),
    ("authorization", ""),
    ("content-security-policy", "script-src 'none'; object-src 'none'; base-uri 'none'"),
    ("early-data", "1"),
    ("expect-ct", ""),
    ("forwarded", ""),
    ("if-range", ""),
    ("origin", ""),
    ("purpose", "prefetch"),
    ("server", ""),
    ("timing-allow-origin", "*"),
    ("upgrade-insecure-requests", "1"),
    ("user-agent", ""),
    ("x-forwarded-for", ""),
    ("x-frame-options", "deny"),
    ("x-frame-options", "sameorigin"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_with_and_without_their_value() {
        let found =
            |name, value: &str| find(name, value.as_bytes()).map(|found| (found.index, found.is_exact));
        assert_eq!(found(":status", "200"), Some((25, true)));
        assert_eq!(found(":status", "418"), Some((24, false)));
        assert_eq!(found("content-type", "text/html; charset=utf-8"), Some((52, true)));
        assert_eq!(found("x-frame-options", "sameorigin"), Some((98, true)));
        assert_eq!(found("x-own", ""), None);
        assert_eq!((get(98), get(99)), (Some(("x-frame-options", "sameorigin")), None));
    }
}
