//! The operators, one file each: does a value match?

mod begins_with;
mod comparison;
mod contains;
mod contains_word;
mod detect_sqli;
mod detect_xss;
mod ends_with;
mod eq;
mod fuzzy_hash;
mod ge;
mod geo_lookup;
mod graphql_exceeds;
mod gsb_lookup;
mod gt;
mod injects_markup;
mod injects_shell;
mod injects_sql;
mod injects_template;
mod inspect_file;
mod ip_match;
mod ip_match_from_dataset;
mod ip_match_from_file;
mod le;
mod leaves_root;
mod lt;
mod memo;
mod networks;
mod no_match;
mod numbers;
mod patterns;
mod phrases;
mod pm;
mod pm_from_dataset;
mod pm_from_file;
mod rbl;
mod reaches_host;
mod recognizer;
mod rsub;
mod rx;
mod rx_field;
mod rx_global;
mod streq;
mod strmatch;
mod unconditional_match;
mod validate_byte_range;
mod validate_dtd;
mod validate_hash;
mod validate_schema;
mod validate_url_encoding;
mod validate_utf8_encoding;
mod verify_cc;
mod verify_cpf;
mod verify_ssn;
mod verify_svnr;
mod within;

pub use patterns::{Needle, Patterns};
use recognizer::Recognizer;

use std::sync::Arc;

use super::geo::{GeoDatabase, Place};
use crate::data::Data;
use crate::expansion::{Expansion, TxNames};
use crate::prefilter::Prefilter;
use crate::prefilter::literal_places::LiteralPlaces;
use smallvec::smallvec;

use pattern::{Groups, Pattern, Span};

/// One operator.
pub struct Definition {
    pub name: &'static str,
    pub summary: &'static str,
    /// Whether the argument names files, or a `SecDataset`, whose lines are the real argument.
    pub reads_file: bool,
    /// Makes the test of one rule.
    pub compile: fn(&mut Argument<'_>) -> Compiled,
    /// Cases that tests run; empty if a file is needed.
    pub examples: &'static [Example],
}

/// The test of one rule, or one sentence why its argument is refused.
pub type Compiled = Result<Box<dyn Test>, String>;

pub struct Example {
    pub argument: &'static str,
    pub input: &'static [u8],
    pub matches: bool,
}

/// What an operator is given to compile.
pub struct Argument<'a> {
    pub text: &'a str,
    pub lines: &'a [String],
    pub names: &'a mut TxNames,
    pub patterns: &'a Patterns,
    pub geo: Option<&'a Arc<GeoDatabase>>,
}

impl Argument<'_> {
    fn expansion(&mut self) -> Result<Expansion, String> {
        Ok(Expansion::of(&super::macros::Macro::parse(self.text)?, self.names))
    }
}

/// A compiled operator.
pub trait Test: Send + Sync {
    fn is_match(&self, input: &[u8], data: &Data) -> bool;

    /// The same of an input that was made of a text which does not match: only what differs can.
    fn is_match_after(&self, input: &[u8], _unmatched: &[u8], data: &Data) -> bool {
        self.is_match(input, data)
    }

    /// The same of a long input whose literals stand in known places: what holds none of them cannot match.
    fn is_match_near(&self, input: &[u8], _places: LiteralPlaces<'_>, data: &Data) -> bool {
        self.is_match(input, data)
    }

    /// Where a value that matched did so; only asked after a match.
    fn locate(&self, input: &[u8], _: &Data) -> Found {
        Found::whole(input)
    }

    /// What is learnt of an address that matches.
    fn place(&self, _: &[u8]) -> Option<Place> {
        None
    }

    /// Lower-case literals: every value that matches contains at least one of them. `None` if no such list is known.
    fn literals(&self) -> Option<&[Vec<u8>]> {
        None
    }

    /// The block list that it asks whether it names the client.
    fn block_list(&self) -> Option<&Arc<str>> {
        None
    }

    /// A cheap necessary condition, if there is one.
    fn prefilter(&self) -> Option<&Prefilter> {
        None
    }
}

/// The place of a match in a value: the whole first, then its groups.
#[derive(Debug)]
pub struct Found(pub Groups);

impl Found {
    fn whole(input: &[u8]) -> Self {
        Self::span((0, input.len()))
    }

    fn span(span: Span) -> Self {
        Self(smallvec![Some(span)])
    }

    fn groups(groups: Groups) -> Self {
        Self(groups)
    }
}

impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl std::fmt::Debug for Definition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Every operator, sorted by name.
pub const ALL: &[&Definition] = &[
    &begins_with::DEFINITION,
    &contains::DEFINITION,
    &contains_word::DEFINITION,
    &detect_sqli::DEFINITION,
    &detect_xss::DEFINITION,
    &ends_with::DEFINITION,
    &eq::DEFINITION,
    &fuzzy_hash::DEFINITION,
    &ge::DEFINITION,
    &geo_lookup::DEFINITION,
    &graphql_exceeds::DEFINITION,
    &gsb_lookup::DEFINITION,
    &gt::DEFINITION,
    &injects_markup::DEFINITION,
    &injects_shell::DEFINITION,
    &injects_sql::DEFINITION,
    &injects_template::DEFINITION,
    &inspect_file::DEFINITION,
    &ip_match::DEFINITION,
    &ip_match_from_dataset::DEFINITION,
    &ip_match_from_file::DEFINITION,
    &le::DEFINITION,
    &leaves_root::DEFINITION,
    &lt::DEFINITION,
    &no_match::DEFINITION,
    &pm::DEFINITION,
    &pm_from_dataset::DEFINITION,
    &pm_from_file::DEFINITION,
    &rbl::DEFINITION,
    &reaches_host::DEFINITION,
    &rsub::DEFINITION,
    &rx::DEFINITION,
    &rx_field::DEFINITION,
    &rx_global::DEFINITION,
    &streq::DEFINITION,
    &strmatch::DEFINITION,
    &unconditional_match::DEFINITION,
    &validate_byte_range::DEFINITION,
    &validate_dtd::DEFINITION,
    &validate_hash::DEFINITION,
    &validate_schema::DEFINITION,
    &validate_url_encoding::DEFINITION,
    &validate_utf8_encoding::DEFINITION,
    &verify_cc::DEFINITION,
    &verify_cpf::DEFINITION,
    &verify_ssn::DEFINITION,
    &verify_svnr::DEFINITION,
    &within::DEFINITION,
];

/// Operators that are understood but never match, and why.
pub const WITHOUT_EFFECT: [(&str, &str); 7] = [
    ("gsbLookup", "there is no such list here"),
    ("inspectFile", "programs are never run, and files are never written to disk"),
    ("fuzzyHash", "fuzzy hashes are not computed"),
    ("validateDTD", "document types are not followed"),
    ("validateSchema", "schemas are not followed"),
    ("validateHash", "links are not hashed"),
    ("rsub", "bodies are not changed"),
];

/// Operators that compare numbers.
pub const COMPARISONS: [&str; 5] = ["eq", "ge", "gt", "le", "lt"];

/// Short names of the same operators.
const SPELLINGS: [(&str, &str); 2] = [("pmf", "pmFromFile"), ("ipMatchF", "ipMatchFromFile")];

/// The operator of a name, ignoring case.
pub fn find(name: &str) -> Option<&'static Definition> {
    let name =
        SPELLINGS.iter().find(|(short, _)| short.eq_ignore_ascii_case(name)).map_or(name, |(_, name)| name);
    ALL.iter().copied().find(|definition| definition.name.eq_ignore_ascii_case(name))
}

impl Definition {
    /// What the operator will search with, if that takes long to compile.
    pub fn needle(&self, text: &str, lines: impl FnOnce() -> Vec<String>) -> Option<Needle> {
        match self.name {
            "rx" | "rxGlobal" => Some(Needle::Pattern(text.to_owned())),
            "rxField" => Some(Needle::Pattern(rx_field::relaxed(text))),
            "pm" => Some(Needle::Phrases(phrases::words(text))),
            "pmFromFile" => Some(Needle::Phrases(lines())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pattern::ByteSet;

    #[test]
    fn the_list_is_sorted_unique_and_complete() {
        let names: Vec<String> = ALL.iter().map(|d| d.name.to_lowercase()).collect();
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(names, sorted);
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/operators");
        assert_eq!(
            std::fs::read_dir(folder).unwrap().count() - 8,
            ALL.len(),
            "all but mod.rs and what operators share: comparison, memo, networks, numbers, patterns, phrases, recognizer"
        );
    }

    #[test]
    fn examples_hold() {
        let data = Data::default();
        let mut ran = 0;
        for definition in ALL {
            assert!(
                definition.reads_file || !definition.examples.is_empty(),
                "{definition:?} has no example"
            );
            for example in definition.examples {
                let mut names = TxNames::default();
                let patterns = Patterns::default();
                let mut argument = Argument {
                    text: example.argument,
                    lines: &[],
                    names: &mut names,
                    patterns: &patterns,
                    geo: None,
                };
                let test =
                    (definition.compile)(&mut argument).unwrap_or_else(|e| panic!("{definition:?}: {e}"));
                assert_eq!(
                    test.is_match(example.input, &data),
                    example.matches,
                    "{definition:?} {:?} on {:?}",
                    example.argument,
                    example.input
                );
                if example.matches {
                    assert!(test.locate(example.input, &data).0.first().is_some_and(Option::is_some));
                }
                ran += 1;
            }
        }
        assert!(ran >= ALL.len());
    }

    /// Every recognizer with each argument that it takes.
    fn recognizers() -> Vec<Box<dyn Test>> {
        let names = [
            "injectsSql",
            "injectsShell",
            "injectsMarkup",
            "injectsTemplate",
            "leavesRoot",
            "reachesHost",
            "graphqlExceeds",
        ];
        let arguments = [
            "certain",
            "likely",
            "possible",
            "unix certain",
            "unix likely",
            "unix possible",
            "windows certain",
            "windows likely",
            "windows possible",
            "1",
            "loopback",
            "metadata",
            "depth=1",
        ];
        let (mut names_of, patterns) = (TxNames::default(), Patterns::default());
        let mut tests = Vec::new();
        for name in names {
            for text in arguments {
                let mut argument =
                    Argument { text, lines: &[], names: &mut names_of, patterns: &patterns, geo: None };
                tests.extend((find(name).unwrap().compile)(&mut argument));
            }
        }
        tests
    }

    #[test]
    fn recognizers_take_any_bytes() {
        let pieces = b"'~\"~`~--~/*~*/~#~;~|~&~$(~${~{{~}}~<~>~=~(~)~\\~/~..~%2e~%~\xc0\xae~://~@~[~:~ or ~union select ~\
            sleep(~cat ~<svg ~onload=~http~0x7f~\n~\0~fragment A on B {...A} ";
        let pieces: Vec<&[u8]> = pieces.split(|byte| *byte == b'~').collect();
        let (tests, data) = (recognizers(), Data::default());
        assert_eq!(tests.len(), 19);
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = |bound: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % bound as u64).unwrap()
        };
        for _ in 0..20_000 {
            let mut value = Vec::new();
            for _ in 0..next(12) {
                value.extend_from_slice(pieces[next(pieces.len())]);
                value.extend((0..next(3)).map(|at| b"aZ0 \xff"[at]));
            }
            for test in &tests {
                let matches = test.is_match(&value, &data);
                let (from, to) = test.locate(&value, &data).0[0].unwrap();
                assert!(!matches || (from <= to && to <= value.len()), "{value:?}");
                // What an operator asks of a value first holds for all that it matches.
                let bytes = ByteSet::of_text(&value);
                let passes = test.prefilter().is_none_or(|condition| condition.passes(value.len(), &bytes));
                assert!(!matches || passes, "{value:?}");
            }
        }
    }

    /// One that looks at the rest of the value from each place would not end.
    #[test]
    fn recognizers_read_long_values_in_linear_time() {
        let pieces = [
            "/onload=x",
            "onload='x",
            "\"'; new a",
            "`x ",
            "a:/",
            "a://b/",
            "<a =",
            "<",
            "&#",
            "{{",
            "${",
            "$(",
            ";cat ",
            "' or ",
            "/*",
            "../",
            "(select ",
            "[$ne]",
            "{a",
            "...A ",
            "\\",
            "%25",
            "|",
            "@",
            "a=b&",
            "<svg ",
            "<!--",
            "/*a",
            "--a\n#",
            "<a style=",
            "<a href=javascript",
            "<a/x=\"<b ",
            "onclick =",
        ];
        let (tests, data) = (recognizers(), Data::default());
        for piece in pieces {
            let value = piece.repeat((1 << 18) / piece.len());
            for test in &tests {
                test.is_match(value.as_bytes(), &data);
            }
        }
    }
}
