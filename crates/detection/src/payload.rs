//! What was found, sealed for the operator alone.
//!
//! Hybrid public key encryption (RFC 9180), base mode, X25519 with HKDF-SHA-256 and ChaCha20-Poly1305: whoever
//! has the log has the sealed form, whoever has the private key can read it. The edge never has that key.
//! A payload is `hpke1.` and the Base64 of the encapsulated key (32 bytes) and the sealed text, which is JSON
//! ([`Contents`]).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustls::crypto::aws_lc_rs::hpke::DH_KEM_X25519_HKDF_SHA256_CHACHA20_POLY1305 as SUITE;
use rustls::crypto::hpke::{EncapsulatedSecret, Hpke, HpkePrivateKey, HpkePublicKey};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use model::PayloadKey;

/// Bytes of either key, and of what is encapsulated.
const KEY_BYTES: usize = 32;
/// What payloads begin with: the form that they have.
const FORM: &str = "hpke1.";
/// Keeps payloads apart from whatever else is sealed with the same key.
const INFO: &[u8] = b"portcullis matched payload";
/// Text on either side of a value that is sealed with it.
const CONTEXT_BYTES: usize = 75;

/// The private key that opens them.
pub struct PrivateKey(Zeroizing<Vec<u8>>);

/// What is sealed. Bytes that are no UTF-8 are replaced.
#[derive(Debug, Serialize, Deserialize)]
pub struct Contents {
    /// The event that it belongs to: a payload cannot be passed off as another's.
    pub ray: String,
    pub rule: String,
    pub before: String,
    pub value: String,
    pub after: String,
}

/// Reads the Base64 of a public key.
///
/// # Errors
/// One sentence that says where keys come from.
pub fn read_key(text: &str) -> Result<PayloadKey, String> {
    let key = bytes(text).and_then(|bytes| Some(PayloadKey(*bytes.first_chunk()?)));
    let key = key.filter(|key| seal_bytes(*key, b"").is_some());
    key.ok_or_else(|| {
        format!("expected an X25519 public key as `portcullis payload keygen` prints it, found `{text}`")
    })
}

/// Seals what stands at `start..end` of a body with the text around it; `None` if the system has no
/// random numbers.
pub fn seal(
    key: PayloadKey,
    ray: &str,
    rule: &str,
    body: &[u8],
    (start, end): (usize, usize),
) -> Option<String> {
    let part = |from: usize, to: usize| {
        String::from_utf8_lossy(body.get(from..to.min(body.len())).unwrap_or(&[])).into_owned()
    };
    let contents = Contents {
        ray: ray.to_owned(),
        rule: rule.to_owned(),
        before: part(start.saturating_sub(CONTEXT_BYTES), start),
        value: part(start, end),
        after: part(end, end + CONTEXT_BYTES),
    };
    let contents = contents.into_json();
    let sealed = seal_bytes(key, &contents)?;
    Some(format!("{FORM}{}", BASE64_STANDARD.encode(sealed)))
}

fn seal_bytes(key: PayloadKey, text: &[u8]) -> Option<Vec<u8>> {
    let (encapsulated, sealed) = SUITE.seal(INFO, b"", text, &HpkePublicKey(key.0.to_vec())).ok()?;
    Some([encapsulated.0, sealed].concat())
}

impl Contents {
    /// The only copies in clear are wiped when they go.
    fn into_json(self) -> Zeroizing<Vec<u8>> {
        let json = Zeroizing::new(serde_json::to_vec(&self).unwrap_or_default());
        let Self { before, value, after, .. } = self;
        for text in [before, value, after] {
            drop(Zeroizing::new(text));
        }
        json
    }
}

impl PrivateKey {
    /// Reads the Base64 of 32 bytes.
    ///
    /// # Errors
    /// One sentence that says where keys come from.
    pub fn parse(text: &str) -> Result<Self, String> {
        let key = bytes(text).filter(|key| key.len() == KEY_BYTES);
        key.map(|key| Self(Zeroizing::new(key)))
            .ok_or_else(|| "expected a private key as `portcullis payload keygen` writes it".to_owned())
    }

    /// Makes a pair of keys: the private one, and both as they are written.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn generate() -> Result<(Zeroizing<String>, String), String> {
        let (public, private) =
            SUITE.generate_key_pair().map_err(|error| format!("no key could be made: {error}"))?;
        Ok((Zeroizing::new(BASE64_STANDARD.encode(private.secret_bytes())), BASE64_STANDARD.encode(public.0)))
    }

    /// Opens a payload.
    ///
    /// # Errors
    /// One sentence: that it is none, or that it was not sealed for this key.
    pub fn open(&self, payload: &str) -> Result<Contents, String> {
        let sealed = payload.trim().strip_prefix(FORM).and_then(bytes).unwrap_or_default();
        let Some((encapsulated, sealed)) = sealed.split_at_checked(KEY_BYTES) else {
            return Err(format!("expected a payload, which begins with `{FORM}`"));
        };
        let key = HpkePrivateKey::from(self.0.to_vec());
        let encapsulated = EncapsulatedSecret(encapsulated.to_vec());
        let text = SUITE.open(&encapsulated, INFO, b"", sealed, &key).map(Zeroizing::new);
        let contents = text.ok().and_then(|text| serde_json::from_slice(&text).ok());
        contents.ok_or_else(|| "the payload was sealed for another key, or is not whole".to_owned())
    }
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(text.trim()).ok()
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PrivateKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (PrivateKey, PayloadKey) {
        let (private, public) = PrivateKey::generate().unwrap();
        (PrivateKey::parse(&private).unwrap(), read_key(&format!(" {public}\n")).unwrap())
    }

    #[test]
    fn only_the_private_key_opens_what_was_sealed() {
        let (private, public) = pair();
        let body = [&b"x".repeat(200)[..], b"card 4111", &b"y".repeat(200), b"\xff"].concat();
        let payload = seal(public, "ray", "rule", &body, (205, 209)).unwrap();
        let contents = private.open(&payload).unwrap();
        assert_eq!((contents.value.as_str(), contents.ray.as_str()), ("4111", "ray"));
        assert_eq!((contents.before.len(), contents.after.len(), contents.rule.as_str()), (75, 75, "rule"));
        assert!(contents.before.ends_with("card "));
        // Each is sealed with a key of its own.
        assert_ne!(seal(public, "ray", "rule", &body, (205, 209)).unwrap(), payload);
        assert!(pair().0.open(&payload).unwrap_err().contains("another key"));
        let damaged = payload.replacen(|c: char| c.is_ascii_lowercase() && c != 'h' && c != 'p', "A", 9);
        assert!(private.open(&damaged).is_err());
        for short in ["", FORM, "hpke1.AAAA", "4111", &payload[..60]] {
            assert!(private.open(short).is_err(), "{short}");
        }
        // At the edges of a body, and past them.
        let value = |place| private.open(&seal(public, "", "", b"ab", place).unwrap()).unwrap().value;
        assert_eq!([value((0, 2)), value((1, 9)), value((5, 9))], ["ab", "b", ""]);
    }

    #[test]
    fn keys_of_another_form_are_refused() {
        for text in ["", "x", "AAAA", "not base64 at all!", &BASE64_STANDARD.encode([0; 32])] {
            assert!(read_key(text).is_err(), "{text}");
        }
        assert!(PrivateKey::parse("AAAA").is_err());
    }
}
