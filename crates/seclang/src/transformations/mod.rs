//! The transformations, one file each: bytes in, bytes out, no state.

mod base64_decode;
mod base64_decode_ext;
mod base64_encode;
mod cmd_line;
mod compress_whitespace;
mod css_decode;
mod escape_seq_decode;
mod hex_decode;
mod hex_encode;
mod html_entity_decode;
mod js_decode;
mod length;
mod lowercase;
mod md5;
mod none;
mod normalize_path;
mod normalize_path_win;
mod parity_even_7bit;
mod parity_odd_7bit;
mod parity_zero_7bit;
mod path;
mod php_args_names;
mod remove_comments;
mod remove_comments_char;
mod remove_nulls;
mod remove_whitespace;
mod replace_comments;
mod replace_nulls;
mod sha1;
mod sql_hex_decode;
mod trim;
mod trim_left;
mod trim_right;
mod uppercase;
mod url_decode;
mod url_decode_uni;
mod url_encode;
mod utf8_to_unicode;

use body::urlencoded::hex_pair;
use pattern::ByteSet;

/// One transformation.
pub struct Definition {
    pub name: &'static str,
    pub summary: &'static str,
    /// Appends the transformed input to an empty buffer and says whether it differs; if it says
    /// no, the buffer's content means nothing.
    pub apply: fn(&[u8], &mut Vec<u8>) -> bool,
    /// Bytes that can cause a change: an input with none of them stays as it is. `None` if any input may change.
    pub touches: Option<ByteSet>,
    /// Inputs with what becomes of them; tests run them.
    pub examples: &'static [(&'static [u8], &'static [u8])],
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

/// Every transformation, sorted by name.
pub const ALL: &[&Definition] = &[
    &base64_decode::DEFINITION,
    &base64_decode_ext::DEFINITION,
    &base64_encode::DEFINITION,
    &cmd_line::DEFINITION,
    &compress_whitespace::DEFINITION,
    &css_decode::DEFINITION,
    &escape_seq_decode::DEFINITION,
    &hex_decode::DEFINITION,
    &hex_encode::DEFINITION,
    &html_entity_decode::DEFINITION,
    &js_decode::DEFINITION,
    &length::DEFINITION,
    &lowercase::DEFINITION,
    &md5::DEFINITION,
    &none::DEFINITION,
    &normalize_path::DEFINITION,
    &normalize_path_win::DEFINITION,
    &parity_even_7bit::DEFINITION,
    &parity_odd_7bit::DEFINITION,
    &parity_zero_7bit::DEFINITION,
    &php_args_names::DEFINITION,
    &remove_comments::DEFINITION,
    &remove_comments_char::DEFINITION,
    &remove_nulls::DEFINITION,
    &remove_whitespace::DEFINITION,
    &replace_comments::DEFINITION,
    &replace_nulls::DEFINITION,
    &sha1::DEFINITION,
    &sql_hex_decode::DEFINITION,
    &trim::DEFINITION,
    &trim_left::DEFINITION,
    &trim_right::DEFINITION,
    &uppercase::DEFINITION,
    &url_decode::DEFINITION,
    &url_decode_uni::DEFINITION,
    &url_encode::DEFINITION,
    &utf8_to_unicode::DEFINITION,
];

/// Names that other engines take for the same.
const SPELLINGS: [(&str, &str); 2] =
    [("normalisePath", "normalizePath"), ("normalisePathWin", "normalizePathWin")];

/// The transformation of a name, ignoring case.
pub fn find(name: &str) -> Option<&'static Definition> {
    let name =
        SPELLINGS.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map_or(name, |(_, name)| name);
    ALL.iter().copied().find(|definition| definition.name.eq_ignore_ascii_case(name))
}

/// The bytes of hex digits, two each, up to what is none.
fn hex_bytes(digits: &[u8]) -> impl Iterator<Item = u8> {
    digits.chunks_exact(2).map_while(|pair| match pair {
        [high, low] => hex_pair(*high, *low),
        _ => None,
    })
}

/// What a letter after a backslash stands for in C and JavaScript; others stand for themselves.
fn escaped_letter(letter: u8) -> u8 {
    match letter {
        b'a' => 7,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        other => other,
    }
}

fn low_byte(value: u32) -> u8 {
    value.to_le_bytes()[0]
}

/// ASCII and Latin-1 white space, as `isspace` and the no-break space.
fn is_space(byte: u8) -> bool {
    SPACE.has(byte)
}

/// White space, as these rules were written for: with the no-break space of Latin-1.
const SPACE: ByteSet = ByteSet::of(b" \t\n\r\x0b\x0c\xa0");

/// The single byte a UTF-16 unit is taken for if an application narrows it.
fn best_fit(unit: u16) -> u8 {
    match unit {
        // Full-width forms of ASCII.
        0xff01..=0xff5e => low_byte(u32::from(unit) - 0xfee0),
        0x2018 | 0x2019 | 0x201b | 0x2032 | 0x02b9 | 0x02bc | 0x02c8 => b'\'',
        0x201c | 0x201d | 0x201e | 0x2033 | 0x02ba => b'"',
        0x2010..=0x2015 | 0x2212 => b'-',
        0x2044 | 0x2215 => b'/',
        0x2216 => b'\\',
        0x2039 | 0x2329 | 0x3008 | 0x27e8 => b'<',
        0x203a | 0x232a | 0x3009 | 0x27e9 => b'>',
        0x2000..=0x200b | 0x3000 => b' ',
        _ => low_byte(u32::from(unit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_unique_and_complete() {
        let names: Vec<String> = ALL.iter().map(|d| d.name.to_lowercase()).collect();
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(names, sorted);
        assert!(ALL.iter().all(|d| d.summary.ends_with('.')));
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/transformations");
        assert_eq!(std::fs::read_dir(folder).unwrap().count() - 2, ALL.len(), "all but mod.rs and path.rs");
    }

    #[test]
    fn examples_hold_and_the_answer_is_honest() {
        let mut ran = 0;
        for definition in ALL {
            assert!(!definition.examples.is_empty(), "{definition:?} has no example");
            for (input, expected) in definition.examples {
                let mut out = Vec::new();
                let changed = (definition.apply)(input, &mut out);
                assert_eq!(changed, input != expected, "{definition:?} on {input:?}");
                assert_eq!(
                    if changed { out.as_slice() } else { input },
                    *expected,
                    "{definition:?} on {input:?}"
                );
                ran += 1;
            }
        }
        assert!(ran >= ALL.len());
    }

    #[test]
    fn only_inputs_with_a_byte_of_those_it_touches_change() {
        let mut checked = 0;
        for definition in ALL {
            let Some(touches) = definition.touches else { continue };
            let untouched: Vec<u8> = (0..=255).filter(|byte| !touches.has(*byte)).collect();
            let pairs = untouched.iter().flat_map(|a| untouched.iter().map(|b| vec![*a, *b]));
            for input in pairs.chain([untouched.clone(), [untouched.as_slice(), &untouched].concat(), vec![]])
            {
                assert!(!(definition.apply)(&input, &mut Vec::new()), "{definition:?} changes {input:?}");
                checked += 1;
            }
        }
        assert!(checked > 100_000);
    }

    #[test]
    fn any_bytes_are_taken() {
        let bytes: Vec<u8> = (0..=255).chain(*b"%u\\u{&#x;/*/..%").collect();
        for definition in ALL {
            for end in 0..=bytes.len() {
                (definition.apply)(&bytes[bytes.len() - end..], &mut Vec::new());
            }
        }
    }
}
