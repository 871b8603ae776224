//! How an order begins: when it is due, and at which CA.

use hostnames::{Authority, caa, renewal};
use model::certificate_pack::{NEVER, PendingOrder, ValidationMethod};
use model::{CertificatePack, PackKind, PackStatus, Resources};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::{Issuing, Pause};
use crate::certificates::sealing::{self, KeyOwner};
use crate::conf::certificate_settings::CertificateAuthority;
use crate::events::kinds::CertificateRevoked;
use crate::jobs::acme::{self, AcmeFailure};
use crate::snapshot::Snapshot;

/// How often a CA is asked when to renew, in seconds.
pub(super) const RENEWAL_CHECK: u64 = 6 * 3_600;

impl Issuing {
    /// Begins an order, or says when one is due.
    pub(super) async fn begin(&self, pack: &CertificatePack) -> Result<CertificatePack, Pause> {
        let now = self.now();
        if pack.is_revoking {
            return self.revoke(pack).await;
        }
        if let Some(newest) = pack.certificates.first() {
            if newest.is_uploaded {
                return Err(Pause::Until(if now < newest.expires { newest.expires } else { NEVER }));
            }
            let due = renewal::due(newest.not_before, newest.expires);
            if now < due && pack.attempts == 0 && !hosts_differ(pack) {
                return self.renewal_wish(pack, due).await;
            }
        }
        if pack.method == ValidationMethod::Email {
            let detail = "no CA that this server asks sends mail; use `http` or `txt`".to_owned();
            return Err(AcmeFailure::Refused(detail).into());
        }
        let snapshot = self.snapshot();
        self.wait_for_hostname(pack, &snapshot)?;
        let authority = self.authority(pack, &snapshot).await?;
        let key = rcgen::KeyPair::generate().map_err(|error| AcmeFailure::Here(error.to_string()))?;
        let key = sealing::kept(&KeyOwner::Pack(pack.id), &key.serialize_pem(), self.master.as_ref());
        let key = key.map_err(AcmeFailure::Here)?;
        let order =
            PendingOrder { authority: authority.name.clone(), url: None, key, challenges: Vec::new() };
        let next =
            CertificatePack { order: Some(Box::new(order)), is_forbidden_by_caa: false, ..pack.clone() };
        self.save(pack, next, |_| Vec::new()).await
    }

    /// Revokes what a pack has; it begins anew then, with another key.
    async fn revoke(&self, pack: &CertificatePack) -> Result<CertificatePack, Pause> {
        let snapshot = self.snapshot();
        let settings = &snapshot.certificate_settings;
        for issued in pack.certificates.iter().filter(|issued| !issued.is_uploaded) {
            let authority =
                settings.authority(&issued.authority).ok_or_else(|| no_authority(&issued.authority))?;
            let account =
                self.accounts.of(authority, &settings.contact, &self.control, self.master.as_ref()).await?;
            acme::revoke(&account, &issued.chain).await?;
        }
        let mut next =
            CertificatePack { is_revoking: false, certificates: Vec::new(), attempts: 0, ..pack.clone() };
        self.set_status(&mut next, PackStatus::Initializing);
        let next = self.save(pack, next, |_| Vec::new()).await?;
        self.events.emit(&CertificateRevoked { pack: pack.id.to_string(), hosts: pack.hosts.join(" ") });
        Ok(next)
    }

    /// Holds an order back whose name is not verified: a CA that looks here would see the token of whoever claims the name.
    /// By a TXT record its owner shows it to the CA.
    fn wait_for_hostname(&self, pack: &CertificatePack, snapshot: &Snapshot) -> Result<(), Pause> {
        match waits_for_hostname(pack, &snapshot.resources) {
            true => Err(Pause::Unverified),
            false => Ok(()),
        }
    }

    /// When a valid certificate is renewed: a third before its end, or when its CA says.
    async fn renewal_wish(&self, pack: &CertificatePack, due: u64) -> Result<CertificatePack, Pause> {
        let now = self.now();
        let wish = self.ca_wish(pack).await;
        match wish {
            Some(moment) if moment <= now => {
                // One attempt counts as begun, so that the next look does not ask again.
                let next = CertificatePack { attempts: 1, ..pack.clone() };
                self.save(pack, next, |_| Vec::new()).await
            }
            Some(moment) => Err(Pause::Until(moment.min(due).min(now + RENEWAL_CHECK))),
            None => Err(Pause::Until(due)),
        }
    }

    /// The moment that the CA of a certificate suggests (RFC 9773); `None` if it suggests none.
    async fn ca_wish(&self, pack: &CertificatePack) -> Option<u64> {
        let snapshot = self.snapshot();
        let settings = &snapshot.certificate_settings;
        let newest = pack.certificates.first()?;
        let authority = settings.authority(&newest.authority)?;
        let accounts = self.accounts.of(authority, &settings.contact, &self.control, self.master.as_ref());
        let account = accounts.await.ok()?;
        let certificate = CertificateDer::pem_slice_iter(newest.chain.as_bytes()).next()?.ok()?;
        let id = instant_acme::CertificateIdentifier::try_from(&certificate).ok()?;
        let (info, _) = account.renewal_info(&id).await.ok()?;
        let seconds = |time: i64| u64::try_from(time).unwrap_or(0);
        let window = &info.suggested_window;
        let chance = newest.id.as_u128() as u16;
        Some(renewal::within(
            seconds(window.start.unix_timestamp()),
            seconds(window.end.unix_timestamp()),
            chance,
        ))
    }

    /// The CA to ask: the one that is named, else the first in turn that CAA records allow.
    async fn authority(
        &self,
        pack: &CertificatePack,
        snapshot: &Snapshot,
    ) -> Result<CertificateAuthority, Pause> {
        let all = &snapshot.certificate_settings.authorities;
        let named = pack.named_authority();
        let turn = (pack.attempts as usize).checked_rem(all.len()).unwrap_or(0);
        let in_turn = all.iter().cycle().skip(turn).take(all.len());
        let candidates: Vec<&CertificateAuthority> =
            in_turn.filter(|authority| named.is_none_or(|name| authority.name == name)).collect();
        if candidates.is_empty() {
            return Err(no_authority(named.unwrap_or_default()).into());
        }
        let mut forbidden = Vec::new();
        for candidate in candidates {
            match self.forbidden(pack, candidate).await {
                None => return Ok(candidate.clone()),
                Some(error) => forbidden.push(error),
            }
        }
        Err(Pause::Forbidden(forbidden))
    }

    /// The record that forbids a CA; `None` if none does.
    async fn forbidden(&self, pack: &CertificatePack, authority: &CertificateAuthority) -> Option<String> {
        let looker = self.looker.as_ref().filter(|_| !authority.domains.is_empty())?;
        for host in &pack.hosts {
            // If nobody can say, the CA looks itself.
            let Some(records) = looker.caa(host).await else { continue };
            let is_wildcard = host.starts_with("*.");
            if let Err(record) = caa::check(&records, Authority { domains: &authority.domains }, is_wildcard)
            {
                let domain = authority.domains.first().map_or("", String::as_str);
                return Some(format!(
                    "Issuance blocked by a CAA error for {host}: the record `{record}` does not name `{domain}`; add \
                     CAA records `issue` and `issuewild` for it"
                ));
            }
        }
        None
    }
}

fn no_authority(name: &str) -> AcmeFailure {
    AcmeFailure::Refused(format!("there is no CA `{name}` in `certificates.authorities`"))
}

/// Whether a name of the pack is not in the newest certificate.
fn hosts_differ(pack: &CertificatePack) -> bool {
    let newest = pack.certificates.first();
    newest.is_some_and(|newest| pack.hosts.iter().any(|host| !newest.hosts.contains(host)))
}

/// Whether an order is held back for the name that it is for.
pub(super) fn waits_for_hostname(pack: &CertificatePack, resources: &Resources) -> bool {
    let PackKind::CustomHostname(id) = pack.kind else { return false };
    let is_served = resources.hostnames.get(&id).is_some_and(|hostname| hostname.status.is_served());
    !(pack.method == ValidationMethod::Txt || pack.has_wildcard() || is_served)
}
