//! What actions of rules do in particular, in the fields of the management API.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::Phase;
use crate::cache_key::CacheKeyParameters;
use crate::cache_settings::{BrowserTtl, CacheParameters, EdgeTtl};
use crate::compression::{CompressionAlgorithm, CompressionParameters};
use crate::overrides::Overrides;
use crate::rewrite::{HeaderEdit, RedirectParameters, RedirectTarget, RewriteParameters, UriReplacement};
use crate::route::{RouteOrigin, RouteParameters, RouteSni};
use crate::traffic_settings::{OriginEncryption, SecurityLevel, TrafficSettings};

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
    SetConfig(TrafficSettings),
    CompressResponse(CompressionParameters),
    SetCacheSettings(CacheParameters),
    Score(ScoreParameters),
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

/// What a `score` rule adds to the score of managed rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreParameters {
    /// From 1 to 100.
    pub increment: i64,
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

/// The fields of all actions, as they are written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParameterFields {
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
    algorithms: Option<Vec<CompressionAlgorithm>>,
    cache: Option<bool>,
    edge_ttl: Option<EdgeTtl>,
    browser_ttl: Option<BrowserTtl>,
    cache_key: Option<CacheKeyParameters>,
    increment: Option<i64>,
    security_level: Option<SecurityLevel>,
    ssl: Option<OriginEncryption>,
    websockets: Option<bool>,
    max_upload: Option<u32>,
    proxy_read_timeout: Option<u32>,
    ip_geolocation: Option<bool>,
    true_client_ip_header: Option<bool>,
}

impl ParameterFields {
    /// The parameters of each action that has fields here; of `skip` also if there are none.
    ///
    /// # Errors
    /// The name of a field that is missing beside others.
    fn given(self) -> Result<Vec<ActionParameters>, &'static str> {
        use ActionParameters as Of;
        let mut given = Vec::new();
        match self.id {
            Some(id) => {
                let version = self.version.unwrap_or_else(|| "latest".to_owned());
                given.push(Of::Execute(ExecuteParameters { id, version, overrides: self.overrides }));
            }
            None if self.version.is_some() || self.overrides.is_some() => return Err("id"),
            None => {}
        }
        match (self.content, self.content_type, self.status_code) {
            (Some(content), Some(content_type), status_code) => {
                given.push(Of::ServeError(ErrorPage { content, content_type, status_code }));
            }
            (None, None, None) => {}
            (None, ..) => return Err("content"),
            (_, None, _) => return Err("content_type"),
        }
        given.extend(self.response.map(|response| Of::Block(BlockParameters { response })));
        given.extend(self.from_value.map(|from_value| Of::Redirect(RedirectParameters { from_value })));
        let compression = self.algorithms.map(|algorithms| CompressionParameters { algorithms });
        given.extend(compression.map(Of::CompressResponse));
        let kept = CacheParameters {
            cache: self.cache,
            edge_ttl: self.edge_ttl,
            browser_ttl: self.browser_ttl,
            cache_key: self.cache_key,
        };
        given.extend(set(kept).map(Of::SetCacheSettings));
        given.extend(self.increment.map(|increment| Of::Score(ScoreParameters { increment })));
        let rewrite = RewriteParameters { uri: self.uri, headers: self.headers };
        given.extend(set(rewrite).map(Of::Rewrite));
        let route = RouteParameters { host_header: self.host_header, origin: self.origin, sni: self.sni };
        given.extend(set(route).map(Of::Route));
        let settings = TrafficSettings {
            security_level: self.security_level,
            ssl: self.ssl,
            websockets: self.websockets,
            max_upload: self.max_upload,
            proxy_read_timeout: self.proxy_read_timeout,
            ip_geolocation: self.ip_geolocation,
            true_client_ip_header: self.true_client_ip_header,
        };
        given.extend(set(settings).map(Of::SetConfig));
        let (ruleset, rulesets, rules, phases) = (self.ruleset, self.rulesets, self.rules, self.phases);
        let skip = SkipParameters { ruleset, rulesets, rules, phases };
        if given.is_empty() || skip != SkipParameters::default() {
            given.push(Of::Skip(skip));
        }
        Ok(given)
    }
}

/// The parameters, unless all of them have their defaults.
fn set<T: Default + PartialEq>(parameters: T) -> Option<T> {
    (parameters != T::default()).then_some(parameters)
}

impl<'de> Deserialize<'de> for ActionParameters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut given =
            ParameterFields::deserialize(deserializer)?.given().map_err(D::Error::missing_field)?;
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
            (r#"{"increment":3}"#, ""),
            (r#"{"algorithms":[{"name":"zstd"},{"name":"gzip"}]}"#, ""),
            (r#"{"cache":true,"edge_ttl":{"mode":"override_origin","default":60}}"#, ""),
            (r#"{"cache":false}"#, ""),
            (r#"{"security_level":"under_attack","websockets":false,"max_upload":8}"#, ""),
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
