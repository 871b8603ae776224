//! A client of raw bytes, and curl for what is not raw.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Output};

use super::PATIENCE;

/// A connection that sends exactly what it is told.
pub struct Client {
    pub reader: BufReader<TcpStream>,
}

/// A response.
#[derive(Clone, Debug, Default)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { reader: BufReader::new(stream) }
    }

    /// Where it is connected from.
    pub fn local_address(&self) -> SocketAddr {
        self.reader.get_ref().local_addr().unwrap()
    }

    /// Sends bytes. A peer that refused early may have closed: then what is read says why.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let _ = self.reader.get_mut().write_all(bytes.as_ref());
        self
    }

    /// Reads one final response, skipping 1xx.
    pub fn receive(&mut self) -> Option<Response> {
        loop {
            let mut response = self.head()?;
            if (100..200).contains(&response.status) && response.status != 101 {
                continue;
            }
            self.read_body(&mut response)?;
            return Some(response);
        }
    }

    /// Reads a status line and headers.
    pub fn head(&mut self) -> Option<Response> {
        let mut response =
            Response { status: self.line()?.split(' ').nth(1)?.parse().ok()?, ..Response::default() };
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { return Some(response) };
            response.headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        Some(line.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// Reads the body behind a head.
    pub fn read_body(&mut self, response: &mut Response) -> Option<()> {
        if matches!(response.status, 101 | 204 | 304) {
            return Some(());
        }
        if let Some(length) = response.header("content-length") {
            response.body.resize(length.parse().ok()?, 0);
            return self.reader.read_exact(&mut response.body).ok();
        }
        if response.header("transfer-encoding").is_some() {
            loop {
                let size = usize::from_str_radix(&self.line()?, 16).ok()?;
                let start = response.body.len();
                response.body.resize(start + size, 0);
                self.reader.read_exact(&mut response.body[start..]).ok()?;
                self.line()?;
                if size == 0 {
                    return Some(());
                }
            }
        }
        self.reader.read_to_end(&mut response.body).ok().map(|_| ())
    }

    /// Everything until the peer closes or resets the connection.
    pub fn receive_all(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let outcome = self.reader.read_to_end(&mut bytes);
        let waits = |kind| matches!(kind, std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut);
        assert!(!outcome.is_err_and(|error| waits(error.kind())), "the connection stays open");
        bytes
    }

    /// Whether the peer closed the connection.
    pub fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        // A reset is an end too; only a timeout is not.
        match self.reader.read(&mut byte) {
            Ok(read) => read == 0,
            Err(error) => {
                !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
            }
        }
    }

    /// One request and its response on a connection of its own.
    pub fn once(address: SocketAddr, request: impl AsRef<[u8]>) -> Response {
        Self::connect(address).send(request).receive().expect("a response")
    }

    /// A GET for a host.
    pub fn get(address: SocketAddr, host: &str, target: &str) -> Response {
        Self::once(address, format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    }

    /// A POST for a host.
    pub fn post(address: SocketAddr, host: &str, target: &str, content_type: &str, body: &[u8]) -> Response {
        let head = format!(
            "POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        Self::once(address, [head.as_bytes(), body].concat())
    }
}

/// A GET whose host does not matter.
pub fn http_get(address: SocketAddr, target: &str) -> Response {
    Client::get(address, "localhost", target)
}

/// Runs curl: its output is the body, its exit status whether it was whole.
pub fn curl_output(arguments: &[&str]) -> Output {
    Command::new("curl").args(["-sS", "-k", "--max-time", "60"]).args(arguments).output().unwrap()
}

/// Runs curl; the last line of its output is the status.
pub fn curl(arguments: &[&str]) -> (u16, String) {
    let output = curl_output(&[&["-w", "\n%{http_code}"], arguments].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (body, status) = text.rsplit_once('\n').unwrap_or(("", &text));
    let status =
        status.trim().parse().unwrap_or_else(|_| panic!("curl: {}", String::from_utf8_lossy(&output.stderr)));
    (status, body.to_owned())
}
