//! Identifiers: 32 lower-case hex digits if the server makes them, words if people do.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The id of something that is known by its name, the same on every start.
            pub fn derived(kind: &str, name: &str) -> Self {
                Self(derive(kind, name).into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

id! {
    /// An account, as it stands in paths.
    AccountId;
    ZoneId;
    /// A gateway within an account.
    GatewayId;
    /// A dynamic route of a gateway.
    RouteId;
    TokenId;
    RulesetId;
    RuleId;
}

/// The id of a custom hostname: a UUID, as clients know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostnameId(pub uuid::Uuid);

impl std::fmt::Display for HostnameId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl GatewayId {
    /// Whether a text can be a word of the paths of gateways: 1 to 64 letters, digits, hyphens and underscores.
    pub fn is_path_word(text: &str) -> bool {
        (1..=64).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    }
}

/// The first 16 bytes of a hash over kind and name, as hex.
fn derive(kind: &str, name: &str) -> String {
    let digest = Sha256::new_with_prefix(kind).chain_update([0]).chain_update(name).finalize();
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_ids_are_stable_hex_and_keep_kinds_apart() {
        let zone = ZoneId::derived("zone", "shop.example");
        assert_eq!(zone, ZoneId::derived("zone", "shop.example"));
        assert_ne!(zone.as_str(), RuleId::derived("rule", "shop.example").as_str());
        assert!(zone.as_str().len() == 32 && zone.as_str().bytes().all(|b| b.is_ascii_hexdigit()));
    }
}
