//! `[dns]`: names of name servers read, addresses of the edge found.

use super::Resolving;
use crate::conf::dns_file::DnsFile;
use crate::conf::{DnsSettings, Listener};
use ::dns::Name;
use diagnostic::{Code, Diagnostic};

impl Resolving<'_> {
    pub(super) fn dns(&mut self, file: DnsFile, listeners: &[Listener]) -> DnsSettings {
        let mut name_servers = Vec::new();
        for (text, place) in
            file.name_servers.iter().flat_map(|names| names.value.iter().map(|text| (text, &names.place)))
        {
            if let Some(name) = self.host(text, place).and_then(|host| Name::parse(host.as_str(), None).ok())
            {
                name_servers.push(name);
            }
        }
        let is_listening = !file.listeners.is_empty();
        if is_listening && name_servers.is_empty() {
            let message =
                "`dns.name_servers` is not set: zones have no NS records, and resolvers do not take them";
            self.diagnostics.push(Diagnostic::warning(Code::ConfMissingKey, message));
        }
        let mut addresses = file.addresses;
        if addresses.is_empty() {
            let own = listeners.iter().map(|listener| listener.address.ip());
            addresses = own.filter(|address| !address.is_unspecified()).collect();
            addresses.dedup();
        }
        if is_listening && addresses.is_empty() {
            let message = "`dns.addresses` is not set and no listener has an address of its own: proxied names are answered \
                           with none";
            self.diagnostics.push(Diagnostic::warning(Code::ConfMissingKey, message));
        }
        DnsSettings {
            listeners: file.listeners,
            resolvers: file.resolvers,
            addresses,
            name_servers,
            txt_content: file.txt_content,
            strict_names: file.strict_names,
            srv_names: file.srv_names,
            private_origins: file.private_origins,
            origin_scheme: file.origin_scheme,
            http_port: u16::try_from(file.http_port).unwrap_or(80),
            https_port: u16::try_from(file.https_port).unwrap_or(443),
            rate_limit_exempt: file.rate_limit_exempt,
            rate_limit: u32::try_from(file.rate_limit).unwrap_or(DnsSettings::RATE_LIMIT),
        }
    }
}
