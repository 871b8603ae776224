//! The only place where a pattern is compiled, with its limits.
//!
//! Patterns match bytes. `.` matches newlines and `$` only the end, as PCRE does with `DOTALL` and
//! `DOLLAR_ENDONLY`: what rules written for SecLang rely on.
//!
//! # Which engine runs
//!
//! | pattern and question | engine | bound |
//! |---|---|---|
//! | no look-around; does a text match? | an automaton built as it is walked (`linear`) | one step a byte, few new states a byte |
//! | the same, texts of 1 KiB and more | the automaton in four places of the text at once (`lanes`) | the same |
//! | the same, if a text needs too many states | automata of its long branches, one after another; then `regex_automata::meta` | linear |
//! | no look-around; where, and with which groups? | `regex_automata::meta`, compiled on first use | linear |
//! | [`LazyPattern`] at a known place, if the next byte tells how the pattern goes on | a walk over the syntax tree (`descent`); nothing is compiled | linear |
//! | look-around or back-references | a backtracker | [`MAX_STEPS`] |
//!
//! A text that exhausts the backtracker counts as matched, so that an attacker gains nothing by it.
//! [`Pattern::backtracks`] is true only for patterns of the last row. `portcullis check --explain` names the engine of
//! each pattern of the loaded rules ([`EngineKind`]).

mod byte_set;
mod descent;
mod engine_kind;
mod first;
mod lanes;
mod lazy;
mod linear;

use std::fmt;

use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::{Anchored, Input, meta};
use regex_syntax::hir::Hir;
use smallvec::{SmallVec, smallvec};

pub use byte_set::ByteSet;
pub use engine_kind::EngineKind;
pub use lazy::LazyPattern;
use linear::Linear;

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
    Linear(Box<Linear>),
    Backtracking(fancy_regex::Regex),
}

/// Start and end of a match or a group, in bytes.
pub type Span = (usize, usize);

/// A match and its groups; a group that took no part is `None`.
pub type Groups = SmallVec<[Option<Span>; MAX_GROUPS]>;

/// Most groups that are reported: the whole match and nine groups, as `TX:0` … `TX:9`.
pub const MAX_GROUPS: usize = 10;

impl Pattern {
    /// Compiles a pattern with PCRE's meaning.
    ///
    /// # Errors
    /// One sentence: why the pattern cannot be compiled, or that it is too big.
    pub fn new(source: &str) -> Result<Self, String> {
        Self::with_syntax(source).map(|(pattern, _)| pattern)
    }

    /// As [`Self::new`], with the syntax tree it was compiled from; a pattern that runs on the
    /// backtracker has none.
    ///
    /// # Errors
    /// One sentence: why the pattern cannot be compiled, or that it is too big.
    pub fn with_syntax(source: &str) -> Result<(Self, Option<Hir>), String> {
        let rewritten = rewrite(source);
        let of = |engine| Self { source: source.to_owned(), engine };
        match parse(&rewritten) {
            Ok(hir) => Ok((of(Engine::Linear(Box::new(Linear::new(&hir)?))), Some(hir))),
            Err(error) => match backtracking(&rewritten) {
                Some(regex) => Ok((of(Engine::Backtracking(regex)), None)),
                None => Err(reason(&error)),
            },
        }
    }

    fn syntax(&self) -> Option<Hir> {
        parse(&rewrite(&self.source)).ok()
    }

    /// The text it was made from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it runs on the step-limited backtracker.
    pub fn backtracks(&self) -> bool {
        matches!(self.engine, Engine::Backtracking(_))
    }

    /// How many groups it has, the whole match not counted.
    fn groups_len(&self) -> usize {
        let all = match &self.engine {
            Engine::Linear(linear) => linear.full(|| self.syntax()).map_or(1, meta::Regex::captures_len),
            Engine::Backtracking(regex) => regex.captures_len(),
        };
        all.saturating_sub(1)
    }

    #[inline]
    pub fn is_match(&self, text: &[u8]) -> bool {
        match &self.engine {
            Engine::Linear(linear) => linear.is_match(text, || self.syntax()),
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
        self.span(text, from, Anchored::No)
    }

    /// The match that starts at `at`, as a span; what stands before is still seen by assertions.
    pub fn match_at(&self, text: &[u8], at: usize) -> Option<Span> {
        self.span(text, at, Anchored::Yes)
    }

    #[inline]
    fn span(&self, text: &[u8], from: usize, anchored: Anchored) -> Option<Span> {
        if from > text.len() {
            return None;
        }
        match &self.engine {
            Engine::Linear(linear) => match linear.full(|| self.syntax()) {
                Some(full) => {
                    let input = Input::new(text).range(from..).anchored(anchored);
                    full.find(input).map(|m| (m.start(), m.end()))
                }
                None => Some((from, text.len())),
            },
            Engine::Backtracking(_) => {
                let found = self.groups_at(text, from).and_then(|g| g.first().copied().flatten());
                found.filter(|(start, _)| !anchored.is_anchored() || *start == from)
            }
        }
    }

    /// The first match and its groups, at most [`MAX_GROUPS`]; a group that took no part is `None`.
    pub fn groups(&self, text: &[u8]) -> Option<Groups> {
        self.groups_at(text, 0)
    }

    /// The same from `from` on.
    fn groups_at(&self, text: &[u8], from: usize) -> Option<Groups> {
        match &self.engine {
            Engine::Linear(linear) => {
                let Some(full) = linear.full(|| self.syntax()) else {
                    return Some(smallvec![Some((from, text.len()))]);
                };
                // Two slots for each group: where it starts and where it ends. There may not be more
                // than the pattern has.
                let mut slots = [None; 2 * MAX_GROUPS];
                let slots = slots.get_mut(..2 * full.captures_len().min(MAX_GROUPS))?;
                full.search_slots(&Input::new(text).range(from..), slots)?;
                let pairs = slots.chunks_exact(2);
                let span = |pair: &[Option<NonMaxUsize>]| match pair {
                    [Some(start), Some(end)] => Some((start.get(), end.get())),
                    _ => None,
                };
                Some(pairs.map(span).collect())
            }
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
                    Err(_) => Some(smallvec![Some((from, text.len()))]),
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

/// The syntax tree of a rewritten pattern, or why there is none.
fn parse(rewritten: &str) -> Result<Hir, String> {
    let mut parser =
        regex_syntax::ParserBuilder::new().unicode(false).utf8(false).dot_matches_new_line(true).build();
    parser.parse(rewritten).map_err(|error| error.to_string())
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

/// What PCRE writes otherwise, or takes for bytes: characters beyond ASCII are the bytes of their encoding;
/// a `{` that begins no count is itself; inside a class `[`, `&&`, `--` and `~~` are just bytes.
fn rewrite(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    let mut in_class = false;
    while let Some(character) = rest.chars().next() {
        let (written, taken) = if character == '\\' {
            escape(rest, in_class)
        } else if !character.is_ascii() {
            let bytes = character.to_string().into_bytes();
            (bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect(), bytes.len())
        } else if in_class {
            in_class = character != ']';
            class_member(rest, character)
        } else if character == '[' {
            in_class = true;
            // A `]` that comes first is a byte of the class.
            let open = ["[^]", "[]", "[^"].into_iter().find(|open| rest.starts_with(open)).unwrap_or("[");
            (open.to_owned(), open.len())
        } else if character == '{' && !begins_count(rest) {
            ("\\{".to_owned(), 1)
        } else {
            (character.to_string(), 1)
        };
        out.push_str(&written);
        rest = rest.get(taken..).unwrap_or("");
    }
    out
}

/// Whether a brace is that of `{2}`, `{2,}` or `{2,3}`.
fn begins_count(rest: &str) -> bool {
    let count = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(count, _)| count);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    count.is_some_and(|count| match count.split_once(',') {
        Some((least, most)) => is_number(least) && (most.is_empty() || is_number(most)),
        None => is_number(count),
    })
}

/// An escape as it is written for the engine, and how much of the pattern it takes.
///
/// `\x{bc}` is the byte 0xBC, which is only understood as `\xbc` with Unicode off; `\<` and `\>` are no
/// assertions; `\h` and `\v` are classes.
fn escape(rest: &str, in_class: bool) -> (String, usize) {
    let pair: String = rest.chars().take(2).collect();
    let braced = rest.get(2..).filter(|after| after.starts_with('{')).and_then(|after| after.find('}'));
    // With what belongs to it, as in `\p{L}`.
    let taken = braced.filter(|_| pair.ends_with(|c: char| "pPxogkN".contains(c)));
    let length = pair.len() + taken.map_or(0, |end| end + 1);
    let whole = rest.get(..length).unwrap_or(&pair);
    let hex = whole.strip_prefix("\\x{").and_then(|hex| hex.strip_suffix('}'));
    let class = |members: &str| if in_class { members.to_owned() } else { format!("[{members}]") };
    let written = match pair.as_str() {
        "\\<" | "\\>" => pair.trim_start_matches('\\').to_owned(),
        "\\h" => class(r"\t\x20\xa0"),
        "\\v" => class(r"\n\x0b\f\r\x85"),
        _ => match hex {
            Some(hex) if (1..=2).contains(&hex.len()) && hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
                format!("\\x{hex:0>2}")
            }
            _ => whole.to_owned(),
        },
    };
    (written, length)
}

/// What stands in a class, and how much of the pattern it takes.
fn class_member(rest: &str, character: char) -> (String, usize) {
    let named = rest.strip_prefix("[:").and_then(|name| name.find(":]"));
    if let Some(length) = named.map(|end| end + 4) {
        return (rest.get(..length).unwrap_or("").to_owned(), length);
    }
    let operator =
        matches!(character, '&' | '-' | '~') && rest.get(1..).is_some_and(|r| r.starts_with(character));
    let escaped = character == '[' || operator;
    (if escaped { format!("\\{character}") } else { character.to_string() }, character.len_utf8())
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
    fn a_match_at_a_place_begins_there() {
        // Both engines: look-behind is for the one that goes back.
        for source in [r"\bb+|c", r"(?<![a-z])b+|c"] {
            let pattern = Pattern::new(source).unwrap();
            let spans: Vec<_> = (0..=6).map(|at| pattern.match_at(b" bb ab", at)).collect();
            assert_eq!(spans, [None, Some((1, 3)), None, None, None, None, None], "{source}");
            assert_eq!(pattern.match_at(b"b", 2), None);
        }
    }

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
            (r"^[a[b]+$", b"a[b", true),
            (r"^[]a&&b]+$", b"]a&b", true),
            (r"^[^][:alpha:]]$", b"1", true),
            (r"^[^][:alpha:]]$", b"]", false),
            (r"(?:a|(b)|(c))+$", b"abc", true),
            (r"^(?:{|\s*{+)a{1,}{1,2}$", b" {{aa", true),
            (r"^\${x{,2}\{\}{$", b"${x{,2}{}{", true),
            (r"^\d{2}\D{1,}$", b"12ab", true),
            (r"^\<[\<\>]\>$", b"<<>", true),
            (r"^\h[^\h]\v[\v]+$", b"\xa0a\x85\n\x0b", true),
            ("^[´’]+$", "’´".as_bytes(), true),
            ("^[´’]+$", b"\xb4\x80", true),
            ("^é+$", b"\xc3\xa9\xa9", true),
            (r"^(?<n>.)\k<n>$", b"aa", true),
        ];
        for (source, text, expected) in cases {
            let pattern = Pattern::new(source).unwrap();
            assert_eq!(pattern.is_match(text), *expected, "{source} on {text:?}");
            assert_eq!(pattern.find(text).is_some(), *expected, "{source} on {text:?}");
            assert_eq!(pattern.groups(text).is_some(), *expected, "{source} on {text:?}");
        }
    }

    #[test]
    fn groups_are_bytes_on_both_engines() {
        for source in [r"\xff(b)(c)?", r"(?<!z)\xff(b)(c)?"] {
            let pattern = Pattern::new(source).unwrap();
            assert_eq!(pattern.backtracks(), source.contains("(?<!"));
            let expected: &[_] = &[Some((1, 3)), Some((2, 3)), None];
            assert_eq!(pattern.groups(b"a\xffb").as_deref(), Some(expected));
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
