//! What is written: changesets, and what each change does to the current state.

use serde::{Deserialize, Serialize};

use model::gateway::ProviderKey;
use model::{AccountId, Declared, GatewayId, GatewayToken, Resources, TokenId};

use crate::{Revision, StoreError};

/// An atomic list of changes, with who made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Changeset {
    pub actor: String,
    pub changes: Vec<Change>,
}

/// One resource, put or deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    PutToken { token: GatewayToken },
    DeleteToken { id: TokenId },
    PutKey { key: ProviderKey },
    DeleteKey { account: AccountId, gateway: GatewayId, provider: String, alias: String },
}

/// The kinds of resources, as the table of the current state names them.
const TOKEN: &str = "gateway_token";
const KEY: &str = "provider_key";

/// What a change does to the table of the current state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) kind: &'static str,
    /// Unique among the resources of its kind.
    pub(crate) id: String,
    /// JSON; `None` if the resource is deleted.
    pub(crate) body: Option<String>,
}

impl Changeset {
    /// What resources are after this changeset, which has a revision.
    pub fn apply(&self, resources: &mut Resources, revision: Revision) {
        self.changes.iter().for_each(|change| change.apply(resources, revision));
    }
}

impl Change {
    fn apply(&self, resources: &mut Resources, revision: Revision) {
        match self {
            Self::PutToken { token } => {
                let token = Declared::at_revision(token.clone(), revision);
                resources.tokens.insert(token.id.clone(), token);
            }
            Self::DeleteToken { id } => {
                resources.tokens.remove(id);
            }
            Self::PutKey { key } => {
                let id = (key.account.clone(), key.gateway.clone(), key.provider.clone(), key.alias.clone());
                resources.keys.insert(id, Declared::at_revision(key.clone(), revision));
            }
            Self::DeleteKey { account, gateway, provider, alias } => {
                resources.keys.remove(&(account.clone(), gateway.clone(), provider.clone(), alias.clone()));
            }
        }
    }

    pub(crate) fn row(&self) -> Result<Row, StoreError> {
        let (kind, id, body) = match self {
            Self::PutToken { token } => (TOKEN, token.id.to_string(), Some(json(token)?)),
            Self::DeleteToken { id } => (TOKEN, id.to_string(), None),
            Self::PutKey { key } => {
                let id = key_id(&key.account, &key.gateway, &key.provider, &key.alias)?;
                (KEY, id, Some(json(key)?))
            }
            Self::DeleteKey { account, gateway, provider, alias } => {
                (KEY, key_id(account, gateway, provider, alias)?, None)
            }
        };
        Ok(Row { kind, id, body })
    }
}

/// Adds a row of the current state to resources.
///
/// # Errors
/// [`StoreError::Failed`] if the kind is unknown or the text is not such a resource.
pub(crate) fn add_row(
    resources: &mut Resources,
    kind: &str,
    body: &str,
    revision: Revision,
) -> Result<(), StoreError> {
    let change = match kind {
        TOKEN => Change::PutToken { token: read(kind, body)? },
        KEY => Change::PutKey { key: read(kind, body)? },
        _ => return Err(StoreError::Failed(format!("it holds a resource of the unknown kind `{kind}`"))),
    };
    change.apply(resources, revision);
    Ok(())
}

/// A JSON array of its parts: no two keys share one, whatever characters are in the parts.
fn key_id(
    account: &AccountId,
    gateway: &GatewayId,
    provider: &str,
    alias: &str,
) -> Result<String, StoreError> {
    json(&(account, gateway, provider, alias))
}

fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Failed(error.to_string()))
}

fn read<'t, T: Deserialize<'t>>(kind: &str, body: &'t str) -> Result<T, StoreError> {
    serde_json::from_str(body)
        .map_err(|error| StoreError::Failed(format!("a {kind} cannot be read: {error}")))
}
