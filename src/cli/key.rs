//! `portcullis key add|list|delete`: providers' keys that a gateway keeps for its callers.

use std::io::Read;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::token::{self, resources};
use super::{Failure, print};
use crate::ai::key_authority;
use gateway::aws::AccessKey;
use gateway::vault::Belonging;
use model::Declared;
use model::Secret;
use model::gateway::ProviderKey;
use model::{AccountId, GatewayId};
use store::{Change, Changeset, SqliteStore, Store};

/// Longest key that is taken.
const MAX_KEY_BYTES: u64 = 16 << 10;

/// Keys of AI providers, sealed in the state folder.
#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    Add(Add),
    List(List),
    Delete(Delete),
}

/// Seal a provider's key, read from standard input, and keep it for a gateway.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  portcullis key add --account acme --gateway main --provider openai --conf conf/portcullis.toml < key.txt"
)]
pub(super) struct Add {
    #[command(flatten)]
    place: Place,
    /// A provider, or a server of tools as `mcp:NAME`.
    #[arg(long, value_name = "SLUG")]
    provider: String,
    /// The name that callers choose it by, in `svc-aig-byok-alias`.
    #[arg(long, value_name = "N", default_value = "default")]
    alias: String,
    /// How often it is taken among the keys of its provider, if no alias is named.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    weight: u32,
}

/// Show which keys a gateway has; never the keys themselves.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  portcullis key list --account acme --gateway main --conf conf/portcullis.toml"
)]
pub(super) struct List {
    #[command(flatten)]
    place: Place,
}

/// Delete a key of a gateway.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  portcullis key delete --account acme --gateway main --provider openai --conf conf/portcullis.toml"
)]
pub(super) struct Delete {
    #[command(flatten)]
    place: Place,
    #[arg(long, value_name = "SLUG")]
    provider: String,
    #[arg(long, value_name = "N", default_value = "default")]
    alias: String,
}

#[derive(Debug, Args)]
struct Place {
    #[arg(long, value_name = "A")]
    account: String,
    #[arg(long, value_name = "G")]
    gateway: String,
    /// The configuration whose state folder, gateways and `secrets_key_file` are meant.
    #[arg(long, value_name = "FILE", default_value = "conf/portcullis.toml")]
    conf: PathBuf,
}

impl KeyCommand {
    pub(super) fn execute(self) -> Result<(), Failure> {
        match self {
            Self::Add(command) => command.execute(),
            Self::List(command) => command.execute(),
            Self::Delete(command) => command.execute(),
        }
    }
}

impl Add {
    fn execute(self) -> Result<(), Failure> {
        let (conf, _) = crate::conf::load(&self.place.conf)?;
        let account = AccountId::new(self.place.account);
        let gateway = GatewayId::new(self.place.gateway);
        let resources = resources(&conf)?;
        if !resources.gateways.contains_key(&(account.clone(), gateway.clone())) {
            return Err(Failure::Input(format!(
                "there is no gateway `{gateway}` in the account `{account}`"
            )));
        }
        let authority = key_authority(&resources, &account, &gateway, &self.provider)?;
        let master = conf.secrets_key.ok_or_else(|| {
            String::from("name a file with a key in `secrets_key_file`, or set PORTCULLIS_SECRETS_KEY; `openssl rand -hex 32` makes one")
        })?;
        let mut text = zeroize::Zeroizing::new(String::new());
        std::io::stdin().take(MAX_KEY_BYTES).read_to_string(&mut text).map_err(|error| error.to_string())?;
        if AccessKey::parse(&text).is_some() {
            // JSON, which people write in lines; nothing in it has spaces.
            text.retain(|character| !character.is_whitespace());
        }
        let secret = Secret::new(text.trim());
        if secret.expose().is_empty() || !secret.expose().bytes().all(|byte| (0x21..0x7f).contains(&byte)) {
            return Err(Failure::Input(
                "standard input holds no key: expected one line without spaces".to_owned(),
            ));
        }
        let belonging = Belonging {
            account: account.as_str(),
            gateway: gateway.as_str(),
            provider: &self.provider,
            authority: &authority,
            alias: &self.alias,
        };
        let sealed = master.seal(belonging, &secret)?;
        let (provider, alias, weight) = (self.provider, self.alias, self.weight);
        let key = ProviderKey { account, gateway, provider, authority, alias, weight, sealed };
        commit(&conf.state_dir, Change::PutKey { key })
    }
}

fn commit(state: &std::path::Path, change: Change) -> Result<(), Failure> {
    let changeset = Changeset::new("command line", vec![change]);
    let mut store = SqliteStore::open(state)?;
    token::commit(&mut store, &changeset)?;
    Ok(())
}

impl List {
    fn execute(self) -> Result<(), Failure> {
        let (conf, _) = crate::conf::load(&self.place.conf)?;
        let (_, resources) = SqliteStore::open(&conf.state_dir).and_then(|store| store.load())?;
        let of_gateway = |key: &&Declared<ProviderKey>| {
            key.account.as_str() == self.place.account && key.gateway.as_str() == self.place.gateway
        };
        let lines: String = resources
            .keys
            .values()
            .filter(of_gateway)
            .map(|key| {
                format!("{} {} weight {} for {}\n", key.provider, key.alias, key.weight, key.authority)
            })
            .collect();
        print(&lines)
    }
}

impl Delete {
    fn execute(self) -> Result<(), Failure> {
        let (conf, _) = crate::conf::load(&self.place.conf)?;
        let account = AccountId::new(self.place.account);
        let gateway = GatewayId::new(self.place.gateway);
        let id = (account, gateway, self.provider, self.alias);
        let (_, resources) = SqliteStore::open(&conf.state_dir).and_then(|store| store.load())?;
        if !resources.keys.contains_key(&id) {
            return Err(Failure::Input("there is no such key".to_owned()));
        }
        let (account, gateway, provider, alias) = id;
        commit(&conf.state_dir, Change::DeleteKey { account, gateway, provider, alias })
    }
}
