//! `portcullis demo`: the whole edge on loopback, with an origin and a mock AI provider of its own.

mod origin;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc;

use clap::Args;

use super::{Failure, print, run};
use crate::conf::Conf;
use crate::control::ConfSource;
use crate::events::LogWriter;
use diagnostic::Source;
use gateway::token::{self, TokenHash};
use model::{AccountId, GatewayId, GatewayToken, TokenId};
use store::{Change, Changeset, MemoryStore, Store};

/// Try everything on this machine, with no set-up.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portcullis demo --port 8080")]
pub(super) struct Demo {
    /// Where the proxy listens; 0 takes a free port.
    #[arg(long, value_name = "N", default_value_t = 8080)]
    port: u16,
    /// Where metrics and the management API listen; 0 takes a free port.
    #[arg(long, value_name = "N", default_value_t = 9180)]
    admin_port: u16,
    /// Print one line of JSON instead of commands to try: proxy, admin, gateway, token.
    #[arg(long)]
    json: bool,
}

impl Demo {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let secret = token::generate().map_err(Failure::Input)?;
        let origin = origin::start()
            .map_err(|error| Failure::Input(format!("cannot start the demo's origin: {error}")))?;
        let state = std::env::temp_dir().join(format!("portcullis-demo-{}", std::process::id()));
        let conf = self.conf(origin, &state)?;
        let hash = TokenHash::of(secret.expose().as_bytes()).to_hex();
        let store = move |_: &Conf| {
            let mut store = MemoryStore::default();
            let token = GatewayToken {
                id: TokenId::derived("gateway token", &hash),
                account: AccountId::new("demo"),
                gateway: GatewayId::new("main"),
                name: "demo".to_owned(),
                hash: hash.clone(),
                created_on: String::new(),
                expires_at: None,
                tools: None,
            };
            let changeset = Changeset::new("demo", vec![Change::PutToken { token }]);
            store.commit(0, &changeset).map_err(|error| Failure::Input(error.to_string()))?;
            Ok(Box::new(store) as Box<dyn Store>)
        };
        let (sender, listening) = mpsc::channel::<crate::server::Listening>();
        let json = self.json;
        std::thread::spawn(move || {
            if let Ok(found) = listening.recv() {
                let proxy = found.listeners.first().map_or(0, SocketAddr::port);
                // Nobody reads: the demo still runs.
                let _ = print(&welcome(proxy, found.admin.port(), secret.expose(), json));
            }
        });
        // Standard output is for what people and programs read first.
        let log = LogWriter::new(std::io::stderr());
        let outcome = run::serve(ConfSource::Fixed(Box::new(conf)), &store, false, log, Some(sender));
        // What is left of it would be no more than a socket's folder.
        let _ = std::fs::remove_dir_all(state);
        outcome
    }

    fn conf(&self, origin: SocketAddr, state: &std::path::Path) -> Result<Conf, Failure> {
        let address = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let text = format!(
            r#"
state_dir = {state:?}
log_level = {level:?}
graceful_stop = "1s"
gateway_hosts = ["127.0.0.1"]
[[listeners]]
address = "{proxy}"
[admin]
address = "{admin}"
[[zones]]
name = "localhost"
origins = ["http://{origin}"]
[zones.waf]
[zones.sensitive_data]
[[gateways]]
account = "demo"
id = "main"
[[providers]]
slug = "openai"
base_url = "http://{origin}"
"#,
            level = if self.json { "error" } else { "warn" },
            proxy = address(self.port),
            admin = address(self.admin_port),
        );
        let (conf, _) = crate::conf::parse(&Source::new("<demo>", text), std::path::Path::new("/"))?;
        Ok(conf)
    }
}

fn welcome(proxy: u16, admin: u16, token: &str, json: bool) -> String {
    let gateway = format!("http://127.0.0.1:{proxy}/v1/demo/main");
    if json {
        let line = serde_json::json!({
            "proxy": format!("http://localhost:{proxy}"),
            "admin": format!("http://127.0.0.1:{admin}"),
            "gateway": gateway,
            "token": token,
        });
        return format!("{line}\n");
    }
    let body = r#"{"model":"demo","stream":true,"messages":[{"role":"user","content":"hello"}]}"#;
    format!(
        r#"Portcullis is running on loopback. Try, in another terminal:

# a page passes
curl -i 'http://localhost:{proxy}/'

# an attack is refused with 403 and a request id
curl -i "http://localhost:{proxy}/?id=1'%20UNION%20SELECT%20password%20FROM%20users"

# the AI gateway refuses a call without its token: 401
curl -i '{gateway}/openai/v1/chat/completions' -H 'content-type: application/json' -d '{body}'

# and streams the answer with it
curl -iN '{gateway}/openai/v1/chat/completions' -H 'svc-aig-authorization: Bearer {token}' -H 'authorization: Bearer provider-key' -H 'content-type: application/json' -d '{body}'

# a page with a test card number arrives untouched; the finding is in the log below and in the metrics
curl -i 'http://localhost:{proxy}/account'
curl -s 'http://127.0.0.1:{admin}/metrics' | grep portcullis_detections_total

# what happened, and why, in a browser; the token stands above
http://127.0.0.1:{admin}/

Ctrl-C ends it.

"#
    )
}
