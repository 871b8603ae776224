//! What a guardrail of the API is shown, as it is kept: sealed.

use gateway::vault::{Belonging, MasterKey};
use model::gateway::Guardrail;
use model::origin_url::OriginUrl;
use model::{AccountId, GatewayId, Secret};

/// The host that a guardrail is asked at, to which alone the secret goes.
///
/// # Errors
/// One sentence if its URL is none.
pub fn authority(guardrail: &Guardrail) -> Result<String, String> {
    OriginUrl::of_endpoint(&guardrail.url).map(|url| url.authority())
}

fn belonging<'b>(account: &'b AccountId, gateway: &'b GatewayId, authority: &'b str) -> Belonging<'b> {
    Belonging {
        account: account.as_str(),
        gateway: gateway.as_str(),
        provider: "guardrail",
        authority,
        alias: "",
    }
}

/// A guardrail as it is kept, of one whose secret is open.
///
/// # Errors
/// If its URL is none, or the system has no random numbers.
pub fn kept(
    guardrail: Guardrail,
    account: &AccountId,
    gateway: &GatewayId,
    master: &MasterKey,
) -> Result<Guardrail, String> {
    let Some(secret) = &guardrail.authorization else { return Ok(guardrail) };
    let sealed = master.seal(belonging(account, gateway, &authority(&guardrail)?), secret)?;
    Ok(Guardrail { authorization: None, sealed_authorization: Some(sealed), ..guardrail })
}

/// What the guardrail is shown.
///
/// # Errors
/// If it is sealed and does not open.
pub fn opened(
    guardrail: &Guardrail,
    account: &AccountId,
    gateway: &GatewayId,
    master: Option<&MasterKey>,
) -> Result<Option<Secret>, String> {
    let Some(sealed) = &guardrail.sealed_authorization else { return Ok(guardrail.authorization.clone()) };
    let master = master.ok_or("it is sealed, and `secrets_key_file` is not set")?;
    master.open(belonging(account, gateway, &authority(guardrail)?), sealed).map(Some)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use model::gateway::GuardrailFailure;

    #[test]
    fn secrets_open_for_their_own_gateway_and_host_only() {
        let (account, gateway) = (AccountId::new("acme"), GatewayId::new("main"));
        let master = MasterKey::parse(&"0a".repeat(32)).unwrap();
        let open = Guardrail {
            url: "https://judge.example/a?b".to_owned(),
            authorization: Some(Secret::new("Bearer word")),
            sealed_authorization: None,
            timeout: Duration::ZERO,
            on_failure: GuardrailFailure::Block,
            stages: Vec::new(),
            may_be_private: false,
        };
        let sealed = kept(open, &account, &gateway, &master).unwrap();
        assert!(
            sealed.authorization.is_none() && !sealed.sealed_authorization.clone().unwrap().contains("word")
        );
        let opened = |guardrail: &Guardrail, gateway: &GatewayId, master: Option<&MasterKey>| {
            opened(guardrail, &account, gateway, master).map(|secret| secret.unwrap().expose().to_owned())
        };
        assert_eq!(opened(&sealed, &gateway, Some(&master)).unwrap(), "Bearer word");
        assert!(opened(&sealed, &gateway, None).is_err());
        assert!(opened(&sealed, &GatewayId::new("other"), Some(&master)).is_err());
        let moved = Guardrail { url: "https://other.example/a".to_owned(), ..sealed };
        assert!(opened(&moved, &gateway, Some(&master)).is_err());
    }
}
