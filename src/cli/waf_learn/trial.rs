//! What an exclusion lets in: attacks in the field that it leaves out, judged with it and without.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use percent_encoding::{NON_ALPHANUMERIC, percent_encode};

use crate::cli::Failure;
use crate::cli::deployment::{self, Deployment};
use crate::cli::exclusion::{Exclusion, target, without};
use crate::cli::waf_test;
use crate::ruleset::{EntryPoint, Outcome};
use seclang::ir::RuleSetIr;
use seclang::optimize;

/// Attacks that are tried in each field.
const MAX_ATTACKS: usize = 5000;

/// Attacks, and the rules without any exclusion.
pub(super) struct Trial {
    attacks: Vec<Vec<u8>>,
    before: EntryPoint,
    deployment: Deployment,
}

impl Trial {
    /// The values of the attacks in a folder of tests.
    pub(super) fn new(folder: &Path, ir: &RuleSetIr, deployment: Deployment) -> Result<Self, Failure> {
        let mut attacks = BTreeSet::new();
        for (_, suite) in waf_test::suites(folder)? {
            let tests = suite.tests.iter().filter(|test| test.is_attack());
            attacks.extend(tests.flat_map(|test| test.values()));
        }
        if attacks.is_empty() {
            return Err(Failure::Input(format!("there is no attack below `{}`", folder.display())));
        }
        let attacks = attacks.into_iter().take(MAX_ATTACKS).collect();
        let before = deployment.entry_point(&Arc::new(optimize(ir)));
        Ok(Self { attacks, before, deployment })
    }

    /// One line: of how many attacks that are refused in the field of an exclusion, how many would pass.
    pub(super) fn describe(&self, ir: &RuleSetIr, exclusion: &Exclusion, path: &str) -> String {
        let changed = without(ir, std::slice::from_ref(exclusion));
        let after = self.deployment.entry_point(&Arc::new(optimize(&changed)));
        let (mut refused, mut let_in) = (0, 0);
        for attack in &self.attacks {
            let Some(request) = Placed::new(&exclusion.variable, path, attack) else {
                return format!("what it lets in cannot be tried in `{}`", target(&exclusion.variable));
            };
            if request.is_refused(&self.before) {
                refused += 1;
                let_in += usize::from(!request.is_refused(&after));
            }
        }
        let field = target(&exclusion.variable);
        format!("lets in {let_in} of {refused} attacks that are refused in {field} without it")
    }
}

/// A request with a value in one field.
struct Placed {
    target: Vec<u8>,
    field: Option<(&'static [u8], Vec<u8>)>,
    named: Option<(Vec<u8>, Vec<u8>)>,
    body: Vec<u8>,
}

impl Placed {
    /// `None` for a field that no request of ours has.
    fn new(variable: &str, path: &str, value: &[u8]) -> Option<Self> {
        let (collection, name) = variable.split_once(':').unwrap_or((variable, ""));
        let coded = |bytes: &[u8]| percent_encode(bytes, NON_ALPHANUMERIC).to_string();
        let plain = Self { target: path.as_bytes().to_vec(), field: None, named: None, body: Vec::new() };
        let pair = format!("{}={}", coded(name.as_bytes()), coded(value));
        let with_body = |content_type: &str, body: Vec<u8>| Self {
            field: Some((b"Content-Type", content_type.as_bytes().to_vec())),
            body,
            target: path.as_bytes().to_vec(),
            named: None,
        };
        Some(match collection {
            "ARGS" | "ARGS_POST" => with_body("application/x-www-form-urlencoded", pair.into_bytes()),
            "ARGS_GET" => Self { target: format!("{path}?{pair}").into_bytes(), ..plain },
            "ARGS_NAMES" | "ARGS_POST_NAMES" => {
                with_body("application/x-www-form-urlencoded", format!("{}=1", coded(value)).into_bytes())
            }
            "REQUEST_COOKIES" => Self { field: Some((b"Cookie", pair.into_bytes())), ..plain },
            "REQUEST_HEADERS" if !value.iter().any(u8::is_ascii_control) => {
                Self { named: Some((name.as_bytes().to_vec(), value.to_vec())), ..plain }
            }
            "REQUEST_TEXTS" | "REQUEST_BODY" if matches!(name, "" | "body") => {
                with_body("text/plain", value.to_vec())
            }
            "XML" | "REQUEST_TEXTS" if name != "path" => {
                let text = String::from_utf8_lossy(value).replace('&', "&amp;").replace('<', "&lt;");
                with_body("application/xml", format!("<r><q>{text}</q></r>").into_bytes())
            }
            "REQUEST_TEXTS" | "REQUEST_FILENAME" | "REQUEST_BASENAME" => {
                Self { target: format!("/{}", coded(value)).into_bytes(), ..plain }
            }
            _ => return None,
        })
    }

    fn is_refused(&self, entry_point: &EntryPoint) -> bool {
        let length = self.body.len().to_string();
        let mut fields: Vec<(&[u8], &[u8])> =
            vec![(b"Host", b"app.example"), (b"User-Agent", b"Mozilla/5.0"), (b"Accept", b"*/*")];
        fields.extend(self.field.as_ref().map(|(name, value)| (*name, value.as_slice())));
        fields.extend(self.named.as_ref().map(|(name, value)| (name.as_slice(), value.as_slice())));
        if !self.body.is_empty() {
            fields.push((b"Content-Length", length.as_bytes()));
        }
        let method: &[u8] = if self.body.is_empty() { b"GET" } else { b"POST" };
        let head = deployment::head(method, &self.target, "HTTP/1.1", &fields);
        let verdict = deployment::judge(entry_point, &head, &self.body, &mut ());
        matches!(verdict.outcome, Outcome::Blocked { .. })
    }
}
