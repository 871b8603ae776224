//! Resolvers that look up names elsewhere.

use std::net::SocketAddr;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr;
use hickory_resolver::proto::serialize::binary::{BinEncodable, BinEncoder};

/// How long an answer is waited for, and how often it is asked for.
const TIMEOUT: Duration = Duration::from_secs(2);
const ATTEMPTS: usize = 3;

/// A resolver that asks these servers, or those of the system.
pub fn resolver_of(servers: &[SocketAddr]) -> Option<TokioResolver> {
    let provider = TokioRuntimeProvider::default();
    let server = |address: &SocketAddr| {
        let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
            connection.port = address.port();
            connection
        });
        NameServerConfig::new(address.ip(), true, connections.to_vec())
    };
    let mut builder = if servers.is_empty() {
        TokioResolver::builder(provider).ok()?
    } else {
        let config = ResolverConfig::from_parts(None, Vec::new(), servers.iter().map(server).collect());
        TokioResolver::builder_with_config(config, provider)
    };
    builder.options_mut().ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    // A packet that is lost is sent again while callers still wait.
    builder.options_mut().timeout = TIMEOUT;
    builder.options_mut().attempts = ATTEMPTS;
    // Each caller keeps results itself, for as long as it needs them.
    builder.options_mut().cache_size = 0;
    builder.build().ok()
}

/// A resolver that is kept for as long as the servers that it asks are the same.
#[derive(Default)]
pub struct KeptResolver(Option<(Vec<SocketAddr>, TokioResolver)>);

impl KeptResolver {
    /// As [`resolver_of`].
    pub fn of(&mut self, servers: &[SocketAddr]) -> Option<TokioResolver> {
        if self.0.as_ref().is_none_or(|(known, _)| known != servers) {
            self.0 = resolver_of(servers).map(|resolver| (servers.to_vec(), resolver));
        }
        self.0.as_ref().map(|(_, resolver)| resolver.clone())
    }
}

/// The data of a record in wire form.
pub(super) fn wire_of(record: &rr::Record) -> Option<Vec<u8>> {
    let mut wire = Vec::new();
    record.data.emit(&mut BinEncoder::new(&mut wire)).ok().map(|()| wire)
}
