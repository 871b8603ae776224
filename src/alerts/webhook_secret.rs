//! Secrets of webhooks as they are kept: sealed, if there is a key to seal with.

use gateway::vault::{Belonging, MasterKey};
use model::Secret;
use model::alert::AlertWebhook;

/// Where a secret belongs: to a webhook and its URL, so that it goes nowhere else.
fn belonging(webhook: &AlertWebhook) -> Belonging<'_> {
    Belonging {
        account: webhook.account.as_str(),
        gateway: "",
        provider: "webhook",
        authority: &webhook.url,
        alias: &webhook.id,
    }
}

/// A webhook as it is kept, of one whose secret is open.
///
/// # Errors
/// If the system has no random numbers.
pub fn kept(webhook: AlertWebhook, master: Option<&MasterKey>) -> Result<AlertWebhook, String> {
    let (Some(secret), Some(master)) = (&webhook.secret, master) else { return Ok(webhook) };
    let sealed = master.seal(belonging(&webhook), &Secret::new(secret.as_str()))?;
    Ok(AlertWebhook { secret: Some(sealed), is_sealed: true, ..webhook })
}

/// The secret itself.
///
/// # Errors
/// If it is sealed and does not open.
pub fn opened(webhook: &AlertWebhook, master: Option<&MasterKey>) -> Result<Option<String>, String> {
    let Some(kept) = webhook.secret.as_ref().filter(|_| webhook.is_sealed) else {
        return Ok(webhook.secret.clone());
    };
    let of = |error: String| format!("the secret of the webhook `{}`: {error}", webhook.name);
    let master = master.ok_or_else(|| of("it is sealed, and `secrets_key_file` is not set".to_owned()))?;
    let opened = master.open(belonging(webhook), kept).map_err(of)?;
    Ok(Some(opened.expose().to_owned()))
}

#[cfg(test)]
mod tests {
    use model::AccountId;

    use super::*;

    #[test]
    fn secrets_open_for_their_own_url_only() {
        let master = MasterKey::parse(&"0a".repeat(32)).unwrap();
        let open = AlertWebhook {
            id: "w".to_owned(),
            account: AccountId::new("a"),
            name: "ops".to_owned(),
            url: "https://hooks.example/a".to_owned(),
            secret: Some("word".to_owned()),
            is_sealed: false,
            created_at: String::new(),
        };
        let sealed = kept(open.clone(), Some(&master)).unwrap();
        assert!(sealed.is_sealed && !sealed.secret.as_ref().unwrap().contains("word"));
        assert_eq!(opened(&sealed, Some(&master)).unwrap(), open.secret);
        assert_eq!(kept(open.clone(), None).unwrap(), open, "without a key it is kept as it is");
        assert_eq!(opened(&open, None).unwrap(), open.secret);
        assert!(opened(&sealed, None).is_err());
        let moved = AlertWebhook { url: "https://other.example/a".to_owned(), ..sealed };
        assert!(opened(&moved, Some(&master)).unwrap_err().contains("the secret of the webhook `ops`"));
    }
}
