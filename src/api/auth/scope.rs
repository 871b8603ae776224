//! What a token's policy is about: the user, accounts or zones.

use model::{AccountId, Resources, ZoneId};

/// The resources of one entry of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    User,
    AllAccounts,
    /// An account with all its zones.
    Account(AccountId),
    AllZones,
    Zone(ZoneId),
}

/// What a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScopeSubject {
    User,
    Account(AccountId),
    /// A zone, with its account.
    Zone(ZoneId, AccountId),
    /// An account or zone that does not exist: only who has all of them learns that.
    Unknown,
}

impl Scope {
    /// Reads `com.svc.api.user.*`, `com.svc.api.account.*`, `com.svc.api.account.ID`, `com.svc.api.account.zone.*` or
    /// `com.svc.api.account.zone.ID`. Clients have another word in the place of `svc`.
    pub fn parse(name: &str) -> Option<Self> {
        let (_, name) = name.strip_prefix("com.")?.split_once(".api.")?;
        if name.strip_prefix("user").is_some() {
            return Some(Self::User);
        }
        let name = name.strip_prefix("account.")?;
        Some(match name.strip_prefix("zone.") {
            Some("*") => Self::AllZones,
            Some(zone) => Self::Zone(ZoneId::new(zone)),
            None if name == "*" => Self::AllAccounts,
            None => Self::Account(AccountId::new(name)),
        })
    }

    /// Whether a request about this is within it.
    pub fn holds(&self, subject: &ScopeSubject) -> bool {
        match (self, subject) {
            (Self::User, ScopeSubject::User)
            | (
                Self::AllAccounts,
                ScopeSubject::Account(_) | ScopeSubject::Zone(..) | ScopeSubject::Unknown,
            )
            | (Self::AllZones, ScopeSubject::Zone(..) | ScopeSubject::Unknown) => true,
            (Self::Account(mine), ScopeSubject::Account(account) | ScopeSubject::Zone(_, account)) => {
                mine == account
            }
            (Self::Zone(mine), ScopeSubject::Zone(zone, _)) => mine == zone,
            _ => false,
        }
    }

    /// Whether everything in `other` is within it.
    pub fn includes(&self, other: &Self, resources: &Resources) -> bool {
        match (self, other) {
            (Self::AllAccounts, Self::AllAccounts | Self::Account(_) | Self::AllZones | Self::Zone(_))
            | (Self::AllZones, Self::Zone(_)) => true,
            (Self::Account(mine), Self::Zone(zone)) => {
                resources.zones.get(zone).is_some_and(|zone| zone.account == *mine)
            }
            (mine, other) => mine == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_whatever_their_brand() {
        assert_eq!(Scope::parse("com.svc.api.account.*"), Some(Scope::AllAccounts));
        assert_eq!(Scope::parse("com.other.api.account.zone.*"), Some(Scope::AllZones));
        assert_eq!(Scope::parse("com.svc.api.account.a1"), Some(Scope::Account(AccountId::new("a1"))));
        assert_eq!(Scope::parse("com.svc.api.account.zone.z1"), Some(Scope::Zone(ZoneId::new("z1"))));
        assert_eq!(Scope::parse("com.svc.api.user.*"), Some(Scope::User));
        for name in ["", "account.*", "com.svc.account.*", "com.svc.api.dns.*"] {
            assert_eq!(Scope::parse(name), None, "{name}");
        }
    }

    #[test]
    fn an_account_holds_its_zones_and_no_others() {
        let (mine, other) = (AccountId::new("a"), AccountId::new("b"));
        let zone = |account: &AccountId| ScopeSubject::Zone(ZoneId::new("z"), account.clone());
        assert!(Scope::Account(mine.clone()).holds(&zone(&mine)));
        assert!(!Scope::Account(mine.clone()).holds(&zone(&other)));
        assert!(!Scope::Account(mine.clone()).holds(&ScopeSubject::Unknown));
        assert!(!Scope::AllZones.holds(&ScopeSubject::Account(mine)) && Scope::AllZones.holds(&zone(&other)));
    }
}
