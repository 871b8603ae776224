//! The first token of the API. It is made after all ports are open, so that a start that fails leaves no unknown token behind.

use std::net::SocketAddr;

use super::{PREFIX, Permission};
use crate::clock::{Clock, rfc3339};
use crate::control::{Control, Write};
use crate::events::Events;
use crate::events::kinds::ServiceFailed;
use gateway::token::TokenHash;
use model::api_token::Policy;
use model::{ApiToken, Resources, Secret, TokenId};
use store::Change;

/// What makes the first token.
pub struct FirstToken {
    pub control: Control,
    pub clock: Clock,
    /// Prints a text for people.
    pub tell: fn(&str),
}

impl FirstToken {
    /// Makes the token and prints it, unless there is one already. An error becomes an event.
    pub async fn announce(self, admin: SocketAddr, events: &Events) {
        if let Err(error) = self.make(admin).await {
            let error =
                format!("cannot make the first token of the API: {error}; restart, or set `api_tokens`");
            events.emit(&ServiceFailed { service: "admin", error });
        }
    }

    async fn make(&self, admin: SocketAddr) -> Result<(), String> {
        let (token, secret) = first_token(&rfc3339(self.clock.now()))?;
        let id = token.id.clone();
        let edit = move |resources: &Resources| {
            let is_first = resources.api_tokens.is_empty();
            Ok(if is_first { vec![Change::PutApiToken { token: token.clone() }] } else { Vec::new() })
        };
        let applied =
            self.control.write(Write::of("first start", edit)).await.map_err(|error| error.to_string())?;
        if applied.resources.api_tokens.contains_key(&id) {
            (self.tell)(&format!(
                "The management API at http://{admin} answers nobody without a token. This one may do everything and is \
                 shown once:\n\n  {}\n\n",
                secret.expose()
            ));
        }
        Ok(())
    }
}

/// A token that may do everything, with its value.
///
/// # Errors
/// If the system has no random numbers.
fn first_token(now: &str) -> Result<(ApiToken, Secret), String> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(|error| format!("the system has no random numbers: {error}"))?;
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let secret = Secret::new(format!("{PREFIX}{hex}"));
    let hash = TokenHash::of(secret.expose().as_bytes()).to_hex();
    let policy = Policy {
        id: TokenId::derived("policy", &hash).to_string(),
        denies: false,
        permission_groups: Permission::ALL.map(Permission::id).to_vec(),
        resources: ["com.svc.api.user.*", "com.svc.api.account.*"].map(str::to_owned).to_vec(),
    };
    let token = ApiToken {
        id: TokenId::derived("api token", &hash),
        name: "first token".to_owned(),
        hash,
        is_disabled: false,
        policies: vec![policy],
        not_before: None,
        expires_on: None,
        clients: Vec::new(),
        refused_clients: Vec::new(),
        deprecations: model::DeprecationSettings::default(),
        issued_on: now.to_owned(),
        modified_on: now.to_owned(),
    };
    Ok((token, secret))
}
