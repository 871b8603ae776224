//! Everything that is declared, by id.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use diagnostic::{Code, Diagnostic, Diagnostics};

use crate::gateway::{Provider, ProviderKey};
use crate::{AccountId, Declared, Gateway, GatewayId, GatewayToken, TokenId, Zone, ZoneId};

/// Account, gateway, provider and alias of a key.
pub type KeyId = (AccountId, GatewayId, String, String);

/// Everything that is declared, whatever declared it. Zones are shared, because there may be many and most stay the
/// same from one snapshot to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources {
    pub zones: BTreeMap<ZoneId, Arc<Declared<Zone>>>,
    pub gateways: BTreeMap<(AccountId, GatewayId), Declared<Gateway>>,
    pub tokens: BTreeMap<TokenId, Declared<GatewayToken>>,
    pub providers: BTreeMap<String, Declared<Provider>>,
    pub keys: BTreeMap<KeyId, Declared<ProviderKey>>,
}

impl Resources {
    /// What the files declare and what the store holds, together.
    ///
    /// # Errors
    /// [`Code::ConfConflict`] for each resource that both declare, with both places: neither wins.
    pub fn merged(mut self, stored: Self) -> Result<Self, Diagnostics> {
        let mut conflicts = Diagnostics::default();
        let zone = |zone: &Arc<Declared<Zone>>| format!("the zone `{}`", zone.name);
        merge(&mut self.zones, stored.zones, |zone| zone, zone, &mut conflicts);
        let gateway =
            |gateway: &Declared<Gateway>| format!("the gateway `{}/{}`", gateway.account, gateway.id);
        merge(&mut self.gateways, stored.gateways, |gateway| gateway, gateway, &mut conflicts);
        let token = |token: &Declared<GatewayToken>| format!("the token `{}`", token.id);
        merge(&mut self.tokens, stored.tokens, |token| token, token, &mut conflicts);
        let provider = |provider: &Declared<Provider>| format!("the provider `{}`", provider.slug);
        merge(&mut self.providers, stored.providers, |provider| provider, provider, &mut conflicts);
        let key = |key: &Declared<ProviderKey>| format!("the key `{}` for `{}`", key.alias, key.provider);
        merge(&mut self.keys, stored.keys, |key| key, key, &mut conflicts);
        conflicts.into_result(self)
    }
}

/// Adds what is stored to what is declared in files.
fn merge<K: Ord, D, T>(
    declared: &mut BTreeMap<K, D>,
    stored: BTreeMap<K, D>,
    resource: impl Fn(&D) -> &Declared<T>,
    name: impl Fn(&D) -> String,
    conflicts: &mut Diagnostics,
) {
    for (id, found) in stored {
        match declared.get(&id) {
            Some(known) => {
                let (known, stored) = (resource(known), resource(&found));
                let message = conflict(&name(&found), &known.provenance, &stored.provenance);
                let diagnostic = Diagnostic::error(Code::ConfConflict, message);
                conflicts.push(match known.place() {
                    Some(place) => diagnostic.at(place.clone()),
                    None => diagnostic,
                });
            }
            None => {
                declared.insert(id, found);
            }
        }
    }
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
