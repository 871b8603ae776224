//! `[dns]`: names of name servers read, addresses of the edge found.

use super::Resolving;
use crate::conf::dns_file::DnsFile;
use crate::conf::{DnsSettings, Listener, ListenerProtocol};
use ::dns::Name;
use diagnostic::{Code, Diagnostic};
use model::Resources;

impl Resolving<'_> {
    pub(super) fn dns(
        &mut self,
        file: DnsFile,
        listeners: &[Listener],
        resources: &Resources,
    ) -> DnsSettings {
        let DnsFile { mut settings, name_servers, https_hosts, srv_names: _ } = file;
        settings.https_hosts = self.hosts(https_hosts, resources, "a host of `dns.https_hosts`");
        for (text, place) in
            name_servers.iter().flat_map(|names| names.value.iter().map(|text| (text, &names.place)))
        {
            let host = self.host(text, place);
            settings.name_servers.extend(host.and_then(|host| Name::parse(host.as_str(), None).ok()));
        }
        if settings.addresses.is_empty() {
            let own = listeners
                .iter()
                .filter(|listener| listener.protocol == ListenerProtocol::Http)
                .map(|listener| listener.address.ip());
            settings.addresses = own.filter(|address| !address.is_unspecified()).collect();
            settings.addresses.dedup();
        }
        let is_answered = settings.is_answered(listeners);
        let mut warn = |message: &str| {
            self.diagnostics.push(Diagnostic::warning(Code::ConfMissingKey, message));
        };
        if is_answered && settings.name_servers.is_empty() {
            warn("`dns.name_servers` is not set: zones have no NS records, and resolvers do not take them");
        }
        if is_answered && settings.addresses.is_empty() {
            warn(
                "`dns.addresses` is not set and no listener has an address of its own: proxied names are answered with \
                 none",
            );
        }
        settings
    }
}
