//! The mail server.

use super::MailSecurity;
use model::Secret;

/// The server that takes mails, and how it is spoken to.
#[derive(Clone, Debug)]
pub struct MailSettings {
    pub host: String,
    pub port: u16,
    pub security: MailSecurity,
    /// An address, with a name or without.
    pub from: String,
    pub credentials: Option<(String, Secret)>,
    /// Certificates of CAs that are trusted beside the system's, as PEM.
    pub roots: Option<String>,
}
