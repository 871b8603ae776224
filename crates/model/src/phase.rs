//! The phases, in the order in which a request passes them.

use crate::word::serde_by_word;

/// A point in the life of a request at which a zone's rules run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    HttpRequestDynamicRedirect,
    HttpRequestRedirect,
    HttpRequestTransform,
    HttpConfigSettings,
    HttpRequestFirewallCustom,
    HttpRatelimit,
    HttpRequestFirewallManaged,
    HttpRequestLateTransform,
    HttpRequestOrigin,
    HttpRequestCacheSettings,
    HttpResponseHeadersTransform,
    HttpResponseCompression,
    HttpResponseFirewallManaged,
    HttpCustomErrors,
}

serde_by_word!(Phase, "phase");

impl Phase {
    pub const ALL: [Self; 14] = [
        Self::HttpRequestDynamicRedirect,
        Self::HttpRequestRedirect,
        Self::HttpRequestTransform,
        Self::HttpConfigSettings,
        Self::HttpRequestFirewallCustom,
        Self::HttpRatelimit,
        Self::HttpRequestFirewallManaged,
        Self::HttpRequestLateTransform,
        Self::HttpRequestOrigin,
        Self::HttpRequestCacheSettings,
        Self::HttpResponseHeadersTransform,
        Self::HttpResponseCompression,
        Self::HttpResponseFirewallManaged,
        Self::HttpCustomErrors,
    ];

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::HttpRequestDynamicRedirect => "http_request_dynamic_redirect",
            Self::HttpRequestRedirect => "http_request_redirect",
            Self::HttpRequestTransform => "http_request_transform",
            Self::HttpConfigSettings => "http_config_settings",
            Self::HttpRequestFirewallCustom => "http_request_firewall_custom",
            Self::HttpRatelimit => "http_ratelimit",
            Self::HttpRequestFirewallManaged => "http_request_firewall_managed",
            Self::HttpRequestLateTransform => "http_request_late_transform",
            Self::HttpRequestOrigin => "http_request_origin",
            Self::HttpRequestCacheSettings => "http_request_cache_settings",
            Self::HttpResponseHeadersTransform => "http_response_headers_transform",
            Self::HttpResponseCompression => "http_response_compression",
            Self::HttpResponseFirewallManaged => "http_response_firewall_managed",
            Self::HttpCustomErrors => "http_custom_errors",
        }
    }

    /// Whether a response is known when its rules run.
    pub fn is_of_response(self) -> bool {
        self >= Self::HttpResponseHeadersTransform
    }

    /// The source of its events, and what people call that.
    pub fn source(self) -> (&'static str, &'static str) {
        match self {
            Self::HttpRequestDynamicRedirect | Self::HttpRequestRedirect => ("redirect", "Redirect Rules"),
            Self::HttpRequestTransform
            | Self::HttpRequestLateTransform
            | Self::HttpResponseHeadersTransform => ("transform", "Transform Rules"),
            Self::HttpConfigSettings => ("config", "Configuration Rules"),
            Self::HttpResponseCompression => ("compression", "Compression Rules"),
            Self::HttpRequestOrigin => ("origin", "Origin Rules"),
            Self::HttpRequestCacheSettings => ("cache", "Cache Rules"),
            Self::HttpRequestFirewallCustom => ("firewallcustom", "Custom Rules"),
            Self::HttpRatelimit => ("ratelimit", "Rate Limiting Rules"),
            Self::HttpRequestFirewallManaged => ("firewallmanaged", "Managed Rules"),
            Self::HttpResponseFirewallManaged => ("dlp", "Data Loss Protection"),
            Self::HttpCustomErrors => ("customerrors", "Custom Error Rules"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back() {
        assert!(Phase::ALL.iter().enumerate().all(|(nth, phase)| *phase as usize == nth), "all, in order");
        for phase in Phase::ALL {
            assert_eq!(Phase::parse(phase.word()), Some(phase));
        }
        assert_eq!(Phase::parse("http_request_sbfm"), None);
    }
}
