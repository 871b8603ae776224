//! Keys of providers that a gateway keeps for its callers, sealed at rest.
//!
//! AES-256-GCM; the gateway, the provider, its host and the alias are authenticated with the key, so one
//! that is moved to another place in the store does not open. Opened keys live in the snapshot alone.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use http::{HeaderName, HeaderValue};
use zeroize::Zeroizing;

use super::aws::AccessKey;
use super::provider::{self, Credential};
use model::Secret;

/// The key that seals all others.
#[derive(Clone, Debug)]
pub struct MasterKey(Secret);

/// Where a key belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Belonging<'b> {
    pub account: &'b str,
    pub gateway: &'b str,
    pub provider: &'b str,
    /// The host that the key may be sent to.
    pub authority: &'b str,
    pub alias: &'b str,
}

impl MasterKey {
    /// Reads 64 hex digits.
    ///
    /// # Errors
    /// One sentence that shows the form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            Ok(Self(Secret::new(text)))
        } else {
            Err("expected 64 hex digits, as `openssl rand -hex 32` prints them".to_owned())
        }
    }

    fn cipher(&self) -> Result<LessSafeKey, String> {
        let bytes = Zeroizing::new(from_hex(self.0.expose()).unwrap_or_default());
        let key =
            UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| "the key has another length".to_owned())?;
        Ok(LessSafeKey::new(key))
    }

    /// Seals a provider's key: a nonce and what it makes of the key, as hex.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn seal(&self, belonging: Belonging<'_>, secret: &Secret) -> Result<String, String> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|error| format!("the system has no random numbers: {error}"))?;
        let mut sealed = secret.expose().as_bytes().to_vec();
        self.cipher()?
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), belonging.aad(), &mut sealed)
            .map_err(|_| "the key cannot be sealed".to_owned())?;
        Ok(nonce.iter().chain(&sealed).map(|byte| format!("{byte:02x}")).collect())
    }

    /// Opens a key.
    ///
    /// # Errors
    /// If it was sealed with another key, for another place, or is damaged.
    pub fn open(&self, belonging: Belonging<'_>, sealed: &str) -> Result<Secret, String> {
        let other = || "it was sealed with another key, or for another gateway, provider or host".to_owned();
        let bytes = from_hex(sealed).ok_or_else(other)?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN).ok_or_else(other)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| other())?;
        let mut sealed = Zeroizing::new(sealed.to_vec());
        let opened =
            self.cipher()?.open_in_place(nonce, belonging.aad(), &mut sealed).map_err(|_| other())?;
        std::str::from_utf8(opened).map(Secret::new).map_err(|_| other())
    }
}

impl Belonging<'_> {
    fn aad(self) -> Aad<Vec<u8>> {
        let parts = [self.account, self.gateway, self.provider, self.authority, self.alias];
        Aad::from(parts.join("\u{1f}").into_bytes())
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks_exact(2);
    if !digits.remainder().is_empty() {
        return None;
    }
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// A key that is open.
#[derive(Clone, Debug)]
pub struct StoredKey {
    pub provider: String,
    pub authority: String,
    pub alias: String,
    /// How often it is taken among those of a provider.
    pub weight: u32,
    pub secret: Secret,
    /// If the secret is a key that requests are signed with.
    pub access_key: Option<AccessKey>,
}

impl StoredKey {
    pub fn new(provider: &str, authority: &str, alias: &str, weight: u32, secret: Secret) -> Self {
        let signs = provider::find(provider).is_some_and(|known| known.credential == Credential::Aws);
        Self {
            provider: provider.to_owned(),
            authority: authority.to_owned(),
            alias: alias.to_owned(),
            weight,
            access_key: AccessKey::parse(secret.expose()).filter(|_| signs),
            secret,
        }
    }

    /// The field that carries it to the provider; marked, so that nothing prints it. Of a key that signs, its
    /// name alone, whose place the signature takes.
    pub fn field(&self) -> Option<(HeaderName, HeaderValue)> {
        let credential = provider::find(&self.provider).map_or(Credential::Bearer, |known| known.credential);
        let secret = self.secret.expose();
        let signer = self.access_key.as_ref().map(|key| ("authorization", key.id().to_owned()));
        let (name, text) = signer.unwrap_or_else(|| match credential {
            Credential::Bearer | Credential::Aws => ("authorization", format!("Bearer {secret}")),
            Credential::Scheme(word) => ("authorization", format!("{word} {secret}")),
            Credential::Header(name) => (name, secret.to_owned()),
        });
        let text = Zeroizing::new(text);
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some((HeaderName::from_static(name), value))
    }
}

/// The key for a call: the one of that alias, else one by weight. `turn` moves with each call.
pub fn choose<'k>(
    keys: &'k [StoredKey],
    provider: &str,
    authority: &str,
    alias: Option<&str>,
    turn: u64,
) -> Option<&'k StoredKey> {
    let fits = |key: &&StoredKey| {
        key.provider == provider && key.authority == authority && alias.is_none_or(|alias| key.alias == alias)
    };
    let total: u64 = keys.iter().filter(fits).map(|key| u64::from(key.weight)).sum();
    let mut at = turn.checked_rem(total)?;
    keys.iter().filter(fits).find(|key| {
        let weight = u64::from(key.weight);
        let is_it = at < weight;
        at = at.saturating_sub(weight);
        is_it
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Belonging<'_> = Belonging {
        account: "acme",
        gateway: "main",
        provider: "openai",
        authority: "api.openai.com",
        alias: "default",
    };

    #[test]
    fn keys_open_only_where_they_were_sealed() {
        let (one, other) =
            (MasterKey::parse(&"0a".repeat(32)).unwrap(), MasterKey::parse(&"0b".repeat(32)).unwrap());
        let secret = Secret::new("provider-key");
        let sealed = one.seal(PLACE, &secret).unwrap();
        assert!(!sealed.contains(&"provider-key".bytes().map(|b| format!("{b:02x}")).collect::<String>()));
        assert_eq!(one.open(PLACE, &sealed), Ok(secret.clone()));
        assert!(one.seal(PLACE, &secret).unwrap() != sealed, "a nonce of its own");
        assert!(other.open(PLACE, &sealed).is_err());
        for place in [
            Belonging { gateway: "b", ..PLACE },
            Belonging { provider: "groq", ..PLACE },
            Belonging { authority: "e.example", ..PLACE },
            Belonging { alias: "b", ..PLACE },
        ] {
            assert!(one.open(place, &sealed).is_err(), "{place:?}");
        }
        for damaged in ["", "zz", &sealed[2..], &sealed[..20], "é"] {
            assert!(one.open(PLACE, damaged).is_err(), "{damaged}");
        }
        assert!(MasterKey::parse("short").is_err());
        assert!(!format!("{one:?}").contains("0a0a"));
    }

    #[test]
    fn keys_take_turns_by_weight_and_go_nowhere_else() {
        let key = |provider: &str, alias: &str, weight| {
            StoredKey::new(provider, "a.example", alias, weight, Secret::new(alias))
        };
        let keys = [key("openai", "a", 3), key("openai", "b", 1), key("anthropic", "c", 1)];
        let chosen = |provider, authority, alias| {
            let all = (0..4)
                .map(|turn| choose(&keys, provider, authority, alias, turn).map(|key| key.alias.as_str()));
            all.flatten().collect::<Vec<_>>().concat()
        };
        assert_eq!(chosen("openai", "a.example", None), "aaab");
        assert_eq!(chosen("openai", "a.example", Some("b")), "bbbb");
        assert_eq!(chosen("openai", "a.example", Some("c")), "");
        assert_eq!(chosen("openai", "e.example", None), "");
        let (name, value) = keys[2].field().unwrap();
        assert_eq!((name.as_str(), value.as_bytes(), value.is_sensitive()), ("x-api-key", &b"c"[..], true));
        assert_eq!(keys[0].field().unwrap().1, "Bearer a");
    }
}
