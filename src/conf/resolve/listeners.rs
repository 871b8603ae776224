//! Where clients connect: addresses, certificates, protocols.

use std::collections::BTreeSet;

use super::Resolving;
use crate::conf::file::ListenerFile;
use crate::conf::{Listener, ListenerProtocol};
use model::Resources;

impl Resolving<'_> {
    /// Those that are named; if there are none, and a zone gets certificates automatically, the two ports of HTTP.
    pub(super) fn listeners(&mut self, files: Vec<ListenerFile>, resources: &Resources) -> Vec<Listener> {
        let mut seen = BTreeSet::new();
        let mut listeners = Vec::new();
        for file in files {
            if file.address.value.port() != 0 && !seen.insert(file.address.value) {
                self.conflict(
                    &file.address.place,
                    format!("two listeners have the address `{}`", file.address.value),
                );
            }
            let certificates =
                file.certificates.iter().map(|c| (self.existing(&c.chain), self.existing(&c.key))).collect();
            let is_plain = file.certificates.is_empty() && !file.is_tls;
            if file.protocol.value == ListenerProtocol::Dns && is_plain {
                self.conflict(
                    &file.protocol.place,
                    "a listener for `dns` needs `certificates` or `tls = true`; plain queries are answered at `dns.listeners`".to_owned(),
                );
            }
            self.check_http3(&file, is_plain);
            listeners.push(Listener {
                address: file.address.value,
                proxy_protocol_from: file.proxy_protocol_from,
                certificates,
                is_tls: file.is_tls,
                protocol: file.protocol.value,
                speaks_http3: file.http3.is_some_and(|http3| http3.value),
                http3_port: file.http3_port.map(|port| port.value),
            });
        }
        if listeners.is_empty() && resources.zones.values().any(|zone| zone.tls.is_automatic) {
            listeners.extend([(80, false), (443, true)].map(|(port, is_tls)| Listener {
                address: (std::net::Ipv6Addr::UNSPECIFIED, port).into(),
                proxy_protocol_from: Vec::new(),
                certificates: Vec::new(),
                is_tls,
                protocol: ListenerProtocol::Http,
                speaks_http3: false,
                http3_port: None,
            }));
        }
        listeners
    }

    /// HTTP/3 is spoken over TLS alone, to clients that come themselves.
    fn check_http3(&mut self, file: &ListenerFile, is_plain: bool) {
        let is_on = file.http3.as_ref().filter(|http3| http3.value);
        let fault = if is_plain {
            "`http3` needs `certificates` or `tls = true`"
        } else if file.protocol.value == ListenerProtocol::Dns {
            "`http3` is for listeners with `protocol = \"http\"`"
        } else if !file.proxy_protocol_from.is_empty() {
            "`http3` and `proxy_protocol_from` exclude each other, because QUIC carries no PROXY protocol header"
        } else {
            ""
        };
        if let Some(http3) = is_on.filter(|_| !fault.is_empty()) {
            self.conflict(&http3.place, fault.to_owned());
        }
        if let Some(port) = file.http3_port.as_ref().filter(|_| is_on.is_none()) {
            self.conflict(&port.place, "`http3_port` needs `http3 = true`".to_owned());
        }
    }
}
