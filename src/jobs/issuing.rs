//! Certificates: each pack goes on when it is due. What is known of an order is written before the next step, so that a
//! process that ends goes on with the same order and the same key.
//!
//! ```text
//! no order ─CAA, key─► order to make ─CA─► waits to be validated ─CA looks─► certificate asked for ─► active
//!     ▲                                        │                                  │                   │
//!     └──────────── refused, or gone ──────────┴──────────────────────────────────┘   a third left ───┘
//! ```

mod begin;
mod keep;
mod request;

use std::sync::Arc;
use std::time::Duration;

use gateway::vault::MasterKey;
use hostnames::renewal;
use instant_acme::{Order, OrderStatus};
use model::certificate_pack::{ChallengeKind, PendingChallenge, PendingOrder};
use model::{CertificatePack, Declared, PackKind, PackStatus, Resources};
use store::Change;
use tokio::time::timeout;

use super::acme::{self, AcmeAccounts, AcmeFailure};
use super::look::{LookerInUse, NetworkLooker};
use super::on_demand::OnDemand;
use super::schedule::{DueResources, TasksById};
use super::{challenge_records, universal};
use crate::certificates::sealing::{self, KeyOwner};
use crate::certificates::{CertificateFacts, WantedNames, dns_value, new_uuid, record_deletions};
use crate::clock::{Clock, rfc3339};
use crate::control::Control;
use crate::events::Events;
use crate::events::kinds::CertificateIssued;
use crate::snapshot::Snapshot;
use begin::RENEWAL_CHECK;
use request::{kinds, request};

/// How often it is looked what is due.
const TICK: Duration = Duration::from_millis(100);
/// How long a step may take: a CA may accept a connection and never answer.
const LONGEST_STEP: Duration = Duration::from_mins(1);
/// Most packs that go on at once.
const MAX_AT_ONCE: usize = 16;

/// Gets certificates for as long as it is polled.
pub async fn run(
    control: Control,
    wanted: WantedNames,
    (events, clock): (Events, Clock),
    master: Option<MasterKey>,
) {
    let mut on_demand = OnDemand::new(control.clone(), wanted, clock);
    let mut schedule = DueResources::new(|pack: &CertificatePack| pack.next_step);
    let (mut lookers, accounts) = (LookerInUse::default(), AcmeAccounts::default());
    let (mut under_way, mut seen_revision) = (TasksById::default(), 0);
    loop {
        tokio::time::sleep(TICK).await;
        let snapshot = control.handle().load();
        if seen_revision != snapshot.revision {
            universal::keep_up(&control, &snapshot, clock).await;
            schedule.follow(&snapshot.resources.packs);
            seen_revision = snapshot.revision;
            universal::measure(&snapshot, &events);
        }
        on_demand.tick(&snapshot).await;
        let room = MAX_AT_ONCE.saturating_sub(schedule.under_way());
        let due = schedule.take(clock.unix().as_secs(), room);
        schedule.measure("certificate", &events);
        let looker = lookers.of(&snapshot);
        for pack in due {
            let issuing = Issuing {
                control: control.clone(),
                accounts: accounts.clone(),
                events: events.clone(),
                clock,
                master: master.clone(),
                looker: looker.cloned(),
            };
            // Boxed, because it waits for CAs in many places.
            under_way.spawn(pack.id, Box::pin(async move { issuing.go_on(pack).await }));
        }
        for (id, _) in under_way.ended() {
            schedule.done(&id);
        }
    }
}

/// What one pack goes on with.
struct Issuing {
    control: Control,
    accounts: AcmeAccounts,
    events: Events,
    clock: Clock,
    master: Option<MasterKey>,
    looker: Option<NetworkLooker>,
}

/// Why a pack does not go on now.
enum Pause {
    /// Somebody changed or deleted it: it is looked at anew.
    Changed,
    Failed(AcmeFailure),
    /// CAA records forbid the CA.
    Forbidden(Vec<String>),
    /// What the CA looks for is not to be seen yet.
    NotVisible(Vec<String>),
    /// The CA takes its time.
    CaBusy,
    /// The custom hostname is not verified.
    Unverified,
    /// Nothing is to be done before this moment.
    Until(u64),
}

impl From<AcmeFailure> for Pause {
    fn from(failure: AcmeFailure) -> Self {
        Self::Failed(failure)
    }
}

impl Issuing {
    fn now(&self) -> u64 {
        self.clock.unix().as_secs()
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        self.control.handle().load()
    }

    /// Goes on as far as it can, and writes when it goes on again.
    async fn go_on(&self, pack: Arc<Declared<CertificatePack>>) {
        let mut pack = pack.value.clone();
        let mut last = Pause::CaBusy;
        // An order has few steps; a CA that makes more of them is asked again later.
        for _ in 0..12 {
            // What was done and not written is as after a kill: the order goes on from what is known of it.
            match timeout(LONGEST_STEP, self.step(&pack)).await {
                Ok(Ok(next)) => (pack, last) = (next, Pause::CaBusy),
                Ok(Err(Pause::Failed(failure @ AcmeFailure::StaleNonce(_)))) => last = failure.into(),
                Ok(Err(pause)) => return self.pause(pack, pause).await,
                Err(_) => {
                    let failure = AcmeFailure::Unreachable("it takes too long to answer".to_owned());
                    return self.pause(pack, failure.into()).await;
                }
            }
        }
        self.pause(pack, last).await;
    }

    /// Takes the next step, and returns the pack as it is then.
    async fn step(&self, pack: &CertificatePack) -> Result<CertificatePack, Pause> {
        let Some(order) = pack.order.as_deref() else { return self.begin(pack).await };
        let snapshot = self.snapshot();
        let settings = &snapshot.certificate_settings;
        let authority = settings.authority(&order.authority).ok_or(AcmeFailure::Gone)?;
        let account =
            self.accounts.of(authority, &settings.contact, &self.control, self.master.as_ref()).await?;
        let Some(url) = &order.url else {
            let mut at_ca = acme::ordered(&account, &pack.hosts).await?;
            let challenges = acme::challenges(&mut at_ca, &kinds(pack, settings.has_plain_listener)).await?;
            return self.ordered(pack, order, at_ca.url().to_owned(), challenges).await;
        };
        let mut at_ca = acme::known(&account, url).await?;
        match at_ca.state().status {
            OrderStatus::Pending => self.validate(pack, order, &mut at_ca).await,
            OrderStatus::Ready | OrderStatus::Processing | OrderStatus::Valid => {
                self.issue(pack, order, &mut at_ca).await
            }
            OrderStatus::Invalid => {
                acme::validated(&mut at_ca).await?;
                Err(AcmeFailure::Gone.into())
            }
        }
    }

    /// An order was made: what the CA waits for is kept, and put into zones of ours.
    async fn ordered(
        &self,
        pack: &CertificatePack,
        order: &PendingOrder,
        url: String,
        mut challenges: Vec<PendingChallenge>,
    ) -> Result<CertificatePack, Pause> {
        let snapshot = self.snapshot();
        let mut records = Vec::new();
        for challenge in challenges.iter_mut().filter(|challenge| challenge.kind == ChallengeKind::Dns) {
            let made =
                challenge_records::record(&snapshot, self.looker.as_ref(), pack, challenge, self.clock).await;
            if let Some(record) = made {
                challenge.record_name = Some(record.name.to_string());
                records.push(record);
            }
        }
        let order = PendingOrder { url: Some(url), challenges, ..order.clone() };
        let mut next = CertificatePack { order: Some(Box::new(order)), ..pack.clone() };
        self.set_status(&mut next, PackStatus::PendingValidation);
        let changes = move |_: &Resources| {
            records.iter().cloned().map(|record| Change::PutRecord { record: Box::new(record) }).collect()
        };
        self.save(pack, next, changes).await
    }

    /// Tells the CA to look once all can be seen, and waits for it.
    async fn validate(
        &self,
        pack: &CertificatePack,
        order: &PendingOrder,
        at_ca: &mut Order,
    ) -> Result<CertificatePack, Pause> {
        if order.challenges.iter().any(|challenge| !challenge.is_told) {
            let mut missing = Vec::new();
            for challenge in &order.challenges {
                missing.extend(self.invisible(pack, challenge).await);
            }
            if !missing.is_empty() {
                return Err(Pause::NotVisible(missing));
            }
            acme::tell(at_ca, &order.challenges).await?;
            let mut told = order.clone();
            told.challenges.iter_mut().for_each(|challenge| challenge.is_told = true);
            let next = CertificatePack { order: Some(Box::new(told)), errors: Vec::new(), ..pack.clone() };
            return self.save(pack, next, |_| Vec::new()).await;
        }
        match acme::validated(at_ca).await? {
            true => self.issue(pack, order, at_ca).await,
            false => Err(Pause::CaBusy),
        }
    }

    /// Why a CA would not see what it looks for; `None` if it would.
    async fn invisible(&self, pack: &CertificatePack, challenge: &PendingChallenge) -> Option<String> {
        let host = &challenge.host;
        match challenge.kind {
            ChallengeKind::Dns => {
                if challenge.record_name.is_some() {
                    return None;
                }
                let (name, value) =
                    (format!("_acme-challenge.{host}"), dns_value(&challenge.key_authorization));
                let texts = match &self.looker {
                    Some(looker) => looker.texts(&name).await.unwrap_or_default(),
                    None => Vec::new(),
                };
                (!texts.contains(&value))
                    .then(|| format!("the TXT record `{name}` with the value `{value}` is not there yet"))
            }
            ChallengeKind::Http | ChallengeKind::TlsAlpn => {
                if self.leads_here(pack) {
                    return None;
                }
                let path = format!("/.well-known/acme-challenge/{}", challenge.token);
                // Where the name of a customer leads is not ours to say.
                let is_ours = !matches!(pack.kind, PackKind::CustomHostname(_));
                let found = match &self.looker {
                    Some(looker) => looker.page_of(host, &path, is_ours).await,
                    None => None,
                };
                let is_there = match challenge.kind {
                    ChallengeKind::Http => found.as_deref() == Some(&*challenge.key_authorization),
                    // Over TLS the CA sees for itself.
                    ChallengeKind::TlsAlpn | ChallengeKind::Dns => true,
                };
                (!is_there).then(|| format!("`http://{host}{path}` does not answer with the token yet"))
            }
        }
    }

    /// Whether it is known that the name of a custom hostname leads to this edge.
    fn leads_here(&self, pack: &CertificatePack) -> bool {
        let PackKind::CustomHostname(id) = pack.kind else { return false };
        let snapshot = self.snapshot();
        snapshot.resources.hostnames.get(&id).is_some_and(|hostname| hostname.has_pointed_here)
    }

    /// Asks for the certificate, and keeps it.
    async fn issue(
        &self,
        pack: &CertificatePack,
        order: &PendingOrder,
        at_ca: &mut Order,
    ) -> Result<CertificatePack, Pause> {
        let here = |error: String| Pause::Failed(AcmeFailure::Here(error));
        let key =
            sealing::opened(&KeyOwner::Pack(pack.id), &order.key, self.master.as_ref()).map_err(here)?;
        let pair = rcgen::KeyPair::from_pem(key.expose()).map_err(|error| here(error.to_string()))?;
        let request = request(pack, &pair).map_err(here)?;
        let mut asked = pack.clone();
        if pack.certificates.is_empty() && pack.status != PackStatus::PendingIssuance {
            self.set_status(&mut asked, PackStatus::PendingIssuance);
            asked = self.save(pack, asked, |_| Vec::new()).await?;
        }
        let Some(chain) = acme::certificate(at_ca, &request).await? else { return Err(Pause::CaBusy) };
        let facts = CertificateFacts::read(&chain).map_err(here)?;
        let at = rfc3339(self.clock.now());
        let issued =
            facts.issued(new_uuid().map_err(here)?, chain, order.key.clone(), at, Some(&order.authority));
        let event = CertificateIssued {
            pack: pack.id.to_string(),
            hosts: issued.hosts.join(" "),
            authority: order.authority.clone(),
            expires: rfc3339(std::time::UNIX_EPOCH + Duration::from_secs(issued.expires)),
        };
        let due = renewal::due(issued.not_before, issued.expires);
        let mut next = asked.clone();
        next.certificates.insert(0, Arc::new(issued));
        next.certificates.truncate(CertificatePack::MAX_CERTIFICATES);
        (next.order, next.attempts, next.errors) = (None, 0, Vec::new());
        next.next_step = due.min(self.now() + RENEWAL_CHECK);
        self.set_status(&mut next, PackStatus::Active);
        let known = asked.clone();
        let next = self.save(&asked, next, move |resources| record_deletions(resources, &known)).await?;
        self.events.emit(&event);
        Err(Pause::Until(next.next_step))
    }
}
