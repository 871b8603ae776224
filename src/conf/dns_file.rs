//! `[dns]` as written.

use super::table::{Located, Table, Words};
use super::{DnsSettings, OriginScheme, TxtContent};

#[derive(Clone, Debug)]
pub struct DnsFile {
    /// Without the names of name servers and hosts.
    pub settings: DnsSettings,
    pub name_servers: Option<Located<Vec<String>>>,
    pub name_server_sets: Vec<NameServerSetFile>,
    pub https_hosts: Option<Located<Vec<String>>>,
    pub srv_names: Option<Located<SrvNames>>,
}

/// `[[dns.name_server_sets]]`.
#[derive(Clone, Debug)]
pub struct NameServerSetFile {
    pub ns_set: Located<usize>,
    pub names: Located<Vec<String>>,
}

/// What is done about `service`, `proto` and `name` in the data of SRV records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SrvNames {
    Refuse,
    Ignore,
}

impl Words for TxtContent {
    const WORDS: &'static [(&'static str, Self)] = &[("quoted", Self::Quoted), ("as_sent", Self::AsSent)];
}

impl Words for OriginScheme {
    const WORDS: &'static [(&'static str, Self)] =
        &[("as_client", Self::AsClient), ("http", Self::Http), ("https", Self::Https)];
}

impl Words for SrvNames {
    const WORDS: &'static [(&'static str, Self)] = &[("refuse", Self::Refuse), ("ignore", Self::Ignore)];
}

pub(super) fn dns(root: &mut Table<'_>) -> DnsFile {
    let default = DnsSettings::default();
    let Some(mut table) = root.table("dns") else {
        return DnsFile {
            settings: default,
            name_servers: None,
            name_server_sets: Vec::new(),
            https_hosts: None,
            srv_names: None,
        };
    };
    let mut port = |key, default: u16| {
        let port = table.number(key, default.into(), 1..=65_535);
        u16::try_from(port).unwrap_or(default)
    };
    let (http_port, https_port) =
        (port("http_port", default.http_port), port("https_port", default.https_port));
    let rate_limit = table.number("rate_limit", default.rate_limit as usize, 0..=1_000_000);
    let query_log = table.number("query_log", default.query_log as usize, 0..=1_000_000_000);
    let file = DnsFile {
        name_servers: table.get("name_servers"),
        name_server_sets: table.tables("name_server_sets").into_iter().filter_map(name_server_set).collect(),
        https_hosts: table.get("https_hosts"),
        srv_names: table.get("srv_names"),
        settings: DnsSettings {
            listeners: table.or("listeners", default.listeners),
            https_hosts: default.https_hosts,
            resolvers: table.or("resolvers", default.resolvers),
            addresses: table.or("addresses", default.addresses),
            name_servers: default.name_servers,
            txt_content: table.or("txt_content", default.txt_content),
            strict_names: table.or("strict_names", default.strict_names),
            private_peers: table.or("private_peers", default.private_peers),
            private_origins: table.or("private_origins", default.private_origins),
            origin_scheme: table.or("origin_scheme", default.origin_scheme),
            http_port,
            https_port,
            query_log: u32::try_from(query_log).unwrap_or(default.query_log),
            rate_limit: u32::try_from(rate_limit).unwrap_or(default.rate_limit),
            rate_limit_exempt: table.or("rate_limit_exempt", default.rate_limit_exempt),
        },
    };
    table.finish();
    file
}

fn name_server_set(mut table: Table<'_>) -> Option<NameServerSetFile> {
    let (ns_set, names) = (table.required("ns_set"), table.required("names"));
    table.finish();
    Some(NameServerSetFile { ns_set: ns_set?, names: names? })
}
