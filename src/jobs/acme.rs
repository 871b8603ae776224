//! CAs that speak ACME (RFC 8555), as far as orders need them.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gateway::vault::MasterKey;
use instant_acme::{
    Account, AccountCredentials, ChallengeType, Error, ExternalAccountKey, Identifier, NewAccount, NewOrder,
    Order, OrderStatus, RetryPolicy, RevocationReason, RevocationRequest,
};
use model::certificate_pack::{AcmeAccount, ChallengeKind, PendingChallenge};
use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use store::Change;
use tokio::sync::OnceCell;

use crate::certificates::sealing::{self, KeyOwner};
use crate::conf::certificate_settings::CertificateAuthority;
use crate::control::{Control, Write};

/// How long a CA is waited for in one go.
const PATIENCE: Duration = Duration::from_secs(20);
/// The actor of changes that jobs make.
pub(super) const ACTOR: &str = "certificates";

/// Why a CA made no certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AcmeFailure {
    /// It was not to be had; the same may succeed later.
    Unreachable(String),
    /// It took none of several nonces, which it gave itself (RFC 8555 section 6.5): the same succeeds with another.
    StaleNonce(String),
    /// It says that there were too many orders.
    RateLimited(String),
    /// It looked, and did not see that a name is ours.
    NotValidated { host: String, detail: String },
    /// It does not make this certificate.
    Refused(String),
    /// It has forgotten the order.
    Gone,
    /// What was made of its answer cannot be kept.
    Here(String),
}

impl AcmeFailure {
    /// The word in metrics.
    pub(super) fn cause(&self) -> &'static str {
        match self {
            Self::Unreachable(_) | Self::StaleNonce(_) => "unreachable",
            Self::RateLimited(_) => "rate_limited",
            Self::NotValidated { .. } => "not_validated",
            Self::Refused(_) => "refused",
            Self::Gone => "order_gone",
            Self::Here(_) => "here",
        }
    }

    pub(super) fn message(&self, authority: &str) -> String {
        match self {
            Self::Unreachable(detail) | Self::StaleNonce(detail) => {
                format!("the CA `{authority}` cannot be reached: {detail}")
            }
            Self::RateLimited(detail) => format!("the CA `{authority}` takes no more orders now: {detail}"),
            Self::NotValidated { host, detail } => format!("Domain validation failed for {host}: {detail}"),
            Self::Refused(detail) => format!("the CA `{authority}` refused the order: {detail}"),
            Self::Gone => format!("the CA `{authority}` has forgotten the order; it begins again"),
            Self::Here(detail) => detail.clone(),
        }
    }

    fn of(error: Error) -> Self {
        match error {
            Error::Api(problem) => {
                let kind = problem.r#type.as_deref().unwrap_or("");
                let detail = problem.to_string();
                let kind = kind.rsplit(':').next().unwrap_or("");
                match (kind, problem.status) {
                    ("rateLimited", _) => Self::RateLimited(detail),
                    ("badNonce", _) => Self::StaleNonce(detail),
                    ("serverInternal", _) => Self::Unreachable(detail),
                    (_, Some(404)) => Self::Gone,
                    (_, Some(status)) if status >= 500 => Self::Unreachable(detail),
                    _ => Self::Refused(detail),
                }
            }
            other => Self::Unreachable(with_causes(&other)),
        }
    }
}

/// An error with what led to it: the first text alone seldom says what is wrong with a connection.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// Accounts at CAs. Clones share them.
#[derive(Clone, Default)]
pub struct AcmeAccounts(Arc<Mutex<Vec<(CertificateAuthority, SharedAccount)>>>);

/// An account once it is known. Whoever comes first gets it; others wait for that, and for no other CA.
type SharedAccount = Arc<OnceCell<Account>>;

impl AcmeAccounts {
    /// The account at a CA: the one that is known, the one that is stored, or a new one, which is stored first.
    pub(super) async fn of(
        &self,
        authority: &CertificateAuthority,
        contact: &[String],
        control: &Control,
        master: Option<&MasterKey>,
    ) -> Result<Account, AcmeFailure> {
        let account = self.place(authority);
        let account = account.get_or_try_init(|| async {
            match stored(authority, control, master)? {
                Some(credentials) => {
                    builder(authority)?.from_credentials(credentials).await.map_err(AcmeFailure::of)
                }
                None => made(authority, contact, control, master).await,
            }
        });
        account.await.cloned()
    }

    fn place(&self, authority: &CertificateAuthority) -> SharedAccount {
        let mut all = self.0.lock();
        if let Some((_, account)) = all.iter().find(|(of, _)| of == authority) {
            return Arc::clone(account);
        }
        let account = SharedAccount::default();
        all.push((authority.clone(), Arc::clone(&account)));
        account
    }
}

fn owner(authority: &CertificateAuthority) -> KeyOwner {
    KeyOwner::Account { authority: authority.name.clone() }
}

fn builder(authority: &CertificateAuthority) -> Result<instant_acme::AccountBuilder, AcmeFailure> {
    let builder = match &authority.root_file {
        Some(root) => Account::builder_with_root(root),
        None => Account::builder(),
    };
    builder.map_err(|error| AcmeFailure::Here(format!("no client for `{}`: {error}", authority.directory)))
}

fn stored(
    authority: &CertificateAuthority,
    control: &Control,
    master: Option<&MasterKey>,
) -> Result<Option<AccountCredentials>, AcmeFailure> {
    let snapshot = control.handle().load();
    let known = snapshot.resources.acme_accounts.get(&authority.name);
    let Some(known) = known.filter(|known| known.directory == authority.directory) else { return Ok(None) };
    let unreadable = |detail: String| {
        AcmeFailure::Here(format!("the account at `{}` cannot be read: {detail}", authority.name))
    };
    let text = sealing::opened(&owner(authority), &known.credentials, master).map_err(unreadable)?;
    serde_json::from_str(text.expose()).map(Some).map_err(|error| unreadable(error.to_string()))
}

async fn made(
    authority: &CertificateAuthority,
    contact: &[String],
    control: &Control,
    master: Option<&MasterKey>,
) -> Result<Account, AcmeFailure> {
    let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
    let new = NewAccount { contact: &contact, terms_of_service_agreed: true, only_return_existing: false };
    let external = match &authority.external_account {
        Some((id, key)) => {
            let key = URL_SAFE_NO_PAD.decode(key.expose().trim_end_matches('=')).map_err(|_| {
                AcmeFailure::Here(format!("the external account key of `{}` is not Base64", authority.name))
            })?;
            Some(ExternalAccountKey::new(id.clone(), &key))
        }
        None => None,
    };
    let (account, credentials) = builder(authority)?
        .create(&new, authority.directory.clone(), external.as_ref())
        .await
        .map_err(AcmeFailure::of)?;
    let text = serde_json::to_string(&credentials).map_err(|error| AcmeFailure::Here(error.to_string()))?;
    let credentials = sealing::kept(&owner(authority), &text, master).map_err(AcmeFailure::Here)?;
    let account_kept = AcmeAccount {
        authority: authority.name.clone(),
        directory: authority.directory.clone(),
        credentials,
    };
    let edit = move |_: &model::Resources| Ok(vec![Change::PutAcmeAccount { account: account_kept.clone() }]);
    control.write(Write::of(ACTOR, edit)).await.map_err(|error| AcmeFailure::Here(error.to_string()))?;
    Ok(account)
}

/// Orders a certificate of some names.
pub(super) async fn ordered(account: &Account, hosts: &[String]) -> Result<Order, AcmeFailure> {
    let identifiers: Vec<Identifier> = hosts.iter().cloned().map(Identifier::Dns).collect();
    account.new_order(&NewOrder::new(&identifiers)).await.map_err(AcmeFailure::of)
}

/// An order that was made before.
pub(super) async fn known(account: &Account, url: &str) -> Result<Order, AcmeFailure> {
    account.order(url.to_owned()).await.map_err(AcmeFailure::of)
}

/// What is to be shown for an order, by the kinds of challenges that may be, the best first. Names that the CA has seen to
/// be ours before have none.
pub(super) async fn challenges(
    order: &mut Order,
    kinds: &[ChallengeKind],
) -> Result<Vec<PendingChallenge>, AcmeFailure> {
    let mut challenges = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization.map_err(AcmeFailure::of)?;
        if authorization.status == instant_acme::AuthorizationStatus::Valid {
            continue;
        }
        let host = match authorization.identifier().identifier {
            Identifier::Dns(host) => host.clone(),
            _ => continue,
        };
        let offered = |kind: &&ChallengeKind| {
            authorization.challenges.iter().any(|challenge| challenge.r#type == type_of(**kind))
        };
        let kind = *kinds.iter().find(offered).ok_or_else(|| {
            AcmeFailure::Refused(format!("it offers no way to show that `{host}` is ours that can be taken"))
        })?;
        // INVARIANT: it is among those that were offered.
        let Some(challenge) = authorization.challenge(type_of(kind)) else { continue };
        challenges.push(PendingChallenge {
            host,
            kind,
            token: challenge.token.clone(),
            key_authorization: challenge.key_authorization().as_str().to_owned(),
            record_name: None,
            is_told: false,
        });
    }
    Ok(challenges)
}

fn type_of(kind: ChallengeKind) -> ChallengeType {
    match kind {
        ChallengeKind::Http => ChallengeType::Http01,
        ChallengeKind::Dns => ChallengeType::Dns01,
        ChallengeKind::TlsAlpn => ChallengeType::TlsAlpn01,
    }
}

/// Tells the CA that it may look, for challenges that are to be seen.
pub(super) async fn tell(order: &mut Order, ready: &[PendingChallenge]) -> Result<(), AcmeFailure> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization.map_err(AcmeFailure::of)?;
        if authorization.status != instant_acme::AuthorizationStatus::Pending {
            continue;
        }
        let ours = |challenge: &&PendingChallenge| {
            authorization.challenges.iter().any(|offered| offered.token == challenge.token)
        };
        let Some(challenge) = ready.iter().find(ours) else { continue };
        if let Some(mut challenge) = authorization.challenge(type_of(challenge.kind)) {
            challenge.set_ready().await.map_err(AcmeFailure::of)?;
        }
    }
    Ok(())
}

/// Waits until the CA has looked: `true` if it saw all, `false` if it has not looked yet.
pub(super) async fn validated(order: &mut Order) -> Result<bool, AcmeFailure> {
    match order.poll_ready(&RetryPolicy::default().timeout(PATIENCE)).await {
        Ok(OrderStatus::Ready) => return Ok(true),
        Err(Error::Timeout(_)) => return Ok(false),
        // An order that is not valid says so in its state, and as an error too.
        Err(error) if order.state().status != OrderStatus::Invalid => return Err(AcmeFailure::of(error)),
        Ok(_) | Err(_) => {}
    }
    if order.state().status == OrderStatus::Valid {
        return Ok(true);
    }
    // Which name it did not see, and why, stands in its authorizations.
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization.map_err(AcmeFailure::of)?;
        let state = authorization.refresh().await.map_err(AcmeFailure::of)?;
        let failed = state.challenges.iter().find_map(|challenge| challenge.error.as_ref());
        if let Some(problem) = failed {
            let detail = problem.detail.clone().unwrap_or_else(|| problem.to_string());
            let host = match authorization.identifier().identifier {
                Identifier::Dns(host) => host.clone(),
                _ => String::new(),
            };
            return Err(AcmeFailure::NotValidated { host, detail });
        }
    }
    Err(AcmeFailure::Refused("the order is invalid".to_owned()))
}

/// Revokes a certificate (RFC 8555 section 7.6).
pub(super) async fn revoke(account: &Account, chain: &str) -> Result<(), AcmeFailure> {
    let first = CertificateDer::pem_slice_iter(chain.as_bytes()).next();
    let first = first
        .and_then(Result::ok)
        .ok_or_else(|| AcmeFailure::Here("the certificate is not PEM".to_owned()))?;
    let request = RevocationRequest { certificate: &first, reason: Some(RevocationReason::KeyCompromise) };
    match account.revoke(&request).await {
        // Somebody did it before.
        Err(Error::Api(problem))
            if problem.r#type.as_deref().is_some_and(|kind| kind.ends_with(":alreadyRevoked")) =>
        {
            Ok(())
        }
        outcome => outcome.map_err(AcmeFailure::of),
    }
}

/// The certificate of an order, as PEM; `None` if the CA is not ready with it. `request` asks for it if that was not done.
pub(super) async fn certificate(order: &mut Order, request: &[u8]) -> Result<Option<String>, AcmeFailure> {
    if order.state().status == OrderStatus::Ready {
        order.finalize_csr(request).await.map_err(AcmeFailure::of)?;
    }
    match order.poll_certificate(&RetryPolicy::default().timeout(PATIENCE)).await {
        Ok(chain) => Ok(Some(chain)),
        Err(Error::Timeout(_)) => Ok(None),
        Err(error) => Err(AcmeFailure::of(error)),
    }
}

#[cfg(test)]
mod tests {
    use instant_acme::Problem;

    use super::*;

    #[test]
    fn failures_are_told_apart() {
        let problem = |kind: &str, status: u16| {
            let kind = format!("urn:ietf:params:acme:error:{kind}");
            let text = serde_json::json!({"type": kind, "detail": "why", "status": status}).to_string();
            AcmeFailure::of(Error::Api(serde_json::from_str::<Problem>(&text).unwrap())).cause()
        };
        for (kind, status, cause) in [
            ("rateLimited", 429, "rate_limited"),
            ("serverInternal", 500, "unreachable"),
            ("badNonce", 400, "unreachable"),
            ("malformed", 404, "order_gone"),
            ("rejectedIdentifier", 400, "refused"),
            ("caa", 403, "refused"),
        ] {
            assert_eq!(problem(kind, status), cause, "{kind} {status}");
        }
        assert_eq!(AcmeFailure::of(Error::Str("no connection")).cause(), "unreachable");
    }
}
