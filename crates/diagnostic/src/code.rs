//! The only registry of diagnostic codes: stable words, never reused.

/// What kind of error a diagnostic reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    ConfSyntax,
    ConfUnknownKey,
    ConfMissingKey,
    ConfWrongType,
    ConfBadValue,
    ConfUnreadable,
    ConfConflict,
    ConfUnprotected,
    ConfDeprecated,
    RulesWithoutThreshold,
    RulesWithoutHttp3,
    RulesUnreadable,
    SecLangSyntax,
    SecLangUnknownDirective,
    SecLangUnsupported,
    SecLangUnknownVariable,
    SecLangUnknownOperator,
    SecLangUnknownTransformation,
    SecLangUnknownAction,
    SecLangBadArgument,
    SecLangBadPattern,
    SecLangBadId,
    SecLangDuplicateId,
    SecLangBadChain,
    SecLangMissingMarker,
    RulesetExpression,
    RulesetUnknownRuleset,
    RulesetUnknownRule,
    RulesetUnknownCategory,
    RulesetUnknownVersion,
    RulesetBadOverride,
    RulesetBadParameters,
    RulesetBadAction,
    RulesetRateLimit,
    DetectionRule,
    StoreConflict,
    StoreUnreadable,
}

impl Code {
    /// Every code with its word and what it means, in the order of the stages.
    pub const ALL: &[(Self, &'static str, &'static str)] = &[
        (Self::ConfSyntax, "conf/syntax", "the file is not TOML"),
        (Self::ConfUnknownKey, "conf/unknown-key", "the key does not exist here, so it would have no effect"),
        (Self::ConfMissingKey, "conf/missing-key", "a key without which the table cannot work is absent"),
        (Self::ConfWrongType, "conf/wrong-type", "the value is of another TOML type than the key takes"),
        (Self::ConfBadValue, "conf/bad-value", "the value has the right type but is not one the key takes"),
        (Self::ConfUnreadable, "conf/unreadable", "a file named by the configuration cannot be read"),
        (Self::ConfConflict, "conf/conflict", "two settings cannot hold at once"),
        (Self::ConfUnprotected, "conf/unprotected", "a zone has no rules, or there is no zone at all"),
        (
            Self::ConfDeprecated,
            "conf/deprecated",
            "the key ends on a day that is known, and another takes its place",
        ),
        (Self::RulesWithoutThreshold, "rules/without-threshold", "no rule can refuse a request"),
        (Self::RulesWithoutHttp3, "rules/without-http3", "a rule finds every request by HTTP/3"),
        (Self::RulesUnreadable, "rules/unreadable", "a rules file cannot be read"),
        (Self::SecLangSyntax, "seclang/syntax", "the line is not a SecLang directive"),
        (Self::SecLangUnknownDirective, "seclang/unknown-directive", "no directive has this name"),
        (
            Self::SecLangUnsupported,
            "seclang/unsupported",
            "the directive or action is known but has no effect here",
        ),
        (Self::SecLangUnknownVariable, "seclang/unknown-variable", "no variable has this name"),
        (Self::SecLangUnknownOperator, "seclang/unknown-operator", "no operator has this name"),
        (
            Self::SecLangUnknownTransformation,
            "seclang/unknown-transformation",
            "no transformation has this name",
        ),
        (Self::SecLangUnknownAction, "seclang/unknown-action", "no action has this name"),
        (
            Self::SecLangBadArgument,
            "seclang/bad-argument",
            "an argument is missing or not one that is taken here",
        ),
        (Self::SecLangBadPattern, "seclang/bad-pattern", "a pattern cannot be compiled within its limits"),
        (Self::SecLangBadId, "seclang/bad-id", "a rule has no id or one out of range"),
        (Self::SecLangDuplicateId, "seclang/duplicate-id", "two rules have the same id"),
        (
            Self::SecLangBadChain,
            "seclang/bad-chain",
            "a chain is broken off or a link carries what only its starter may",
        ),
        (
            Self::SecLangMissingMarker,
            "seclang/missing-marker",
            "`skipAfter` names a marker that does not follow",
        ),
        (
            Self::RulesetExpression,
            "ruleset/expression",
            "the filter expression is not one that is understood",
        ),
        (
            Self::RulesetUnknownRuleset,
            "ruleset/unknown-ruleset",
            "an `execute` rule names no managed ruleset",
        ),
        (Self::RulesetUnknownRule, "ruleset/unknown-rule", "an override names no rule of the ruleset"),
        (
            Self::RulesetUnknownCategory,
            "ruleset/unknown-category",
            "an override names a category that no rule carries",
        ),
        (
            Self::RulesetUnknownVersion,
            "ruleset/unknown-version",
            "an `execute` rule names a version that its ruleset does not have",
        ),
        (Self::RulesetBadOverride, "ruleset/bad-override", "an override cannot do this to its rule"),
        (
            Self::RulesetBadParameters,
            "ruleset/bad-parameters",
            "the parameters of an action are not those that it takes",
        ),
        (Self::RulesetBadAction, "ruleset/bad-action", "the action cannot be used here"),
        (
            Self::RulesetRateLimit,
            "ruleset/rate-limit",
            "the rate of a rule is missing, misplaced or not one that can be counted",
        ),
        (
            Self::DetectionRule,
            "detection/rule",
            "a sensitive data rule is malformed or fails its own examples",
        ),
        (Self::StoreConflict, "store/conflict", "somebody else changed the resources first"),
        (Self::StoreUnreadable, "store/unreadable", "the state cannot be read or written"),
    ];

    /// The stable word of this code, `area/error`.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(code, ..)| *code == self).map_or("unlisted", |(_, word, _)| word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_unique_and_explained() {
        let mut words: Vec<_> = Code::ALL.iter().map(|(_, word, _)| *word).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), Code::ALL.len());
        assert!(Code::ALL.iter().all(|(.., meaning)| !meaning.is_empty()));
        assert_eq!(Code::StoreUnreadable.word(), "store/unreadable");
    }
}
