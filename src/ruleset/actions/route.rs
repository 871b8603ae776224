//! `route`: has another origin asked, or tells the zone's one another host.

use std::sync::Arc;

use super::{CompiledAction, Definition, Sources};
use diagnostic::{Code, Diagnostic};
use model::origin_url::OriginUrl;
use model::route::{RouteOrigin, RouteParameters};
use model::ruleset::{ActionParameters, Rule};
use model::{Action, HostName, Phase};

pub const DEFINITION: Definition =
    Definition { actions: &[Action::Route], phases: &[Phase::HttpRequestOrigin], compile };

/// Which origin a request goes to, as far as rules say. Of each part the last rule counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginChoice {
    pub host_header: Option<String>,
    /// Of a zone that runs the rule there is a pool for it.
    pub origin: Option<RouteOrigin>,
    pub server_name: Option<String>,
}

impl OriginChoice {
    pub(crate) fn add(&mut self, later: &Self) {
        let Self { host_header, origin, server_name } = later;
        for (known, later) in [(&mut self.host_header, host_header), (&mut self.server_name, server_name)] {
            if later.is_some() {
                known.clone_from(later);
            }
        }
        if origin.is_some() {
            self.origin.clone_from(origin);
        }
    }
}

fn compile(rule: &Rule, _: Phase, sources: &mut Sources<'_>) -> Option<CompiledAction> {
    let mut refuse = |field: &str, message: String| {
        let diagnostic = Diagnostic::error(Code::RulesetBadParameters, message);
        sources.diagnostics.push(diagnostic.pointing(format!("action_parameters{field}")));
    };
    let parameters = match &rule.action_parameters {
        Some(ActionParameters::Route(parameters)) if *parameters != RouteParameters::default() => parameters,
        _ => {
            let message = "the action `route` needs `host_header`, `origin` or `sni` in `action_parameters`";
            refuse("", message.to_owned());
            return None;
        }
    };
    let mut is_sound = true;
    if let Some(RouteOrigin { host, port }) = &parameters.origin {
        let host = host.as_deref().unwrap_or("origin.example");
        let url = format!("http://{host}:{}", port.unwrap_or(80));
        let parsed = OriginUrl::parse(&url).and_then(OriginUrl::without_path);
        let is_empty = parameters.origin == Some(RouteOrigin::default());
        if let Some(message) = parsed.err().or(is_empty.then(|| "expected `host`, `port` or both".to_owned()))
        {
            refuse("/origin", message);
            is_sound = false;
        }
    }
    if let Some(header) = &parameters.host_header {
        let (host, port) =
            header.rsplit_once(':').map_or((header.as_str(), None), |(host, port)| (host, Some(port)));
        let has_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
        if HostName::parse(host).is_err() || !has_port {
            let message = format!(
                "`{header:.80}` is no host; expected one such as `shop.example` or `shop.example:8080`"
            );
            refuse("/host_header", message);
            is_sound = false;
        }
    }
    if let Some(message) = parameters.sni.as_ref().and_then(|sni| HostName::parse(&sni.value).err()) {
        refuse("/sni/value", message);
        is_sound = false;
    }
    let RouteParameters { host_header, origin, sni } = parameters.clone();
    let server_name = sni.map(|sni| sni.value.to_ascii_lowercase());
    is_sound.then(|| CompiledAction::Route(Arc::new(OriginChoice { host_header, origin, server_name })))
}
