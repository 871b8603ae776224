//! A message to somebody's mailbox, by the operator's mail server.

use std::time::Duration;

use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};

use crate::conf::{MailSecurity, MailSettings};

/// How long each step of the exchange may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest subject, in characters.
const MAX_SUBJECT: usize = 200;

/// Checks an address that messages may go to.
///
/// # Errors
/// One sentence that shows the form.
pub fn check_address(text: &str) -> Result<(), String> {
    let is_sound = text.is_ascii() && text.len() <= 254 && text.parse::<Address>().is_ok();
    if is_sound { Ok(()) } else { Err("expected an address such as `ops@example.com`".to_owned()) }
}

/// A text for mailboxes.
#[derive(Clone, Debug)]
pub struct Mail {
    pub to: String,
    pub subject: String,
    pub text: String,
}

impl Mail {
    /// Hands the message over to the mail server.
    ///
    /// # Errors
    /// One sentence: the server does not answer, is not who it should be, or does not take the message.
    pub async fn send(&self, settings: &MailSettings) -> Result<(), String> {
        let failed = |error: &dyn std::fmt::Display| format!("mail to `{}`: {error}", self.to);
        let message = self.message(settings).map_err(|error| failed(&error))?;
        let transport = transport(settings).map_err(|error| failed(&error))?;
        transport.send(message).await.map(drop).map_err(|error| failed(&error))
    }

    fn message(&self, settings: &MailSettings) -> Result<Message, String> {
        let from: Mailbox = settings.from.parse().map_err(|_| "its sender is no address".to_owned())?;
        let to: Address = self.to.parse().map_err(|_| "it is no address".to_owned())?;
        // A line break in a name would be another header.
        let subject: String =
            self.subject.chars().filter(|letter| !letter.is_control()).take(MAX_SUBJECT).collect();
        let builder = Message::builder().from(from).to(Mailbox::new(None, to)).subject(subject);
        // Answers of machines are not answered by machines (RFC 3834).
        let builder = builder.raw_header(lettre::message::header::HeaderValue::new(
            lettre::message::header::HeaderName::new_from_ascii_str("Auto-Submitted"),
            "auto-generated".to_owned(),
        ));
        builder.body(self.text.clone()).map_err(|error| error.to_string())
    }
}

fn transport(settings: &MailSettings) -> Result<AsyncSmtpTransport<Tokio1Executor>, String> {
    let mut parameters = TlsParameters::builder(settings.host.clone());
    if let Some(roots) = &settings.roots {
        let root = Certificate::from_pem(roots.as_bytes()).map_err(|error| error.to_string())?;
        parameters = parameters.add_root_certificate(root);
    }
    let tls = match settings.security {
        MailSecurity::None => Tls::None,
        MailSecurity::StartTls => Tls::Required(parameters.build().map_err(|error| error.to_string())?),
        MailSecurity::Tls => Tls::Wrapper(parameters.build().map_err(|error| error.to_string())?),
    };
    let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&settings.host)
        .port(settings.port)
        .tls(tls)
        .timeout(Some(PATIENCE));
    if let Some((username, password)) = &settings.credentials {
        let password = password.expose().to_owned();
        builder = builder.credentials(Credentials::new(username.clone(), password));
    }
    Ok(builder.build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_carry_no_headers() {
        for good in ["ops@example.com", "a.b+c@sub.example.com"] {
            assert!(check_address(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "ops",
            "ops@",
            "a@b.example\r\nBcc: c@d.example",
            "a b@c.example",
            "a@b.example,c@d.example",
            "<a@b.example>",
        ] {
            assert!(check_address(bad).is_err(), "{bad}");
        }
        let settings = MailSettings {
            host: "localhost".to_owned(),
            port: 25,
            security: MailSecurity::None,
            from: "edge@example.com".to_owned(),
            credentials: None,
            roots: None,
        };
        let mail = Mail {
            to: "ops@example.com".to_owned(),
            subject: "spike\r\nBcc: other@example.com".to_owned(),
            text: "text".to_owned(),
        };
        let written = String::from_utf8(mail.message(&settings).unwrap().formatted()).unwrap();
        let head = written.split("\r\n\r\n").next().unwrap();
        assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
        assert!(head.contains("Subject: spikeBcc: other@example.com"), "{head}");
    }
}
