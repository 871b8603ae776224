//! `[mail]` as written.

use super::table::{Located, Table, Words};

#[derive(Clone, Debug)]
pub struct MailFile {
    /// A host, with a port or without.
    pub server: Option<Located<String>>,
    pub security: MailSecurity,
    pub from: Option<Located<String>>,
    pub username: Option<String>,
    pub password_file: Option<Located<String>>,
    /// Certificates of CAs, as PEM, that are trusted beside the system's.
    pub root_file: Option<Located<String>>,
    pub place: diagnostic::Place,
}

/// How a mail server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailSecurity {
    /// In the clear first; nothing is sent before TLS (RFC 3207).
    StartTls,
    /// With TLS from the first byte (RFC 8314).
    Tls,
    /// In the clear. For servers on this machine.
    None,
}

impl Words for MailSecurity {
    const WORDS: &'static [(&'static str, Self)] =
        &[("starttls", Self::StartTls), ("tls", Self::Tls), ("none", Self::None)];
}

pub(super) fn mail(root: &mut Table<'_>) -> Option<MailFile> {
    let mut table = root.table("mail")?;
    let file = MailFile {
        server: table.required("server"),
        security: table.or("security", MailSecurity::StartTls),
        from: table.required("from"),
        username: table.get("username").map(|username| username.value),
        password_file: table.get("password_file"),
        root_file: table.get("root_file"),
        place: table.place(),
    };
    table.finish();
    Some(file)
}
