//! How certificates are got, and which custom hostnames are taken.

use std::path::PathBuf;

use hostnames::NamePolicy;
use model::Secret;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateSettings {
    /// Who CAs write to: `mailto:` URLs.
    pub contact: Vec<String>,
    /// Where CAs ask for what they compare, and our own look before them.
    pub http_port: u16,
    /// Who is asked whether a name below a zone may have a certificate on demand; nobody has one if it is not set.
    pub ask: Option<String>,
    /// Certificates that an account may order in a minute; 0 for no end.
    pub issuance_rate: u32,
    /// The first is the default; those after it are asked if it fails.
    pub authorities: Vec<CertificateAuthority>,
    /// Which names can be custom hostnames.
    pub names: NamePolicy,
    /// Custom hostnames that a zone may have; 0 for no end.
    pub hostname_quota: u64,
    /// Whether a listener takes requests without TLS.
    pub has_plain_listener: bool,
}

impl Default for CertificateSettings {
    fn default() -> Self {
        Self {
            contact: Vec::new(),
            http_port: 80,
            ask: None,
            issuance_rate: 15,
            authorities: vec![CertificateAuthority::lets_encrypt()],
            names: NamePolicy::default(),
            hostname_quota: 0,
            has_plain_listener: true,
        }
    }
}

impl CertificateSettings {
    pub fn authority(&self, name: &str) -> Option<&CertificateAuthority> {
        self.authorities.iter().find(|authority| authority.name == name)
    }
}

/// A CA that speaks ACME (RFC 8555).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateAuthority {
    /// As packs and custom hostnames name it.
    pub name: String,
    /// The URL of its directory.
    pub directory: String,
    /// The certificate that its own server is known by; those of the system if there is none.
    pub root_file: Option<PathBuf>,
    /// What CAA records call it; without any they are not looked at.
    pub domains: Vec<String>,
    /// Key id and key of an account that it has of us already, in Base64 without padding.
    pub external_account: Option<(String, Secret)>,
}

impl CertificateAuthority {
    pub fn lets_encrypt() -> Self {
        Self {
            name: "lets_encrypt".to_owned(),
            directory: "https://acme-v02.api.letsencrypt.org/directory".to_owned(),
            root_file: None,
            domains: vec!["letsencrypt.org".to_owned()],
            external_account: None,
        }
    }
}

/// The secret that nodes share for session tickets: 64 hex digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketSecret(Secret);

impl TicketSecret {
    /// Reads 64 hex digits.
    ///
    /// # Errors
    /// One sentence that shows the form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            Ok(Self(Secret::new(text.to_ascii_lowercase())))
        } else {
            Err("expected 64 hex digits, as `openssl rand -hex 32` prints them".to_owned())
        }
    }

    /// The digits; keep them short-lived.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}
