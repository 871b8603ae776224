//! `[dns]`: names of name servers read, addresses of the edge found.

use super::Resolving;
use crate::conf::dns_file::{DnsFile, NameServerSetFile};
use crate::conf::{DnsSettings, Listener, ListenerProtocol, Located, NameServerSets};
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
        let DnsFile { mut settings, name_servers, name_server_sets, https_hosts, srv_names: _ } = file;
        settings.https_hosts = self.hosts(https_hosts, resources, "a host of `dns.https_hosts`");
        if let Some(names) = &name_servers {
            settings.name_servers.put(NameServerSets::FIRST, self.server_names(names));
        }
        for NameServerSetFile { ns_set, names } in &name_server_sets {
            let further = NameServerSets::FIRST + 1..=NameServerSets::LAST;
            match u8::try_from(ns_set.value).ok().filter(|set| further.contains(set)) {
                Some(set) if settings.name_servers.put(set, self.server_names(names)) => {}
                Some(set) => self.bad(&ns_set.place, format!("there are two sets {set} of name servers")),
                None => {
                    let (from, to) = (further.start(), further.end());
                    let message =
                        format!("expected a number from {from} to {to}, because set 1 is `dns.name_servers`");
                    self.bad(&ns_set.place, message);
                }
            }
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
        if is_answered && !settings.name_servers.has(NameServerSets::FIRST) {
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
    /// Names of servers that are host names.
    fn server_names(&mut self, names: &Located<Vec<String>>) -> Vec<Name> {
        if names.value.is_empty() {
            self.bad(&names.place, "a set of name servers has one name at least".to_owned());
        }
        let hosts = names.value.iter().filter_map(|text| self.host(text, &names.place));
        hosts.filter_map(|host| Name::parse(host.as_str(), None).ok()).collect()
    }
}
