//! `[certificates]` and `[custom_hostnames]` as written.

use hostnames::NamePolicy;

use super::table::{Located, Table, Words};

#[derive(Clone, Debug)]
pub struct CertificatesFile {
    /// Who CAs write to: `mailto:` URLs.
    pub contact: Vec<String>,
    pub http_port: u16,
    pub ask: Option<Located<String>>,
    pub ticket_key_file: Option<Located<String>>,
    pub issuance_rate: u32,
    pub authorities: Vec<AuthorityFile>,
}

/// `[[certificates.authorities]]`.
#[derive(Clone, Debug)]
pub struct AuthorityFile {
    pub name: Located<String>,
    pub directory: Located<String>,
    pub root_file: Option<Located<String>>,
    pub caa: Vec<String>,
    pub eab_key_id: Option<Located<String>>,
    pub eab_key_file: Option<Located<String>>,
}

#[derive(Clone, Copy, Debug)]
pub struct CustomHostnamesFile {
    pub names: NamePolicy,
    pub quota: u64,
}

impl Words for NamePolicy {
    const WORDS: &'static [(&'static str, Self)] = &[("public", Self::Public), ("any", Self::Any)];
}

pub(super) fn certificates(root: &mut Table<'_>) -> CertificatesFile {
    let mut file = CertificatesFile {
        contact: Vec::new(),
        http_port: 80,
        ask: None,
        ticket_key_file: None,
        issuance_rate: 15,
        authorities: Vec::new(),
    };
    let Some(mut table) = root.table("certificates") else { return file };
    file.contact = table.or("contact", Vec::new());
    file.http_port = u16::try_from(table.number("http_port", 80, 1..=65_535)).unwrap_or(80);
    file.ask = table.get("ask");
    file.ticket_key_file = table.get("ticket_key_file");
    file.issuance_rate = u32::try_from(table.number("issuance_rate", 15, 0..=1_000_000)).unwrap_or(15);
    file.authorities = table.tables("authorities").into_iter().filter_map(authority).collect();
    table.finish();
    file
}

fn authority(mut table: Table<'_>) -> Option<AuthorityFile> {
    let (name, directory) = (table.required("name"), table.required("directory"));
    let root_file = table.get("root_file");
    let caa = table.or("caa", Vec::new());
    let (eab_key_id, eab_key_file) = (table.get("eab_key_id"), table.get("eab_key_file"));
    table.finish();
    Some(AuthorityFile { name: name?, directory: directory?, root_file, caa, eab_key_id, eab_key_file })
}

pub(super) fn custom_hostnames(root: &mut Table<'_>) -> CustomHostnamesFile {
    let mut file = CustomHostnamesFile { names: NamePolicy::default(), quota: 0 };
    let Some(mut table) = root.table("custom_hostnames") else { return file };
    file.names = table.or("names", NamePolicy::default());
    file.quota = table.number("quota", 0, 0..=1_000_000_000) as u64;
    table.finish();
    file
}
