//! Gateways, their tokens and the providers they reach.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use super::Compiling;
use crate::ai::call_scan::{CallScan, ScanPolicy, ScanProfile, StageScan};
use crate::ai::{
    CompiledGuardrail, CompiledMcpServer, Gateway, Gateways, Provider, collector_secrets, guardrail_secret,
};
use crate::events::spans::{Collectors, CompiledCollector};
use crate::ruleset::{EntryPoint, ScoredRuleset};
use crate::upstream::OriginKey;
use ::gateway::provider;
use ::gateway::token::Token;
use diagnostic::{Code, Diagnostic};
use gateway::dynamic_route::RouteGraph;
use gateway::mcp::ToolFilter;
use gateway::token::TokenHash;
use gateway::vault::{Belonging, StoredKey};
use model::gateway::{CallStage, GatewaySettings, ScanMode};
use model::origin_url::place_and_target;
use model::{self, Resources};
use model::{DlpAction, SpanCollector, origin_url};

/// Nothing is refused by it: it only ends the judging of a request.
const SCORE_THRESHOLD: i64 = i64::MAX;

impl Compiling<'_> {
    pub(super) fn gateways(&mut self, resources: &Resources) -> Gateways {
        let mut by_account: HashMap<String, HashMap<String, Arc<Gateway>>> = HashMap::new();
        for gateway in resources.gateways.values() {
            let of_gateway = |token: &&model::Declared<model::GatewayToken>| {
                token.account == gateway.account && token.gateway == gateway.id
            };
            let tokens = resources.tokens.values().filter(of_gateway).filter_map(|token| {
                let hash = TokenHash::from_hex(&token.hash)?;
                // INVARIANT: globs are checked before they are stored. If one is bad after all, the token may use no tool.
                let tools = token.tools.as_ref().map(|globs| ToolFilter::of_token(globs).unwrap_or_default());
                Some(Token { id: token.id.clone(), hash, expires_at: token.expires_at, tools })
            });
            let GatewaySettings { limits, spend_limits, .. } = &gateway.settings;
            let (scan, guardrail) = (Arc::new(self.call_scan(gateway)), self.guardrail(gateway));
            let compiled = Gateway {
                account: gateway.account.to_string(),
                id: gateway.id.to_string(),
                label: format!("{}/{}", gateway.account, gateway.id),
                authentication: gateway.authentication,
                tokens: tokens.collect(),
                settings: gateway.settings.clone(),
                limits: limits.iter().chain(spend_limits.in_force()).cloned().collect(),
                answers_judged_by: judged_by(&scan, guardrail.as_ref()),
                answers_version: answers_version(gateway),
                scan,
                waf: self.gateway_waf(&gateway.settings),
                keys: self.keys(gateway, resources),
                guardrail,
                routes: self.dynamic_routes(gateway, resources),
                mcp_servers: self.mcp_servers(gateway),
                collectors: self.collectors(gateway),
            };
            by_account
                .entry(gateway.account.to_string())
                .or_default()
                .insert(gateway.id.to_string(), Arc::new(compiled));
        }
        let known = provider::KNOWN.iter().filter_map(|known| match known.place {
            provider::Place::Base(base) | provider::Place::OptionalV1(base) => {
                Some((known.slug.to_owned(), base.to_owned()))
            }
            _ => None,
        });
        let known = known.map(|(slug, base)| (slug, (base, true)));
        let declared = resources
            .providers
            .values()
            .map(|provider| (provider.slug.clone(), (provider.base_url.clone(), provider.allow_private)));
        // Later entries win: what is declared replaces what is known.
        let bases: HashMap<String, (String, bool)> = known.chain(declared).collect();
        let mut providers = HashMap::new();
        // Without a gateway nothing reaches a provider.
        for (slug, (base, allow_private)) in bases.into_iter().filter(|_| !by_account.is_empty()) {
            match self.provider(&slug, &base, allow_private) {
                Ok(provider) => {
                    providers.insert(slug, Arc::new(provider));
                }
                Err(message) => self.diagnostics.push(Diagnostic::error(Code::ConfBadValue, message)),
            }
        }
        let prices = Arc::clone(&self.inputs.conf.model_prices);
        Gateways { by_account, providers, prices, ..Gateways::default() }
    }

    fn gateway_waf(&self, settings: &GatewaySettings) -> Option<Arc<EntryPoint>> {
        let (level, rules) = (settings.waf_paranoia_level?, self.inputs.rules);
        let scored = ScoredRuleset::short_form(&rules.program, &rules.owasp, level, SCORE_THRESHOLD);
        Some(Arc::new(EntryPoint::scoring(scored)))
    }

    /// Who judges the calls of a gateway. One whose secret does not open is asked without it.
    fn guardrail(&mut self, gateway: &model::Gateway) -> Option<CompiledGuardrail> {
        let guardrail = gateway.settings.guardrail.as_ref()?;
        let made = place_and_target(&guardrail.url).and_then(|(url, target)| {
            // No zone's name has a blank.
            let key = OriginKey { zone: "guardrail of gateways".to_owned(), url, http2: false, ca: None };
            Ok((self.origin(key)?, target))
        });
        let conf = self.inputs.conf;
        let opened =
            guardrail_secret::opened(guardrail, &gateway.account, &gateway.id, conf.secrets_key.as_ref());
        let mut report = |reason: String| {
            let message = format!("the guardrail of the gateway `{}`: {reason}", gateway.id);
            self.diagnostics.push(Diagnostic::error(Code::ConfBadValue, message));
        };
        let authorization = opened.unwrap_or_else(|reason| {
            report(reason);
            None
        });
        match made {
            Ok((origin, target)) => Some(CompiledGuardrail {
                origin,
                target,
                authorization,
                timeout: guardrail.timeout,
                on_failure: guardrail.on_failure,
                stages: guardrail.stages.clone(),
                content_policy: gateway.settings.content_policy.clone(),
                may_be_private: guardrail.may_be_private || conf.private_webhooks,
            }),
            Err(reason) => {
                report(reason);
                None
            }
        }
    }

    /// Who gets spans of the calls of a gateway. One whose fields do not open is reported and left out.
    fn collectors(&mut self, gateway: &model::Gateway) -> Collectors {
        let mut collectors = Vec::new();
        let conf = self.inputs.conf;
        let here = (gateway.account.as_str(), gateway.id.as_str());
        for collector in &gateway.settings.otel {
            let made = place_and_target(&collector.url).and_then(|(_, target)| {
                let url = match target.as_str() {
                    "/" => collector.url.trim_end_matches('/').to_owned() + SpanCollector::USUAL_PATH,
                    _ => collector.url.clone(),
                };
                let fields = collector_secrets::opened(collector, here, conf.secrets_key.as_ref())?;
                let may_be_private = collector.may_be_private || conf.private_webhooks;
                Ok(CompiledCollector { url, fields, may_be_private })
            });
            match made {
                Ok(made) => collectors.push(Arc::new(made)),
                Err(reason) => {
                    let message = format!(
                        "the collector `{}` of the gateway `{}`: {reason}",
                        origin_url::without_query(&collector.url),
                        gateway.id
                    );
                    self.diagnostics.push(Diagnostic::error(Code::ConfBadValue, message));
                }
            }
        }
        collectors.into()
    }

    /// The servers of tools of a gateway. Whoever wrote one read it first; one that cannot be read is reported and left out.
    fn mcp_servers(&mut self, gateway: &model::Gateway) -> HashMap<String, Arc<CompiledMcpServer>> {
        let mut servers = HashMap::new();
        for server in &gateway.settings.mcp_servers {
            let made = place_and_target(&server.url).and_then(|(place, target)| {
                let provider = Arc::new(self.provider(&server.slug(), &place, server.allow_private)?);
                let tools = server.tools.as_deref().map(ToolFilter::of_server).transpose()?;
                let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
                let (name, path, query) = (server.name.clone(), path.to_owned(), query.to_owned());
                Ok(CompiledMcpServer { name, path, query, tools, provider })
            });
            match made {
                Ok(made) => drop(servers.insert(server.name.clone(), Arc::new(made))),
                Err(reason) => {
                    let (name, id) = (&server.name, &gateway.id);
                    let message = format!("the MCP server `{name}` of the gateway `{id}`: {reason}");
                    self.diagnostics.push(Diagnostic::error(Code::ConfBadValue, message));
                }
            }
        }
        servers
    }

    /// The routes of a gateway. Whoever wrote one read it first; one that cannot be read is reported and left out.
    fn dynamic_routes(
        &mut self,
        gateway: &model::Gateway,
        resources: &Resources,
    ) -> HashMap<String, Arc<RouteGraph>> {
        let mut routes = HashMap::new();
        for route in resources.routes_of(&gateway.account, &gateway.id) {
            let Some((version, _)) = route.deployed() else { continue };
            match RouteGraph::parse(&version.elements) {
                Ok(graph) => {
                    if routes.insert(route.name.clone(), Arc::new(graph)).is_none() {
                        continue;
                    }
                    let message = format!(
                        "the gateway `{}` has two routes `{}`, of a file and of the API; delete one of them",
                        gateway.id, route.name
                    );
                    self.diagnostics.push(Diagnostic::error(Code::ConfConflict, message));
                }
                Err(faults) => {
                    let fault = faults.first().map_or("", |fault| &fault.message);
                    let (name, id) = (&route.name, &gateway.id);
                    let message = format!("the route `{name}` of the gateway `{id}` cannot be read: {fault}");
                    self.diagnostics.push(Diagnostic::error(Code::ConfBadValue, message));
                }
            }
        }
        routes
    }

    /// The keys of a gateway, opened. One that cannot be decrypted is reported and left out.
    fn keys(&mut self, gateway: &model::Gateway, resources: &Resources) -> Vec<StoredKey> {
        let mut keys = Vec::new();
        let stored = resources.keys.values();
        for key in stored.filter(|key| key.account == gateway.account && key.gateway == gateway.id) {
            let belonging = Belonging {
                account: key.account.as_str(),
                gateway: key.gateway.as_str(),
                provider: &key.provider,
                authority: &key.authority,
                alias: &key.alias,
            };
            let opened = match &self.inputs.conf.secrets_key {
                Some(master) => master.open(belonging, &key.sealed),
                None => Err("`secrets_key_file` is not set".to_owned()),
            };
            match opened {
                Ok(secret) => {
                    let (provider, authority) = (&key.provider, &key.authority);
                    keys.push(StoredKey::new(provider, authority, &key.alias, key.weight, secret));
                }
                Err(reason) => {
                    let message = format!(
                        "the key `{}` for `{}` of the gateway `{}` cannot be used: {reason}",
                        key.alias, key.provider, key.gateway
                    );
                    self.diagnostics.push(Diagnostic::error(Code::ConfBadValue, message));
                }
            }
        }
        keys
    }

    /// What calls are scanned for. A policy whose profiles the rules do not have any more is reported, and has none.
    fn call_scan(&mut self, gateway: &model::Gateway) -> CallScan {
        let settings = &gateway.settings;
        let managed = &self.inputs.rules.sensitive_data;
        let mut stages = [Vec::new(), Vec::new()];
        for (policies, mode) in stages.iter_mut().zip([settings.scan_requests, settings.scan_responses]) {
            if mode != ScanMode::Off {
                let profiles = vec![ScanProfile::by_default(managed)];
                policies.push(ScanPolicy { id: String::new(), blocks: mode == ScanMode::Block, profiles });
            }
        }
        for policy in settings.dlp.in_force() {
            let mut profiles = Vec::new();
            for word in &policy.profiles {
                match ScanProfile::of(word, managed) {
                    Some(profile) => profiles.push(profile),
                    None => {
                        let message = format!(
                            "the policy `{}` of the gateway `{}`: no rule for sensitive data has the category or the id `{word}`",
                            policy.id, gateway.id
                        );
                        self.diagnostics.push(Diagnostic::error(Code::ConfBadValue, message));
                    }
                }
            }
            let made =
                ScanPolicy { id: policy.id.clone(), blocks: policy.action == DlpAction::Block, profiles };
            for (policies, stage) in stages.iter_mut().zip([CallStage::Request, CallStage::Response]) {
                policies.extend(policy.checks.contains(&stage).then(|| made.clone()));
            }
        }
        let plan = detection::ScanPlan {
            detector: Arc::clone(&self.inputs.rules.detector),
            enabled: Arc::default(),
            settings: detection::plan::Settings {
                payload_key: settings.payload_key,
                ..detection::plan::Settings::default()
            },
        };
        let [requests, responses] = stages;
        CallScan {
            requests: StageScan::new("REQUEST", plan.clone(), requests),
            responses: StageScan::new("RESPONSE", plan, responses),
        }
    }

    fn provider(&self, slug: &str, base_url: &str, allow_private: bool) -> Result<Provider, String> {
        Ok(Provider::of(slug, self.origin(Provider::origin_key(slug, base_url))?, allow_private))
    }
}

/// A number that differs after each change of a gateway; `None` if kept answers outlast changes.
fn answers_version(gateway: &model::Gateway) -> Option<u64> {
    if !gateway.settings.cache_invalidate_on_update {
        return None;
    }
    // INVARIANT: settings are texts, numbers and lists of them, which serde can always write.
    let written = serde_json::to_vec(gateway).ok()?;
    Some(BuildHasherDefault::<DefaultHasher>::default().hash_one(written))
}

/// A number for what answers are judged by; `None` if they are not.
fn judged_by(scan: &CallScan, guardrail: Option<&CompiledGuardrail>) -> Option<u64> {
    let scan = scan.responses.as_ref().filter(|scan| scan.may_block());
    let content = guardrail.filter(|guardrail| guardrail.judges(CallStage::Response));
    let judges = (scan, content.map(|guardrail| &guardrail.content_policy.response));
    (judges.0.is_some() || judges.1.is_some())
        .then(|| BuildHasherDefault::<DefaultHasher>::default().hash_one(judges))
}
