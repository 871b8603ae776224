//! `portcullis token create`: a gateway token, shown once.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Failure, print};
use crate::ai::token::{self, TokenHash};
use crate::clock::Clock;
use crate::model::{AccountId, GatewayId, GatewayToken, TokenId};
use crate::store::{Change, Changeset, SqliteStore, Store, StoreError};

/// How often a commit is tried again when another process was first.
const MAX_TRIES: usize = 10;

/// Gateway tokens.
#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    Create(Create),
}

/// Make a token for a gateway. It is printed once and kept nowhere.
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
    /// How long it lasts, such as `30d`; until it is revoked where this is not given.
    #[arg(long, value_name = "TIME", value_parser = crate::conf::units::duration)]
    expires: Option<std::time::Duration>,
    /// The configuration whose state folder and gateways are meant.
    #[arg(long, value_name = "FILE", default_value = "conf/portcullis.toml")]
    conf: PathBuf,
}

impl TokenCommand {
    pub(super) fn execute(self) -> Result<(), Failure> {
        match self {
            Self::Create(create) => create.execute(),
        }
    }
}

impl Create {
    fn execute(self) -> Result<(), Failure> {
        let (conf, _) = crate::conf::load(&self.conf)?;
        let (account, gateway) = (AccountId::new(self.account), GatewayId::new(self.gateway));
        if !conf.resources.gateways.contains_key(&(account.clone(), gateway.clone())) {
            let message = format!(
                "there is no gateway `{gateway}` in the account `{account}`; declare it under `[[gateways]]` first"
            );
            return Err(Failure::Input(message));
        }
        let secret = token::generate().map_err(Failure::Input)?;
        let hash = TokenHash::of(secret.expose().as_bytes()).to_hex();
        let token = GatewayToken {
            id: TokenId::derived("gateway token", &hash),
            account,
            gateway,
            name: self.name,
            hash,
            expires_at: self.expires.map(|lasts| (Clock::real().unix() + lasts).as_secs()),
        };
        let changeset =
            Changeset { actor: "command line".to_owned(), changes: vec![Change::PutToken { token }] };
        let mut store =
            SqliteStore::open(&conf.state_dir).map_err(|error| Failure::Input(error.to_string()))?;
        commit(&mut store, &changeset).map_err(|error| Failure::Input(error.to_string()))?;
        print(&format!("{}\n", secret.expose()))
    }
}

fn commit(store: &mut dyn Store, changeset: &Changeset) -> Result<u64, StoreError> {
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
