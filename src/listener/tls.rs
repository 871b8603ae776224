//! TLS of a listener: 1.2 and 1.3, HTTP/2 and HTTP/1.1, resumption, certificates and settings by name from the snapshot.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use model::certificate_pack::{TlsSettings, TlsVersion};
use model::zone::ClientCertificates;
use parking_lot::RwLock;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::{ClientHello, ResolvesServerCert, ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{CipherSuite, ServerConfig};

use super::tickets::SharedTickets;
use crate::certificates::WantedNames;
use crate::clock::Clock;
use crate::conf::{ListenerProtocol, TicketSecret};
use crate::snapshot::{SnapshotHandle, SpokenTls};
use crate::zone_settings::{cipher_suite, roots};

/// Sessions kept for clients that resume without tickets.
const SESSION_CACHE: usize = 10_240;
/// Most combinations of settings that are kept.
const MAX_PROFILES: usize = 64;
/// What a CA speaks that looks whether a name is ours (RFC 8737).
const ACME_TLS: &[u8] = b"acme-tls/1";

/// How TLS is spoken with clients that ask for some name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct TlsProfile {
    has_no_http2: bool,
    has_no_http3: bool,
    has_no_tls_1_3: bool,
    has_no_tls_1_2: bool,
    /// Suites of TLS 1.2; all if there are none.
    suites: Vec<u16>,
    /// Whose certificates clients may show.
    client_certificates: Option<Arc<ClientCertificates>>,
}

impl TlsProfile {
    fn of(spoken: SpokenTls<'_>) -> Self {
        let SpokenTls { own, zone, is_name_of_zone } = spoken;
        let of_zone = zone.map(|zone| &zone.settings);
        let either =
            |read: fn(&TlsSettings) -> Option<bool>| own.and_then(read).or_else(|| of_zone.and_then(read));
        let ciphers = own.map(|own| &own.ciphers).filter(|ciphers| !ciphers.is_empty());
        let ciphers = ciphers.or_else(|| of_zone.map(|zone| &zone.ciphers));
        let mut suites: Vec<u16> =
            ciphers.into_iter().flatten().filter_map(|name| cipher_suite(name)).map(u16::from).collect();
        suites.sort_unstable();
        suites.dedup();
        let has_no_tls_1_2 = spoken.min_version() == TlsVersion::V13;
        Self {
            has_no_http2: either(|settings| settings.http2) == Some(false),
            has_no_http3: either(|settings| settings.http3) == Some(false),
            // Of two that leave no version the lowest version counts.
            has_no_tls_1_3: either(|settings| settings.tls_1_3) == Some(false) && !has_no_tls_1_2,
            has_no_tls_1_2,
            suites,
            client_certificates: zone
                .filter(|_| is_name_of_zone)
                .and_then(|zone| zone.client_certificates.clone()),
        }
    }

    /// Whether HTTP/3 is spoken too: it is, but for names whose settings QUIC cannot meet. Its TLS is 1.3, and one
    /// connection has one set of client certificates for all names.
    fn speaks_http3(&self) -> bool {
        !self.has_no_http3 && !self.has_no_tls_1_3 && !self.has_no_http2 && self.client_certificates.is_none()
    }
}

/// What is spoken with a client.
pub(super) struct SpokenWith {
    pub(super) config: Arc<ServerConfig>,
    /// Whose certificates it may show.
    pub(super) client_certificates: Option<Arc<ClientCertificates>>,
    /// Whether the name that it asked for may be spoken to over HTTP/3.
    pub(super) speaks_http3: bool,
}

/// The settings of a listener's TLS, by the name that a client asks for.
pub(super) struct TlsConfigs {
    names: Arc<FromSnapshot>,
    protocol: ListenerProtocol,
    /// What nodes share for tickets; each process has its own if there is none.
    tickets: Option<(TicketSecret, Clock)>,
    plain: Arc<ServerConfig>,
    /// For CAs that look.
    acme: Arc<ServerConfig>,
    /// Of names that have settings of their own. Whoever comes first with some makes them; others wait for less than a
    /// millisecond.
    profiles: RwLock<HashMap<TlsProfile, Arc<ServerConfig>>>,
}

impl TlsConfigs {
    /// The settings of a listener.
    ///
    /// # Errors
    /// If the system has no random numbers for tickets.
    pub(super) fn new(
        address: SocketAddr,
        protocol: ListenerProtocol,
        snapshots: SnapshotHandle,
        wanted: WantedNames,
        (tickets, clock): (Option<TicketSecret>, Clock),
    ) -> Result<Self, rustls::Error> {
        let names = Arc::new(FromSnapshot { address, snapshots, wanted, clock });
        let tickets = tickets.map(|secret| (secret, clock));
        let plain = server_config(&names, protocol, &TlsProfile::default(), tickets.as_ref())?;
        let mut acme = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(OfChallenges(Arc::clone(&names))));
        acme.alpn_protocols = vec![ACME_TLS.to_vec()];
        let acme = Arc::new(acme);
        Ok(Self { names, protocol, tickets, plain, acme, profiles: RwLock::default() })
    }

    /// The settings of QUIC, with certificates for the names that HTTP/3 is spoken to.
    ///
    /// # Errors
    /// If the system has no random numbers for tickets.
    pub(super) fn quic(&self) -> Result<Arc<ServerConfig>, rustls::Error> {
        let names = Arc::new(OfHttp3(Arc::clone(&self.names)));
        let mut config =
            with_provider(aws_lc_rs::default_provider(), &[&rustls::version::TLS13], names, None)?;
        config.ticketer = match &self.tickets {
            Some((secret, clock)) => SharedTickets::new(secret.clone(), "http3".to_owned(), *clock),
            None => aws_lc_rs::Ticketer::new()?,
        };
        config.alpn_protocols = vec![b"h3".to_vec()];
        Ok(Arc::new(config))
    }

    /// What is spoken with a client, by its first message.
    pub(super) fn for_client(&self, hello: &ClientHello<'_>) -> SpokenWith {
        let plainly = |config: &Arc<ServerConfig>, speaks_http3| SpokenWith {
            config: Arc::clone(config),
            client_certificates: None,
            speaks_http3,
        };
        if hello.alpn().is_some_and(|mut protocols| protocols.any(|protocol| protocol == ACME_TLS)) {
            return plainly(&self.acme, false);
        }
        let profile = hello
            .server_name()
            .map(|name| TlsProfile::of(self.names.snapshots.load().spoken_tls(&name.to_ascii_lowercase())));
        let Some(profile) = profile.filter(|profile| *profile != TlsProfile::default()) else {
            return plainly(&self.plain, hello.server_name().is_some());
        };
        let spoken = |config: &Arc<ServerConfig>, profile: &TlsProfile| SpokenWith {
            config: Arc::clone(config),
            client_certificates: profile.client_certificates.clone(),
            speaks_http3: profile.speaks_http3(),
        };
        if let Some(known) = self.profiles.read().get(&profile) {
            return spoken(known, &profile);
        }
        match server_config(&self.names, self.protocol, &profile, self.tickets.as_ref()) {
            Ok(made) => {
                let mut profiles = self.profiles.write();
                if profiles.len() >= MAX_PROFILES {
                    profiles.clear();
                }
                let spoken = spoken(&made, &profile);
                profiles.insert(profile, made);
                spoken
            }
            // INVARIANT: each profile leaves a version and a suite, and CAs were read when they were set, so only random
            // numbers can be missing. Requests are compared with the settings of their zone all the same.
            Err(_) => plainly(&self.plain, false),
        }
    }
}

fn server_config(
    names: &Arc<FromSnapshot>,
    protocol: ListenerProtocol,
    profile: &TlsProfile,
    tickets: Option<&(TicketSecret, Clock)>,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let names = Arc::clone(names) as Arc<dyn ResolvesServerCert>;
    let mut provider = aws_lc_rs::default_provider();
    if !profile.suites.is_empty() {
        // Those of TLS 1.3 are all taken.
        let is_of_1_3 = |suite: CipherSuite| u16::from(suite) >> 8 == 0x13;
        provider
            .cipher_suites
            .retain(|suite| is_of_1_3(suite.suite()) || profile.suites.contains(&u16::from(suite.suite())));
    }
    let versions: &[&rustls::SupportedProtocolVersion] =
        match (profile.has_no_tls_1_2, profile.has_no_tls_1_3) {
            (true, _) => &[&rustls::version::TLS13],
            (false, true) => &[&rustls::version::TLS12],
            (false, false) => &[&rustls::version::TLS13, &rustls::version::TLS12],
        };
    let mut config = with_provider(provider, versions, names, profile.client_certificates.as_deref())?;
    config.ticketer = match tickets {
        // INVARIANT: what a profile prints is all that it is, the same on every node.
        Some((secret, clock)) => SharedTickets::new(secret.clone(), format!("{profile:?}"), *clock),
        None => aws_lc_rs::Ticketer::new()?,
    };
    config.alpn_protocols = match protocol {
        ListenerProtocol::Http if profile.has_no_http2 => vec![b"http/1.1".to_vec()],
        ListenerProtocol::Http => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        ListenerProtocol::Dns => vec![b"dot".to_vec()],
    };
    Ok(Arc::new(config))
}

fn with_provider(
    provider: CryptoProvider,
    versions: &[&'static rustls::SupportedProtocolVersion],
    names: Arc<dyn ResolvesServerCert>,
    client_certificates: Option<&ClientCertificates>,
) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(provider);
    let builder =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(versions)?;
    let mut config = match client_certificates {
        None => builder.with_no_client_auth(),
        Some(certificates) => {
            let roots = Arc::new(roots(&certificates.ca).map_err(rustls::Error::General)?);
            // Who shows none is told so by a page.
            let verifier =
                WebPkiClientVerifier::builder_with_provider(roots, provider).allow_unauthenticated();
            let verifier = verifier.build().map_err(|error| rustls::Error::General(error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
    }
    .with_cert_resolver(names);
    config.session_storage = ServerSessionMemoryCache::new(SESSION_CACHE);
    Ok(config)
}

/// Certificates of the snapshot in use, so that a changed certificate is a new snapshot and no restart.
#[derive(Debug)]
struct FromSnapshot {
    address: SocketAddr,
    snapshots: SnapshotHandle,
    wanted: WantedNames,
    clock: Clock,
}

impl ResolvesServerCert for FromSnapshot {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let snapshot = self.snapshots.load();
        let of_files = snapshot.certificates.get(&self.address);
        let Some(name) = hello.server_name() else { return of_files?.select(None) };
        let name = name.to_ascii_lowercase();
        // A file that names it was put there for it.
        let named = of_files.and_then(|files| files.select_named(&name));
        let stored = || {
            let (schemes, now) = (hello.signature_schemes(), self.clock.unix().as_secs());
            let suiting = snapshot.certificate_that(&name, |served| served.suits(schemes, now));
            // A client that is shown one which does not suit it can say why.
            suiting.or_else(|| snapshot.certificate(&name))?.certified_key()
        };
        let found = named.or_else(stored);
        if found.is_none() && snapshot.certificate_settings.ask.is_some() {
            self.wanted.want(&name);
        }
        found.or_else(|| of_files?.select(None))
    }
}

/// Those of names that HTTP/3 is spoken to: clients of others come by TCP, where their settings hold.
#[derive(Debug)]
struct OfHttp3(Arc<FromSnapshot>);

impl ResolvesServerCert for OfHttp3 {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name()?.to_ascii_lowercase();
        let profile = TlsProfile::of(self.0.snapshots.load().spoken_tls(&name));
        if profile.speaks_http3() { self.0.resolve(hello) } else { None }
    }
}

/// What CAs look for.
#[derive(Debug)]
struct OfChallenges(Arc<FromSnapshot>);

impl ResolvesServerCert for OfChallenges {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name()?.to_ascii_lowercase();
        self.0.snapshots.load().certificates_by_name.alpn_certificate(&name)
    }
}
