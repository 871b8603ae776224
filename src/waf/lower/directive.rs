//! Directives other than rules: what they set, or a warning that says what they do not do here.

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
    ("SecResponseBodyAccess", "response rules do not run yet"),
    ("SecResponseBodyMimeType", "response rules do not run yet"),
    ("SecResponseBodyLimit", "response rules do not run yet"),
    ("SecResponseBodyLimitAction", "response rules do not run yet"),
    ("SecPcreMatchLimit", "patterns run in linear time or under a fixed step limit"),
    ("SecPcreMatchLimitRecursion", "patterns run in linear time or under a fixed step limit"),
    ("SecCollectionTimeout", "persistent collections do not exist yet"),
    ("SecUnicodeMapFile", "the best-fit map is built in"),
    ("SecTmpDir", "nothing is written to disk while a request is inspected"),
    ("SecDataDir", "persistent collections do not exist yet"),
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
