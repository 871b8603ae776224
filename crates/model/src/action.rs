//! The actions of rules.

use crate::word::serde_by_word;

/// What a rule does when it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Block,
    ManagedChallenge,
    JsChallenge,
    Challenge,
    Log,
    /// Runs another ruleset.
    Execute,
    /// Passes over other rules.
    Skip,
    /// Leads the client elsewhere.
    Redirect,
    /// Changes the URI or header fields.
    Rewrite,
    /// Has another origin asked.
    Route,
    /// Puts a page in the place of an error.
    ServeError,
    /// Treats requests in other ways than their zone is set to.
    SetConfig,
    /// Compresses responses.
    CompressResponse,
    /// Says which responses are kept.
    SetCacheSettings,
    /// Adds to the score of managed rules.
    Score,
}

serde_by_word!(Action, "action");

impl Action {
    pub const ALL: [Self; 15] = [
        Self::Block,
        Self::ManagedChallenge,
        Self::JsChallenge,
        Self::Challenge,
        Self::Log,
        Self::Execute,
        Self::Skip,
        Self::Redirect,
        Self::Rewrite,
        Self::Route,
        Self::ServeError,
        Self::SetConfig,
        Self::CompressResponse,
        Self::SetCacheSettings,
        Self::Score,
    ];

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::ManagedChallenge => "managed_challenge",
            Self::JsChallenge => "js_challenge",
            Self::Challenge => "challenge",
            Self::Log => "log",
            Self::Execute => "execute",
            Self::Skip => "skip",
            Self::Redirect => "redirect",
            Self::Rewrite => "rewrite",
            Self::Route => "route",
            Self::ServeError => "serve_error",
            Self::SetConfig => "set_config",
            Self::CompressResponse => "compress_response",
            Self::SetCacheSettings => "set_cache_settings",
            Self::Score => "score",
        }
    }

    /// Whether it ends requests with an event.
    pub fn ends_requests(self) -> bool {
        match self {
            Self::Block | Self::ManagedChallenge | Self::JsChallenge | Self::Challenge => true,
            Self::Log
            | Self::Execute
            | Self::Skip
            | Self::Redirect
            | Self::Rewrite
            | Self::Route
            | Self::ServeError
            | Self::SetConfig
            | Self::CompressResponse
            | Self::SetCacheSettings
            | Self::Score => false,
        }
    }

    /// An action that the last rule of a scoring ruleset can take.
    ///
    /// # Errors
    /// One sentence: the word is none, or names an action that is not for such a rule.
    pub fn for_threshold(word: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "unknown action `{word}`; expected one of `block`, `managed_challenge`, `js_challenge`, `challenge`, `log`"
            )
        };
        Self::parse(word).ok_or_else(unknown)?.on_threshold()
    }

    /// This action, if the last rule of a scoring ruleset can take it.
    ///
    /// # Errors
    /// One sentence: actions such as `execute` are not for such a rule.
    pub fn on_threshold(self) -> Result<Self, String> {
        if self.ends_requests() || self == Self::Log {
            return Ok(self);
        }
        Err(format!("the action `{}` is not for a managed rule; use `block` or `log`", self.word()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_takes_what_ends_or_reports_a_request() {
        for word in ["block", "managed_challenge", "js_challenge", "challenge", "log"] {
            assert_eq!(Action::for_threshold(word).map(Action::word), Ok(word));
        }
        assert!(Action::for_threshold("skip").unwrap_err().contains("not for a managed rule"));
        assert!(Action::for_threshold("blok").unwrap_err().contains("unknown action `blok`"));
    }
}
