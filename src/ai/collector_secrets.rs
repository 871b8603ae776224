//! The fields that a collector of the API gets with each message, as they are kept: sealed.

use std::collections::BTreeMap;

use gateway::vault::{Belonging, MasterKey};
use model::origin_url::OriginUrl;
use model::{Secret, SpanCollector};

/// The host of a collector, to which alone its fields go.
///
/// # Errors
/// One sentence if its URL is none.
pub fn authority(collector: &SpanCollector) -> Result<String, String> {
    OriginUrl::of_endpoint(&collector.url).map(|url| url.authority())
}

fn belonging<'b>((account, gateway): (&'b str, &'b str), authority: &'b str, name: &'b str) -> Belonging<'b> {
    Belonging { account, gateway, provider: "collector", authority, alias: name }
}

/// A collector as it is kept, of one whose fields are open. Those that are sealed stay, unless an open one has their name.
///
/// # Errors
/// If its URL is none, or the system has no random numbers.
pub fn kept(
    mut collector: SpanCollector,
    gateway: (&str, &str),
    master: &MasterKey,
) -> Result<SpanCollector, String> {
    let authority = authority(&collector)?;
    for (name, secret) in std::mem::take(&mut collector.fields) {
        let sealed = master.seal(belonging(gateway, &authority, &name), &secret)?;
        collector.sealed_fields.insert(name, sealed);
    }
    Ok(collector)
}

/// The fields of each message.
///
/// # Errors
/// If one is sealed and does not open.
pub fn opened(
    collector: &SpanCollector,
    gateway: (&str, &str),
    master: Option<&MasterKey>,
) -> Result<BTreeMap<String, Secret>, String> {
    let mut fields = collector.fields.clone();
    if collector.sealed_fields.is_empty() {
        return Ok(fields);
    }
    let master = master.ok_or("its fields are sealed, and `secrets_key_file` is not set")?;
    let authority = authority(collector)?;
    for (name, sealed) in &collector.sealed_fields {
        fields.insert(name.clone(), master.open(belonging(gateway, &authority, name), sealed)?);
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_open_for_their_own_gateway_host_and_name_only() {
        let master = MasterKey::parse(&"0a".repeat(32)).unwrap();
        let here = ("acme", "main");
        let open = SpanCollector {
            url: "https://spans.example/v1/traces".to_owned(),
            fields: BTreeMap::from([("authorization".to_owned(), Secret::new("Bearer word"))]),
            ..SpanCollector::default()
        };
        let sealed = kept(open, here, &master).unwrap();
        assert!(sealed.fields.is_empty() && !sealed.sealed_fields["authorization"].contains("word"));
        let fields = opened(&sealed, here, Some(&master)).unwrap();
        assert_eq!(fields["authorization"].expose(), "Bearer word");
        assert!(opened(&sealed, here, None).is_err());
        assert!(opened(&sealed, ("acme", "other"), Some(&master)).is_err());
        let moved = SpanCollector { url: "https://other.example/".to_owned(), ..sealed.clone() };
        assert!(opened(&moved, here, Some(&master)).is_err());
        let mut renamed = sealed;
        let value = renamed.sealed_fields.remove("authorization").unwrap();
        renamed.sealed_fields.insert("x-other".to_owned(), value);
        assert!(opened(&renamed, here, Some(&master)).is_err());
    }
}
