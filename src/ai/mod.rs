//! The AI gateways of a snapshot: who may call, which provider is meant. What a call asks, uses and costs is read by
//! the crate [`gateway`].
//!
//! Bodies are never changed on a provider's own route: what the client sends is what the provider
//! gets, and back.

pub mod call_scan;
pub mod collector_secrets;
mod guardrail;
pub mod guardrail_secret;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use self::call_scan::{CallScan, StageScan};
pub use self::guardrail::CompiledGuardrail;
use crate::events::spans::Collectors;
use crate::routing::GatewayPath;
use crate::ruleset::EntryPoint;
use crate::upstream::{Origin, OriginKey, Pool};
use gateway::dynamic_route::RouteGraph;
use gateway::mcp::{self, ToolFilter};
use gateway::price::Prices;
use gateway::token::{self, Token};
use gateway::{answer, provider, vault};
use model::gateway::{CallStage, GatewaySettings};
use model::origin_url::{OriginUrl, is_private};
use model::{AccountId, Balance, GatewayId, Limit, McpServer, Resources, TokenId};
use parking_lot::RwLock;

/// Hosts of customers and regions that are kept; past that all are made again.
const MAX_REGIONAL: usize = 256;

/// All gateways of a snapshot.
#[derive(Debug, Default)]
pub struct Gateways {
    /// By account, then by gateway.
    pub by_account: HashMap<String, HashMap<String, Arc<Gateway>>>,
    /// By slug.
    pub providers: HashMap<String, Arc<Provider>>,
    pub prices: Arc<Prices>,
    /// Providers whose host is a customer's or a region's, by slug and base URL. No request waits for it: one that finds
    /// it locked makes a provider of its own.
    pub regional: RwLock<HashMap<(&'static str, String), Arc<Provider>>>,
}

/// A gateway, compiled.
#[derive(Debug)]
pub struct Gateway {
    pub account: String,
    pub id: String,
    /// `account/gateway`, for metrics.
    pub label: String,
    pub authentication: bool,
    pub tokens: Vec<Token>,
    pub settings: GatewaySettings,
    /// What its calls are to meet: its limits, and the budgets that are in force.
    pub limits: Vec<Limit>,
    /// What its calls are scanned for.
    pub scan: Arc<CallScan>,
    /// What requests are scored by, if they are.
    pub waf: Option<Arc<EntryPoint>>,
    /// Keys of providers for callers that have none.
    pub keys: Vec<vault::StoredKey>,
    pub guardrail: Option<CompiledGuardrail>,
    /// A number that differs if what answers are judged by does; `None` if they are not.
    pub answers_judged_by: Option<u64>,
    /// A number that differs after each change of the gateway; `None` if kept answers outlast changes.
    pub answers_version: Option<u64>,
    /// Those in force, by name.
    pub routes: HashMap<String, Arc<RouteGraph>>,
    /// Servers of tools, by name.
    pub mcp_servers: HashMap<String, Arc<CompiledMcpServer>>,
    /// Who gets a span of each call.
    pub collectors: Collectors,
}

/// A server of tools, compiled.
#[derive(Debug)]
pub struct CompiledMcpServer {
    pub name: String,
    /// The path of its endpoint.
    pub path: String,
    /// The query of its endpoint with its `?`, or empty.
    pub query: String,
    /// The tools that callers may use; nothing for all.
    pub tools: Option<ToolFilter>,
    /// Where it is. Its slug is that of [`model::McpServer::slug`].
    pub provider: Arc<Provider>,
}

impl Gateway {
    /// Who judges what providers answer before clients get it.
    pub fn answer_guardrail(&self) -> Option<&CompiledGuardrail> {
        self.guardrail.as_ref().filter(|guardrail| guardrail.judges(CallStage::Response))
    }

    /// What answers are scanned for before clients get them.
    pub fn answer_scan(&self) -> Option<&StageScan> {
        self.scan.responses.as_ref().filter(|scan| scan.may_block())
    }

    /// What calls are scanned for before providers get them.
    pub fn request_scan(&self) -> Option<&StageScan> {
        self.scan.requests.as_ref().filter(|scan| scan.may_block())
    }

    /// Whether answers are held until they have been judged.
    pub fn judges_answers(&self) -> bool {
        self.answers_judged_by.is_some()
    }

    /// The server of tools of `/{name}`, its one endpoint.
    fn mcp_server(&self, rest: &str) -> Option<Arc<CompiledMcpServer>> {
        self.mcp_servers.get(rest.strip_prefix('/')?).cloned()
    }

    /// What a caller with a token may use of a server of tools.
    pub fn tool_filters<'g>(
        &'g self,
        server: &'g CompiledMcpServer,
        token: Option<&TokenId>,
    ) -> Vec<&'g ToolFilter> {
        let of_token = self.tokens.iter().find(|known| token == Some(&known.id));
        server.tools.iter().chain(of_token.and_then(|token| token.tools.as_ref())).collect()
    }
}

/// A provider, compiled.
#[derive(Debug)]
pub struct Provider {
    pub slug: String,
    pub pool: Arc<Pool>,
    /// `Host` towards the provider.
    pub authority: String,
    /// What stands before the client's path.
    pub base_path: String,
    /// `gen_ai.provider.name` of the telemetry conventions.
    pub telemetry_name: &'static str,
    /// Whether it may be on this machine or in a private network.
    pub allow_private: bool,
}

/// What is to be done with a gateway request.
#[derive(Debug)]
pub enum Decision {
    Forward(Box<Forward>),
    /// Answered by the gateway itself. `gateway` is known if its id was.
    Refuse {
        error: answer::GatewayError,
        gateway: Option<Arc<Gateway>>,
    },
}

/// What the gateway answers itself, and the gateway if its id is known.
pub type Refused = (answer::GatewayError, Option<Arc<Gateway>>);

/// A call that may go out.
#[derive(Debug)]
pub struct Forward {
    pub gateway: Arc<Gateway>,
    pub provider: Arc<Provider>,
    /// Path towards the provider, without the query.
    pub target: String,
    /// The token it came with, if it is one of the gateway's.
    pub token: Option<TokenId>,
    /// The server of tools that it is for, if it is for one.
    pub mcp_server: Option<Arc<CompiledMcpServer>>,
}

impl Gateways {
    /// Decides on a request, before its body is read (spec, "Gateway authentication state").
    ///
    /// `presented` is what the request carries as its token, in any of the accepted forms; `now` is
    /// since the epoch.
    pub fn decide(&self, path: Option<GatewayPath<'_>>, presented: Option<&[u8]>, now: Duration) -> Decision {
        let refuse = |error, gateway| Decision::Refuse { error, gateway };
        let Some(path) = path else { return refuse(answer::GatewayError::UnknownGateway, None) };
        let (gateway, token) = match self.authorize(path, presented, now) {
            Ok(authorized) => authorized,
            Err((error, gateway)) => return refuse(error, gateway),
        };
        if path.provider == mcp::PATH_WORD {
            return match gateway.mcp_server(path.rest) {
                Some(server) => {
                    let provider = Arc::clone(&server.provider);
                    let target = server.path.clone();
                    let mcp_server = Some(server);
                    Decision::Forward(Box::new(Forward { gateway, provider, target, token, mcp_server }))
                }
                None => refuse(answer::GatewayError::InvalidProvider, Some(gateway)),
            };
        }
        match self.provider(path.provider, path.rest) {
            Some((provider, target)) => {
                let mcp_server = None;
                Decision::Forward(Box::new(Forward { gateway, provider, target, token, mcp_server }))
            }
            None => refuse(answer::GatewayError::InvalidProvider, Some(gateway)),
        }
    }

    /// The gateway of a path and the token of a request, if it may call.
    ///
    /// # Errors
    /// What the gateway answers, and the gateway if there is one.
    pub fn authorize(
        &self,
        path: GatewayPath<'_>,
        presented: Option<&[u8]>,
        now: Duration,
    ) -> Result<(Arc<Gateway>, Option<TokenId>), Refused> {
        use answer::GatewayError::{Unauthorized, UnknownGateway};
        let gateway = self.by_account.get(path.account).and_then(|gateways| gateways.get(path.gateway));
        let gateway = Arc::clone(gateway.ok_or((UnknownGateway, None))?);
        let token = token::find(presented, &gateway.tokens, now).map(|token| token.id.clone());
        if gateway.authentication && token.is_none() {
            return Err((Unauthorized, Some(gateway)));
        }
        Ok((gateway, token))
    }

    /// The provider of a slug, and the path towards it.
    pub fn provider(&self, slug: &str, rest: &str) -> Option<(Arc<Provider>, String)> {
        let declared = self.providers.get(slug).or_else(|| {
            let custom = slug.strip_prefix(provider::CUSTOM_PREFIX)?;
            self.providers.get(custom).filter(|_| provider::find(custom).is_none())
        });
        if let Some(provider) = declared {
            let target = provider::path(&provider.slug, &provider.base_path, rest);
            return Some((Arc::clone(provider), target));
        }
        let known = provider::find(slug)?;
        let (base, target) = provider::regional(known.place, rest)?;
        let key = (known.slug, base);
        let kept = self.regional.try_read().and_then(|regional| regional.get(&key).cloned());
        let provider = match kept {
            Some(provider) => provider,
            None => self.keep_regional(Provider::at(key.0, &key.1, true).ok()?, key),
        };
        Some((provider, target.into_owned()))
    }

    /// Keeps a provider for later requests. If another request was faster, its provider is taken.
    fn keep_regional(&self, made: Provider, key: (&'static str, String)) -> Arc<Provider> {
        let Some(mut regional) = self.regional.try_write() else { return Arc::new(made) };
        if regional.len() >= MAX_REGIONAL {
            regional.clear();
        }
        Arc::clone(regional.entry(key).or_insert_with(|| Arc::new(made)))
    }
}

/// The host that keys of a provider, or of a server of tools behind a gateway, may be sent to.
///
/// # Errors
/// One sentence: there is none of this slug, or it has a host for each customer.
pub fn key_authority(
    resources: &Resources,
    account: &AccountId,
    gateway: &GatewayId,
    slug: &str,
) -> Result<String, String> {
    let Some(name) = slug.strip_prefix(McpServer::SLUG_PREFIX) else {
        let declared = resources.providers.get(slug).map(|provider| &provider.value);
        return provider::authority(slug, declared);
    };
    let gateway = resources.gateways.get(&(account.clone(), gateway.clone()));
    let mut servers = gateway.iter().flat_map(|gateway| &gateway.settings.mcp_servers);
    let server = servers.find(|server| server.name == name);
    let server = server.ok_or_else(|| format!("the gateway has no MCP server `{name}`"))?;
    OriginUrl::of_endpoint(&server.url).map(|url| url.authority())
}

impl Provider {
    /// A provider at a base URL.
    ///
    /// # Errors
    /// One sentence if the URL is none.
    pub fn at(slug: &str, base_url: &str, allow_private: bool) -> Result<Self, String> {
        Ok(Self::of(slug, Origin::new(Self::origin_key(slug, base_url))?, allow_private))
    }

    /// What stands before the slug in the key of its origin; no zone's name has a blank.
    pub const ORIGIN_PREFIX: &str = "provider ";

    /// What its origin is known by.
    pub fn origin_key(slug: &str, base_url: &str) -> OriginKey {
        OriginKey {
            zone: format!("{}{slug}", Self::ORIGIN_PREFIX),
            url: base_url.to_owned(),
            http2: false,
            ca: None,
        }
    }

    /// Whether it may be asked at an address: one of an account's own only if its operator allows it.
    pub fn may_be_at(&self, address: IpAddr) -> bool {
        self.allow_private || !is_private(address)
    }

    /// A provider of one origin.
    pub fn of(slug: &str, origin: Arc<Origin>, allow_private: bool) -> Self {
        let (authority, base_path) = (origin.url.authority(), origin.url.path.clone());
        let pool = Arc::new(Pool::new(vec![origin], Balance::RoundRobin, None));
        let telemetry_name = provider::find(slug).map_or("custom", |known| known.telemetry_name);
        Self { slug: slug.to_owned(), pool, authority, base_path, telemetry_name, allow_private }
    }
}

#[cfg(test)]
mod tests {
    use gateway::token::TokenHash;

    use super::*;

    const NOW: Duration = Duration::from_secs(1000);

    fn gateways(authentication: bool) -> Gateways {
        let token = |text: &[u8], expires_at| Token {
            id: TokenId::new("t"),
            hash: TokenHash::of(text),
            expires_at,
            tools: None,
        };
        let gateway = Arc::new(Gateway {
            account: "acme".into(),
            id: "main".into(),
            label: "acme/main".into(),
            authentication,
            tokens: vec![token(b"right", None), token(b"lasts", Some(1001)), token(b"over", Some(1000))],
            settings: GatewaySettings::default(),
            limits: Vec::new(),
            scan: Arc::default(),
            waf: None,
            keys: Vec::new(),
            guardrail: None,
            answers_judged_by: None,
            answers_version: None,
            routes: HashMap::new(),
            mcp_servers: HashMap::new(),
            collectors: Arc::default(),
        });
        let provider =
            |slug: &str, base: &str| (slug.to_owned(), Arc::new(Provider::at(slug, base, true).unwrap()));
        Gateways {
            by_account: HashMap::from([("acme".to_owned(), HashMap::from([("main".to_owned(), gateway)]))]),
            providers: HashMap::from([
                provider("openai", "https://api.openai.com"),
                provider("local", "http://127.0.0.1:11434/base"),
            ]),
            ..Gateways::default()
        }
    }

    fn outcome(
        gateways: &Gateways,
        path: &str,
        presented: Option<&[u8]>,
    ) -> Result<String, answer::GatewayError> {
        match gateways.decide(GatewayPath::parse(path), presented, NOW) {
            Decision::Forward(forward) => Ok(forward.gateway.label.clone()),
            Decision::Refuse { error, .. } => Err(error),
        }
    }

    #[test]
    fn the_state_table_row_by_row() {
        use answer::GatewayError::Unauthorized;
        let path = "/v1/acme/main/openai/x";
        type Row = (bool, Option<&'static [u8]>, Result<&'static str, answer::GatewayError>);
        let rows: &[Row] = &[
            (true, Some(b"right"), Ok("acme/main")),
            (true, None, Err(Unauthorized)),
            (true, Some(b"wrong"), Err(Unauthorized)),
            (true, Some(b"lasts"), Ok("acme/main")),
            (true, Some(b"over"), Err(Unauthorized)),
            (true, Some(b""), Err(Unauthorized)),
            (false, Some(b"right"), Ok("acme/main")),
            (false, Some(b"wrong"), Ok("acme/main")),
            (false, None, Ok("acme/main")),
        ];
        for (authentication, presented, expected) in rows {
            let gateways = gateways(*authentication);
            assert_eq!(
                outcome(&gateways, path, *presented),
                expected.map(str::to_owned),
                "{authentication} {presented:?}"
            );
        }
    }

    #[test]
    fn unknown_gateways_and_providers_are_told_apart() {
        use answer::GatewayError::{InvalidProvider, Unauthorized, UnknownGateway};
        let gateways = gateways(true);
        assert_eq!(outcome(&gateways, "/v1/acme/other/openai/x", Some(b"right")), Err(UnknownGateway));
        assert_eq!(outcome(&gateways, "/v1/other/main/openai/x", Some(b"right")), Err(UnknownGateway));
        assert_eq!(outcome(&gateways, "/nothing", Some(b"right")), Err(UnknownGateway));
        assert_eq!(outcome(&gateways, "/v1/acme/main/nope/x", Some(b"right")), Err(InvalidProvider));
        // Nobody learns the providers without a token.
        assert_eq!(outcome(&gateways, "/v1/acme/main/nope/x", None), Err(Unauthorized));
    }

    #[test]
    fn providers_by_every_name() {
        let gateways = gateways(false);
        let target = |slug: &str, rest: &str| {
            gateways.provider(slug, rest).map(|(provider, target)| format!("{}{target}", provider.authority))
        };
        assert_eq!(
            target("openai", "/chat/completions").as_deref(),
            Some("api.openai.com/v1/chat/completions")
        );
        assert_eq!(target("local", "/x").as_deref(), Some("127.0.0.1:11434/base/x"));
        assert_eq!(target("custom-local", "/x"), target("local", "/x"));
        assert_eq!(target("custom-openai", "/x"), None);
        assert_eq!(
            target("azure-openai", "/r/d/x").as_deref(),
            Some("r.openai.azure.com/openai/deployments/d/x")
        );
        assert_eq!(target("azure-openai", "/r/d/x"), target("azure-openai", "/r/d/x"));
        assert_eq!(gateways.regional.read().len(), 1);
        assert_eq!(target("workers-ai", "/x"), None);
    }

    #[test]
    fn bases_of_known_providers_are_urls() {
        for known in provider::KNOWN {
            if let provider::Place::Base(base) | provider::Place::OptionalV1(base) = known.place {
                assert!(OriginUrl::parse(base).is_ok_and(|url| url.tls), "{base}");
            }
        }
    }
}
