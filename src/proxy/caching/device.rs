//! Kinds of devices, by what their browsers call themselves.

use std::iter;

use http::{HeaderMap, header};
use memchr::memmem;
use model::cache_key::CacheKeyParameters;

/// The field of requests to origins that names the kind of device. It is there if a rule keeps responses for each kind.
pub(in crate::proxy) const FIELD: &str = "svc-device-type";

/// A kind of device. Whoever names none has a desktop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::proxy) enum DeviceType {
    Mobile,
    Tablet,
    Desktop,
}

/// Words of browsers on tablets, and of those on telephones.
const TABLETS: &[&[u8]] = &[b"ipad", b"tablet", b"playbook", b"kindle", b"silk/"];
const MOBILES: &[&[u8]] = &[b"mobi", b"iphone", b"ipod", b"opera mini", b"windows phone", b"blackberry"];

impl DeviceType {
    /// The kind that a request names first.
    pub(in crate::proxy) fn of(fields: &HeaderMap) -> Self {
        Self::named_by(fields.get(header::USER_AGENT).map_or(b"", |agent| agent.as_bytes()))
    }

    /// The kinds that a request names, one for each `User-Agent`. An origin may go by any of them.
    pub(in crate::proxy) fn all(fields: &HeaderMap) -> impl Iterator<Item = Self> + '_ {
        let further = fields.get_all(header::USER_AGENT).into_iter().skip(1);
        iter::once(Self::of(fields)).chain(further.map(|agent| Self::named_by(agent.as_bytes())))
    }

    fn named_by(agent: &[u8]) -> Self {
        let agent = agent.to_ascii_lowercase();
        let has = |word: &[u8]| memmem::find(&agent, word).is_some();
        // Browsers on tablets with Android leave out `Mobile`, which those on telephones have.
        if TABLETS.iter().any(|word| has(word)) || has(b"android") && !has(b"mobi") {
            Self::Tablet
        } else if MOBILES.iter().any(|word| has(word)) {
            Self::Mobile
        } else {
            Self::Desktop
        }
    }

    pub(in crate::proxy) fn word(self) -> &'static str {
        match self {
            Self::Mobile => "mobile",
            Self::Tablet => "tablet",
            Self::Desktop => "desktop",
        }
    }
}

/// Whether a rule keeps responses for each kind.
pub(in crate::proxy) fn is_keyed(parameters: Option<&CacheKeyParameters>) -> bool {
    let Some(parameters) = parameters else { return false };
    let user = parameters.custom_key.as_ref().and_then(|custom| custom.user);
    parameters.cache_by_device_type == Some(true) || user.and_then(|user| user.device_type) == Some(true)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn browsers_say_what_they_run_on() {
        use DeviceType::{Desktop, Mobile, Tablet};
        for (agent, expected) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0 Safari/537.36",
                Desktop,
            ),
            (
                "Mozilla/5.0 (Linux; Android 15; Phone) AppleWebKit/537.36 Chrome/131.0 Mobile Safari/537.36",
                Mobile,
            ),
            ("Mozilla/5.0 (Linux; Android 15; Pad) AppleWebKit/537.36 Chrome/131.0 Safari/537.36", Tablet),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Version/18.1 Mobile/15E148 Safari/604.1",
                Mobile,
            ),
            ("Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) Version/16.6 Mobile/15E148 Safari/604.1", Tablet),
            ("Mozilla/5.0 (Android 14; Mobile; rv:132.0) Gecko/132.0 Firefox/132.0", Mobile),
            ("Mozilla/5.0 (Android 14; Tablet; rv:132.0) Gecko/132.0 Firefox/132.0", Tablet),
            ("curl/8.5.0", Desktop),
            ("", Desktop),
        ] {
            let fields = HeaderMap::from_iter([(header::USER_AGENT, HeaderValue::from_static(agent))]);
            assert_eq!(DeviceType::of(&fields), expected, "{agent}");
        }
        let odd = HeaderValue::from_bytes(b"\xff IPHONE \xfe").unwrap();
        assert_eq!(DeviceType::of(&HeaderMap::from_iter([(header::USER_AGENT, odd)])), Mobile);
        assert_eq!(DeviceType::of(&HeaderMap::new()), Desktop);
    }
}
