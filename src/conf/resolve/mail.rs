//! `[mail]`: the server and the sender checked, files read.

use std::sync::Arc;

use lettre::message::Mailbox;
use lettre::transport::smtp::client::Certificate;

use super::Resolving;
use crate::conf::MailSettings;
use crate::conf::mail_file::{MailFile, MailSecurity};
use crate::named_file::read_text;
use model::{HostName, Secret};

impl Resolving<'_> {
    pub(super) fn mail(&mut self, file: MailFile) -> Option<Arc<MailSettings>> {
        let (server, from) = (file.server?, file.from?);
        let default = match file.security {
            MailSecurity::StartTls => 587,
            MailSecurity::Tls => 465,
            MailSecurity::None => 25,
        };
        let (host, port) = match server.value.rsplit_once(':') {
            Some((host, port)) => (host, port.parse::<u16>().ok().filter(|port| *port > 0)),
            None => (server.value.as_str(), Some(default)),
        };
        let is_host = HostName::parse(host).is_ok();
        let Some(port) = port.filter(|_| is_host) else {
            let message = "`mail.server` takes a host with or without a port, such as `smtp.example.com:587`";
            self.bad(&server.place, message);
            return None;
        };
        if from.value.parse::<Mailbox>().is_err() {
            self.bad(&from.place, "`mail.from` takes an address such as `Edge <edge@example.com>`");
            return None;
        }
        let password = file.password_file.and_then(|file| read_text(&self.existing(&file)).ok());
        let credentials = match (file.username, password) {
            (Some(username), Some(password)) => Some((username, Secret::new(password.trim()))),
            (None, None) => None,
            _ => {
                self.bad(&file.place, "`mail.username` and `mail.password_file` go together");
                return None;
            }
        };
        if credentials.is_some() && file.security == MailSecurity::None && host != "localhost" {
            self.bad(
                &file.place,
                "a password is not sent in the clear: set `mail.security` to `starttls` or `tls`",
            );
            return None;
        }
        let roots = file.root_file.and_then(|file| {
            let text = read_text(&self.existing(&file)).ok()?;
            let is_one = text.contains("BEGIN CERTIFICATE") && Certificate::from_pem(text.as_bytes()).is_ok();
            if !is_one {
                self.bad(&file.place, "`mail.root_file` has no certificate as PEM");
            }
            Some(text)
        });
        Some(Arc::new(MailSettings {
            host: host.to_owned(),
            port,
            security: file.security,
            from: from.value,
            credentials,
            roots,
        }))
    }
}
