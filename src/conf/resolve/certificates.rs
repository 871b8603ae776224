//! `[certificates]`: CAs checked, their files read.

use super::Resolving;
use crate::conf::certificate_file::{AuthorityFile, CertificatesFile, CustomHostnamesFile};
use crate::conf::certificate_settings::CertificateAuthority;
use crate::conf::table::Located;
use crate::conf::{CertificateSettings, Listener, TicketSecret};
use crate::named_file::read_text;
use diagnostic::{Code, Diagnostic};
use model::{Resources, Secret};

impl Resolving<'_> {
    pub(super) fn certificates(
        &mut self,
        file: CertificatesFile,
        hostnames: CustomHostnamesFile,
        listeners: &[Listener],
    ) -> CertificateSettings {
        let mut authorities: Vec<CertificateAuthority> = Vec::new();
        for authority in file.authorities {
            let place = authority.name.place.clone();
            let Some(authority) = self.authority(authority) else { continue };
            if authorities.iter().any(|known| known.name == authority.name) {
                self.conflict(&place, format!("two authorities have the name `{}`", authority.name));
            }
            authorities.push(authority);
        }
        if authorities.is_empty() {
            authorities.push(CertificateAuthority::lets_encrypt());
        }
        let ask = file.ask.map(|ask| {
            if !ask.value.starts_with("http://") {
                let message = "`certificates.ask` is a URL that begins with `http://`, of a server of yours";
                self.bad(&ask.place, message);
            }
            ask.value
        });
        CertificateSettings {
            contact: file.contact,
            http_port: file.http_port,
            ask,
            issuance_rate: file.issuance_rate,
            authorities,
            names: hostnames.names,
            hostname_quota: hostnames.quota,
            has_plain_listener: listeners.iter().any(|listener| !listener.speaks_tls()),
        }
    }

    /// The secret of session tickets.
    pub(super) fn ticket_secret(&mut self, file: Option<Located<String>>) -> Option<TicketSecret> {
        let file = file?;
        let path = self.existing(&file);
        let text = zeroize::Zeroizing::new(read_text(&path).ok()?);
        let parsed = TicketSecret::parse(&text);
        parsed
            .map_err(|message| self.bad(&file.place, format!("`certificates.ticket_key_file`: {message}")))
            .ok()
    }

    /// Warns of zones whose certificates nobody can use, or whose keys are kept as they are.
    pub(super) fn warn_of_tls(
        &mut self,
        resources: &Resources,
        listeners: &[Listener],
        has_secrets_key: bool,
    ) {
        let Some(zone) = resources.zones.values().find(|zone| zone.tls.is_automatic) else { return };
        let mut warn = |message: &str| {
            let warning = Diagnostic::warning(Code::ConfMissingKey, message);
            self.diagnostics.push(match zone.place() {
                Some(place) => warning.at(place.clone()),
                None => warning,
            });
        };
        if !listeners.iter().any(Listener::speaks_tls) {
            warn("the zone has `tls = \"auto\"`, and no listener speaks TLS; set `tls = true` on one");
        }
        if !has_secrets_key {
            warn("keys of certificates are kept unsealed in the state folder: `secrets_key_file` is not set");
        }
    }

    fn authority(&mut self, file: AuthorityFile) -> Option<CertificateAuthority> {
        let is_word = |text: &str| {
            !text.is_empty()
                && text.len() <= 32
                && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        };
        if !is_word(&file.name.value) {
            let message = "`certificates.authorities.name` takes up to 32 lower-case letters, digits and `_`";
            self.bad(&file.name.place, message);
        }
        if !file.directory.value.starts_with("https://") {
            let message = "`certificates.authorities.directory` is a URL that begins with `https://`";
            self.bad(&file.directory.place, message);
        }
        let root_file = file.root_file.map(|file| self.existing(&file));
        let external_account = match (file.eab_key_id, file.eab_key_file) {
            (Some(id), Some(key)) => {
                let path = self.existing(&key);
                let text = read_text(&path).ok()?;
                Some((id.value, Secret::new(text.trim().to_owned())))
            }
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => {
                let message = "`eab_key_id` and `eab_key_file` go together: one of them is missing";
                self.bad(&one.place, message);
                None
            }
        };
        let domains = file.caa.iter().map(|domain| domain.trim().to_ascii_lowercase()).collect();
        Some(CertificateAuthority {
            name: file.name.value,
            directory: file.directory.value,
            root_file,
            domains,
            external_account,
        })
    }
}
