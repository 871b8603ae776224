//! `[[zones.error_pages]]` resolved: rules that serve the pages of files.

use std::path::Path;

use super::Resolving;
use crate::conf::table::Located;
use crate::conf::zone_file::ErrorPageFile;
use crate::named_file::read_text;
use model::ruleset::{ActionParameters, ErrorPage, Rule, Ruleset, RulesetKind};
use model::{Action, Phase};

impl Resolving<'_> {
    /// The entry point of a zone with these pages; `None` if there are none.
    pub(super) fn error_pages(&mut self, files: Vec<ErrorPageFile>) -> Option<Ruleset> {
        let rules: Vec<Rule> = files.into_iter().filter_map(|file| self.error_page(file)).collect();
        let ruleset = Ruleset::new(RulesetKind::Zone, Phase::HttpCustomErrors);
        (!rules.is_empty()).then_some(Ruleset { rules, ..ruleset })
    }

    fn error_page(&mut self, file: ErrorPageFile) -> Option<Rule> {
        let ErrorPageFile { statuses: Located { value: statuses, place }, file } = file;
        let path = self.existing(&file);
        let parts: Vec<String> = statuses.iter().filter_map(|status| condition(status)).collect();
        if parts.is_empty() || parts.len() < statuses.len() {
            self.bad(
                &place,
                "`zones.error_pages.statuses` takes statuses from 400 on, such as `[\"404\", \"5xx\"]`",
            );
            return None;
        }
        let content_type = content_type(&path).or_else(|| {
            self.bad(
                &file.place,
                "`zones.error_pages.file` takes files ending in .html, .txt, .json or .xml",
            );
            None
        })?;
        // `existing` reports a file that is not there; one that is there and is not UTF-8 is reported here.
        let content = match read_text(&path) {
            Ok(content) => content,
            Err(error) if path.is_file() => {
                self.bad(&file.place, format!("`{}`: {error}", path.display()));
                return None;
            }
            Err(_) => return None,
        };
        let page = ErrorPage { content, content_type: content_type.to_owned(), status_code: None };
        Some(Rule {
            expression: parts.join(" or "),
            description: format!("{} for {}", file.value, statuses.join(", ")),
            action_parameters: Some(ActionParameters::ServeError(page)),
            ..Rule::new(Action::ServeError)
        })
    }
}

/// The responses of a status, or of a hundred of them.
fn condition(status: &str) -> Option<String> {
    match status.as_bytes() {
        [digit @ (b'4' | b'5'), b'x', b'x'] => {
            let first = u16::from(digit - b'0') * 100;
            Some(format!("(http.response.code ge {first} and http.response.code lt {})", first + 100))
        }
        [b'4'..=b'9', b'0'..=b'9', b'0'..=b'9'] => Some(format!("http.response.code eq {status}")),
        _ => None,
    }
}

fn content_type(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()? {
        "html" | "htm" => Some("text/html"),
        "txt" => Some("text/plain"),
        "json" => Some("application/json"),
        "xml" => Some("text/xml"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_conditions() {
        assert_eq!(condition("404").as_deref(), Some("http.response.code eq 404"));
        let class = condition("5xx");
        assert_eq!(class.as_deref(), Some("(http.response.code ge 500 and http.response.code lt 600)"));
        for none in ["", "200", "3xx", "40", "4x4", "4xx ", "1000", "4XX"] {
            assert_eq!(condition(none), None, "{none}");
        }
    }
}
