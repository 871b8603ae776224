//! Keys of zones that are signed, opened.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dns::dnssec::ZoneKey;
use gateway::vault::{Belonging, MasterKey};
use model::{Zone, ZoneDnssec};
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

/// The key of a zone.
///
/// # Errors
/// One sentence if it is sealed and does not open, or is no key.
pub fn opened_key(zone: &Zone, dnssec: &ZoneDnssec, master: Option<&MasterKey>) -> Result<ZoneKey, String> {
    let text = if dnssec.is_sealed {
        let master = master.ok_or("the key of the zone is sealed, and `secrets_key_file` is not set")?;
        let opened = master.open(zone_belonging(zone), &dnssec.key);
        Zeroizing::new(opened.map_err(|error| format!("the key of the zone: {error}"))?.expose().to_owned())
    } else {
        Zeroizing::new(dnssec.key.clone())
    };
    let bytes =
        STANDARD.decode(text.as_bytes()).map_err(|_| "the key of the zone is not Base64".to_owned())?;
    ZoneKey::parse(&Zeroizing::new(bytes))
}
