//! Who sends a request, and what they may do.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;

use super::permission::{Permission, PermissionLevel};
use super::scope::{Scope, ScopeSubject};
use crate::api::error::{self, ApiError};
use model::{ApiToken, Declared, Resources};

/// Who sends a request.
#[derive(Clone, Debug)]
pub enum Actor {
    /// Who knows a token or key of the configuration: everything is allowed.
    Operator {
        /// For the history.
        name: String,
    },
    Token(Arc<Declared<ApiToken>>),
}

impl Actor {
    /// As the history names them.
    pub fn label(&self) -> String {
        match self {
            Self::Operator { name } => name.clone(),
            Self::Token(token) => format!("token {} ({})", token.id, token.name),
        }
    }

    /// What sets one actor's requests apart from those of others.
    pub fn key(&self) -> &str {
        match self {
            Self::Operator { name } => name,
            Self::Token(token) => token.id.as_str(),
        }
    }

    /// Whether they have a permission for what a request is about.
    pub fn may(&self, needed: Permission, subject: &ScopeSubject) -> bool {
        let Self::Token(token) = self else { return true };
        if needed == Permission::Any {
            return true;
        }
        let speaks_of_it = |policy: &&model::api_token::Policy| {
            let mut groups = policy.permission_groups.iter().filter_map(|id| Permission::of_id(id));
            let mut scopes = policy.resources.iter().filter_map(|name| Scope::parse(name));
            groups.any(|group| group.includes(needed)) && scopes.any(|scope| scope.holds(subject))
        };
        let mut policies = token.policies.iter().filter(speaks_of_it).peekable();
        policies.peek().is_some() && policies.all(|policy| !policy.denies)
    }

    /// Whether they have a permission on all of a scope, and so may give it to others.
    pub fn may_give(&self, given: Permission, scope: &Scope, resources: &Resources) -> bool {
        let Self::Token(token) = self else { return true };
        let gives = |policy: &model::api_token::Policy| {
            let mut groups = policy.permission_groups.iter().filter_map(|id| Permission::of_id(id));
            let mut scopes = policy.resources.iter().filter_map(|name| Scope::parse(name));
            groups.any(|group| group.includes(given)) && scopes.any(|mine| mine.includes(scope, resources))
        };
        // What is denied anywhere may not be given at all.
        let is_denied = |policy: &model::api_token::Policy| {
            let mut groups = policy.permission_groups.iter().filter_map(|id| Permission::of_id(id));
            policy.denies && groups.any(|group| group.includes(given) || given.includes(group))
        };
        token.policies.iter().any(|policy| !policy.denies && gives(policy))
            && !token.policies.iter().any(is_denied)
    }

    /// Checks a permission.
    ///
    /// # Errors
    /// The permission that is missing, and for what.
    pub fn check(&self, needed: Permission, subject: &ScopeSubject) -> Result<(), ApiError> {
        if self.may(needed, subject) {
            return Ok(());
        }
        // The same for what exists and what does not: only who may read it learns that it is there.
        let place = match (needed.level(), subject) {
            (PermissionLevel::User, _) => "the user".to_owned(),
            (_, ScopeSubject::Account(account)) => format!("the account `{account}`"),
            (PermissionLevel::Zone, _) => "the zone that the path names".to_owned(),
            (PermissionLevel::Account, _) => "all accounts".to_owned(),
        };
        let message = format!(
            "Unauthorized to access requested resource: the permission `{}` for {place} is missing",
            needed.name()
        );
        Err(ApiError::new(error::NOT_ALLOWED, message))
    }
}

/// Whether a token may be used now, from this address.
pub fn is_valid(token: &ApiToken, client: IpAddr, now: u64) -> bool {
    let is_in = |networks: &[String]| {
        let mut networks = networks.iter().filter_map(|network| network.parse::<IpNet>().ok());
        networks.any(|network| network.contains(&client.to_canonical()))
    };
    !token.is_disabled
        && token.not_before.is_none_or(|from| from <= now)
        && token.expires_on.is_none_or(|until| now < until)
        && (token.clients.is_empty() || is_in(&token.clients))
        && !is_in(&token.refused_clients)
}

#[cfg(test)]
mod tests {
    use model::api_token::Policy;
    use model::{AccountId, TokenId, ZoneId};

    use super::*;

    fn token(policies: &[(bool, Permission, &str)]) -> Actor {
        let policy = |(denies, permission, resource): &(bool, Permission, &str)| Policy {
            id: String::new(),
            denies: *denies,
            permission_groups: vec![permission.id()],
            resources: vec![(*resource).to_owned()],
        };
        let token = ApiToken {
            id: TokenId::new("t"),
            name: String::new(),
            hash: String::new(),
            is_disabled: false,
            policies: policies.iter().map(policy).collect(),
            not_before: None,
            expires_on: None,
            clients: Vec::new(),
            refused_clients: Vec::new(),
            deprecations: model::DeprecationSettings::default(),
            issued_on: String::new(),
            modified_on: String::new(),
        };
        Actor::Token(Arc::new(Declared::at_revision(token, 1)))
    }

    #[test]
    fn what_one_policy_denies_no_other_allows() {
        let zone = |id: &str| ScopeSubject::Zone(ZoneId::new(id), AccountId::new("a"));
        let actor = token(&[
            (false, Permission::ZoneWrite, "com.svc.api.account.a"),
            (true, Permission::ZoneWrite, "com.svc.api.account.zone.held"),
        ]);
        assert!(actor.may(Permission::ZoneRead, &zone("z")) && actor.may(Permission::ZoneWrite, &zone("z")));
        assert!(!actor.may(Permission::ZoneWrite, &zone("held")));
        assert!(!actor.may(Permission::WafRead, &zone("z")));
        let refused = actor.check(Permission::WafRead, &zone("z")).unwrap_err();
        assert!(
            refused.message.contains("`Zone WAF Read` for the zone that the path names"),
            "{}",
            refused.message
        );
        let unknown = actor.check(Permission::WafRead, &ScopeSubject::Unknown).unwrap_err();
        assert_eq!(unknown, refused, "what does not exist is refused in the same words");
        let resources = Resources::default();
        let all = Scope::AllAccounts;
        assert!(!actor.may_give(Permission::ZoneRead, &all, &resources));
        assert!(!actor.may_give(Permission::ZoneRead, &Scope::Account(AccountId::new("a")), &resources));
        let giver = token(&[(false, Permission::ZoneWrite, "com.svc.api.account.a")]);
        assert!(giver.may_give(Permission::ZoneRead, &Scope::Account(AccountId::new("a")), &resources));
        assert!(!giver.may_give(Permission::ZoneRead, &Scope::Account(AccountId::new("b")), &resources));
    }
}
