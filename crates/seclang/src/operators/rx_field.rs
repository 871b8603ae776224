//! The pattern matches in a value or in one of its fragments, but not across the lines of a text.

use std::sync::Arc;

use super::patterns::Searcher;
use super::{Argument, Compiled, Definition, Example, Found, LiteralPlaces, Prefilter, Test};
use crate::data::Data;
use crate::grammars::{json_strings, lines_near, pieces_near, spans_lines};

pub(super) const DEFINITION: Definition = Definition {
    name: "rxField",
    summary: "The pattern matches in the value, one of its lines or one of their sentences, each for itself. Across the \
              lines of a text of three or more it does not match.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: r"\bmkfifo\s+/", input: b"mkfifo /tmp/a", matches: true },
        Example {
            argument: r"^mkfifo\s+/",
            input: b"Hello team,\nthis is the line:\nmkfifo /tmp/a",
            matches: true,
        },
        Example {
            argument: r"mkfifo\s+/",
            input: b"there are mkfifo\n/tmp and other words\nin these lines",
            matches: false,
        },
        Example { argument: r"^alert\($", input: b"Please look: alert(", matches: true },
        Example { argument: r"^alert\(", input: b"please do alert(", matches: false },
        Example { argument: r"^alert\(", input: br#"{"text":"alert(1)"}"#, matches: true },
    ],
};

/// What begins a fragment, and what ends one.
const BEGIN: &str = r"(?:\A|[\n\r]|[^=-]>|[.?!:] )";
const END: &str = r"(?:\z|[\n\r<]|[.?!:] )";

/// A pattern with the borders of fragments for those of the value.
struct RxField(Arc<Searcher>);

/// The pattern that the operator searches with.
pub(super) fn relaxed(pattern: &str) -> String {
    let mut relaxed = String::with_capacity(pattern.len() + 64);
    let mut characters = pattern.chars().peekable();
    let mut is_in_class = false;
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                relaxed.push(character);
                relaxed.extend(characters.next());
                continue;
            }
            '[' if is_in_class && characters.peek() == Some(&':') => {
                // `[:alpha:]`
                relaxed.push(character);
                for next in characters.by_ref() {
                    relaxed.push(next);
                    if next == ']' {
                        break;
                    }
                }
                continue;
            }
            '[' if !is_in_class => {
                is_in_class = true;
                relaxed.push(character);
                // A `]` that comes first is a member.
                relaxed.extend(characters.next_if_eq(&'^'));
                relaxed.extend(characters.next_if_eq(&']'));
                continue;
            }
            ']' => is_in_class = false,
            '^' if !is_in_class => {
                relaxed.push_str(BEGIN);
                continue;
            }
            '$' if !is_in_class => {
                relaxed.push_str(END);
                continue;
            }
            _ => {}
        }
        relaxed.push(character);
    }
    relaxed
}

fn compile(argument: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(RxField(argument.patterns.pattern(&relaxed(argument.text))?)))
}

impl RxField {
    fn is_in_lines(&self, input: &[u8]) -> bool {
        let pattern = &self.0.pattern;
        // A match in a line is one in the value: most values have none.
        pattern.is_match(input)
            && (!spans_lines(input)
                || input.split(|byte| matches!(byte, b'\n' | b'\r')).any(|line| pattern.is_match(line)))
    }
}

impl Test for RxField {
    fn is_match(&self, input: &[u8], _: &Data) -> bool {
        self.is_in_lines(input) || json_strings(input).any(|(_, string)| self.0.pattern.is_match(string))
    }

    fn is_match_near(&self, input: &[u8], places: LiteralPlaces<'_>, data: &Data) -> bool {
        if !spans_lines(input) || places.bytes() > input.len() / 2 {
            return self.is_match(input, data);
        }
        let is_match = |(_, part): (usize, &[u8])| self.0.pattern.is_match(part);
        lines_near(input, places.ranges()).any(is_match)
            || pieces_near(json_strings(input), places.ranges()).any(is_match)
    }

    fn locate(&self, input: &[u8], _: &Data) -> Found {
        self.0.pattern.groups(input).map_or_else(|| Found::whole(input), Found::groups)
    }

    fn literals(&self) -> Option<&[Vec<u8>]> {
        self.0.literals.as_deref()
    }

    fn prefilter(&self) -> Option<&Prefilter> {
        Some(&self.0.prefilter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_stand_for_the_borders_of_fragments() {
        for (pattern, expected) in [
            ("a", "a".to_owned()),
            ("^a$", format!("{BEGIN}a{END}")),
            (r"\^[^$^]\$", r"\^[^$^]\$".to_owned()),
            (r"[]^]^[^]$]", format!(r"[]^]{BEGIN}[^]$]")),
            (r"[[:alpha:]$]$", format!(r"[[:alpha:]$]{END}")),
            (r"(?:^|\[)\\$", format!(r"(?:{BEGIN}|\[)\\{END}")),
        ] {
            assert_eq!(relaxed(pattern), expected, "{pattern}");
        }
    }
}
