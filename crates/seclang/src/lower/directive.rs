//! Directives other than rules: what they set, or a warning that says what they do not do here.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::Lowering;
use crate::audit::AuditMode;
use crate::geo::GeoDatabase;
use crate::ir::EngineMode;
use crate::syntax::ast::{UpdateBy, Word};
use diagnostic::{Code, Diagnostic, nearest};
use pattern::Pattern;

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
    "SecRequestBodyLimit",
    "SecRequestBodyNoFilesLimit",
    "SecRequestBodyLimitAction",
    "SecArgumentsLimit",
    "SecResponseBodyLimit",
    "SecResponseBodyLimitAction",
    "SecDataset",
    "SecWebAppId",
    "SecGeoLookupDb",
    "SecAuditEngine",
    "SecAuditLog",
    "SecAuditLogType",
    "SecAuditLogFormat",
    "SecAuditLogParts",
    "SecAuditLogRelevantStatus",
    "SecAuditLogStorageDir",
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
    ("SecRequestBodyInMemoryLimit", "bodies are held in memory up to `limits.inspected_body`"),
    ("SecRequestBodyJsonDepthLimit", "set `limits.json_depth` in the configuration"),
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
    ("SecAuditLog2", "one file is written: that of `SecAuditLog`"),
    ("SecAuditLogFileMode", "files are made for their owner alone"),
    ("SecAuditLogDirMode", "folders are made for their owner alone"),
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
        if self.limit(name, first) || self.named(name, arguments) || self.audit(name, first) {
            return;
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
        if let Some(hint) = elsewhere {
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

    /// A directive that sets a limit, or what is done past one; false for others.
    fn limit(&mut self, name: &Word, argument: Option<&Word>) -> bool {
        let limits = &mut self.set.limits;
        let in_part = match () {
            () if name.is("SecRequestBodyLimitAction") => Some(&mut limits.reads_requests_in_part),
            () if name.is("SecResponseBodyLimitAction") => Some(&mut limits.reads_responses_in_part),
            () => None,
        };
        let text = argument.map_or("", |word| word.text.as_str());
        let place = argument.unwrap_or(name).place();
        if let Some(in_part) = in_part {
            match text.to_ascii_lowercase().as_str() {
                "reject" => *in_part = false,
                "processpartial" => *in_part = true,
                _ => self.error(Code::SecLangBadArgument, place, "expected `Reject` or `ProcessPartial`"),
            }
            return true;
        }
        let limit = match () {
            () if name.is("SecRequestBodyLimit") => &mut limits.request_bytes,
            () if name.is("SecRequestBodyNoFilesLimit") => &mut limits.request_bytes_without_files,
            () if name.is("SecArgumentsLimit") => &mut limits.arguments,
            () if name.is("SecResponseBodyLimit") => &mut limits.response_bytes,
            () => return false,
        };
        match text.parse() {
            Ok(number) => *limit = Some(number),
            Err(_) => self.error(Code::SecLangBadArgument, place, "expected a number, such as `131072`"),
        }
        true
    }

    /// A directive that names an application or a data set, or that is refused; false for others.
    fn named(&mut self, name: &Word, arguments: &[Word]) -> bool {
        let mut refuse = |message: &str| self.error(Code::SecLangBadArgument, name.place(), message);
        if name.is("SecWebAppId") {
            match arguments {
                [id] => self.set.web_app_id.clone_from(&id.text),
                _ => refuse("expected one name"),
            }
        } else if name.is("SecDataset") {
            match arguments {
                [set, lines] => {
                    let lines = lines.text.lines().map(str::trim).filter(|line| !line.is_empty());
                    self.datasets.insert(set.text.clone(), lines.map(str::to_owned).collect());
                }
                _ => refuse("expected a name and the lines between backticks"),
            }
        } else if name.is("SecGeoLookupDb") {
            match arguments {
                [file] => self.geo_database(file),
                _ => refuse("expected one file"),
            }
        } else if name.is("SecRemoteRules") {
            refuse(
                "rules are read from files only, because whoever answers at an address would decide what passes; \
                 download the file and name it",
            );
        } else if name.is("SecUnicodeMapFile") {
            let is_sound = matches!(arguments, [_, page] if page.text.parse::<u32>().is_ok());
            if is_sound {
                return false;
            }
            refuse("expected a file and a code page, such as `unicode.mapping 20127`");
        } else {
            return false;
        }
        true
    }

    /// A directive of the audit log; false for others.
    fn audit(&mut self, name: &Word, argument: Option<&Word>) -> bool {
        let text = argument.map_or("", |word| word.text.as_str());
        let place = argument.unwrap_or(name).place();
        let word = text.to_ascii_lowercase();
        let path = || {
            let folder = Path::new(&name.source.name).parent().unwrap_or(Path::new("."));
            (!text.is_empty()).then(|| folder.join(text))
        };
        let audit = &mut self.set.audit;
        let expected = if name.is("SecAuditEngine") {
            audit.mode = match word.as_str() {
                "on" => AuditMode::On,
                "relevantonly" => AuditMode::RelevantOnly,
                _ => AuditMode::Off,
            };
            self.audit_engine = Some(name.place());
            (!matches!(word.as_str(), "on" | "off" | "relevantonly"))
                .then_some("expected `On`, `Off` or `RelevantOnly`")
        } else if name.is("SecAuditLog") {
            audit.log = path().filter(|_| !text.starts_with('|'));
            audit.log.is_none().then_some("expected a file; records are not piped to programs")
        } else if name.is("SecAuditLogStorageDir") {
            audit.storage = path();
            audit.storage.is_none().then_some("expected a folder")
        } else if name.is("SecAuditLogParts") {
            audit.parts = text.to_ascii_uppercase();
            let are_letters =
                audit.parts.starts_with('A') && audit.parts.bytes().all(|b| b.is_ascii_uppercase());
            (!are_letters).then_some("expected letters that begin with `A`, such as `ABIJDEFHZ`")
        } else if name.is("SecAuditLogType") {
            audit.is_concurrent = word == "concurrent";
            (!matches!(word.as_str(), "serial" | "concurrent")).then_some("expected `Serial` or `Concurrent`")
        } else if name.is("SecAuditLogFormat") {
            if word == "native" {
                let message = "the audit log is written as JSON; set `SecAuditLogFormat JSON`";
                self.warn(Code::SecLangUnsupported, place, message);
                return true;
            }
            (word != "json").then_some("expected `JSON`")
        } else if name.is("SecAuditLogRelevantStatus") {
            match Pattern::new(text) {
                Ok(pattern) => {
                    audit.relevant_status = Some(Arc::new(pattern));
                    None
                }
                Err(_) => Some("expected a pattern, such as `^5`"),
            }
        } else {
            return false;
        };
        if let Some(expected) = expected {
            self.error(Code::SecLangBadArgument, place, expected);
        }
        true
    }

    /// Records need a place to go to.
    pub(super) fn check_audit(&mut self) {
        let audit = &self.set.audit;
        let Some(place) = self.audit_engine.take().filter(|_| audit.mode != AuditMode::Off) else { return };
        let message = match (&audit.log, &audit.storage) {
            (None, _) => "an audit log needs a file: add `SecAuditLog`",
            (_, None) if audit.is_concurrent => {
                "a concurrent audit log needs a folder for its records: add `SecAuditLogStorageDir`"
            }
            _ => return,
        };
        self.error(Code::SecLangBadArgument, place, message);
    }

    fn geo_database(&mut self, file: &Word) {
        let read = |name: &String| self.loader.read_bytes(name).and_then(GeoDatabase::open);
        let opened =
            self.loader.resolve(&file.source.name, &file.text).and_then(|names| match names.as_slice() {
                [name] => read(name),
                _ => Err("expected one file".to_owned()),
            });
        match opened {
            Ok(database) => self.set.geo = Some(Arc::new(database)),
            Err(reason) => {
                let message = format!("cannot read `{}` as a MaxMind DB: {reason}", file.text);
                self.error(Code::RulesUnreadable, file.place(), message);
            }
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

/// The mode of a word, ignoring case.
pub(crate) fn engine_mode(word: &str) -> Option<EngineMode> {
    match word.to_ascii_lowercase().as_str() {
        "on" => Some(EngineMode::On),
        "off" => Some(EngineMode::Off),
        "detectiononly" => Some(EngineMode::DetectionOnly),
        _ => None,
    }
}

/// `On` or `Off`, ignoring case.
pub(crate) fn switch(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}
