//! Answers we make ourselves: HTML for people, JSON for programs, always with the request id.

use bytes::Bytes;
use pingora::http::ResponseHeader;

use super::names::QueryRefusal;
use super::refusal::Refusal;
use ::gateway::answer::GatewayError;
use challenge::RenderedPage;
use model::ruleset::BlockResponse;

/// Which form a client reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Html,
    Json,
}

impl Form {
    /// By `Accept`: HTML only for who asks for it by name.
    pub(super) fn of_accept(accept: &[u8]) -> Self {
        let html = memchr::memmem::find(accept, b"text/html").is_some();
        if html { Self::Html } else { Self::Json }
    }
}

/// Header and body of a refusal; `own` is the answer of the rule that refuses, if that has one, `page` that of a challenge.
pub(super) fn refusal(
    refusal: Refusal,
    ray: &str,
    form: Form,
    own: Option<&BlockResponse>,
    page: Option<&RenderedPage>,
) -> pingora::Result<(ResponseHeader, Bytes)> {
    let status = refusal.status();
    let (content_type, body) = match (refusal, form) {
        (Refusal::Rules(_) | Refusal::Rate(_), _) if let Some(own) = own => {
            (own.content_type.as_str(), own.content.clone())
        }
        (Refusal::Challenge { .. }, Form::Html) if let Some(page) = page => {
            ("text/html; charset=utf-8", page.html.clone())
        }
        (Refusal::Gateway(error), _) => ("application/json", error.body()),
        (_, Form::Html) => ("text/html; charset=utf-8", html(status, refusal.text(), ray)),
        (_, Form::Json) => ("application/json", json(status, refusal.text(), ray)),
    };
    let mut header = ResponseHeader::build(status, Some(8))?;
    header.insert_header("content-type", content_type)?;
    header.insert_header("content-length", body.len().to_string())?;
    header.insert_header("cache-control", "no-store")?;
    header.insert_header("svc-ray", ray)?;
    match refusal {
        Refusal::Gateway(error) => {
            header.insert_header("svc-aig-error", error.code().to_string())?;
            header.insert_header("x-should-retry", if error.is_retryable() { "true" } else { "false" })?;
            if error == GatewayError::MethodNotAllowed {
                header.insert_header("allow", "DELETE, GET, POST")?;
            }
            if let Some(seconds) = error.retry_after_seconds() {
                header.insert_header("retry-after", seconds.to_string())?;
            }
        }
        Refusal::Challenge { .. } => {
            header.insert_header("svc-mitigated", "challenge")?;
            if let (Some(page), Form::Html) = (page, form) {
                header.insert_header("content-security-policy", page.policy.as_str())?;
                header.insert_header("referrer-policy", "same-origin")?;
                header.insert_header("vary", "accept, cookie")?;
            }
        }
        Refusal::Admission(crate::admission::Refused::MethodNotAllowed) => {
            header.insert_header("allow", crate::admission::METHODS.join(", "))?;
        }
        Refusal::NoQuery(QueryRefusal::Method) => {
            header.insert_header("allow", "GET, HEAD, POST")?;
        }
        Refusal::TooManyBodies | Refusal::RulesTime | Refusal::TooManyPasswords => {
            header.insert_header("retry-after", "1")?;
        }
        _ => {}
    }
    Ok((header, Bytes::from(body)))
}

fn json(status: u16, text: &str, ray: &str) -> String {
    serde_json::json!({ "success": false, "errors": [{ "code": status, "message": text }], "ray": ray })
        .to_string()
}

// INVARIANT: `text` is one of our own and `ray` is letters, digits and a hyphen, so nothing needs
// to be escaped.
fn html(status: u16, text: &str, ray: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{status}</title>\n<style>body{{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem}}\
         h1{{font-size:1.25rem}}code{{font-family:ui-monospace,monospace}}</style>\n\
         <h1>{text}</h1>\n<p>Status {status}. If you think this is a mistake, tell the owner of the site this number:</p>\n\
         <p><code>{ray}</code></p>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_get_html_and_programs_json() {
        assert_eq!(Form::of_accept(b"text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"), Form::Html);
        assert_eq!(Form::of_accept(b"*/*"), Form::Json);
        let (header, body) = refusal(Refusal::Rules(403), "00ff-1", Form::Json, None, None).unwrap();
        assert_eq!(header.status, 403);
        assert_eq!(
            body,
            r#"{"errors":[{"code":403,"message":"The request was blocked by the site's security rules."}],"ray":"00ff-1","success":false}"#
        );
        let (_, page) = refusal(Refusal::Rules(403), "00ff-1", Form::Html, None, None).unwrap();
        assert!(page.starts_with(b"<!doctype html>") && memchr::memmem::find(&page, b"00ff-1").is_some());
    }
}
