//! The fields an expression may name.

use std::borrow::Cow;
use std::cell::OnceCell;

use super::client_place::{ClientPlace, PlaceSource};
use super::path;
use super::read_body::{BodyParts, ReadBody};
use super::value::Scalar::{Int, Ip, Text};
use super::value::Type::{self, List, Map, One};
use super::value::{Scalar, Value};
use body::head::{RequestHead, ResponseHead};
use body::{self, urlencoded};

/// What managed rules found in a request, and how much of it is of a kind of attack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnomalyScore {
    pub all: i64,
    pub sqli: i64,
    pub xss: i64,
    pub rce: i64,
}

/// What an expression is asked of.
#[derive(Clone)]
pub struct Facts<'r> {
    pub request: &'r RequestHead<'r>,
    /// Path and query as the client sent them, if rules changed them since.
    pub sent: Option<&'r [u8]>,
    /// In the form routing compares; empty if a request names none.
    pub host: &'r str,
    pub tls: bool,
    /// `None` in phases of the request.
    pub response: Option<&'r ResponseHead<'r>>,
    /// What managed rules found, once they were asked.
    pub score: Option<AnomalyScore>,
    /// What its custom hostname brings with it: JSON as text.
    pub hostname_metadata: Option<&'r str>,
    body: Option<&'r dyn BodyParts>,
    /// The path in normal form, once an expression has asked for it.
    path: OnceCell<Cow<'r, [u8]>>,
    places: Option<&'r dyn PlaceSource>,
    /// Where the client is, once an expression has asked for it.
    place: OnceCell<ClientPlace>,
}

impl std::fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facts")
            .field("request", &self.request)
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

impl<'r> Facts<'r> {
    /// Of a request to a host in the form routing compares.
    pub fn new(request: &'r RequestHead<'r>, host: &'r str) -> Self {
        let (sent, tls, response, score, body) = (None, false, None, None, None);
        let hostname_metadata = None;
        let (path, places, place) = (OnceCell::new(), None, OnceCell::new());
        Self { request, sent, host, tls, response, score, hostname_metadata, body, path, places, place }
    }

    /// With databases of addresses.
    #[must_use]
    pub fn with_places(self, places: Option<&'r dyn PlaceSource>) -> Self {
        Self { places, ..self }
    }

    /// With the body of the request.
    #[must_use]
    pub fn with_body<B: AsRef<[u8]> + Sync>(self, body: Option<&'r ReadBody<B>>) -> Self {
        Self { body: body.map(|body| body as &dyn BodyParts), ..self }
    }

    /// Of a request that did not come over a connection.
    pub fn of_request(request: &'r RequestHead<'r>) -> Self {
        Self::new(request, std::str::from_utf8(first(request.headers, b"host")).unwrap_or(""))
    }

    fn place(&self) -> &ClientPlace {
        let find = |places: &dyn PlaceSource| places.find(self.request.client.to_canonical());
        self.place.get_or_init(|| self.places.map(find).unwrap_or_default())
    }

    fn path(&self) -> &[u8] {
        self.path.get_or_init(|| path::normal_form(raw_path(self)))
    }
}

/// One field.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Type,
    pub(super) known: KnownIn,
    pub(super) read: Read,
}

/// In which phases a field is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownIn {
    AllPhases,
    /// In those of the request, once its body is read.
    WithBody,
    /// In all, with a database of countries.
    WithCountries,
    /// In all, with a database of autonomous systems.
    WithAsns,
    /// Behind the phase of managed rules.
    WithScore,
    /// In those of the response.
    WithResponse,
}

/// How a field is read.
pub(super) enum Read {
    One(for<'f> fn(&'f Facts<'_>) -> Value<'f>),
    /// The names and values of a map are shown one after the other, so that who looks for one need not keep the others.
    Pairs {
        /// Whether the case of names does not count. They are shown as sent.
        folds_names: bool,
        visit: for<'f> fn(&'f Facts<'_>, &mut PairVisitor<'_, 'f>),
    },
}

pub(super) type PairVisitor<'v, 'r> = dyn FnMut(Cow<'r, [u8]>, Cow<'r, [u8]>) + 'v;

impl Field {
    pub(super) fn value<'f>(&self, facts: &'f Facts<'_>) -> Value<'f> {
        match &self.read {
            Read::One(read) => read(facts),
            Read::Pairs { folds_names, visit } => {
                let mut pairs = Vec::new();
                visit(facts, &mut |name, value| {
                    pairs.push((if *folds_names { lower(name) } else { name }, value));
                });
                Value::Map(pairs)
            }
        }
    }
}

const fn of_request(name: &'static str, kind: Type, read: for<'f> fn(&'f Facts<'_>) -> Value<'f>) -> Field {
    Field { name, kind, known: KnownIn::AllPhases, read: Read::One(read) }
}

const fn of_response(name: &'static str, kind: Type, read: for<'f> fn(&'f Facts<'_>) -> Value<'f>) -> Field {
    Field { name, kind, known: KnownIn::WithResponse, read: Read::One(read) }
}

/// A field of what managed rules found.
macro_rules! of_score {
    ($name:literal, $part:ident) => {
        Field {
            name: $name,
            kind: One(Int),
            known: KnownIn::WithScore,
            read: Read::One(|facts| facts.score.map_or(Value::Missing, |score| Value::Int(score.$part))),
        }
    };
}

/// A field of where the client is.
macro_rules! of_place {
    ($name:literal, $scalar:expr, $known:expr, $read:expr) => {
        Field {
            name: $name,
            kind: One($scalar),
            known: $known,
            read: Read::One(|facts| {
                let read: fn(&ClientPlace) -> Value<'_> = $read;
                read(facts.place())
            }),
        }
    };
}

fn optional_text(text: Option<&str>) -> Value<'_> {
    text.map_or(Value::Missing, |text| Value::text(text.as_bytes()))
}

/// A field of the body, which is missing if there is none.
macro_rules! of_body {
    ($name:literal, $kind:expr, $read:expr) => {
        Field {
            name: $name,
            kind: $kind,
            known: KnownIn::WithBody,
            read: Read::One(|facts| {
                let read: fn(&dyn BodyParts) -> Value<'_> = $read;
                facts.body.map_or(Value::Missing, read)
            }),
        }
    };
}

const fn map(
    name: &'static str,
    known: KnownIn,
    folds_names: bool,
    visit: for<'f> fn(&'f Facts<'_>, &mut PairVisitor<'_, 'f>),
) -> Field {
    Field { name, kind: Map, known, read: Read::Pairs { folds_names, visit } }
}

/// All fields. Header names are lower case; paths are in normal form if they are not `raw`.
pub(super) const FIELDS: &[Field] = &[
    of_request("http.host", One(Text), |facts| Value::text(facts.host.as_bytes())),
    of_request("http.cookie", One(Text), |facts| Value::text(header(facts, b"cookie"))),
    of_request("http.referer", One(Text), |facts| Value::text(header(facts, b"referer"))),
    of_request("http.user_agent", One(Text), |facts| Value::text(header(facts, b"user-agent"))),
    of_request("http.x_forwarded_for", One(Text), |facts| Value::text(header(facts, b"x-forwarded-for"))),
    of_request("http.request.method", One(Text), |facts| Value::text(facts.request.method)),
    of_request("http.request.version", One(Text), |facts| Value::text(facts.request.protocol.as_bytes())),
    of_request("http.request.full_uri", One(Text), |facts| Value::Text(full_uri(facts).into())),
    of_request("http.request.uri", One(Text), |facts| Value::Text(uri(facts))),
    of_request("http.request.uri.path", One(Text), |facts| Value::text(facts.path())),
    of_request("http.request.uri.path.extension", One(Text), |facts| Value::Text(extension(facts).into())),
    of_request("http.request.uri.query", One(Text), |facts| Value::text(query(facts).unwrap_or(&[]))),
    map("http.request.uri.args", KnownIn::AllPhases, false, |facts, visitor| {
        arguments(query(facts).unwrap_or(&[]), visitor);
    }),
    map("http.request.headers", KnownIn::AllPhases, true, |facts, visitor| {
        headers(facts.request.headers, visitor)
    }),
    of_request("http.request.headers.names", List(Text), |facts| names(facts.request.headers)),
    map("http.request.cookies", KnownIn::AllPhases, false, |facts, visitor| {
        cookies(header(facts, b"cookie"), visitor);
    }),
    of_request("http.request.timestamp.sec", One(Int), |facts| {
        Value::Int(i64::try_from(facts.request.received.as_secs()).unwrap_or(i64::MAX))
    }),
    of_body!("http.request.body.raw", One(Text), |body| Value::text(body.raw())),
    of_body!("http.request.body.size", One(Int), |body| Value::count(body.raw().len())),
    of_body!("http.request.body.truncated", One(Scalar::Bool), |body| Value::Bool(body.is_truncated())),
    of_body!("http.request.body.mime", One(Text), |body| {
        Value::Text(body::media_type(body.content_type()).to_ascii_lowercase().into())
    }),
    map("http.request.body.form", KnownIn::WithBody, false, |facts, visitor| {
        pairs(facts.body.map(BodyParts::form), visitor);
    }),
    map("http.request.body.multipart", KnownIn::WithBody, false, |facts, visitor| {
        pairs(facts.body.map(BodyParts::multipart), visitor);
    }),
    map("http.request.body.json", KnownIn::WithBody, false, |facts, visitor| {
        pairs(facts.body.map(BodyParts::json), visitor);
    }),
    of_request("raw.http.request.uri", One(Text), |facts| Value::text(sent(facts))),
    of_request("raw.http.request.uri.path", One(Text), |facts| Value::text(path_of(sent(facts)))),
    of_request("raw.http.request.uri.query", One(Text), |facts| {
        Value::text(query_of(sent(facts)).unwrap_or(&[]))
    }),
    of_request("ip.src", One(Ip), |facts| Value::Ip(facts.request.client.to_canonical())),
    of_place!("ip.src.country", Text, KnownIn::WithCountries, |place| optional_text(
        place.country.as_deref()
    )),
    of_place!("ip.src.continent", Text, KnownIn::WithCountries, |place| {
        optional_text(place.continent.as_deref())
    }),
    of_place!("ip.src.asnum", Int, KnownIn::WithAsns, |place| {
        place.asn.map_or(Value::Missing, |asn| Value::Int(asn.into()))
    }),
    of_request("svc.hostname.metadata", One(Text), |facts| optional_text(facts.hostname_metadata)),
    of_request("ray", One(Text), |facts| Value::text(facts.request.request_id.as_bytes())),
    of_request("ssl", One(Scalar::Bool), |facts| Value::Bool(facts.tls)),
    of_score!("waf.score", all),
    of_score!("waf.score.sqli", sqli),
    of_score!("waf.score.xss", xss),
    of_score!("waf.score.rce", rce),
    of_response("http.response.code", One(Int), |facts| {
        facts.response.map_or(Value::Missing, |response| Value::Int(response.status.into()))
    }),
    map("http.response.headers", KnownIn::WithResponse, true, |facts, visitor| {
        headers(response_headers(facts), visitor)
    }),
    of_response("http.response.headers.names", List(Text), |facts| names(response_headers(facts))),
    of_response("http.response.content_type.media_type", One(Text), |facts| {
        let content_type = first(response_headers(facts), b"content-type");
        Value::Text(body::media_type(content_type).to_ascii_lowercase().into())
    }),
];

/// Shows pairs that are kept.
fn pairs<'f>(pairs: Option<&'f [(Vec<u8>, Vec<u8>)]>, visitor: &mut PairVisitor<'_, 'f>) {
    for (name, value) in pairs.unwrap_or_default() {
        visitor(Cow::Borrowed(name), Cow::Borrowed(value));
    }
}

type Fields<'r> = &'r [(&'r [u8], &'r [u8])];

fn first<'r>(fields: Fields<'r>, name: &[u8]) -> &'r [u8] {
    fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map_or(&[], |(_, value)| value)
}

fn header<'f>(facts: &'f Facts<'_>, name: &[u8]) -> &'f [u8] {
    first(facts.request.headers, name)
}

fn response_headers<'f>(facts: &'f Facts<'_>) -> Fields<'f> {
    facts.response.map_or(&[], |response| response.headers)
}

fn lower(name: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    if name.iter().any(u8::is_ascii_uppercase) {
        return Cow::Owned(name.to_ascii_lowercase());
    }
    name
}

fn headers<'r>(fields: Fields<'r>, visitor: &mut PairVisitor<'_, 'r>) {
    fields.iter().for_each(|(name, value)| visitor(Cow::Borrowed(name), Cow::Borrowed(value)));
}

fn names<'r>(fields: Fields<'r>) -> Value<'r> {
    Value::List(fields.iter().map(|(name, _)| Value::Text(lower(Cow::Borrowed(name)))).collect())
}

fn raw_path<'r>(facts: &Facts<'r>) -> &'r [u8] {
    path_of(facts.request.origin_form())
}

/// The query as it is now.
fn query<'r>(facts: &Facts<'r>) -> Option<&'r [u8]> {
    query_of(facts.request.origin_form())
}

/// Path and query as the client sent them.
fn sent<'r>(facts: &Facts<'r>) -> &'r [u8] {
    facts.sent.unwrap_or_else(|| facts.request.origin_form())
}

/// What stands before the first `?`.
fn path_of(target: &[u8]) -> &[u8] {
    memchr::memchr(b'?', target).and_then(|at| target.get(..at)).unwrap_or(target)
}

/// What follows the first `?`.
fn query_of(target: &[u8]) -> Option<&[u8]> {
    target.get(memchr::memchr(b'?', target)? + 1..)
}

/// Path in normal form, and query as sent.
fn uri<'f>(facts: &'f Facts<'_>) -> Cow<'f, [u8]> {
    match query(facts) {
        Some(query) => [facts.path(), b"?", query].concat().into(),
        None => facts.path().into(),
    }
}

fn full_uri(facts: &Facts<'_>) -> Vec<u8> {
    let scheme = if facts.tls { "https://" } else { "http://" };
    [scheme.as_bytes(), facts.host.as_bytes(), &uri(facts)].concat()
}

/// What follows the last dot of the last segment, in lower case.
fn extension(facts: &Facts<'_>) -> Vec<u8> {
    let file = facts.path().rsplit(|byte| *byte == b'/').next().unwrap_or(&[]);
    let dot = file.iter().rposition(|byte| *byte == b'.');
    dot.and_then(|dot| file.get(dot + 1..)).unwrap_or(&[]).to_ascii_lowercase()
}

/// Names and values, decoded.
fn arguments<'r>(query: &'r [u8], visitor: &mut PairVisitor<'_, 'r>) {
    fn decoded(text: &[u8]) -> Cow<'_, [u8]> {
        if !urlencoded::needs_decoding(text) {
            return Cow::Borrowed(text);
        }
        let mut plain = Vec::with_capacity(text.len());
        urlencoded::decode(text, &mut plain);
        Cow::Owned(plain)
    }
    urlencoded::read(query, |name, value| visitor(decoded(name), decoded(value)));
}

/// Names and values as sent (RFC 6265 section 4.2.1).
fn cookies<'r>(header: &'r [u8], visitor: &mut PairVisitor<'_, 'r>) {
    for cookie in header.split(|byte| *byte == b';') {
        let cookie = cookie.trim_ascii();
        if let Some((name, value)) = memchr::memchr(b'=', cookie).and_then(|at| cookie.split_at_checked(at)) {
            visitor(Cow::Borrowed(name), Cow::Borrowed(value.get(1..).unwrap_or(&[])));
        }
    }
}
