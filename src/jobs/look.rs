//! Looks at a name from outside: its aliases, addresses and texts, and a page of its web server.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use async_trait::async_trait;
use hickory_resolver::TokioResolver;
use hickory_resolver::proto::rr::{RData, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::names::resolver_of;
use crate::snapshot::Snapshot;

/// Longest chain of aliases that is followed.
const MAX_ALIASES: usize = 8;
/// How long one step may take: a look-up that is asked for three times, or a page.
const STEP: Duration = Duration::from_secs(7);
/// Longest answer of a web server that is read.
const MAX_PAGE_BYTES: u64 = 16 << 10;
/// What we call ourselves.
const USER_AGENT: &str = "Portcullis (domain verification)";

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Question {
    pub host: String,
    /// The name of the TXT record.
    pub text_name: String,
    /// The path of the page.
    pub page_path: String,
}

/// What was found; what nobody could say is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// The names that the name leads to, in order.
    pub aliases: Option<Vec<String>>,
    pub addresses: Option<Vec<IpAddr>>,
    pub texts: Option<Vec<String>>,
    /// The body of the page.
    pub page: Option<String>,
}

/// Looks at names.
#[async_trait]
pub trait Looker: Send + Sync {
    async fn look(&self, question: &Question) -> Looked;
}

/// Looks over the network.
#[derive(Clone)]
pub struct NetworkLooker {
    resolver: TokioResolver,
    http_port: u16,
    /// Whether pages may be in private networks.
    may_be_private: bool,
}

impl NetworkLooker {
    /// One that asks these resolvers, or those of the system; `None` if the system has none.
    pub fn new(resolvers: &[SocketAddr], http_port: u16, may_be_private: bool) -> Option<Self> {
        Some(Self { resolver: resolver_of(resolvers)?, http_port, may_be_private })
    }

    /// The data of the records of a name; `None` if nobody could say.
    async fn records(&self, name: &str, kind: RecordType) -> Option<Vec<RData>> {
        match timeout(STEP, self.resolver.lookup(format!("{name}."), kind)).await.ok()? {
            Ok(found) => Some(found.answers().iter().map(|record| record.data.clone()).collect()),
            Err(error) if error.is_no_records_found() || error.is_nx_domain() => Some(Vec::new()),
            Err(_) => None,
        }
    }

    /// The alias of a name, `Some(None)` if it has none; `None` if nobody could say.
    async fn alias(&self, name: &str) -> Option<Option<String>> {
        let found = self.records(name, RecordType::CNAME).await?;
        Some(found.iter().find_map(|data| match data {
            RData::CNAME(target) => Some(plain(&target.to_string())),
            _ => None,
        }))
    }

    /// The names that a name leads to, as far as somebody could say; `None` if nobody could of the first.
    pub async fn aliases(&self, host: &str) -> Option<Vec<String>> {
        let mut aliases: Vec<String> = Vec::new();
        while aliases.len() < MAX_ALIASES {
            let name = aliases.last().map_or(host, String::as_str);
            match self.alias(name).await {
                Some(Some(alias)) if !aliases.contains(&alias) => aliases.push(alias),
                None if aliases.is_empty() => return None,
                Some(_) | None => break,
            }
        }
        Some(aliases)
    }

    async fn addresses(&self, host: &str) -> Option<Vec<IpAddr>> {
        match timeout(STEP, self.resolver.lookup_ip(format!("{host}."))).await.ok()? {
            Ok(found) => Some(found.iter().collect()),
            Err(error) if error.is_no_records_found() || error.is_nx_domain() => Some(Vec::new()),
            Err(_) => None,
        }
    }

    /// The texts of a name.
    pub async fn texts(&self, name: &str) -> Option<Vec<String>> {
        let text = |data: &RData| match data {
            RData::TXT(text) => {
                let bytes = text.txt_data.iter().flat_map(|part| part.iter().copied()).collect::<Vec<u8>>();
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }
            _ => None,
        };
        Some(self.records(name, RecordType::TXT).await?.iter().filter_map(text).collect())
    }

    /// The CAA records of the nearest name that has some (RFC 8659 section 3); `None` if nobody could say.
    pub async fn caa(&self, host: &str) -> Option<Vec<hostnames::CaaRecord>> {
        let mut name = host.strip_prefix("*.").unwrap_or(host);
        loop {
            let found = self.records(name, RecordType::CAA).await?;
            let records: Vec<_> = found.iter().filter_map(caa_record).collect();
            if !records.is_empty() {
                return Some(records);
            }
            match name.split_once('.') {
                Some((_, above)) => name = above,
                None => return Some(Vec::new()),
            }
        }
    }

    /// The page of a host at a path; of one that is ours it may be in a private network.
    pub async fn page_of(&self, host: &str, path: &str, is_ours: bool) -> Option<String> {
        let addresses = self.addresses(host).await?;
        let looker = Self { may_be_private: self.may_be_private || is_ours, ..self.clone() };
        looker.page(host, path, &addresses).await
    }

    /// The page of a host at a path, from one of these addresses.
    pub async fn page(&self, host: &str, path: &str, addresses: &[IpAddr]) -> Option<String> {
        let may_ask = |address: &&IpAddr| self.may_be_private || !model::origin_url::is_private(**address);
        let address = addresses.iter().find(may_ask)?;
        let address = SocketAddr::new(*address, self.http_port);
        timeout(STEP, ask_for_page(address, host, path)).await.ok()?.ok()?
    }
}

/// The looker that the settings in use make. It is made anew if they change.
#[derive(Default)]
pub(super) struct LookerInUse(Option<(LookerSettings, NetworkLooker)>);

impl LookerInUse {
    /// `None` if nobody can be asked.
    pub(super) fn of(&mut self, snapshot: &Snapshot) -> Option<&NetworkLooker> {
        let settings = LookerSettings::of(snapshot);
        if self.0.as_ref().is_none_or(|(known, _)| *known != settings) {
            let LookerSettings { resolvers, http_port, may_be_private } = &settings;
            let looker = NetworkLooker::new(resolvers, *http_port, *may_be_private);
            self.0 = looker.map(|looker| (settings, looker));
        }
        self.0.as_ref().map(|(_, looker)| looker)
    }
}

/// What a looker is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LookerSettings {
    resolvers: Vec<SocketAddr>,
    http_port: u16,
    may_be_private: bool,
}

impl LookerSettings {
    fn of(snapshot: &Snapshot) -> Self {
        Self {
            resolvers: snapshot.dns.resolvers.clone(),
            http_port: snapshot.certificate_settings.http_port,
            may_be_private: snapshot.dns.private_origins,
        }
    }
}

fn caa_record(data: &RData) -> Option<hostnames::CaaRecord> {
    let RData::CAA(caa) = data else { return None };
    Some(hostnames::CaaRecord {
        is_critical: caa.issuer_critical,
        tag: caa.tag.to_ascii_lowercase(),
        value: String::from_utf8_lossy(&caa.value).into_owned(),
    })
}

fn plain(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// Whether the operator's server allows a certificate for a name: it answers 200 to a `GET` with `?domain=NAME`.
pub(super) async fn ask_url(url: &str, name: &str) -> bool {
    let Some((authority, path)) = url.strip_prefix("http://").map(|rest| match rest.split_once('/') {
        Some((authority, path)) => (authority, format!("/{path}")),
        None => (rest, "/".to_owned()),
    }) else {
        return false;
    };
    let address = if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
    let Ok(Ok(mut found)) = timeout(STEP, tokio::net::lookup_host(address)).await else { return false };
    let Some(address) = found.next() else { return false };
    let joint = if path.contains('?') { '&' } else { '?' };
    let path = format!("{path}{joint}domain={name}");
    matches!(timeout(STEP, ask_for_page(address, authority, &path)).await, Ok(Ok(Some(_))))
}

/// A `GET`; the body if the answer is 200.
async fn ask_for_page(address: SocketAddr, host: &str, path: &str) -> std::io::Result<Option<String>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {USER_AGENT}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    let mut stream = stream.take(MAX_PAGE_BYTES);
    // A server may leave the connection open: its answer then says how long it is.
    while page_of(&answer).is_none() {
        if stream.read_buf(&mut answer).await? == 0 {
            return Ok(page_of_ended(&answer));
        }
    }
    Ok(page_of(&answer).flatten())
}

/// The body of an answer that says how long it is; `None` if it is not all there, and inside if it is not 200.
fn page_of(answer: &[u8]) -> Option<Option<String>> {
    let (head, body) = head_and_body(answer)?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    let body = body.get(..length)?;
    Some(is_found(&head).then(|| String::from_utf8_lossy(body).trim().to_owned()))
}

/// The body of an answer whose connection has ended.
fn page_of_ended(answer: &[u8]) -> Option<String> {
    let (head, body) = head_and_body(answer)?;
    let body = String::from_utf8_lossy(body);
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    // A token fits into the first chunk.
    let body = if is_chunked { body.split("\r\n").nth(1).unwrap_or("") } else { &body };
    is_found(&head).then(|| body.trim().to_owned())
}

fn head_and_body(answer: &[u8]) -> Option<(String, &[u8])> {
    let end = memchr::memmem::find(answer, b"\r\n\r\n")?;
    Some((String::from_utf8_lossy(answer.get(..end)?).into_owned(), answer.get(end + 4..)?))
}

fn is_found(head: &str) -> bool {
    head.split(' ').nth(1) == Some("200")
}

#[async_trait]
impl Looker for NetworkLooker {
    async fn look(&self, question: &Question) -> Looked {
        let (aliases, addresses, texts) = tokio::join!(
            self.aliases(&question.host),
            self.addresses(&question.host),
            self.texts(&question.text_name)
        );
        let page = match &addresses {
            Some(addresses) => self.page(&question.host, &question.page_path, addresses).await,
            None => None,
        };
        Looked { aliases, addresses, texts, page }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read_however_they_end() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntokenjunk";
        assert_eq!(page_of(whole), Some(Some("token".to_owned())));
        assert_eq!(page_of(&whole[..whole.len() - 6]), None);
        assert_eq!(page_of(b"HTTP/1.1 404 no\r\ncontent-length: 0\r\n\r\n"), Some(None));
        assert_eq!(page_of_ended(b"HTTP/1.0 200 OK\r\n\r\ntoken\n"), Some("token".to_owned()));
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ntoken\r\n0\r\n\r\n";
        assert_eq!(page_of_ended(chunked), Some("token".to_owned()));
        for broken in [&b""[..], b"HTTP/1.1 200 OK\r\n", b"\xff\xfe\r\n\r\n", b"HTTP/1.1 500 x\r\n\r\ntoken"]
        {
            assert_eq!((page_of(broken), page_of_ended(broken)), (None, None));
        }
    }
}
