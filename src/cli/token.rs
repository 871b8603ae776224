//! `portcullis token create|list|revoke`: gateway tokens, each shown once.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Failure, print};
use crate::clock::{Clock, rfc3339};
use crate::conf::Conf;
use gateway::mcp::ToolFilter;
use gateway::token::{self, TokenHash};
use model::{AccountId, Declared, GatewayId, GatewayToken, Resources, TokenId};
use store::{Change, Changeset, SqliteStore, Store, StoreError};

/// How often a commit is tried again when another process was first.
const MAX_TRIES: usize = 10;

/// Gateway tokens.
#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    Create(Create),
    List(List),
    Revoke(Revoke),
}

/// Show the tokens of a gateway by id and name; never the tokens themselves.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  portcullis token list --account acme --gateway main --conf conf/portcullis.toml"
)]
pub(super) struct List {
    #[arg(long, value_name = "A")]
    account: String,
    #[arg(long, value_name = "G")]
    gateway: String,
    /// The configuration whose state folder is meant.
    #[arg(long, value_name = "FILE", default_value = "conf/portcullis.toml")]
    conf: PathBuf,
}

/// End a token. A running edge refuses it from then on.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portcullis token revoke 0a1b2c --conf conf/portcullis.toml")]
pub(super) struct Revoke {
    /// As `token list` shows it.
    #[arg(value_name = "ID")]
    id: String,
    /// The configuration whose state folder is meant.
    #[arg(long, value_name = "FILE", default_value = "conf/portcullis.toml")]
    conf: PathBuf,
}

/// Make a token for a gateway. It is printed once; only a hash is stored.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  portcullis token create --account acme --gateway main --name ci --conf conf/portcullis.toml"
)]
pub(super) struct Create {
    #[arg(long, value_name = "A")]
    account: String,
    #[arg(long, value_name = "G")]
    gateway: String,
    /// What it is for.
    #[arg(long, value_name = "N", default_value = "")]
    name: String,
    /// How long it lasts, such as `30d`; until it is revoked if this is not given.
    #[arg(long, value_name = "TIME", value_parser = crate::conf::units::duration)]
    expires: Option<std::time::Duration>,
    /// A glob of tools that its callers may use, `SERVER/TOOL`, such as `tickets/get_*`; may be repeated. Without it all that the
    /// gateway has.
    #[arg(long, value_name = "GLOB")]
    tools: Vec<String>,
    /// The configuration whose state folder and gateways are meant.
    #[arg(long, value_name = "FILE", default_value = "conf/portcullis.toml")]
    conf: PathBuf,
}

impl TokenCommand {
    pub(super) fn execute(self) -> Result<(), Failure> {
        match self {
            Self::Create(create) => create.execute(),
            Self::List(list) => list.execute(),
            Self::Revoke(revoke) => revoke.execute(),
        }
    }
}

impl List {
    fn execute(self) -> Result<(), Failure> {
        let (conf, _) = crate::conf::load(&self.conf)?;
        let (_, resources) = SqliteStore::open(&conf.state_dir).and_then(|store| store.load())?;
        let of_gateway = |token: &&Declared<GatewayToken>| {
            token.account.as_str() == self.account && token.gateway.as_str() == self.gateway
        };
        let line = |token: &Declared<GatewayToken>| {
            let until = token.expires_at.map_or_else(String::new, |at| format!(" until {at}"));
            let tools = token.tools.as_ref().map_or_else(String::new, |t| format!(" tools {}", t.join(",")));
            format!("{} {}{until}{tools}\n", token.id, token.name)
        };
        print(&resources.tokens.values().filter(of_gateway).map(line).collect::<String>())
    }
}

impl Revoke {
    fn execute(self) -> Result<(), Failure> {
        let (conf, _) = crate::conf::load(&self.conf)?;
        let mut store = SqliteStore::open(&conf.state_dir)?;
        let id = TokenId::new(self.id);
        let (_, resources) = store.load()?;
        if !resources.tokens.contains_key(&id) {
            return Err(Failure::Input(format!(
                "there is no token `{id}`; `portcullis token list` shows them"
            )));
        }
        let changeset = Changeset::new("command line", vec![Change::DeleteToken { id }]);
        commit(&mut store, &changeset)?;
        Ok(())
    }
}

impl Create {
    fn execute(self) -> Result<(), Failure> {
        let (conf, _) = crate::conf::load(&self.conf)?;
        let (account, gateway) = (AccountId::new(self.account), GatewayId::new(self.gateway));
        if !resources(&conf)?.gateways.contains_key(&(account.clone(), gateway.clone())) {
            let message = format!(
                "there is no gateway `{gateway}` in the account `{account}`; declare it under `[[gateways]]` or over the API first"
            );
            return Err(Failure::Input(message));
        }
        ToolFilter::of_token(&self.tools).map_err(Failure::Input)?;
        let secret = token::generate().map_err(Failure::Input)?;
        let hash = TokenHash::of(secret.expose().as_bytes()).to_hex();
        let token = GatewayToken {
            id: TokenId::derived("gateway token", &hash),
            account,
            gateway,
            name: self.name,
            hash,
            created_on: rfc3339(Clock::real().now()),
            expires_at: self.expires.map(|lasts| (Clock::real().unix() + lasts).as_secs()),
            tools: (!self.tools.is_empty()).then_some(self.tools),
        };
        let changeset = Changeset::new("command line", vec![Change::PutToken { token }]);
        let mut store =
            SqliteStore::open(&conf.state_dir).map_err(|error| Failure::Input(error.to_string()))?;
        commit(&mut store, &changeset).map_err(|error| Failure::Input(error.to_string()))?;
        print(&format!("{}\n", secret.expose()))
    }
}

/// Everything that is declared: in the file, and in the store of its state folder.
pub(super) fn resources(conf: &Conf) -> Result<Resources, Failure> {
    let (_, stored) = SqliteStore::open(&conf.state_dir)?.load()?;
    Ok(conf.resources.clone().merged(stored)?)
}

pub(super) fn commit(store: &mut dyn Store, changeset: &Changeset) -> Result<u64, StoreError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let (revision, _) = store.load()?;
        match store.commit(revision, changeset) {
            Err(StoreError::Conflict { .. }) if tries < MAX_TRIES => {}
            outcome => return outcome,
        }
    }
}
