//! The text around a value: a long number in a table, an identifier of code or a term of a sum is no finding.
//!
//! A keyword beside the value outweighs all of this but identifiers, because their own words are the keywords.

use serde::Deserialize;

use super::confidence::Confidence;

/// What a rule looks at around its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Surroundings {
    /// For long numbers: one among others is a cell of a table.
    Numbers,
    /// For random text: an identifier of code is none.
    Names,
    /// For host names: members of objects look the same.
    Hosts,
    /// For numbers behind a sign: sums and versions have them too.
    Sums,
    /// For names of errors: in a leak a message follows; code and manuals only name them.
    Messages,
    /// For everything that manuals show: examples stand behind a prompt or beside a placeholder.
    Manuals,
}

/// Bytes that are read before a value, and as many behind it.
const AROUND_BYTES: usize = 84;
/// Digits of the numbers that a table is made of.
const TABLE_DIGITS: usize = 9;
/// Longer numbers without groups are constants of programs more often than cards.
const MANY_DIGITS: usize = 17;
/// Shorter numbers without groups are times in milliseconds and ids too often.
const LONG_DIGITS: usize = 14;
/// A name in small letters is joined so often; random text has signs of all kinds.
const MIN_JOINTS: usize = 3;
/// Prompts of an interpreter, as manuals show them.
const PROMPTS: &[&[u8]] = &[b">>>", b"&gt;&gt;&gt;"];
/// Files of a server in a trace of Python: manuals have names without a folder.
const FILES: &[&[u8]] = &[
    b"File \"/",
    b"File \\\"/",
    b"File &quot;/",
    b"File &#34;/",
    b":\\",
    b"File '/",
    b"File &#39;/",
    b"File \\u0022/",
];
/// Placeholders of manuals.
const STAND_INS: &[&[u8]] = &[b"<stdin>", b"&lt;stdin&gt;", b"@example.", b"\n...", b" ...\n"];
/// Names are made of words of this length and more.
const WORD_BYTES: usize = 3;

impl Surroundings {
    /// The confidence of a value among what stands around it; `None` if it is no value.
    pub(super) fn judge(
        self,
        body: &[u8],
        start: usize,
        end: usize,
        has_keyword: bool,
        confidence: Confidence,
    ) -> Option<Confidence> {
        let before = body.get(start.saturating_sub(AROUND_BYTES)..start).unwrap_or(&[]);
        let value = body.get(start..end).unwrap_or(&[]);
        let behind = body.get(end..body.len().min(end + AROUND_BYTES)).unwrap_or(&[]);
        let is_value = match self {
            Self::Numbers if has_keyword => true,
            Self::Numbers if value.iter().all(u8::is_ascii_digit) => {
                // A number of a program, or one of a column.
                let is_bare = value.len() < LONG_DIGITS || is_row(before, behind);
                let is_constant = value.len() >= MANY_DIGITS || is_argument(before, behind);
                return (!is_bare).then_some(match is_constant {
                    true => Confidence::Low,
                    false => confidence,
                });
            }
            Self::Numbers => !before.ends_with(b".") && !is_hex_group(before, behind),
            Self::Names => !is_name(value),
            Self::Hosts => !is_member(before, behind),
            Self::Sums => {
                let follows = before.last().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b')');
                !(value.starts_with(b"+") && follows)
            }
            Self::Messages => {
                let message = match value.strip_suffix(b": ") {
                    Some(_) => Some(behind),
                    None if memchr::memmem::find(value, b": ").is_some() => Some(value),
                    None => behind.strip_prefix(b": "),
                };
                let has_message = message.is_some_and(|message| {
                    let mut words = message.split(|byte| *byte == b' ');
                    let is_word = |word: &[u8]| {
                        word.first()
                            .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"\"'`\\&".contains(byte))
                    };
                    words.next().is_some_and(is_word) && words.next().is_some_and(is_word)
                });
                return Some(if has_message { confidence } else { Confidence::Low });
            }
            Self::Manuals => {
                let holds = |text: &[u8], marks: &[&[u8]]| {
                    marks.iter().any(|mark| memchr::memmem::find(text, mark).is_some())
                };
                let is_trace = value.starts_with(b"Traceback") && !holds(behind, FILES);
                let is_shown =
                    is_trace || holds(before, PROMPTS) || holds(value, STAND_INS) || holds(behind, STAND_INS);
                return Some(if is_shown { Confidence::Low } else { confidence });
            }
        };
        is_value.then_some(confidence)
    }
}

/// Whether a long number stands before or behind, and only signs that part numbers between.
fn is_row(before: &[u8], behind: &[u8]) -> bool {
    let is_gap = |byte: &&u8| byte.is_ascii_whitespace() || b",;|-".contains(byte);
    let digits = |bytes: &mut dyn Iterator<Item = &u8>| {
        let mut bytes = bytes.skip_while(is_gap);
        bytes.by_ref().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let has_gap = |byte: Option<&u8>| byte.is_some_and(|byte| is_gap(&byte));
    has_gap(before.last()) && digits(&mut before.iter().rev()) >= TABLE_DIGITS
        || has_gap(behind.first()) && digits(&mut behind.iter()) >= TABLE_DIGITS
}

/// Whether a number is an argument or an element of a list of a program.
fn is_argument(before: &[u8], behind: &[u8]) -> bool {
    matches!(before.trim_ascii_end().last(), Some(b'(' | b'[' | b'{' | b',' | b'=' | b'-'))
        && matches!(behind.trim_ascii_start().first(), Some(b')' | b']' | b'}' | b',' | b';'))
        || behind.starts_with(b",\n") && before.ends_with(b" ")
}

/// Whether groups of four hexadecimal digits stand right beside that are no other card, as tables of code points have
/// them.
fn is_hex_group(before: &[u8], behind: &[u8]) -> bool {
    is_part_of_table(&mut before.iter().rev()) || is_part_of_table(&mut behind.iter())
}

fn is_part_of_table(bytes: &mut dyn Iterator<Item = &u8>) -> bool {
    let mut bytes = bytes.peekable();
    let (mut groups, mut has_letters) = (0, false);
    while bytes.next_if(|byte| b" .-".contains(byte)).is_some() {
        let mut digits = 0;
        while let Some(byte) = bytes.next_if(|byte| byte.is_ascii_hexdigit()) {
            has_letters |= byte.is_ascii_alphabetic();
            digits += 1;
        }
        if digits != 4 {
            break;
        }
        groups += 1;
    }
    groups > 0 && (has_letters || groups % 4 != 0)
}

/// Whether a text is a name in a program: words that are joined by signs or capitals, or a number.
fn is_name(value: &[u8]) -> bool {
    if value.starts_with(b"0x") {
        return true;
    }
    // Sums of a repository's contents.
    let is_hash = value.len() == 40 && value.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_snake = value.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'_'))
        && value.iter().filter(|byte| **byte == b'_').count() >= MIN_JOINTS;
    let parts = value.split(|byte| b"_-/+".contains(byte)).flat_map(words_of);
    let in_words: usize = parts.filter(|word| is_word(word)).map(<[u8]>::len).sum();
    let letters = value.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
    is_hash || is_snake || in_words * 10 >= letters * 7
}

/// The words of a name that is joined by capitals.
fn words_of(part: &[u8]) -> impl Iterator<Item = &[u8]> {
    part.chunk_by(|a, b| {
        a.is_ascii_alphabetic() == b.is_ascii_alphabetic()
            && !(a.is_ascii_lowercase() && b.is_ascii_uppercase())
    })
}

/// Whether letters are a word: long enough, and with vowels among consonants as words have them.
fn is_word(letters: &[u8]) -> bool {
    if letters.len() < WORD_BYTES || !letters.iter().all(u8::is_ascii_alphabetic) {
        return false;
    }
    let rest = letters.get(1..).unwrap_or(&[]);
    let is_one_case = rest.iter().all(u8::is_ascii_lowercase) || letters.iter().all(u8::is_ascii_uppercase);
    let vowels = letters.iter().filter(|byte| b"aeiouyAEIOUY".contains(byte)).count();
    is_one_case && vowels * 5 >= letters.len() && vowels * 4 <= letters.len() * 3
}

/// Whether a name is a member of an object: another name goes on behind it, or a call.
fn is_member(before: &[u8], behind: &[u8]) -> bool {
    let goes_on = match behind {
        [b'_' | b'(' | b'[', ..] => true,
        [b'.', next, ..] => next.is_ascii_alphabetic() || *next == b'_',
        _ => false,
    };
    goes_on || matches!(before.last(), Some(b'_' | b'$'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(kind: Surroundings, text: &str, has_keyword: bool) -> Option<Confidence> {
        let (before, rest) = text.split_once('<').unwrap();
        let (value, behind) = rest.split_once('>').unwrap();
        let body = [before, value, behind].concat();
        let start = before.len();
        kind.judge(body.as_bytes(), start, start + value.len(), has_keyword, Confidence::High)
    }

    #[test]
    fn what_stands_around_decides() {
        use Confidence::{High, Low};
        use Surroundings::{Hosts, Manuals, Messages, Names, Numbers, Sums};
        for (kind, text, expected) in [
            (Numbers, "{\"n\":\"<4111111111111111>\"}", Some(High)),
            (Numbers, "1994165897297032, <2245000007398739>,", None),
            (Numbers, "  <374555092627893>,\n  1994165897297032", None),
            (Numbers, "assert_eq!(results[0], <5029875928683246316>);", Some(Low)),
            (Numbers, "at <4111111111111> ms", None),
            (Numbers, "<4111 1111 1111 1111> 12/25 123", Some(High)),
            (Numbers, "541B <5421 5457 5459 5423> 5432", None),
            (Numbers, "<4111 1111 1111 1111> 5500 0000 0000 0004", Some(High)),
            (Numbers, "5421 5457 <5459 5423 5432 5482>", None),
            (Names, "key = <MLKEM512_SECRET_KEY_BYTES>", None),
            (Names, "KEY: <X509HardwareKeyUsageFlags>(2)", None),
            (Names, "<0x9f493441_744a_410c_ae2b>", None),
            (Names, "<mld_pack_sk_rho_key_tr_s2>", None),
            (Names, "api_key=<54KuOl45q7oFE9DSInBwfSgTT5J>", Some(High)),
            (Names, "secret: <xPPladDNlcKjGdIGzgJJkhLannthAOJz>", Some(High)),
            (Names, "<kqzvxwbtrnpdgfhjlmskqzvxwbt>", Some(High)),
            (Hosts, "http://<db1.internal>/x", Some(High)),
            (Hosts, "on <db1.internal>. Then", Some(High)),
            (Hosts, "<engine.internal>_encode(x)", None),
            (Hosts, "<meta.internal>.fresh_until", None),
            (Messages, "<sqlite3.OperationalError>: no such table", Some(High)),
            (Messages, "<SQLITE_ERROR: >near \"a\"", Some(High)),
            (Messages, "<SQLITE_ERROR: >i32 = 1;", Some(Low)),
            (Messages, "except <sqlite3.OperationalError>:\n", Some(Low)),
            (Manuals, ">>> 1 / 0\n<Traceback (most recent call last):>\n", Some(Low)),
            (Manuals, "<Traceback (most recent call last):>\n  File \"/srv/a.py\"", Some(High)),
            (Manuals, "<Traceback (most recent call last):>\n  File \"spam.py\"", Some(Low)),
            (Numbers, "[<5770237651009406214>]", Some(Low)),
            (Numbers, "[.<4301 0020 0011 0001>]", None),
            (Sums, "(iJD<+43200000>)/86400000", None),
            (Sums, "tel:<+44 20 7946 0958>", Some(High)),
        ] {
            assert_eq!(judge(kind, text, false), expected, "{text}");
        }
        assert_eq!(judge(Numbers, "card 1994165897297032, <2245000007398739>", true), Some(High));
    }
}
