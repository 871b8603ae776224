//! `[dns]` as written.

use std::net::{IpAddr, SocketAddr};

use super::table::{Located, Table, Words};
use super::{SrvNames, TxtContent};

#[derive(Clone, Debug)]
pub struct DnsFile {
    pub listeners: Vec<SocketAddr>,
    pub addresses: Vec<IpAddr>,
    pub name_servers: Option<Located<Vec<String>>>,
    pub txt_content: TxtContent,
    pub strict_names: bool,
    pub srv_names: SrvNames,
    pub private_origins: bool,
}

impl Words for TxtContent {
    const WORDS: &'static [(&'static str, Self)] = &[("quoted", Self::Quoted), ("as_sent", Self::AsSent)];
}

impl Words for SrvNames {
    const WORDS: &'static [(&'static str, Self)] = &[("refuse", Self::Refuse), ("ignore", Self::Ignore)];
}

pub(super) fn dns(root: &mut Table<'_>) -> DnsFile {
    let mut file = DnsFile {
        listeners: Vec::new(),
        addresses: Vec::new(),
        name_servers: None,
        txt_content: TxtContent::default(),
        strict_names: true,
        srv_names: SrvNames::default(),
        private_origins: false,
    };
    let Some(mut table) = root.table("dns") else { return file };
    file.addresses = table.or("addresses", file.addresses);
    file.txt_content = table.or("txt_content", file.txt_content);
    file.strict_names = table.or("strict_names", file.strict_names);
    file.srv_names = table.or("srv_names", file.srv_names);
    file.private_origins = table.or("private_origins", file.private_origins);
    table.finish();
    file
}
