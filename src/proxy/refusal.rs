//! Every way to refuse a request: status, reason, text. One exhaustive match each.

use super::context::Context;
use super::names::QueryRefusal;
use super::record_targets::NoTarget;
use crate::admission::Refused;
use ::challenge::ChallengeLevel;
use ::gateway::answer::GatewayError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Admission(Refused),
    UnknownHost,
    /// At a host for queries of resolvers, it is none.
    NoQuery(QueryRefusal),
    /// Rules refused it, with this status.
    Rules(u16),
    /// Its client has to solve a puzzle first; with `for_request` for this request, else for the zone.
    Challenge {
        level: ChallengeLevel,
        for_request: bool,
    },
    /// It brings a solution that is none.
    BadSolution,
    /// It came past a rate, with this status.
    Rate(u16),
    /// Rules lead its client elsewhere, with this status.
    Redirect(u16),
    /// Rules lead its client to no address that is safe to follow.
    BadRedirect,
    /// Rules put a page in the place of an origin's error.
    ErrorPage(u16),
    /// The time for rules was over before the rules were.
    RulesTime,
    BodyTooLong,
    /// The body is longer than the zone takes.
    UploadTooLong,
    /// It needs a name and a password.
    Unauthenticated,
    /// Too many passwords wait to be checked.
    TooManyPasswords,
    /// A service that is asked about it answers in place of an origin, with this status.
    ForwardAuth(u16),
    /// A service that is asked about it does not answer.
    ForwardAuthSilent,
    /// It came back from where it was sent, time and again.
    InCircle,
    /// It asks for a WebSocket, and the zone has none.
    NoWebSockets,
    /// All held bodies together would be too many bytes.
    TooManyBodies,
    TooManyArguments,
    /// The body has a content coding that cannot be undone, or not within its limits.
    BodyCoding,
    /// The client's body broke off.
    BodyBrokenOff,
    /// The client's body did not come in time.
    BodyTimeout,
    Gateway(GatewayError),
    NoOrigin,
    /// The host has no proxied DNS record.
    NoRecord,
    /// The host's record leads to this edge, or to a private network.
    ProhibitedOrigin,
    /// The host's record leads to a zone of another account.
    OtherAccount,
    /// What the host's record leads to has no address.
    OriginNameUnresolved,
    /// The host is a custom hostname that is not verified.
    HostnameUnverified,
    /// The host is a custom hostname whose zone has no fallback origin with a record.
    FallbackOriginMissing,
    /// A wildcard stands for the host, but a zone of its own has it.
    HostnameShadowed,
    /// The connection was made for a name that asks for less.
    Misdirected,
    /// The client has shown no certificate that the zone takes.
    ClientCertificate,
    OriginUnreachable,
    OriginTimeout,
    OriginBroken,
    Internal,
}

impl Refusal {
    pub(super) fn of_no_target(none: NoTarget) -> Self {
        match none {
            NoTarget::NoRecord => Self::NoRecord,
            NoTarget::Prohibited => Self::ProhibitedOrigin,
            NoTarget::OtherAccount => Self::OtherAccount,
            NoTarget::Unresolved => Self::OriginNameUnresolved,
        }
    }

    pub(super) fn status(self) -> u16 {
        match self {
            Self::Admission(refused) => refused.status(),
            Self::Rules(status)
            | Self::Rate(status)
            | Self::Redirect(status)
            | Self::ErrorPage(status)
            | Self::ForwardAuth(status) => status,
            Self::Challenge { .. }
            | Self::BadSolution
            | Self::ProhibitedOrigin
            | Self::ClientCertificate
            | Self::NoWebSockets => 403,
            Self::Misdirected => 421,
            Self::NoRecord | Self::OtherAccount => 409,
            Self::OriginNameUnresolved
            | Self::HostnameUnverified
            | Self::FallbackOriginMissing
            | Self::HostnameShadowed => 530,
            Self::UnknownHost | Self::NoQuery(QueryRefusal::Path) => 404,
            Self::NoQuery(QueryRefusal::Method) => 405,
            Self::NoQuery(QueryRefusal::MediaType) => 415,
            Self::NoQuery(QueryRefusal::Malformed) => 400,
            Self::BodyTooLong | Self::UploadTooLong => 413,
            Self::BodyCoding => 415,
            Self::Unauthenticated => 401,
            Self::TooManyBodies | Self::RulesTime | Self::TooManyPasswords => 503,
            Self::TooManyArguments | Self::BodyBrokenOff | Self::BadRedirect => 400,
            Self::BodyTimeout => 408,
            Self::Gateway(error) => error.status(),
            Self::NoOrigin | Self::OriginUnreachable | Self::OriginBroken | Self::ForwardAuthSilent => 502,
            Self::OriginTimeout => 504,
            Self::InCircle => 508,
            Self::Internal => 500,
        }
    }

    /// The word in events and metrics.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Admission(refused) => refused.word(),
            Self::UnknownHost => "unknown_host",
            Self::NoQuery(_) => "no_query",
            Self::Rules(_) => "rules",
            Self::Challenge { .. } => "challenge",
            Self::BadSolution => "bad_solution",
            Self::Rate(_) => "rate",
            Self::Redirect(_) => "redirect",
            Self::BadRedirect => "bad_redirect",
            Self::ErrorPage(_) => "error_page",
            Self::RulesTime => "rules_time",
            Self::BodyTooLong => "body_too_long",
            Self::UploadTooLong => "upload_too_long",
            Self::InCircle => "in_circle",
            Self::NoWebSockets => "no_web_sockets",
            Self::Unauthenticated => "unauthenticated",
            Self::TooManyPasswords => "too_many_passwords",
            Self::ForwardAuth(_) => "forward_auth",
            Self::ForwardAuthSilent => "forward_auth_silent",
            Self::TooManyBodies => "too_many_bodies",
            Self::TooManyArguments => "too_many_arguments",
            Self::BodyCoding => "body_coding",
            Self::BodyBrokenOff => "body_broken_off",
            Self::BodyTimeout => "body_timeout",
            Self::Gateway(error) => error.outcome(),
            Self::NoOrigin => "no_origin",
            Self::NoRecord => "no_record",
            Self::ProhibitedOrigin => "prohibited_origin",
            Self::OtherAccount => "other_account",
            Self::OriginNameUnresolved => "origin_name_unresolved",
            Self::Misdirected => "misdirected",
            Self::ClientCertificate => "client_certificate",
            Self::HostnameUnverified => "hostname_unverified",
            Self::FallbackOriginMissing => "fallback_origin_missing",
            Self::HostnameShadowed => "hostname_shadowed",
            Self::OriginUnreachable => "origin_unreachable",
            Self::OriginTimeout => "origin_timeout",
            Self::OriginBroken => "origin_broken",
            Self::Internal => "internal",
        }
    }

    /// What the client sees. Never which rule matched.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Admission(refused) => admission_text(refused),
            Self::UnknownHost => "Error 1018: no site of this name is served here.",
            Self::NoQuery(QueryRefusal::Path) => "DNS queries are answered at /dns-query.",
            Self::NoQuery(QueryRefusal::Method) => "DNS queries come by GET or POST.",
            Self::NoQuery(QueryRefusal::MediaType) => {
                "A DNS query has the media type application/dns-message."
            }
            Self::NoQuery(QueryRefusal::Malformed) => "The request has no DNS query.",
            Self::Redirect(_) => "What you look for is elsewhere.",
            Self::BadRedirect => "The request leads to no valid address.",
            Self::ErrorPage(_) => "The site cannot do this.",
            Self::Rate(_) => "There were too many requests; try again later.",
            Self::Challenge { .. } => {
                "A check is needed that only browsers can do; open the site in one, and use its cookies."
            }
            Self::BadSolution => "The solution is not valid; load the page again.",
            Self::Rules(_) => "The request was blocked by the site's security rules.",
            Self::BodyTooLong => "The request body is too long to be inspected.",
            Self::UploadTooLong => "The request body is longer than this site takes.",
            Self::InCircle => {
                "The site leads back to itself: its origin or a service that it asks is this server."
            }
            Self::NoWebSockets => "This site takes no WebSockets.",
            Self::Unauthenticated => "This page needs a name and a password.",
            Self::ForwardAuth(_) => "You have to sign in first.",
            Self::ForwardAuthSilent => "Nobody can say now who may see this page.",
            Self::TooManyBodies | Self::RulesTime | Self::TooManyPasswords => {
                "The server is busy; try again in a moment."
            }
            Self::TooManyArguments => "The request has too many arguments.",
            Self::BodyCoding => "The coding of the request body is not supported.",
            Self::BodyBrokenOff => "The request body is incomplete.",
            Self::BodyTimeout => "The request body did not arrive in time.",
            Self::Gateway(error) => error.message(),
            // People look such errors up by these numbers.
            Self::NoRecord => "Error 1001: no DNS record leads from this name to a site.",
            Self::ProhibitedOrigin => {
                "Error 1000: the DNS record of this name leads to a prohibited address."
            }
            Self::OtherAccount => {
                "Error 1014: the DNS record of this name leads to a site of another account."
            }
            Self::OriginNameUnresolved => {
                "Error 1016: the DNS record of this name leads to a name without an address."
            }
            Self::Misdirected => "This connection was made for another name; open one for this name.",
            Self::ClientCertificate => "This site takes clients that show a certificate of its own.",
            Self::HostnameUnverified => {
                "Error 1016: who serves this name has not shown that it is theirs; the verification errors of the \
                 custom hostname say what is missing."
            }
            Self::FallbackOriginMissing => {
                "Error 1016: the site behind this name has no fallback origin, or that has no proxied DNS record; its \
                 operator must set one."
            }
            Self::HostnameShadowed => {
                "Error 1016: this name is in a zone of its own, which comes before a wildcard; its operator must add it \
                 as a custom hostname of its own."
            }
            Self::NoOrigin | Self::OriginUnreachable => "The site cannot be reached.",
            Self::OriginTimeout => "The site did not answer in time.",
            Self::OriginBroken => "The site's answer broke off.",
            Self::Internal => "Something went wrong on this server.",
        }
    }
}

/// What the client of a request sees that was not admitted.
fn admission_text(refused: Refused) -> &'static str {
    match refused {
        Refused::MethodNotAllowed => "This method is not allowed here.",
        Refused::RequestLineTooLong => "The address is too long.",
        Refused::HeaderSectionTooLong | Refused::TooManyHeaderFields => "The request headers are too large.",
        Refused::UnknownTransferEncoding => "This transfer encoding is not supported.",
        Refused::MissingHost | Refused::BadHost => "The request does not name a valid host.",
        Refused::BareLf
        | Refused::LengthAndTransferEncoding
        | Refused::RepeatedContentLength
        | Refused::BadContentLength
        | Refused::BadTransferEncoding
        | Refused::BadHeaderField
        | Refused::BadRequestLine
        | Refused::BadMethod => "The request is malformed.",
    }
}
/// Ends the request with an answer of ours.
pub(super) fn refuse<T>(ctx: &mut Context, refusal: Refusal) -> pingora::Result<T> {
    ctx.refusal = Some(refusal);
    Err(pingora::Error::explain(pingora::ErrorType::HTTPStatus(refusal.status()), refusal.word()))
}
