//! Everything that is declared, by id.

use std::fmt::Display;
use std::sync::Arc;

use diagnostic::{Code, Diagnostic, Diagnostics};
use imbl::OrdMap;

use crate::gateway::{Provider, ProviderKey};
use crate::{
    AccessApp, Account, AccountId, AcmeAccount, AlertPolicy, AlertWebhook, ApiToken, CertificatePack,
    CustomHostname, Declared, DynamicRoute, Gateway, GatewayId, GatewayToken, HostnameId, NameService,
    NamedList, PackId, Phase, RouteId, Ruleset, RulesetOwner, RulesetSlot, SigningRequest, SigningRequestId,
    TokenId, Zone, ZoneId, ZoneMap, ZoneRecords,
};

/// Account, gateway, provider and alias of a key.
pub type KeyId = (AccountId, GatewayId, String, String);

/// Everything that is declared, whatever declared it. Clones share what is in the maps, because there may be many of each and most
/// stay the same from one snapshot to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources {
    pub accounts: OrdMap<AccountId, Declared<Account>>,
    pub zones: ZoneMap,
    /// Those that are not written with their zone.
    pub rulesets: OrdMap<(RulesetOwner, RulesetSlot), Arc<Declared<Ruleset>>>,
    pub gateways: OrdMap<(AccountId, GatewayId), Declared<Gateway>>,
    /// Of a gateway they stand together.
    pub dynamic_routes: OrdMap<(AccountId, GatewayId, RouteId), Declared<DynamicRoute>>,
    pub tokens: OrdMap<TokenId, Declared<GatewayToken>>,
    pub providers: OrdMap<String, Declared<Provider>>,
    pub keys: OrdMap<KeyId, Declared<ProviderKey>>,
    pub api_tokens: OrdMap<TokenId, Declared<ApiToken>>,
    pub alerts: OrdMap<String, Declared<AlertPolicy>>,
    pub webhooks: OrdMap<String, Declared<AlertWebhook>>,
    pub access_apps: OrdMap<String, Declared<AccessApp>>,
    /// Shared, because they may be long.
    pub lists: OrdMap<String, Arc<Declared<NamedList>>>,
    /// Shared, because there may be many.
    pub hostnames: OrdMap<HostnameId, Arc<Declared<CustomHostname>>>,
    pub packs: OrdMap<PackId, Arc<Declared<CertificatePack>>>,
    pub signing_requests: OrdMap<SigningRequestId, Declared<SigningRequest>>,
    /// By the names of CAs.
    pub acme_accounts: OrdMap<String, Declared<AcmeAccount>>,
    pub name_service: Option<Declared<NameService>>,
    /// Of zones that have some.
    pub records: OrdMap<ZoneId, ZoneRecords>,
}

impl Resources {
    /// The rulesets of an owner that are not written with it: entry points in the order of phases, then others.
    pub fn rulesets_of(&self, owner: &RulesetOwner) -> impl Iterator<Item = &Arc<Declared<Ruleset>>> {
        // INVARIANT: no slot is before that of the first phase.
        let first = Phase::ALL.first().map(|phase| (owner.clone(), RulesetSlot::from(*phase)));
        let from = first.into_iter().flat_map(|first| self.rulesets.range(first..));
        from.take_while(move |((of, _), _)| of == owner).map(|(_, ruleset)| ruleset)
    }

    /// The dynamic routes of a gateway, by id.
    pub fn routes_of(
        &self,
        account: &AccountId,
        gateway: &GatewayId,
    ) -> impl Iterator<Item = &Declared<DynamicRoute>> {
        let from = (account.clone(), gateway.clone(), RouteId::new(""));
        let of_gateway = self.dynamic_routes.range(from..);
        of_gateway
            .map(|(_, route)| route)
            .take_while(move |route| route.account == *account && route.gateway == *gateway)
    }

    /// What the files declare and what the store holds, together.
    ///
    /// # Errors
    /// [`Code::ConfConflict`] for each resource that both declare, with both places: neither wins.
    pub fn merged(mut self, stored: Self) -> Result<Self, Diagnostics> {
        let mut conflicts = Diagnostics::default();
        let account = |account: &Declared<Account>| format!("the account `{}`", account.id);
        merge(&mut self.accounts, stored.accounts, |account| account, account, &mut conflicts);
        let zone = |zone: &Arc<Declared<Zone>>| format!("the zone `{}`", zone.name);
        let (fewer, more) = match self.zones.len() < stored.zones.len() {
            true => (&self.zones, &stored.zones),
            false => (&stored.zones, &self.zones),
        };
        for one in fewer.values() {
            // Those of one id are found below.
            let twin = more.named(&one.name).filter(|twin| twin.id != one.id);
            if let Some((known, found)) =
                twin.and(self.zones.named(&one.name).zip(stored.zones.named(&one.name)))
            {
                let message = conflict(&zone(found), &known.provenance, &found.provenance);
                let diagnostic = Diagnostic::error(Code::ConfConflict, message);
                conflicts.push(match known.place() {
                    Some(place) => diagnostic.at(place.clone()),
                    None => diagnostic,
                });
            }
        }
        self.zones.merge(stored.zones, |all, stored| merge(all, stored, |zone| zone, zone, &mut conflicts));
        let ruleset = |ruleset: &Arc<Declared<Ruleset>>| format!("the ruleset `{}`", ruleset.id);
        merge(&mut self.rulesets, stored.rulesets, |ruleset| ruleset, ruleset, &mut conflicts);
        let gateway =
            |gateway: &Declared<Gateway>| format!("the gateway `{}/{}`", gateway.account, gateway.id);
        merge(&mut self.gateways, stored.gateways, |gateway| gateway, gateway, &mut conflicts);
        let route = |route: &Declared<DynamicRoute>| {
            format!("the route `{}` of the gateway `{}/{}`", route.name, route.account, route.gateway)
        };
        merge(&mut self.dynamic_routes, stored.dynamic_routes, |route| route, route, &mut conflicts);
        let token = |token: &Declared<GatewayToken>| format!("the token `{}`", token.id);
        merge(&mut self.tokens, stored.tokens, |token| token, token, &mut conflicts);
        let provider = |provider: &Declared<Provider>| format!("the provider `{}`", provider.slug);
        merge(&mut self.providers, stored.providers, |provider| provider, provider, &mut conflicts);
        let key = |key: &Declared<ProviderKey>| format!("the key `{}` for `{}`", key.alias, key.provider);
        merge(&mut self.keys, stored.keys, |key| key, key, &mut conflicts);
        let token = |token: &Declared<ApiToken>| format!("the token `{}`", token.id);
        merge(&mut self.api_tokens, stored.api_tokens, |token| token, token, &mut conflicts);
        let alert = |alert: &Declared<AlertPolicy>| format!("the alert `{}`", alert.id);
        merge(&mut self.alerts, stored.alerts, |alert| alert, alert, &mut conflicts);
        let webhook = |webhook: &Declared<AlertWebhook>| format!("the webhook `{}`", webhook.id);
        merge(&mut self.webhooks, stored.webhooks, |webhook| webhook, webhook, &mut conflicts);
        let list = |list: &Arc<Declared<NamedList>>| format!("the list `{}`", list.name);
        merge(&mut self.lists, stored.lists, |list| list, list, &mut conflicts);
        // Files declare none of these.
        self.access_apps = stored.access_apps;
        self.hostnames = stored.hostnames;
        self.packs = stored.packs;
        self.signing_requests = stored.signing_requests;
        self.acme_accounts = stored.acme_accounts;
        self.name_service = stored.name_service;
        self.records = stored.records.into_iter().filter(|(zone, _)| self.zones.contains_key(zone)).collect();
        conflicts.into_result(self)
    }
}

/// Adds what is stored to what is declared in files. Of both the one with fewer entries is walked.
fn merge<K: Clone + Ord, D: Clone, T>(
    declared: &mut OrdMap<K, D>,
    stored: OrdMap<K, D>,
    resource: impl Fn(&D) -> &Declared<T>,
    name: impl Fn(&D) -> String,
    conflicts: &mut Diagnostics,
) {
    let (mut all, fewer, are_stored) = if stored.len() > declared.len() {
        (stored, std::mem::take(declared), false)
    } else {
        (std::mem::take(declared), stored, true)
    };
    for (id, one) in fewer {
        match all.get(&id) {
            Some(other) => {
                let (in_file, stored) = if are_stored { (other, &one) } else { (&one, other) };
                let (known, found) = (resource(in_file), resource(stored));
                let message = conflict(&name(stored), &known.provenance, &found.provenance);
                let diagnostic = Diagnostic::error(Code::ConfConflict, message);
                conflicts.push(match known.place() {
                    Some(place) => diagnostic.at(place.clone()),
                    None => diagnostic,
                });
            }
            None => {
                all.insert(id, one);
            }
        }
    }
    *declared = all;
}

fn conflict(name: &str, file: &impl Display, store: &impl Display) -> String {
    format!("{name} is declared both at {file} and by {store}; delete one of them")
}

#[cfg(test)]
mod tests {
    use diagnostic::{Place, Source};

    use super::*;

    fn provider(slug: &str) -> Provider {
        Provider { slug: slug.to_owned(), base_url: "https://api.example".to_owned(), allow_private: false }
    }

    fn providers(list: Vec<Declared<Provider>>) -> Resources {
        let providers = list.into_iter().map(|provider| (provider.slug.clone(), provider)).collect();
        Resources { providers, ..Resources::default() }
    }

    #[test]
    fn what_a_file_and_the_store_declare_is_a_conflict_with_both_places() {
        let source = Source::new("edge.toml", "[[providers]]\nslug = \"a\"\n");
        let in_file = |slug| Declared::in_file(provider(slug), Place::new(&source, 14..18));
        let stored = |slug| Declared::at_revision(provider(slug), 7);
        let merged = providers(vec![in_file("a")]).merged(providers(vec![stored("b")])).unwrap();
        assert_eq!(merged.providers.len(), 2);
        assert_eq!(merged.providers["b"].provenance, crate::Provenance::Revision(7));
        let found =
            providers(vec![in_file("a")]).merged(providers(vec![stored("a")])).unwrap_err().to_string();
        assert!(found.contains("edge.toml:2:1") && found.contains("revision 7 of the store"), "{found}");
    }
}
