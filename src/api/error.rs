//! Why the API refuses: every code with its status and cause, and the errors of one request.

use std::borrow::Cow;
use std::fmt;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{HeaderName, HeaderValue, RETRY_AFTER};

use super::envelope::{self, Item};
use crate::control::ApplyError;
use diagnostic::{Code, Diagnostic, Diagnostics};

/// Tells clients whether the same request may succeed if it is sent again.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// A code of the API.
#[derive(Debug, PartialEq, Eq)]
pub struct ErrorCode {
    pub code: u32,
    pub status: u16,
    /// Why it is given, and what to do.
    pub cause: &'static str,
}

macro_rules! codes {
    ($($name:ident = $code:literal, $status:literal, $cause:literal;)*) => {
        $(pub const $name: &ErrorCode = &ErrorCode { code: $code, status: $status, cause: $cause };)*

        /// All of them, as `GET /client/v4/errors` shows them.
        pub const ALL: &[&ErrorCode] = &[$($name),*];
    };
}

codes! {
    INVALID_TOKEN = 1000, 401, "the token that was to be verified is unknown, disabled or no longer valid";
    INVALID_ZONE_NAME = 1049, 400, "the name is not that of a zone: expected a host name such as `example.com`";
    DNS_VALIDATION = 1004, 400, "a record is not as it must be; `error_chain` says why";
    ZONE_EXISTS = 1061, 400, "there is a zone of this name; names of zones are unique";
    ZONE_HELD = 1093, 400, "another account holds the zone above this name; its owner must release the hold";
    ZONE_PROPERTY = 1085, 400, "a property of a zone has a value that it does not take";
    BAD_HEADERS = 6003, 400, "a header of authentication is malformed; `error_chain` says which";
    NO_ROUTE = 7000, 404, "no operation has this path";
    BAD_METHOD = 7001, 405, "the path has no operation of this method; `allow` names those it has";
    NOT_FOUND = 7002, 404, "there is no such resource, or it was deleted";
    BAD_IDENTIFIER = 7003, 404, "an identifier in the path is unknown";
    DNS_NAME = 9000, 400, "the name of a record is missing or breaks a rule of names; the message says which";
    DNS_TYPE = 9002, 400, "the type of a record is missing or unknown";
    DNS_PROXIED_TARGET = 9003, 400, "a proxied record names an address that the edge may not ask";
    DNS_PROXIED_TYPE = 9004, 400, "only records of the types A, AAAA and CNAME can be proxied";
    DNS_A_CONTENT = 9005, 400, "the content of an A record is no IPv4 address";
    DNS_AAAA_CONTENT = 9006, 400, "the content of an AAAA record is no IPv6 address";
    DNS_CONTENT = 9007, 400, "the content or data of a record is not of its type; the message says what was expected";
    DNS_PRIORITY = 9008, 400, "a record needs a priority from 0 to 65535";
    DNS_MAIL_HOST = 9009, 400, "the content of an MX record is no host name";
    DNS_TOO_LONG = 9015, 400, "the content of a record is longer than it may be";
    DNS_TTL = 9021, 400, "the TTL of a record is out of bounds; 1 leaves it to the server";
    DNS_SRV = 9036, 400, "the data of an SRV record is not as expected; the message says what is";
    DNS_OWN_NAME = 9039, 400, "a CNAME record leads to its own name";
    DNS_NEVER_PROXIED = 9041, 400, "the name or target of the record is one that others verify, and cannot be proxied";
    DNS_NEW_LINE = 9051, 400, "the content of a TXT record has a line break; write a space, or `\\010` in quotes";
    BAD_METADATA = 1401, 400, "the metadata of a custom hostname is no JSON object, or too long";
    HOSTNAME_QUOTA = 1405, 403, "the zone has as many custom hostnames as it may have";
    HOSTNAME_EXISTS = 1406, 409, "the zone has a custom hostname of this name";
    BAD_HOSTNAME = 1407, 400, "the name of a custom hostname is no host name: no address, no `*`, at most 253 bytes";
    HOSTNAME_NOT_ASCII = 1408, 400, "the name of a custom hostname has letters beyond ASCII";
    HOSTNAME_RESERVED = 1409, 400, "the custom hostname is below `test`, `example`, `invalid` or `localhost`";
    HOSTNAME_PUBLIC_SUFFIX = 1410, 400, "the custom hostname is a public suffix, or has no dot";
    HOSTNAME_PROHIBITED = 1411, 400, "the custom hostname is a name of documents, such as `example.com`";
    METADATA_ON_WILDCARD = 1412, 400, "a custom hostname with a wildcard has no metadata";
    BAD_ORIGIN_NAME = 1415, 400, "the origin of a custom hostname is no host name";
    ORIGIN_NOT_ASCII = 1416, 400, "the origin of a custom hostname has letters beyond ASCII";
    WILDCARD_ORIGIN = 1420, 400, "the origin of a custom hostname has a `*`";
    ORIGIN_WITHOUT_RECORD = 1421, 400, "the origin of a custom hostname is no A, AAAA or CNAME record of the zone";
    BAD_HTTP2 = 1422, 400, "`http2` is neither `on` nor `off`";
    BAD_TLS_1_3 = 1424, 400, "`tls_1_3` is neither `on` nor `off`";
    BAD_MIN_TLS_VERSION = 1425, 400, "`min_tls_version` is none of 1.0, 1.1, 1.2 and 1.3, or leaves no version";
    BAD_CERTIFICATE = 1426, 400, "a certificate cannot be read";
    NO_CERTIFICATE = 1427, 400, "a certificate is missing";
    BAD_KEY = 1428, 400, "the key of a certificate cannot be read";
    KEY_MISMATCH = 1429, 400, "the key is not that of the certificate";
    BAD_CSR_ID = 1430, 400, "the identifier of a certificate request is no UUID";
    NO_CSR = 1431, 404, "the zone and its account have no certificate request of this id";
    BAD_VALIDATION_METHOD = 1432, 400, "the validation method is none of `http` and `txt`";
    BAD_VALIDATION_TYPE = 1433, 400, "the validation type is not `dv`";
    BAD_SSL = 1434, 400, "a field of `ssl` has a value that it does not take";
    BAD_HOSTNAME_ID = 1435, 400, "the identifier of a custom hostname is no UUID";
    NO_HOSTNAME = 1436, 404, "the zone has no custom hostname of this id";
    BAD_NAME_FILTER = 1437, 400, "a filter of the name is malformed, or there is more than one";
    ID_WITH_FILTERS = 1438, 400, "the filter `id` goes with no other filter";
    HOSTNAME_IMMUTABLE = 1439, 409, "the name of a custom hostname cannot be changed";
    TYPE_AND_METHOD = 1440, 400, "a change of the CA goes with `ssl.type` and `ssl.method`";
    BAD_BUNDLE = 1441, 400, "a certificate is not signed by the one behind it, or two have keys of the same kind";
    BAD_CIPHERS = 1442, 400, "a cipher suite is unknown or not spoken here";
    CIPHERS_WITH_TLS_1_3 = 1443, 400, "cipher suites of TLS 1.2 are named, and TLS 1.3 is the lowest version";
    SEVERAL_LEAVES = 1444, 400, "there is more than one certificate that is not that of a CA";
    NO_LEAF = 1445, 400, "the first certificate is that of a CA";
    CERTIFICATE_LACKS_HOST = 1446, 400, "a certificate is not for the custom hostname";
    WEAK_SIGNATURE = 1447, 400, "a certificate is signed with MD5 or SHA-1";
    WILDCARD_NEEDS_TXT = 1448, 400, "CAs make certificates for wildcards by `txt` alone";
    BAD_BUNDLE_METHOD = 1449, 400, "`bundle_method` is none of `ubiquitous`, `optimal` and `force`";
    BRANDING_REQUIRED = 1469, 400, "no host has 64 characters or fewer; set `svc_branding`";
    NO_FALLBACK_ORIGIN = 1470, 404, "the zone has no fallback origin";
    HOSTNAME_IS_ZONE = 1471, 403, "the custom hostname is the name of the zone, or a host of this server";
    ISSUANCE_RATE = 1472, 429, "too many certificates were ordered in a minute; `retry-after` says when to go on";
    NO_PACK = 1473, 404, "the zone has no certificate pack of this id";
    BAD_PACK = 1474, 400, "a field of a certificate pack has a value that it does not take";
    NO_CERTIFICATE_OF_ID = 1475, 404, "the zone, or the certificate pack, has no certificate of this id";
    BAD_CSR = 1476, 400, "a field of a certificate request has a value that it does not take";
    LAST_CERTIFICATE = 1477, 409, "the certificate is the only one of its pack; replace it, or delete its hostname";
    UNKNOWN_KEY = 9103, 403, "no user has this e-mail address with this key";
    NO_CREDENTIALS = 9106, 403, "the request has no `Authorization`, and no `X-Auth-Email` with `X-Auth-Key`";
    NOT_ALLOWED = 9109, 403, "the token is unknown or expired, or lacks the permission that the message names";
    NO_RULESET = 10003, 404, "there is no such ruleset, entry point or version";
    BAD_QUERY = 10006, 400, "a parameter of the query is unknown, or not of its type";
    BAD_BODY = 10007, 400, "the body is not a JSON object, or nests too deep";
    BAD_FIELD = 10008, 400, "a field of the body is missing, or not of its type; `source.pointer` names it";
    IN_FILE = 10009, 409, "a configuration file declares the resource; the message names its place. Change it there";
    CHANGED = 10010, 412, "the resource is not at the version that `If-Match` names; read it again";
    UNAVAILABLE = 10013, 503, "the state on disk cannot be read or written now; nothing has changed";
    TOO_LARGE = 10015, 413, "the body is longer than the API takes";
    KEY_REUSED = 10016, 409, "the idempotency key was sent before with another request";
    CONFLICT = 10017, 409, "another resource stands in the way; the message names it";
    NO_SECRETS_KEY = 10018, 409, "keys of providers cannot be sealed because `secrets_key_file` is not set";
    BODY_LENGTH = 10019, 400, "a body takes `Content-Length`; `Transfer-Encoding` is a second reading of where it ends";
    ENDED = 10021, 410, "what the request uses has ended; the message says when, and what takes its place";
    NOT_HERE = 10022, 404, "what the request asks for ends without ever having been a part of this server";
    NO_RESOLVER = 10023, 503, "the resolvers of `dns.resolvers`, or of the system, do not answer";
    CODED_BODY = 10020, 415, "the API takes bodies as they are, not compressed";
    TOO_MANY_REQUESTS = 10100, 429, "the token has sent more requests than it may; `retry-after` says when to go on";
    BAD_KIND = 20021, 400, "the kind of a ruleset is unknown, or cannot be written here";
    BAD_PHASE = 20022, 400, "the phase of a ruleset is missing or unknown";
    BAD_POSITION = 20107, 400, "the position of a rule is none of `before`, `after` or `index`, or names no place";
    NO_RULE = 20108, 404, "the ruleset has no rule of this id";
    TOO_MANY_RULES = 20109, 400, "the ruleset has more rules than it may";
    BAD_EXPRESSION = 20125, 400, "the expression of a rule is blank or not understood; the message shows where";
    BAD_ACTION = 20126, 400, "the phase has no such action, or the rule lacks what its action needs";
    NO_MANAGED_RULESET = 20127, 400, "an `execute` rule names no ruleset of its phase";
    NO_VERSION = 20128, 400, "an `execute` rule names a version that its ruleset does not have";
    BAD_OVERRIDE = 20129, 400, "an override names no rule or category of its ruleset, or cannot do this to it";
    BAD_RATE_LIMIT = 20130, 400, "what a rule of phase `http_ratelimit` counts is missing, misplaced or cannot be counted";
    RULESET_IN_USE = 20131, 409, "rules name the ruleset, which therefore cannot be deleted";
    ENTRY_POINT_EXISTS = 20217, 400, "the zone has an entry point for this phase; the message names its id";
    NO_RECORD = 81044, 404, "the zone has no record of this id";
    CNAME_BESIDE_ADDRESS = 81053, 400, "a CNAME record cannot stand beside an A, AAAA or other CNAME record";
    ADDRESS_BESIDE_CNAME = 81054, 400, "an A or AAAA record cannot stand beside a CNAME record";
    NS_BESIDE_OTHERS = 81055, 400, "an NS record delegates the name, which therefore has no other records than NS and DS";
    OTHER_BESIDE_NS = 81056, 400, "the name is delegated by NS records and has no other records than those and DS";
    SAME_RECORD = 81058, 400, "the zone has a record with this name, type and content";
    DS_WITHOUT_NS = 81059, 400, "a DS record stands at the name of an NS record, which must be there first";
    TEXTS_TOO_LONG = 83011, 400, "the TXT records of a name have more than 8,192 bytes together";
}

/// One reason why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    pub code: &'static ErrorCode,
    /// What is wrong, and what was expected.
    pub message: String,
    /// Where in the body (RFC 6901).
    pub pointer: Option<String>,
    /// Causes, the nearest first: code and message.
    pub chain: Vec<(u32, Cow<'static, str>)>,
    /// A page that says more.
    pub documentation: Option<String>,
    /// When the same request may succeed.
    pub retry_after_seconds: Option<u64>,
}

impl ApiError {
    pub fn new(code: &'static ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            pointer: None,
            chain: Vec::new(),
            documentation: None,
            retry_after_seconds: None,
        }
    }

    pub fn at(code: &'static ErrorCode, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: Some(pointer.into()), ..Self::new(code, message) }
    }

    /// A secret at a place of the body, without a key to seal it with.
    pub fn no_secrets_key(pointer: impl Into<String>) -> Self {
        let message = "name a file with a key in `secrets_key_file`; `openssl rand -hex 32` makes one";
        Self::at(NO_SECRETS_KEY, pointer, message)
    }

    /// An identifier in the path that nothing has.
    pub fn unknown(path: &str) -> Self {
        let message =
            format!("Could not route to /client/v4{path}, perhaps your object identifier is invalid?");
        Self::new(BAD_IDENTIFIER, message)
    }
}

/// Everything that is wrong with a request. The first decides on the status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiErrors(Vec<ApiError>);

impl ApiErrors {
    /// `None` if nothing is wrong.
    pub fn of(errors: Vec<ApiError>) -> Option<Self> {
        (!errors.is_empty()).then_some(Self(errors))
    }

    /// The same errors, of a body that is the part of another document at `prefix`.
    pub fn within(mut self, prefix: &str) -> Self {
        for error in &mut self.0 {
            let inner = error.pointer.as_deref().and_then(|pointer| pointer.strip_prefix(prefix));
            if let Some(inner) = inner.map(str::to_owned) {
                error.pointer = Some(inner);
            }
        }
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = &ApiError> {
        self.0.iter()
    }
}

impl From<ApiError> for ApiErrors {
    fn from(error: ApiError) -> Self {
        Self(vec![error])
    }
}

impl fmt::Display for ApiErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let messages: Vec<&str> = self.0.iter().map(|error| error.message.as_str()).collect();
        f.write_str(&messages.join("; "))
    }
}

impl std::error::Error for ApiErrors {}

impl From<ApplyError> for ApiErrors {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::Declined(declined) => match declined.downcast::<Self>() {
                Ok(errors) => *errors,
                Err(other) => ApiError::new(UNAVAILABLE, other.to_string()).into(),
            },
            ApplyError::Refused(diagnostics) => Self::from(&diagnostics),
            conflict @ ApplyError::Conflict { .. } => ApiError::new(CHANGED, conflict.to_string()).into(),
            other => ApiError::new(UNAVAILABLE, other.to_string()).into(),
        }
    }
}

impl From<&Diagnostics> for ApiErrors {
    fn from(diagnostics: &Diagnostics) -> Self {
        Self(diagnostics.iter().map(of_diagnostic).collect())
    }
}

fn of_diagnostic(diagnostic: &Diagnostic) -> ApiError {
    let code = match diagnostic.code {
        Code::ConfConflict => IN_FILE,
        Code::RulesetExpression => BAD_EXPRESSION,
        Code::RulesetBadAction | Code::RulesetBadParameters => BAD_ACTION,
        Code::RulesetRateLimit => BAD_RATE_LIMIT,
        Code::RulesetUnknownRuleset => NO_MANAGED_RULESET,
        Code::RulesetUnknownVersion => NO_VERSION,
        Code::RulesetUnknownRule | Code::RulesetUnknownCategory | Code::RulesetBadOverride => BAD_OVERRIDE,
        Code::StoreUnreadable => UNAVAILABLE,
        _ => BAD_FIELD,
    };
    ApiError { pointer: diagnostic.pointer.clone(), ..ApiError::new(code, diagnostic.message.clone()) }
}

impl IntoResponse for ApiErrors {
    fn into_response(self) -> Response {
        let first = self.0.first().map_or(UNAVAILABLE, |error| error.code);
        let mut items: Vec<Item> = self.0.iter().map(Item::of_error).collect();
        // What clients of old know an unknown identifier by.
        if first == BAD_IDENTIFIER {
            items.push(Item::new(NO_ROUTE.code, "No route for that URI".to_owned()));
        }
        let status = StatusCode::from_u16(first.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = envelope::failure(status, &items);
        if let Some(seconds) = self.0.first().and_then(|error| error.retry_after_seconds) {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        let may_retry = matches!(first.status, 429 | 503);
        if !may_retry {
            response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_unique_and_their_status_is_an_error() {
        let codes: BTreeSet<u32> = ALL.iter().map(|known| known.code).collect();
        assert_eq!(codes.len(), ALL.len());
        assert!(ALL.iter().all(|known| (400..600).contains(&known.status) && !known.cause.ends_with('.')));
    }
}
