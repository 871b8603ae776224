//! The page that a browser gets instead of what it asked for.
//!
//! It has all that it needs in itself: no other host is asked, nothing is stored, nothing is told of the visitor. It solves the
//! puzzle, sends the solution, and asks again for what it is in the place of. A form that was sent is sent again from what the
//! page holds of it, because browsers do not do so unasked.

use std::fmt::Write as _;

use base64::Engine as _;

use crate::Effort;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A page for one puzzle.
#[derive(Clone, Copy, Debug)]
pub struct ChallengePage<'p> {
    /// As [`crate::Puzzle::issue`] made it.
    pub puzzle: &'p str,
    pub effort: Effort,
    /// The id of the request, for people who ask the owner of the site.
    pub ray: &'p str,
    /// Where the solution is sent: path of the same host.
    pub solution_path: &'p str,
    pub form: FormBody<'p>,
}

/// What becomes of the form that a challenged request sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormBody<'p> {
    /// There was none: the page is loaded again.
    None,
    /// The page sends it again.
    Sent { content_type: &'p [u8], body: &'p [u8] },
    /// The visitor is asked to send it again: it is too long, not of a form, or came from another site, whose request must not
    /// become one of this site.
    Lost,
}

/// A page, and what its response has to say of it.
#[derive(Clone, Debug)]
pub struct RenderedPage {
    pub html: String,
    /// The field `Content-Security-Policy`.
    pub policy: String,
}

impl ChallengePage<'_> {
    /// # Errors
    /// If the system has no random numbers.
    pub fn render(&self) -> Result<RenderedPage, getrandom::Error> {
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce)?;
        let nonce = crate::to_text(&nonce);
        // INVARIANT: what stands in the page is letters, digits and `+/=-` but for words of ours, so nothing needs to be escaped.
        let encoded = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
        let mut data = format!(
            r#"{{"puzzle":"{}","bits":{},"click":{},"path":"{}","form":"#,
            self.puzzle, self.effort.bits, self.effort.click, self.solution_path
        );
        let _ = match self.form {
            FormBody::None => write!(data, "null}}"),
            FormBody::Lost => write!(data, r#"{{"lost":true}}}}"#),
            FormBody::Sent { content_type, body } => {
                write!(data, r#"{{"type":"{}","body":"{}"}}}}"#, encoded(content_type), encoded(body))
            }
        };
        let ray = self.ray;
        let html = format!(
            r#"<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Checking your browser</title>
<style nonce="{nonce}">{STYLE}</style>
<main>
<h1>Checking your browser</h1>
<p id="status" role="status">This takes a moment. The page goes on by itself.</p>
<progress id="progress" max="1" value="0" aria-label="Progress of the check" hidden></progress>
<button id="go" type="button" hidden>Continue</button>
<noscript><p>This check needs JavaScript. Turn it on and load the page again.</p></noscript>
<p class="small">If this page keeps coming, tell the owner of the site this number: <code>{ray}</code></p>
</main>
<script nonce="{nonce}" type="application/json" id="data">{data}</script>
<script nonce="{nonce}">{SCRIPT}</script>
</html>
"#
        );
        let policy = format!(
            "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; base-uri 'none'"
        );
        Ok(RenderedPage { html, policy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_client_sent_stands_in_a_page_as_it_is() {
        let hostile = b"</script><script>alert(1)</script>\"'<!--\0\xff";
        let page = ChallengePage {
            puzzle: "AbC-_1",
            effort: Effort { bits: 12, click: true },
            ray: "00ff-1",
            solution_path: "/.well-known/svc-challenge",
            form: FormBody::Sent { content_type: hostile, body: hostile },
        };
        let RenderedPage { html, policy } = page.render().unwrap();
        assert!(!html.contains("alert(") && html.matches("</script>").count() == 2);
        let (_, data) = html.split_once("id=\"data\">").unwrap();
        let data: serde_json::Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
        let decode = |name: &str| {
            let text = data["form"][name].as_str().unwrap();
            base64::engine::general_purpose::STANDARD.decode(text).unwrap()
        };
        assert_eq!((decode("type"), decode("body")), (hostile.to_vec(), hostile.to_vec()));
        assert_eq!(
            (&data["puzzle"], &data["bits"], &data["click"]),
            (&"AbC-_1".into(), &12.into(), &true.into())
        );
        let nonce = policy.split_once("'nonce-").unwrap().1.split_once('\'').unwrap().0;
        assert_eq!(html.matches(&format!("nonce=\"{nonce}\"")).count(), 3);
        assert_ne!(page.render().unwrap().policy, policy, "a nonce is used once");
        for form in [FormBody::None, FormBody::Lost] {
            let html = ChallengePage { form, ..page }.render().unwrap().html;
            let (_, data) = html.split_once("id=\"data\">").unwrap();
            let parsed = serde_json::from_str::<serde_json::Value>(data.split_once("</script>").unwrap().0);
            assert_eq!(parsed.unwrap()["form"].is_null(), form == FormBody::None);
        }
    }

    #[test]
    fn the_page_asks_no_other_host_and_fits_small_screens() {
        let page = ChallengePage {
            puzzle: "A",
            effort: Effort { bits: 1, click: false },
            ray: "0",
            solution_path: "/p",
            form: FormBody::None,
        };
        let RenderedPage { html, .. } = page.render().unwrap();
        assert!(!html.contains("http:") && !html.contains("https:") && !html.contains("//cdn"));
        for needed in
            ["<html lang=\"en\">", "role=\"status\"", "<noscript>", "<h1>", "width=device-width", "<title>"]
        {
            assert!(html.contains(needed), "{needed}");
        }
        assert!(STYLE.contains("color-scheme:light dark") && STYLE.contains("prefers-reduced-motion"));
    }
}
