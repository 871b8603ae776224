//! `rewrite`: changes the URI of a request, or header fields of a request or response.

use std::sync::Arc;

use http::{HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

use super::{CompiledAction, Definition, Sources};
use crate::ruleset::replacing::Replacing;
use diagnostic::{Code, Diagnostic};
use expression::Facts;
use model::rewrite::{HeaderEdit, HeaderOperation, Replacement};
use model::ruleset::{ActionParameters, Rule};
use model::{Action, Phase};

pub const DEFINITION: Definition = Definition {
    actions: &[Action::Rewrite],
    phases: &[
        Phase::HttpRequestTransform,
        Phase::HttpRequestLateTransform,
        Phase::HttpResponseHeadersTransform,
    ],
    compile,
};

/// Most header fields of one rule.
const MAX_HEADERS: usize = 30;
/// Fields by which a message is framed, routed or taken for ours.
const FIXED: [&str; 16] = [
    "cdn-loop",
    "connection",
    "content-encoding",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "sec-websocket-key",
    "svc-connecting-ip",
    "svc-ray",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];
/// What a query has not; a path has no `?` besides (RFC 3986 section 3.4).
const NOT_IN_QUERIES: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>').add(b'\\');
const NOT_IN_PATHS: &AsciiSet = &NOT_IN_QUERIES.add(b'?');

/// What a rule changes.
#[derive(Debug, Default)]
pub struct Rewrite {
    path: Option<Replacing>,
    query: Option<Replacing>,
    fields: Vec<(HeaderName, HeaderOperation, Option<Replacing>)>,
}

/// What becomes of the header fields of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldEdit {
    pub name: HeaderName,
    /// Whether what there is stays.
    pub keeps: bool,
    pub value: Option<HeaderValue>,
}

/// What rules changed of a message, to be done.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Edits {
    pub path: Option<Vec<u8>>,
    /// Without the `?`; empty if there is to be none.
    pub query: Option<Vec<u8>>,
    pub fields: Vec<FieldEdit>,
}

fn compile(rule: &Rule, phase: Phase, sources: &mut Sources<'_>) -> Option<CompiledAction> {
    let Some(ActionParameters::Rewrite(parameters)) = &rule.action_parameters else {
        let message = "the action `rewrite` needs `action_parameters` with `uri` or `headers`";
        sources.diagnostics.push(Diagnostic::error(Code::RulesetBadParameters, message));
        return None;
    };
    let mut is_valid = true;
    let mut rewrite = Rewrite::default();
    if let Some(uri) = &parameters.uri {
        if phase != Phase::HttpRequestTransform {
            refuse(
                sources,
                "uri",
                format!("only phase `{}` changes the URI", Phase::HttpRequestTransform.word()),
            );
            return None;
        }
        let mut part = |source: &Option<Replacement>, name: &str| {
            let source = source.as_ref()?;
            let compiled =
                Replacing::compile(source, &format!("action_parameters/uri/{name}"), phase, sources);
            is_valid &= compiled.is_some();
            compiled
        };
        rewrite.path = part(&uri.path, "path");
        rewrite.query = part(&uri.query, "query");
        if let Some(Replacing::Text(path)) = &rewrite.path
            && !path.starts_with('/')
        {
            refuse(sources, "uri/path/value", format!("a path begins with `/`, found `{path}`"));
            is_valid = false;
        }
    }
    if parameters.headers.len() > MAX_HEADERS {
        refuse(sources, "headers", format!("a rule changes at most {MAX_HEADERS} header fields"));
        is_valid = false;
    }
    for (name, edit) in &parameters.headers {
        match field(name, edit, phase, sources) {
            Some(field) => rewrite.fields.push(field),
            None => is_valid = false,
        }
    }
    is_valid.then(|| CompiledAction::Rewrite(Arc::new(rewrite)))
}

fn refuse(sources: &mut Sources<'_>, field: &str, message: String) {
    let diagnostic = Diagnostic::error(Code::RulesetBadParameters, message);
    sources.diagnostics.push(diagnostic.pointing(format!("action_parameters/{field}")));
}

fn field(
    name: &str,
    edit: &HeaderEdit,
    phase: Phase,
    sources: &mut Sources<'_>,
) -> Option<(HeaderName, HeaderOperation, Option<Replacing>)> {
    let pointer = format!("headers/{name}");
    let Ok(parsed) = HeaderName::try_from(name) else {
        refuse(sources, &pointer, format!("`{name}` is not the name of a header field"));
        return None;
    };
    // Many servers read `_` in a name as `-`.
    if FIXED.contains(&parsed.as_str().replace('_', "-").as_str()) {
        refuse(
            sources,
            &pointer,
            format!("the field `{parsed}` cannot be changed: messages are framed or routed by it"),
        );
        return None;
    }
    let source = match (edit.operation, &edit.value, &edit.expression) {
        (HeaderOperation::Remove, None, None) => return Some((parsed, edit.operation, None)),
        (HeaderOperation::Remove, ..) => {
            refuse(sources, &pointer, "`remove` takes neither `value` nor `expression`".to_owned());
            return None;
        }
        (_, Some(value), None) => Replacement::Value(value.clone()),
        (_, None, Some(expression)) => Replacement::Expression(expression.clone()),
        _ => {
            let word = edit.operation.word();
            refuse(sources, &pointer, format!("`{word}` takes one of `value` and `expression`"));
            return None;
        }
    };
    if let Replacement::Value(value) = &source
        && HeaderValue::from_str(value).is_err()
    {
        refuse(
            sources,
            &format!("{pointer}/value"),
            "a value of a header field has no control characters".to_owned(),
        );
        return None;
    }
    let replacing = Replacing::compile(&source, &format!("action_parameters/{pointer}"), phase, sources)?;
    Some((parsed, edit.operation, Some(replacing)))
}

impl Edits {
    /// What is asked for instead of what was sent; `None` if that stays. `*` has neither path nor query (RFC 9112 section
    /// 3.2.4).
    pub fn target(&self, sent: &[u8]) -> Option<Vec<u8>> {
        if sent == b"*" || (self.path.is_none() && self.query.is_none()) {
            return None;
        }
        let at = memchr::memchr(b'?', sent).unwrap_or(sent.len());
        let (sent_path, sent_query) = sent.split_at_checked(at).unwrap_or((sent, &[]));
        let mut target = self.path.clone().unwrap_or_else(|| sent_path.to_vec());
        match &self.query {
            Some(query) if query.is_empty() => {}
            Some(query) => {
                target.push(b'?');
                target.extend_from_slice(query);
            }
            None => target.extend_from_slice(sent_query),
        }
        Some(target)
    }
}

impl Rewrite {
    /// Adds what it changes of a message.
    pub fn add_to(&self, facts: &Facts<'_>, edits: &mut Edits) {
        if let Some(path) = self.path.as_ref().and_then(|path| path.give(facts)) {
            let path = percent_encode(&path, NOT_IN_PATHS).to_string();
            edits.path = Some(if path.starts_with('/') { path } else { format!("/{path}") }.into_bytes());
        }
        if let Some(query) = self.query.as_ref().and_then(|query| query.give(facts)) {
            edits.query = Some(percent_encode(&query, NOT_IN_QUERIES).to_string().into_bytes());
        }
        for (name, operation, value) in &self.fields {
            let value = value.as_ref().and_then(|value| value.give(facts));
            // A client must not end the field: what has control characters is left out.
            let value = value.and_then(|value| HeaderValue::from_bytes(&value).ok());
            let keeps = *operation == HeaderOperation::Add;
            edits.fields.push(FieldEdit { name: name.clone(), keeps, value });
        }
    }
}
