//! Directives other than rules: what they set, or a warning that says what they do not do here.

use std::time::Duration;

use super::Lowering;
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::waf::ir::EngineMode;
use crate::waf::syntax::ast::{UpdateBy, Word};

/// Directives that have an effect here, beside `SecRule` and its kin.
const KNOWN: &[&str] = &[
    "SecRule",
    "SecAction",
    "SecMarker",
    "SecDefaultAction",
    "Include",
    "SecRuleEngine",
    "SecComponentSignature",
    "SecResponseBodyAccess",
    "SecResponseBodyMimeType",
    "SecCollectionTimeout",
    "SecRuleUpdateActionById",
    "SecRuleRemoveById",
    "SecRuleRemoveByTag",
    "SecRuleRemoveByMsg",
    "SecRuleUpdateTargetById",
    "SecRuleUpdateTargetByTag",
    "SecRuleUpdateTargetByMsg",
];

/// Directives without an effect, and where the same thing is set instead.
const ELSEWHERE: &[(&str, &str)] = &[
    ("SecRequestBodyAccess", "bodies are always inspected where the WAF is on"),
    ("SecRequestBodyLimit", "set `limits.inspected_body` in the configuration"),
    ("SecRequestBodyNoFilesLimit", "set `limits.inspected_body` in the configuration"),
    ("SecRequestBodyInMemoryLimit", "bodies are held in memory up to `limits.inspected_body`"),
    ("SecRequestBodyLimitAction", "set `limits.inspected_body_policy` in the configuration"),
    ("SecRequestBodyJsonDepthLimit", "set `limits.json_depth` in the configuration"),
    ("SecArgumentsLimit", "set `limits.arguments` in the configuration"),
    ("SecResponseBodyLimit", "set `limits.inspected_response` in the configuration"),
    (
        "SecResponseBodyLimitAction",
        "what is past the limit passes uninspected, and `OUTBOUND_DATA_ERROR` is set",
    ),
    ("SecPcreMatchLimit", "patterns run in linear time or under a fixed step limit"),
    ("SecPcreMatchLimitRecursion", "patterns run in linear time or under a fixed step limit"),
    ("SecUnicodeMapFile", "the best-fit map is built in"),
    ("SecTmpDir", "nothing is written to disk while a request is inspected"),
    ("SecDataDir", "persistent collections are kept in memory"),
    ("SecArgumentSeparator", "arguments are separated by `&`"),
    ("SecCookieFormat", "cookies are read as version 0"),
    ("SecStatusEngine", "nothing is reported to anyone"),
    ("SecServerSignature", "set the header at the origin"),
    ("SecUploadDir", "files are never written to disk"),
    ("SecUploadKeepFiles", "files are never written to disk"),
    ("SecUploadFileLimit", "set `limits.multipart_parts` in the configuration"),
    ("SecUploadFileMode", "files are never written to disk"),
    ("SecDebugLog", "use `portcullis waf explain`"),
    ("SecDebugLogLevel", "use `portcullis waf explain`"),
];

impl Lowering<'_> {
    pub(super) fn directive(&mut self, name: &Word, arguments: &[Word]) {
        let first = arguments.first();
        if name.is("SecRuleEngine") {
            return self.engine(name, first);
        }
        if name.is("SecComponentSignature") {
            self.set.components.extend(first.map(|word| word.text.clone()));
            return;
        }
        if name.is("SecResponseBodyAccess") {
            return match first.and_then(|word| switch(&word.text)) {
                Some(on) => self.set.response_body.access = on,
                None => {
                    let place = first.unwrap_or(name).place();
                    self.error(Code::SecLangBadArgument, place, "expected `On` or `Off`");
                }
            };
        }
        if name.is("SecResponseBodyMimeType") {
            self.set.response_body.media_types =
                arguments.iter().map(|word| word.text.to_ascii_lowercase()).collect();
            return;
        }
        if name.is("SecCollectionTimeout") {
            return match first.and_then(|word| word.text.parse().ok()) {
                Some(seconds) => self.set.record_lifetime = Duration::from_secs(seconds),
                None => {
                    let place = first.unwrap_or(name).place();
                    self.error(
                        Code::SecLangBadArgument,
                        place,
                        "expected a number of seconds, such as `3600`",
                    );
                }
            };
        }
        if name.is("SecRuleUpdateActionById") {
            return self.update_action(name, arguments);
        }
        let removals = [
            ("SecRuleRemoveById", UpdateBy::Id),
            ("SecRuleRemoveByTag", UpdateBy::Tag),
            ("SecRuleRemoveByMsg", UpdateBy::Msg),
        ];
        if let Some((_, by)) = removals.into_iter().find(|(word, _)| name.is(word)) {
            return arguments.iter().for_each(|key| self.remove_rules(by, key));
        }
        let elsewhere = ELSEWHERE.iter().find(|(word, _)| name.is(word)).map(|(_, hint)| *hint);
        // The audit log has a dozen directives; all of them are answered the same way.
        let audit = name
            .text
            .to_ascii_lowercase()
            .starts_with("secaudit")
            .then_some("events go to the log; see `log` in the configuration");
        if let Some(hint) = elsewhere.or(audit) {
            let message = format!("`{}` has no effect", name.text);
            return self
                .diagnostics
                .push(Diagnostic::warning(Code::SecLangUnsupported, message).at(name.place()).help(hint));
        }
        let diagnostic =
            Diagnostic::error(Code::SecLangUnknownDirective, format!("unknown directive `{}`", name.text))
                .at(name.place());
        self.diagnostics.push(match nearest(&name.text, KNOWN.iter().copied()) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic,
        });
    }

    fn update_action(&mut self, name: &Word, arguments: &[Word]) {
        let [key, list] = arguments else {
            let message = "`SecRuleUpdateActionById` takes a rule id, or `id:link`, and a list of actions";
            return self.error(Code::SecLangBadArgument, name.place(), message);
        };
        let (id, link) = key.text.split_once(':').unwrap_or((&key.text, "0"));
        let (Ok(id), Ok(link)) = (id.trim().parse::<u64>(), link.trim().parse::<usize>()) else {
            let message = format!("expected a rule id such as `942100`, found `{}`", key.text);
            return self.error(Code::SecLangBadArgument, key.place(), message);
        };
        let actions = crate::waf::syntax::action_list(list, self.diagnostics);
        let update = self.actions(&actions);
        let rule = self.roots_mut().find(|rule| rule.id == id).and_then(|root| match link.checked_sub(1) {
            None => Some(root),
            Some(at) => root.chain.get_mut(at),
        });
        match rule {
            Some(rule) => rule.update(update),
            None => self.names_no_rule(key, "changes"),
        }
    }

    fn engine(&mut self, name: &Word, argument: Option<&Word>) {
        let mode = argument.and_then(|word| engine_mode(&word.text));
        match mode {
            Some(mode) => self.set.engine = mode,
            None => {
                let place = argument.unwrap_or(name).place();
                self.error(Code::SecLangBadArgument, place, "expected `On`, `Off` or `DetectionOnly`");
            }
        }
    }
}

/// The mode of a word, whatever its case.
pub(in crate::waf) fn engine_mode(word: &str) -> Option<EngineMode> {
    match word.to_ascii_lowercase().as_str() {
        "on" => Some(EngineMode::On),
        "off" => Some(EngineMode::Off),
        "detectiononly" => Some(EngineMode::DetectionOnly),
        _ => None,
    }
}

/// `On` or `Off`, whatever its case.
pub(in crate::waf) fn switch(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}
