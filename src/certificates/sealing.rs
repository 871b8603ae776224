//! Keys of certificates and accounts at CAs as they are kept: sealed, if there is a key to seal with.

use gateway::vault::{Belonging, MasterKey};
use model::certificate_pack::KeptKey;
use model::{PackId, Secret, SigningRequestId};

/// Where a kept key belongs, so that it opens for nothing else.
#[derive(Clone, Debug)]
pub enum KeyOwner {
    Pack(PackId),
    SigningRequest(SigningRequestId),
    Account { authority: String },
}

impl KeyOwner {
    fn seal_with<T>(&self, use_belonging: impl FnOnce(Belonging<'_>) -> T) -> T {
        let (provider, alias) = match self {
            Self::Pack(id) => ("certificate", id.to_string()),
            Self::SigningRequest(id) => ("signing request", id.to_string()),
            Self::Account { authority } => ("acme", authority.clone()),
        };
        use_belonging(Belonging { account: "", gateway: "", provider, authority: "", alias: &alias })
    }
}

/// A key as it is kept.
///
/// # Errors
/// If the system has no random numbers.
pub fn kept(owner: &KeyOwner, text: &str, master: Option<&MasterKey>) -> Result<KeptKey, String> {
    let Some(master) = master else { return Ok(KeptKey { text: text.to_owned(), is_sealed: false }) };
    let sealed = owner.seal_with(|belonging| master.seal(belonging, &Secret::new(text)))?;
    Ok(KeptKey { text: sealed, is_sealed: true })
}

/// The key itself.
///
/// # Errors
/// If it is sealed and does not open.
pub fn opened(owner: &KeyOwner, kept: &KeptKey, master: Option<&MasterKey>) -> Result<Secret, String> {
    if !kept.is_sealed {
        return Ok(Secret::new(kept.text.clone()));
    }
    let master = master.ok_or("it is sealed, and `secrets_key_file` is not set")?;
    owner.seal_with(|belonging| master.open(belonging, &kept.text))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn keys_open_only_for_their_owner() {
        let master = MasterKey::parse(&"0a".repeat(32)).unwrap();
        let owner = KeyOwner::Pack(PackId(Uuid::from_u128(1)));
        let sealed = kept(&owner, "key", Some(&master)).unwrap();
        assert!(sealed.is_sealed && !sealed.text.contains("key"));
        assert_eq!(opened(&owner, &sealed, Some(&master)).unwrap().expose(), "key");
        for (owner, master) in [
            (KeyOwner::Pack(PackId(Uuid::from_u128(2))), Some(&master)),
            (KeyOwner::Account { authority: "a".to_owned() }, Some(&master)),
            (KeyOwner::SigningRequest(SigningRequestId(Uuid::from_u128(1))), Some(&master)),
            (owner.clone(), None),
        ] {
            assert!(opened(&owner, &sealed, master).is_err(), "{owner:?}");
        }
        let plain = kept(&owner, "key", None).unwrap();
        assert_eq!(opened(&owner, &plain, None).unwrap().expose(), "key");
    }
}
