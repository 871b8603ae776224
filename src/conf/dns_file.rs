//! `[dns]` as written.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

use super::table::{Located, Table, Words};
use super::{DnsSettings, OriginScheme, SrvNames, TxtContent};

#[derive(Clone, Debug)]
pub struct DnsFile {
    pub listeners: Vec<SocketAddr>,
    pub resolvers: Vec<SocketAddr>,
    pub addresses: Vec<IpAddr>,
    pub name_servers: Option<Located<Vec<String>>>,
    pub txt_content: TxtContent,
    pub strict_names: bool,
    pub srv_names: SrvNames,
    pub private_origins: bool,
    pub rate_limit: usize,
    pub rate_limit_exempt: Vec<IpNet>,
    pub origin_scheme: OriginScheme,
    pub http_port: usize,
    pub https_port: usize,
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
    let mut file = DnsFile {
        listeners: Vec::new(),
        resolvers: Vec::new(),
        addresses: Vec::new(),
        name_servers: None,
        txt_content: TxtContent::default(),
        strict_names: true,
        srv_names: SrvNames::default(),
        private_origins: false,
        rate_limit: DnsSettings::RATE_LIMIT as usize,
        rate_limit_exempt: DnsSettings::loopback(),
        origin_scheme: OriginScheme::default(),
        http_port: 80,
        https_port: 443,
    };
    let Some(mut table) = root.table("dns") else { return file };
    file.listeners = table.or("listeners", file.listeners);
    file.name_servers = table.get("name_servers");
    file.resolvers = table.or("resolvers", file.resolvers);
    file.addresses = table.or("addresses", file.addresses);
    file.txt_content = table.or("txt_content", file.txt_content);
    file.strict_names = table.or("strict_names", file.strict_names);
    file.srv_names = table.or("srv_names", file.srv_names);
    file.private_origins = table.or("private_origins", file.private_origins);
    file.origin_scheme = table.or("origin_scheme", file.origin_scheme);
    file.http_port = table.number("http_port", file.http_port, 1..=65_535);
    file.https_port = table.number("https_port", file.https_port, 1..=65_535);
    file.rate_limit = table.number("rate_limit", file.rate_limit, 0..=1_000_000);
    file.rate_limit_exempt = table.or("rate_limit_exempt", file.rate_limit_exempt);
    table.finish();
    file
}
