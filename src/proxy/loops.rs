//! Requests that come back from where they were sent: `CDN-Loop` (RFC 8586).
//!
//! An origin, or a service that is asked, may lead back to this edge, by mistake or because a tenant wants one request
//! to become many. Each request that leaves carries the name of this process; one that has it too often goes nowhere.

use http::{HeaderMap, HeaderName, HeaderValue};
use pingora::Result;
use pingora::http::RequestHeader;

/// Passes through this process that a request may have behind it. Sites of one edge may stand in front of each other.
const MAX_PASSES: usize = 4;
const CDN_LOOP: HeaderName = HeaderName::from_static("cdn-loop");

/// The name of this process in `CDN-Loop`.
#[derive(Clone, Debug)]
pub(super) struct LoopName(HeaderValue);

impl LoopName {
    /// A name that no other process has.
    pub(super) fn new(unique: u64) -> Self {
        // INVARIANT: letters, digits and a hyphen are a value.
        Self(
            HeaderValue::from_maybe_shared(format!("portcullis-{unique:016x}"))
                .unwrap_or(HeaderValue::from_static("portcullis")),
        )
    }

    /// Whether a request came through this process too often.
    pub(super) fn is_in_circle(&self, headers: &HeaderMap) -> bool {
        let lists = headers.get_all(CDN_LOOP);
        let entries = lists.iter().flat_map(|list| list.as_bytes().split(|byte| *byte == b','));
        // An identifier may have parameters behind it.
        let names = entries.filter_map(|entry| entry.split(|byte| *byte == b';').next());
        names.filter(|name| name.trim_ascii().eq_ignore_ascii_case(self.0.as_bytes())).count() >= MAX_PASSES
    }

    /// Adds it to a request that leaves; the names of others stay.
    pub(super) fn add_to(&self, request: &mut RequestHeader) -> Result<()> {
        request.append_header(CDN_LOOP, self.0.clone())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_counted_in_every_spelling() {
        let name = LoopName::new(0xab);
        let own = "portcullis-00000000000000ab";
        let is_in_circle = |values: &[String]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CDN_LOOP, HeaderValue::from_str(value).unwrap());
            }
            name.is_in_circle(&headers)
        };
        let list = |count: usize| vec![own; count].join(", ");
        assert!(!is_in_circle(&[]) && !is_in_circle(&[list(3)]) && is_in_circle(&[list(4)]));
        assert!(is_in_circle(&[list(2), format!("other.example;a=\"b\",{}", list(2))]));
        let spelled = format!("{0};x=1 ,\t{1},,{0} ; y , {0}", own, own.to_uppercase());
        assert!(is_in_circle(&[spelled]));
        for other in ["portcullis-00000000000000ac", "xportcullis-00000000000000ab", "portcullis"] {
            assert!(!is_in_circle(&[[other; 9].join(",")]), "{other}");
        }
        let mut request = RequestHeader::build("GET", b"/", None).unwrap();
        request.append_header(CDN_LOOP, "other.example").unwrap();
        name.add_to(&mut request).unwrap();
        let told: Vec<_> = request.headers.get_all(CDN_LOOP).iter().collect();
        assert_eq!(told, ["other.example", own]);
    }
}
