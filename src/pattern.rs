//! The only place where a pattern is compiled, with its limits.
//!
//! Patterns match bytes. `.` matches newlines and `$` only the end, as PCRE does with `DOTALL` and
//! `DOLLAR_ENDONLY`: what rules written for SecLang rely on. Patterns without look-around run in
//! linear time. The few with look-around or back-references run on a backtracker that gives up
//! after [`MAX_STEPS`]; a text that exhausts it counts as matched, so that an attacker gains
//! nothing by it.

use std::fmt;

/// Largest compiled form of one pattern, in bytes.
pub const MAX_COMPILED_BYTES: usize = 10 << 20;
/// Backtracking steps a pattern with look-around may take on one text.
pub const MAX_STEPS: usize = 100_000;

/// A compiled pattern.
pub struct Pattern {
    source: String,
    engine: Engine,
}

enum Engine {
    Linear(regex::bytes::Regex),
    Backtracking(fancy_regex::Regex),
}

/// Start and end of a match or a group, in bytes.
pub type Span = (usize, usize);

/// Most groups that are reported: the whole match and nine groups, as `TX:0` … `TX:9`.
pub const MAX_GROUPS: usize = 10;

impl Pattern {
    /// Compiles a pattern with PCRE's meaning.
    ///
    /// # Errors
    /// One sentence: why the pattern cannot be compiled, or that it is too big.
    pub fn new(source: &str) -> Result<Self, String> {
        let rewritten = brace_escapes(source);
        let linear = regex::bytes::RegexBuilder::new(&rewritten)
            .unicode(false)
            .dot_matches_new_line(true)
            .size_limit(MAX_COMPILED_BYTES)
            .build();
        let engine = match linear {
            Ok(regex) => Engine::Linear(regex),
            Err(regex::Error::CompiledTooBig(_)) => {
                return Err(format!("the compiled pattern is over {MAX_COMPILED_BYTES} bytes"));
            }
            Err(error) => match backtracking(&rewritten) {
                Some(regex) => Engine::Backtracking(regex),
                None => return Err(reason(&error.to_string())),
            },
        };
        Ok(Self { source: source.to_owned(), engine })
    }

    /// The text it was made from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it runs on the step-limited backtracker.
    pub fn backtracks(&self) -> bool {
        matches!(self.engine, Engine::Backtracking(_))
    }

    pub fn is_match(&self, text: &[u8]) -> bool {
        match &self.engine {
            Engine::Linear(regex) => regex.is_match(text),
            Engine::Backtracking(regex) => regex.is_match(&latin1(text)).unwrap_or(true),
        }
    }

    /// The first match, as a span.
    pub fn find(&self, text: &[u8]) -> Option<Span> {
        self.find_at(text, 0)
    }

    /// The first match that starts at `from` or later; what stands before `from` is still seen by
    /// assertions.
    pub fn find_at(&self, text: &[u8], from: usize) -> Option<Span> {
        if from > text.len() {
            return None;
        }
        match &self.engine {
            Engine::Linear(regex) => regex.find_at(text, from).map(|m| (m.start(), m.end())),
            Engine::Backtracking(_) => self.groups_at(text, from).and_then(|g| g.first().copied().flatten()),
        }
    }

    /// The first match and its groups, at most [`MAX_GROUPS`]; a group that took no part is `None`.
    pub fn groups(&self, text: &[u8]) -> Option<Vec<Option<Span>>> {
        self.groups_at(text, 0)
    }

    fn groups_at(&self, text: &[u8], from: usize) -> Option<Vec<Option<Span>>> {
        match &self.engine {
            Engine::Linear(regex) => regex
                .captures_at(text, from)
                .map(|c| c.iter().take(MAX_GROUPS).map(|g| g.map(|m| (m.start(), m.end()))).collect()),
            Engine::Backtracking(regex) => {
                let wide = latin1(text);
                let byte = |at: usize| wide.get(..at).map_or(0, |before| before.chars().count());
                let start = wide.char_indices().nth(from).map_or(wide.len(), |(at, _)| at);
                match regex.captures_from_pos(&wide, start) {
                    Ok(found) => found.map(|c| {
                        c.iter()
                            .take(MAX_GROUPS)
                            .map(|g| g.map(|m| (byte(m.start()), byte(m.end()))))
                            .collect()
                    }),
                    Err(_) => Some(vec![Some((from, text.len()))]),
                }
            }
        }
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.source)
    }
}

fn backtracking(source: &str) -> Option<fancy_regex::Regex> {
    fancy_regex::RegexBuilder::new(&format!("(?s){source}"))
        .backtrack_limit(MAX_STEPS)
        .delegate_size_limit(MAX_COMPILED_BYTES)
        .build()
        .ok()
}

/// Each byte as the character of the same number, for an engine that knows only text.
fn latin1(text: &[u8]) -> String {
    text.iter().map(|b| char::from(*b)).collect()
}

/// `\x{bc}` means the byte 0xBC; with Unicode off only `\xbc` is understood.
fn brace_escapes(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find('\\') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let hex = from
            .strip_prefix("\\x{")
            .and_then(|t| t.split_once('}'))
            .filter(|(hex, _)| (1..=2).contains(&hex.len()) && hex.bytes().all(|b| b.is_ascii_hexdigit()));
        if let Some((hex, after)) = hex {
            out.push_str("\\x");
            out.push_str(&format!("{hex:0>2}"));
            rest = after;
        } else {
            let escaped = from.chars().take(2).map(char::len_utf8).sum();
            let (pair, after) = from.split_at(escaped);
            out.push_str(pair);
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// The last line of the parser's report: the reason without its drawing.
fn reason(report: &str) -> String {
    let last = report.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or(report).trim();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_what_pcre_means() {
        let cases: &[(&str, &[u8], bool)] = &[
            ("a.b", b"a\nb", true),
            ("^a$", b"a\n", false),
            ("(?i)\\x{bc}s", b"\xbcS", true),
            ("\\x{bc}", "¼".as_bytes(), true),
            ("(?i)k", "\u{212a}".as_bytes(), false),
            ("a(?!b)", b"ab", false),
            ("a(?!b)", b"ac", true),
            (r"(['\x22])x\1", b"'x'", true),
        ];
        for (source, text, expected) in cases {
            let pattern = Pattern::new(source).unwrap();
            assert_eq!(pattern.is_match(text), *expected, "{source} on {text:?}");
            assert_eq!(pattern.find(text).is_some(), *expected, "{source} on {text:?}");
        }
    }

    #[test]
    fn groups_are_bytes_on_both_engines() {
        for source in [r"\xff(b)(c)?", r"(?<!z)\xff(b)(c)?"] {
            let pattern = Pattern::new(source).unwrap();
            assert_eq!(pattern.backtracks(), source.contains("(?<!"));
            assert_eq!(pattern.groups(b"a\xffb"), Some(vec![Some((1, 3)), Some((2, 3)), None]));
        }
    }

    #[test]
    fn refuses_with_a_reason() {
        assert_eq!(Pattern::new("(a").err().as_deref(), Some("unclosed group"));
        assert!(Pattern::new("(?:a{1000}){1000}").err().unwrap().contains("over"));
    }

    #[test]
    fn an_exhausted_backtracker_counts_as_a_match() {
        let pattern = Pattern::new(r"^(?:(a+)+(?!c))+$\b").unwrap();
        let text = [b"a".repeat(64), b"!".to_vec()].concat();
        assert!(pattern.is_match(&text));
    }
}
