//! The words before a value: the key of a JSON member, the cell or attribute beside it, the sentence it
//! stands in.
//!
//! Words are read backwards from the value, told apart by anything that is no letter or digit and by a
//! capital behind a small letter (`nhsNumber` is two words). They are compared whatever their case. A
//! character of a script without spaces is a word of its own.

use smallvec::SmallVec;

use super::anchors::index::Index;

/// How far before a value a keyword may begin.
pub const WINDOW_BYTES: usize = 104;
/// Most words with a digit that are read: numbers beside a number say nothing of it.
const MAX_NUMBERS: usize = 4;
/// Most words that are read.
const MAX_WORDS: usize = 32;

/// Rules with a keyword before a value, the nearest first.
#[derive(Debug, Default)]
pub struct Near(SmallVec<[(usize, usize); 8]>);

impl Near {
    pub fn contains(&self, rule: usize) -> bool {
        self.distance(rule).is_some()
    }

    /// How many words stand between the value and the rule's nearest keyword.
    pub fn distance(&self, rule: usize) -> Option<usize> {
        self.0.iter().find(|(other, _)| *other == rule).map(|(_, distance)| *distance)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// With those that stand farther off.
    pub fn extend(&mut self, others: &Self) {
        self.0.extend(others.0.iter().map(|(rule, distance)| (*rule, MAX_WORDS + distance)));
    }

    /// Each rule once.
    pub fn rules(&self) -> impl Iterator<Item = usize> {
        let is_first = |nth: usize, rule: usize| !self.0.iter().take(nth).any(|(other, _)| *other == rule);
        let rules = self.0.iter().map(|(rule, _)| *rule).enumerate();
        rules.filter(move |(nth, rule)| is_first(*nth, *rule)).map(|(_, rule)| rule)
    }
}

type Words = SmallVec<[u32; MAX_WORDS]>;

/// All keywords, by their last word.
#[derive(Debug, Default)]
pub struct Keywords {
    by_last: Index<Keyword>,
}

/// Keywords on their way into [`Keywords`].
#[derive(Debug, Default)]
pub struct Entries(Vec<(u32, Keyword)>);

#[derive(Debug)]
struct Keyword {
    /// The words before the last one, backwards.
    before: Words,
    rule: usize,
}

impl Entries {
    /// Enters a keyword of a rule, as it stands and as one word.
    ///
    /// # Errors
    /// One sentence: what a keyword may not be.
    pub fn add(&mut self, text: &str, rule: usize) -> Result<(), String> {
        let joined: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
        // Capitals outside ASCII are not folded in a body.
        let forms = [text.to_owned(), joined];
        let cased = forms
            .iter()
            .flat_map(|form| [form.clone(), form.to_lowercase(), form.to_uppercase(), titled(form)]);
        let mut entered: Vec<Words> = Vec::new();
        for form in cased {
            let words = words_before(form.as_bytes(), form.len());
            if entered.contains(&words) {
                continue;
            }
            let Some((last, before)) = words.split_first() else {
                return Err(format!("the keyword `{text}` has no letter or digit"));
            };
            let before = before.iter().copied().collect();
            self.0.push((*last, Keyword { before, rule }));
            entered.push(words);
        }
        Ok(())
    }
}

impl Keywords {
    pub fn new(entries: Entries) -> Self {
        Self { by_last: Index::new(entries.0) }
    }

    /// The rules of which a keyword stands before the value at `start`.
    #[inline]
    pub fn near(&self, body: &[u8], start: usize) -> Near {
        let words = words_before(body, start);
        let mut near = Near::default();
        for (nth, last) in words.iter().enumerate() {
            let rest = words.get(nth + 1..).unwrap_or(&[]);
            let fits = self.by_last.get(*last).filter(|keyword| rest.starts_with(&keyword.before));
            near.0.extend(fits.map(|keyword| (keyword.rule, nth)));
        }
        near
    }
}

/// `été` as `Été`.
fn titled(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// A word in the making, read backwards.
#[derive(Default)]
struct Word {
    hash: u32,
    length: usize,
    /// Whether its first letter so far is a capital.
    capital: bool,
    has_small: bool,
    has_digit: bool,
}

impl Word {
    #[inline]
    fn push(&mut self, byte: u8) {
        self.hash =
            (self.hash.rotate_left(5) ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x9E37_79B1);
        self.has_digit |= byte.is_ascii_digit();
        self.length += 1;
        self.capital = byte.is_ascii_uppercase();
        self.has_small |= byte.is_ascii_lowercase();
    }

    /// Whether `byte`, which stands before it, belongs to another word.
    #[inline]
    fn is_new_after(&self, byte: u8) -> bool {
        self.capital && (byte.is_ascii_lowercase() || self.has_small)
    }

    fn end(&mut self, words: &mut Words) {
        if self.length > 0 && words.len() < MAX_WORDS {
            words.push(self.hash);
        }
        *self = Self::default();
    }
}

/// The words before `start`, the nearest first.
#[inline]
fn words_before(body: &[u8], start: usize) -> Words {
    let mut words = Words::new();
    let mut word = Word::default();
    let from = start.saturating_sub(WINDOW_BYTES);
    let window = body.get(from..start).unwrap_or(&[]);
    let mut at = window.len();
    let mut numbers = 0;
    while let Some(byte) = at.checked_sub(1).and_then(|at| window.get(at)).copied() {
        at -= 1;
        if words.len() == MAX_WORDS
            || numbers > MAX_NUMBERS
            || ends_context(window, at, byte, word.length > 0 || !words.is_empty())
        {
            break;
        }
        if byte.is_ascii_alphanumeric() {
            if word.is_new_after(byte) {
                word.end(&mut words);
            }
            word.push(byte);
        } else if byte >= 0x80 {
            if let Some(character) = spaceless(window, at) {
                word.end(&mut words);
                character.iter().rev().for_each(|byte| word.push(*byte));
                word.end(&mut words);
                at = at.saturating_sub(2);
            } else {
                word.push(byte);
            }
        } else {
            numbers += usize::from(word.has_digit);
            word.end(&mut words);
        }
    }
    word.end(&mut words);
    words
}

/// The character of three bytes that ends at `at` if its script sets no spaces: Thai, Lao, and the ideographs
/// and syllables of East Asia.
#[inline]
fn spaceless(window: &[u8], at: usize) -> Option<&[u8; 3]> {
    let character: &[u8; 3] = window.get(at.checked_sub(2)?..)?.first_chunk()?;
    let [lead, second, _] = *character;
    (lead == 0xE0 && (0xB8..=0xBB).contains(&second) || (0xE3..=0xED).contains(&lead)).then_some(character)
}

/// Whether what stands before `at` is about something else: another member, another object, another row.
#[inline]
fn ends_context(window: &[u8], at: usize, byte: u8, has_words: bool) -> bool {
    let back = |by: usize| at.checked_sub(by).and_then(|at| window.get(at)).copied().unwrap_or(b' ');
    let ahead = |by: usize| window.get(at + by).copied().unwrap_or(b' ');
    match byte {
        b'{' | b'}' => has_words,
        // A comma between members; one in a sentence has a letter before it and a space behind.
        b',' => has_words && !(back(1).is_ascii_alphabetic() && ahead(1) == b' ' && ahead(2) != b'"'),
        // A line that goes on is one of markup.
        b'\n' => {
            has_words
                && !matches!(back(1), b'>' | b':' | b' ' | b'\r')
                && !matches!(ahead(1), b' ' | b'<' | b'\t')
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keywords(texts: &[&str]) -> Keywords {
        let mut entries = Entries::default();
        for (rule, text) in texts.iter().enumerate() {
            entries.add(text, rule).unwrap();
        }
        Keywords::new(entries)
    }

    #[test]
    fn words_are_found_however_they_are_written() {
        let keywords = keywords(&["nhs number", "ИНН", "身份证", "numéro de sécurité sociale", "dob"]);
        let cases: &[(&str, &[usize])] = &[
            (r#"{"nhsNumber":""#, &[0]),
            ("NHS_NUMBER=", &[0]),
            ("<td>NHS number</td><td class=\"num\">", &[0]),
            ("<input name=\"nhs_number\" value=\"", &[0]),
            ("<nhsnumber>", &[0]),
            ("The ИНН is ", &[1]),
            ("инн: ", &[1]),
            ("您的身份证号码是", &[2]),
            ("NUMÉRO DE SÉCURITÉ SOCIALE: ", &[3]),
            ("the number of the nhs ", &[]),
            ("doblò ", &[]),
            ("длинный ", &[]),
            (r#"{"dob":"x","id":""#, &[]),
            (r#"{"dob":1,"id":""#, &[]),
            ("dob, as stated: ", &[4]),
        ];
        for (text, expected) in cases {
            let near: Vec<usize> = keywords.near(text.as_bytes(), text.len()).rules().collect();
            assert_eq!(near, *expected, "{text}");
        }
    }

    #[test]
    fn a_keyword_without_letters_is_refused() {
        assert!(Entries::default().add("--", 0).is_err());
    }
}
