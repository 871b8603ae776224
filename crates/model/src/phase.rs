//! The phases, in the order in which a request passes them.

use crate::word::serde_by_word;

/// A point in the life of a request at which a zone's rules run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    HttpRequestFirewallManaged,
    HttpResponseFirewallManaged,
}

serde_by_word!(Phase, "phase");

impl Phase {
    pub const ALL: [Self; 2] = [Self::HttpRequestFirewallManaged, Self::HttpResponseFirewallManaged];

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::HttpRequestFirewallManaged => "http_request_firewall_managed",
            Self::HttpResponseFirewallManaged => "http_response_firewall_managed",
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
        assert_eq!(Phase::parse("http_request_firewall_custom"), None);
    }
}
