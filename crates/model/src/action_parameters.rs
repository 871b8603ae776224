//! What actions of rules do in particular, in the fields of the management API.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::Phase;
use crate::overrides::Overrides;
use crate::rewrite::{HeaderEdit, RedirectParameters, RedirectTarget, RewriteParameters, UriReplacement};
use crate::route::{RouteOrigin, RouteParameters, RouteSni};

/// The parameters of an action. Which they are shows in their fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ActionParameters {
    Execute(ExecuteParameters),
    Block(BlockParameters),
    Redirect(RedirectParameters),
    Rewrite(RewriteParameters),
    Route(RouteParameters),
    ServeError(ErrorPage),
    Skip(SkipParameters),
}

/// What a `serve_error` rule puts in the place of an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorPage {
    /// Where it says `::RAY_ID::`, the client reads the id of its request.
    pub content: String,
    pub content_type: String,
    /// From 400 to 999; that of the error if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_code: Option<u16>,
}

/// What an `execute` rule runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExecuteParameters {
    /// The managed ruleset's id.
    pub id: String,
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overrides: Option<Overrides>,
}

/// What a `block` rule answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockParameters {
    pub response: BlockResponse,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockResponse {
    /// From 400 to 499.
    pub status_code: u16,
    pub content: String,
    pub content_type: String,
}

/// What a `skip` rule passes over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SkipParameters {
    /// `current`: the rules behind it in its own ruleset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ruleset: Option<String>,
    /// Managed rulesets, by id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rulesets: Vec<String>,
    /// Rules of managed rulesets, by their ids, by the ruleset's id.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rules: BTreeMap<String, Vec<String>>,
    /// Everything in these phases.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
}

impl ActionParameters {
    /// Whether none of its fields is given.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Skip(skip) if *skip == SkipParameters::default())
    }
}

impl<'de> Deserialize<'de> for ActionParameters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// The fields of all actions.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields {
            id: Option<String>,
            version: Option<String>,
            overrides: Option<Overrides>,
            response: Option<BlockResponse>,
            ruleset: Option<String>,
            #[serde(default)]
            rulesets: Vec<String>,
            #[serde(default)]
            rules: BTreeMap<String, Vec<String>>,
            #[serde(default)]
            phases: Vec<Phase>,
            from_value: Option<RedirectTarget>,
            uri: Option<UriReplacement>,
            #[serde(default)]
            headers: BTreeMap<String, HeaderEdit>,
            host_header: Option<String>,
            origin: Option<RouteOrigin>,
            sni: Option<RouteSni>,
            content: Option<String>,
            content_type: Option<String>,
            status_code: Option<u16>,
        }
        let fields = Fields::deserialize(deserializer)?;
        let mut given = Vec::new();
        match fields.id {
            Some(id) => {
                let version = fields.version.unwrap_or_else(|| "latest".to_owned());
                given.push(Self::Execute(ExecuteParameters { id, version, overrides: fields.overrides }));
            }
            None if fields.version.is_some() || fields.overrides.is_some() => {
                return Err(D::Error::missing_field("id"));
            }
            None => {}
        }
        given.extend(fields.response.map(|response| Self::Block(BlockParameters { response })));
        given.extend(fields.from_value.map(|from_value| Self::Redirect(RedirectParameters { from_value })));
        let rewrite = RewriteParameters { uri: fields.uri, headers: fields.headers };
        if rewrite != RewriteParameters::default() {
            given.push(Self::Rewrite(rewrite));
        }
        let (host_header, origin, sni) = (fields.host_header, fields.origin, fields.sni);
        let route = RouteParameters { host_header, origin, sni };
        if route != RouteParameters::default() {
            given.push(Self::Route(route));
        }
        match (fields.content, fields.content_type, fields.status_code) {
            (Some(content), Some(content_type), status_code) => {
                given.push(Self::ServeError(ErrorPage { content, content_type, status_code }));
            }
            (None, None, None) => {}
            (None, ..) => return Err(D::Error::missing_field("content")),
            (_, None, _) => return Err(D::Error::missing_field("content_type")),
        }
        let (ruleset, rulesets, rules, phases) =
            (fields.ruleset, fields.rulesets, fields.rules, fields.phases);
        let skip = Self::Skip(SkipParameters { ruleset, rulesets, rules, phases });
        if given.is_empty() || !skip.is_empty() {
            given.push(skip);
        }
        match (given.pop(), given.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => Err(D::Error::custom("fields of several actions; keep those of the rule's own action")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_back_by_their_fields() {
        for (text, written) in [
            (r#"{"id":"a"}"#, r#"{"id":"a","version":"latest"}"#),
            (r#"{"response":{"status_code":429,"content":"no","content_type":"text/plain"}}"#, ""),
            (r#"{"ruleset":"current"}"#, ""),
            (r#"{"phases":["http_request_firewall_managed"]}"#, ""),
            (r#"{"rulesets":["a"],"rules":{"b":["1","2"]}}"#, ""),
            (r#"{"uri":{"path":{"value":"/a"},"query":{"expression":"http.host"}}}"#, ""),
            (r#"{"headers":{"X-A":{"operation":"remove"}}}"#, ""),
            (r#"{"host_header":"a","origin":{"host":"b","port":1},"sni":{"value":"c"}}"#, ""),
            (r#"{"headers":{"X-A":{"operation":"set","value":"a"}}}"#, ""),
            (r#"{"content":"no","content_type":"text/plain"}"#, ""),
            (r#"{"content":"no","content_type":"text/plain","status_code":503}"#, ""),
            (
                r#"{"from_value":{"target_url":{"value":"/"}}}"#,
                r#"{"from_value":{"target_url":{"value":"/"},"status_code":301,"preserve_query_string":false}}"#,
            ),
        ] {
            let parameters: ActionParameters = serde_json::from_str(text).unwrap();
            let expected = if written.is_empty() { text } else { written };
            assert_eq!(serde_json::to_string(&parameters).unwrap(), expected);
            assert_eq!(serde_json::from_str::<ActionParameters>(expected).unwrap(), parameters);
        }
        assert!(serde_json::from_str::<ActionParameters>("{}").unwrap().is_empty());
        assert!(serde_json::from_str::<ActionParameters>(r#"{"colour":"red"}"#).is_err());
        for mixed in [
            r#"{"id":"a","phases":["http_request_firewall_managed"]}"#,
            r#"{"response":{"status_code":429,"content":"","content_type":"text/plain"},"ruleset":"current"}"#,
            r#"{"uri":{},"origin":{}}"#,
            r#"{"uri":{},"phases":["http_ratelimit"]}"#,
            r#"{"from_value":{"target_url":{"value":"/"}},"ruleset":"current"}"#,
        ] {
            let refused = serde_json::from_str::<ActionParameters>(mixed).unwrap_err().to_string();
            assert!(refused.contains("fields of several actions"), "{refused}");
        }
        let refused = serde_json::from_str::<ActionParameters>(r#"{"version":"1"}"#).unwrap_err().to_string();
        assert!(refused.contains("missing field `id`"), "{refused}");
    }
}
