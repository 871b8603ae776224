//! A mail server that takes everything, in the clear or with TLS from the first byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

/// What it got in one conversation: each line of the client.
pub type Conversation = Vec<String>;

pub struct MailServer {
    pub address: SocketAddr,
    received: Arc<Mutex<Vec<Conversation>>>,
}

impl MailServer {
    /// With a certificate and its key, as PEM, it speaks TLS: from the first byte, or when it is asked to.
    pub fn start(identity: Option<(String, String)>, when_asked: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let tls = identity.map(|(chain, key)| {
            use rustls::pki_types::pem::PemObject;
            let chain = rustls::pki_types::CertificateDer::from_pem_slice(chain.as_bytes()).unwrap();
            let key = rustls::pki_types::PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
            let builder = rustls::ServerConfig::builder_with_provider(provider);
            let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
            Arc::new(builder.with_single_cert(vec![chain], key).unwrap())
        });
        let kept = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let conversation = match &tls {
                    None => converse(&stream, true),
                    Some(config) => {
                        let mut before = if when_asked { converse(&stream, true) } else { Vec::new() };
                        if !when_asked || before.last().is_some_and(|line| line == "STARTTLS") {
                            let connection = rustls::ServerConnection::new(Arc::clone(config)).unwrap();
                            let stream = rustls::StreamOwned::new(connection, &stream);
                            before.extend(converse(stream, !when_asked));
                        }
                        before
                    }
                };
                kept.lock().unwrap().push(conversation);
            }
        });
        Self { address, received }
    }

    /// The conversations, as soon as this many have ended: a client may be done with its own before the server is.
    pub fn received(&self, conversations: usize) -> Vec<Conversation> {
        super::wait_for("the ends of conversations", || {
            let received = self.received.lock().unwrap();
            (received.len() >= conversations).then(|| received.clone())
        })
    }
}

/// Takes what a client says until it goes, or asks for TLS.
fn converse(stream: impl Read + Write, greets: bool) -> Conversation {
    let mut stream = BufReader::new(stream);
    let mut lines = Vec::new();
    let mut is_text = false;
    let mut answer = greets.then(|| "220 mail.example ESMTP".to_owned());
    loop {
        if let Some(answer) = answer.take()
            && stream.get_mut().write_all(format!("{answer}\r\n").as_bytes()).is_err()
        {
            return lines;
        }
        let mut line = String::new();
        if !stream.read_line(&mut line).is_ok_and(|read| read > 0) {
            return lines;
        }
        let line = line.trim_end().to_owned();
        answer = match line.split(' ').next().unwrap_or("") {
            "." if is_text => {
                is_text = false;
                Some("250 taken".to_owned())
            }
            _ if is_text => None,
            "EHLO" => {
                Some("250-mail.example\r\n250-AUTH PLAIN LOGIN\r\n250-STARTTLS\r\n250 8BITMIME".to_owned())
            }
            "DATA" => {
                is_text = true;
                Some("354 go on".to_owned())
            }
            "AUTH" => Some("235 known".to_owned()),
            "QUIT" => Some("221 bye".to_owned()),
            _ => Some("250 ok".to_owned()),
        };
        let asks_for_tls = line == "STARTTLS" && !is_text;
        lines.push(line);
        if asks_for_tls {
            let _ = stream.get_mut().write_all(b"220 go on\r\n");
            return lines;
        }
    }
}
