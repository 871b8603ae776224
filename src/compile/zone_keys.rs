//! Keys that are kept sealed, opened: those of zones that are signed, and those shared with other name servers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dns::Name;
use dns::dnssec::ZoneKey;
use dns::tsig::{TsigAlgorithm, TsigKey};
use gateway::vault::{Belonging, MasterKey};
use model::{AccountId, SharedKey, Zone};
use zeroize::Zeroizing;

/// Where the key of a zone belongs, so that it opens for no other.
pub fn zone_belonging(zone: &Zone) -> Belonging<'_> {
    Belonging {
        account: zone.account.as_str(),
        gateway: "",
        provider: "dnssec",
        authority: &zone.name,
        alias: zone.id.as_str(),
    }
}

/// Where a key that others have too belongs.
pub fn shared_key_belonging<'k>(account: &'k AccountId, key: &'k SharedKey) -> Belonging<'k> {
    Belonging {
        account: account.as_str(),
        gateway: "",
        provider: "tsig",
        authority: &key.name,
        alias: key.id.as_str(),
    }
}

/// A key that others have too.
///
/// # Errors
/// One sentence if it is sealed and does not open, or is no key.
pub fn opened_shared_key(
    account: &AccountId,
    key: &SharedKey,
    master: Option<&MasterKey>,
) -> Result<TsigKey, String> {
    let what = format!("the TSIG key `{}`", key.name);
    let secret = opened(&what, shared_key_belonging(account, key), &key.secret, key.is_sealed, master)?;
    let name = Name::parse(&key.name, None)?;
    let algorithm = TsigAlgorithm::parse(&key.algorithm)
        .ok_or_else(|| format!("{what} has an unknown algorithm: `{}`", key.algorithm))?;
    TsigKey::new(name, algorithm, &secret).map_err(|error| format!("{what}: {error}"))
}

/// What is kept in Base64, sealed or not.
pub fn opened(
    what: &str,
    belonging: Belonging<'_>,
    kept: &str,
    is_sealed: bool,
    master: Option<&MasterKey>,
) -> Result<Zeroizing<Vec<u8>>, String> {
    let text = if is_sealed {
        let master = master.ok_or_else(|| format!("{what} is sealed, and `secrets_key_file` is not set"))?;
        let opened = master.open(belonging, kept).map_err(|error| format!("{what}: {error}"))?;
        Zeroizing::new(opened.expose().to_owned())
    } else {
        Zeroizing::new(kept.to_owned())
    };
    STANDARD.decode(text.as_bytes()).map(Zeroizing::new).map_err(|_| format!("{what} is not Base64"))
}

/// The key of a zone.
///
/// # Errors
/// One sentence if it is sealed and does not open, or is no key.
pub fn opened_key(
    zone: &Zone,
    kept: &str,
    is_sealed: bool,
    master: Option<&MasterKey>,
) -> Result<ZoneKey, String> {
    let key = opened("the key of the zone", zone_belonging(zone), kept, is_sealed, master)?;
    ZoneKey::parse(&key)
}
