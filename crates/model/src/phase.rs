//! The phases, in the order in which a request passes them.

use crate::word::serde_by_word;

/// A point in the life of a request at which a zone's rules run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    HttpRequestFirewallCustom,
    HttpRatelimit,
    HttpRequestFirewallManaged,
    HttpResponseFirewallManaged,
}

serde_by_word!(Phase, "phase");

impl Phase {
    pub const ALL: [Self; 4] = [
        Self::HttpRequestFirewallCustom,
        Self::HttpRatelimit,
        Self::HttpRequestFirewallManaged,
        Self::HttpResponseFirewallManaged,
    ];

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::HttpRequestFirewallCustom => "http_request_firewall_custom",
            Self::HttpRatelimit => "http_ratelimit",
            Self::HttpRequestFirewallManaged => "http_request_firewall_managed",
            Self::HttpResponseFirewallManaged => "http_response_firewall_managed",
        }
    }

    /// Whether a response is known when its rules run.
    pub fn is_of_response(self) -> bool {
        match self {
            Self::HttpRequestFirewallCustom | Self::HttpRatelimit | Self::HttpRequestFirewallManaged => false,
            Self::HttpResponseFirewallManaged => true,
        }
    }

    /// The source of its security events, and what people call that.
    pub fn source(self) -> (&'static str, &'static str) {
        match self {
            Self::HttpRequestFirewallCustom => ("firewallcustom", "Custom Rules"),
            Self::HttpRatelimit => ("ratelimit", "Rate Limiting Rules"),
            Self::HttpRequestFirewallManaged => ("firewallmanaged", "Managed Rules"),
            Self::HttpResponseFirewallManaged => ("dlp", "Data Loss Protection"),
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
        assert_eq!(Phase::parse("http_request_late_transform"), None);
    }
}
