//! One shape for every located error in an input: configuration, rules, resources.
//!
//! A stage returns its value together with all [`Diagnostics`] it found; the caller decides where
//! they are shown ([`render`] for the terminal, the API's error list for clients). Nothing here
//! prints.

pub mod code;
pub mod render;

use std::ops::Range;
use std::sync::Arc;

pub use code::Code;

/// A named text that errors can point into.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// The path as the user gave it, or a word such as `<built-in>`.
    pub name: String,
    pub text: String,
}

impl Source {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into() })
    }

    /// Line and column of a byte offset, both from 1; columns count characters.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        Lines::of(self.text.as_bytes()).line_column(offset)
    }
}

/// Lines and columns of places in a text that ascend, each byte looked at once.
#[derive(Debug)]
pub struct Lines<'t> {
    rest: &'t [u8],
    at: usize,
    line: usize,
    column: usize,
}

impl<'t> Lines<'t> {
    pub fn of(text: &'t [u8]) -> Self {
        Self { rest: text, at: 0, line: 1, column: 1 }
    }

    /// Those of a place at or behind the last one that was asked for, both from 1; columns count characters.
    pub fn line_column(&mut self, at: usize) -> (usize, usize) {
        let (passed, rest) =
            self.rest.split_at_checked(at.saturating_sub(self.at)).unwrap_or((self.rest, &[]));
        for byte in passed {
            match byte {
                b'\n' => (self.line, self.column) = (self.line + 1, 1),
                // What goes on with a character of UTF-8.
                0x80..=0xBF => {}
                _ => self.column += 1,
            }
        }
        (self.rest, self.at) = (rest, self.at + passed.len());
        (self.line, self.column)
    }
}

/// A range of bytes in a [`Source`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub source: Arc<Source>,
    pub span: Range<usize>,
}

impl Place {
    pub fn new(source: &Arc<Source>, span: Range<usize>) -> Self {
        Self { source: Arc::clone(source), span }
    }

    /// `file:line:column`, the form editors jump to.
    pub fn label(&self) -> String {
        let (line, column) = self.source.line_column(self.span.start);
        format!("{}:{line}:{column}", self.source.name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The input is used, but something in it does not do what it says.
    Warning,
    /// The input is refused.
    Error,
}

/// One error: what, where, what was expected, what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    /// One lowercase sentence without a full stop; the user's own words in backticks.
    pub message: String,
    pub place: Option<Place>,
    pub help: Option<String>,
    /// Where in a JSON document, if the input was one (RFC 6901).
    pub pointer: Option<String>,
}

impl Diagnostic {
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            place: None,
            help: None,
            pointer: None,
        }
    }

    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    #[must_use]
    pub fn pointing(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Everything found wrong with an input, in the order found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// In the order of their places, file by file; those without a place come last.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        let file = |d: &Diagnostic| d.place.as_ref().map(|place| place.source.name.clone());
        let mut files: Vec<Option<String>> = Vec::new();
        for diagnostic in &self.0 {
            let file = file(diagnostic);
            if file.is_some() && !files.contains(&file) {
                files.push(file);
            }
        }
        self.0.sort_by_key(|d| {
            let rank = files.iter().position(|known| *known == file(d)).unwrap_or(files.len());
            (rank, d.place.as_ref().map_or(0, |place| place.span.start))
        });
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn errors(&self) -> usize {
        self.0.iter().filter(|d| d.severity == Severity::Error).count()
    }

    pub fn has_errors(&self) -> bool {
        self.errors() > 0
    }

    /// `value` if nothing refuses the input, else everything found.
    ///
    /// # Errors
    /// When at least one diagnostic is an error.
    pub fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.has_errors() { Err(self) } else { Ok(value) }
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl std::fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&render::terminal(self))
    }
}

impl std::error::Error for Diagnostics {}

/// The candidate a person most likely meant by `word`, if one is near enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|c| (strsim::levenshtein(&word.to_lowercase(), &c.to_lowercase()), c))
        .filter(|(distance, c)| *distance <= (c.len() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_counts_lines_and_characters() {
        let source = Source::new("a.toml", "é = 1\nbad = 2\n");
        assert_eq!(Place::new(&source, 3..4).label(), "a.toml:1:3");
        assert_eq!(Place::new(&source, 7..10).label(), "a.toml:2:1");
    }

    #[test]
    fn nearest_offers_only_what_is_close() {
        assert_eq!(nearest("orgins", ["origins", "name"]), Some("origins"));
        assert_eq!(nearest("zzz", ["origins", "name"]), None);
    }

    #[test]
    fn places_are_told_by_line_and_character() {
        let body = b"a\xff\n\xc3\xa9\xe2\x82\xacb\n\nlast";
        let mut lines = Lines::of(body);
        let places = [0, 1, 2, 3, 5, 8, 8, 9, 10, 13, 14, 99].map(|at| lines.line_column(at));
        let expected =
            [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (2, 3), (2, 4), (3, 1), (4, 3), (4, 4), (4, 5)];
        assert_eq!(places, expected);
    }
}
