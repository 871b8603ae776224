//! The words before a value: the key of a JSON member, the cell or attribute beside it, the sentence it
//! stands in.
//!
//! Words are read backwards from the value, told apart by anything that is no letter or digit and by a
//! capital behind a small letter (`nhsNumber` is two words). They are compared ignoring case. A
//! character of a script without spaces is a word of its own.

use std::rc::Rc;

use smallvec::SmallVec;

use super::words::{Item, What, is_break, is_word, read_back};
use crate::scanner::find::index::Index;

/// How far before a value a keyword may begin.
pub const WINDOW_BYTES: usize = 104;
/// Most words with a digit that are read: numbers beside a number say nothing of it.
const MAX_NUMBERS: usize = 4;
/// Most words that are read.
const MAX_WORDS: usize = 32;
/// The distance of keywords in the header of a column: behind all words.
const FAR: u16 = 32;

/// Rules with a keyword before a value, and how many words stand between, the nearest first. Every value has one,
/// and most are empty: shared, it is handed on in two registers.
#[derive(Clone, Debug, Default)]
pub struct Near(Option<Rc<[(u16, u16)]>>);

impl Near {
    fn new(rules_and_distances: &[(u16, u16)]) -> Self {
        Self((!rules_and_distances.is_empty()).then(|| rules_and_distances.into()))
    }

    fn rules_and_distances(&self) -> &[(u16, u16)] {
        self.0.as_deref().unwrap_or(&[])
    }

    pub fn contains(&self, rule: usize) -> bool {
        self.distance(rule).is_some()
    }

    /// How many words stand between the value and the rule's nearest keyword.
    pub fn distance(&self, rule: usize) -> Option<usize> {
        let near = self.rules_and_distances().iter().find(|(other, _)| usize::from(*other) == rule);
        near.map(|(_, distance)| usize::from(*distance))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The same, behind all words before a value.
    pub fn far_off(&self) -> Self {
        let all = self.rules_and_distances().iter().map(|(rule, distance)| (*rule, FAR + distance));
        Self::new(&all.collect::<SmallVec<[_; FEW]>>())
    }

    /// With those that stand farther off.
    pub fn and(self, others: &Self) -> Self {
        if self.is_empty() {
            return others.clone();
        }
        let all = self.rules_and_distances().iter().chain(others.rules_and_distances());
        Self::new(&all.copied().collect::<SmallVec<[_; FEW]>>())
    }

    /// Each rule once.
    pub fn rules(&self) -> impl Iterator<Item = usize> {
        let all = self.rules_and_distances();
        let is_first = |nth: usize, rule: u16| !all.iter().take(nth).any(|(other, _)| *other == rule);
        let rules = all.iter().map(|(rule, _)| *rule).enumerate();
        rules.filter(move |(nth, rule)| is_first(*nth, *rule)).map(|(_, rule)| usize::from(rule))
    }
}

/// Rules that are gathered without an allocation. PERF: benches/detection.rs.
const FEW: usize = 8;

/// The words of a body before a value, read once where values stand close together.
#[derive(Debug, Default)]
pub struct Context {
    /// In the order of the body.
    items: Vec<Item>,
    /// Up to where the body is read; a word ends there.
    end: usize,
}

/// What is kept of a body: more than a window holds, so that it is seldom cut.
const MAX_ITEMS: usize = 16 * WINDOW_BYTES;

/// All keywords.
#[derive(Debug, Default)]
pub struct Keywords {
    /// Rules of keywords of one word.
    single: Index<u16>,
    /// Keywords of more, by their last two.
    by_last_two: Index<Keyword>,
    /// Last words: bits by the lowest of a hash.
    last: Vec<u64>,
}

/// Bits of [`Keywords::last`].
const LAST_BITS: usize = 1 << 15;

/// Keywords on their way into [`Keywords`].
#[derive(Debug, Default)]
pub struct Entries(Vec<Keyword>);

#[derive(Debug)]
struct Keyword {
    /// Backwards.
    words: Box<[u32]>,
    rule: u16,
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
        let rule = u16::try_from(rule).map_err(|_| "there are too many rules".to_owned())?;
        let mut entered: Vec<Vec<u32>> = Vec::new();
        for form in cased {
            let mut items = Vec::new();
            read_back(form.as_bytes(), 0, form.len(), &mut items);
            let word = |item: &Item| match item.what {
                What::Word { hash, .. } => Some(hash),
                What::Break => None,
            };
            let words: Vec<u32> = items.iter().filter_map(word).collect();
            if words.is_empty() {
                return Err(format!("the keyword `{text}` has no letter or digit"));
            }
            if !entered.contains(&words) {
                self.0.push(Keyword { words: words.as_slice().into(), rule });
                entered.push(words);
            }
        }
        Ok(())
    }
}

impl Keywords {
    pub fn new(entries: Entries) -> Self {
        let (mut single, mut by_last_two) = (Vec::new(), Vec::new());
        let mut last = vec![0; LAST_BITS / 64];
        for keyword in entries.0 {
            let first_two = (keyword.words.first().copied(), keyword.words.get(1).copied());
            let (Some(word), next) = first_two else { continue };
            let bit = word as usize % LAST_BITS;
            if let Some(bits) = last.get_mut(bit / 64) {
                *bits |= 1 << (bit % 64);
            }
            match next {
                Some(next) => by_last_two.push((two(word, next), keyword)),
                None => single.push((word, keyword.rule)),
            }
        }
        Self { single: Index::new(single), by_last_two: Index::new(by_last_two), last }
    }

    #[inline]
    fn may_end(&self, word: u32) -> bool {
        let bit = word as usize % LAST_BITS;
        self.last.get(bit / 64).is_some_and(|bits| bits >> (bit % 64) & 1 != 0)
    }

    /// The rules of which a keyword stands before the value at `start`.
    pub fn near(&self, body: &[u8], start: usize) -> Near {
        Context::default().near(self, body, start)
    }
}

/// Two words as a key.
#[inline]
fn two(last: u32, before: u32) -> u32 {
    last.rotate_left(7).wrapping_mul(0x85EB_CA6B) ^ before
}

impl Context {
    /// The rules of which a keyword stands before the value at `start`, where a word may begin; of values
    /// in the order of the body each byte is read once.
    pub fn near(&mut self, keywords: &Keywords, body: &[u8], start: usize) -> Near {
        let from = start.saturating_sub(WINDOW_BYTES);
        self.read_to(keywords, body, from, start);
        let (mut count, mut numbers, mut ends) = (0, 0, 0_u32);
        for item in self.items.iter().rev() {
            if item.at < from || numbers > MAX_NUMBERS || count == MAX_WORDS {
                break;
            }
            match item.what {
                What::Break if count > 0 => break,
                What::Break => {}
                What::Word { has_digit, may_end, .. } => {
                    ends |= u32::from(may_end) << count;
                    count += 1;
                    numbers += usize::from(has_digit);
                }
            }
        }
        // Before most values no keyword stands.
        if ends == 0 { Near::default() } else { self.keywords_at(keywords, ends, count) }
    }

    /// The rules of keywords that end with one of the last `count` words; bits of `ends` say which may.
    fn keywords_at(&self, keywords: &Keywords, mut ends: u32, count: usize) -> Near {
        let mut near: SmallVec<[(u16, u16); FEW]> = SmallVec::new();
        let word = |item: &Item| match item.what {
            What::Word { hash, .. } => Some(hash),
            What::Break => None,
        };
        let words: SmallVec<[u32; MAX_WORDS]> =
            self.items.iter().rev().filter_map(word).take(count).collect();
        while ends != 0 {
            let distance = ends.trailing_zeros() as u16;
            ends &= ends - 1;
            let words = words.get(usize::from(distance)..).unwrap_or(&[]);
            let [word, rest @ ..] = words else { break };
            near.extend(keywords.single.get(*word).map(|rule| (*rule, distance)));
            let [before, ..] = rest else { continue };
            let fits = keywords.by_last_two.get(two(*word, *before));
            let fits = fits.filter(|keyword| words.starts_with(&keyword.words));
            near.extend(fits.map(|keyword| (keyword.rule, distance)));
        }
        Near::new(&near)
    }

    /// Goes on behind what was read for another value: its first bytes may end a word or make a break of what stands
    /// before it.
    #[inline]
    fn read_on(&mut self, body: &[u8]) {
        let last = self.end - 1;
        if is_word(body, last) && is_word(body, self.end) {
            self.end = self.items.pop().map_or(self.end, |item| item.at);
        } else if body.get(last).is_some_and(|byte| is_break(body, last, *byte)) {
            self.items.push(Item { at: last, what: What::Break });
        }
    }

    fn read_to(&mut self, keywords: &Keywords, body: &[u8], from: usize, to: usize) {
        if to < self.end || from > self.end || self.items.len() > MAX_ITEMS {
            self.items.clear();
            self.end = from;
        }
        if from < self.end && self.end < to {
            self.read_on(body);
        }
        let mut old = self.items.len();
        if read_back(body, self.end, to, &mut self.items) {
            // Nor will a later value be told by what stands before this.
            self.items.drain(..old);
            old = 0;
        }
        let is_cut = old == 0 && from > 0 && is_word(body, from) && is_word(body, from - 1);
        if is_cut && self.items.last().is_some_and(|item| item.at == from) {
            self.items.pop();
        }
        let new = self.items.get_mut(old..).unwrap_or_default();
        new.reverse();
        for item in new {
            if let What::Word { hash, may_end, .. } = &mut item.what {
                *may_end = keywords.may_end(*hash);
            }
        }
        self.end = to;
    }
}

/// `été` as `Été`.
fn titled(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
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
    fn what_was_read_for_another_value_changes_nothing() {
        let keywords = keywords(&["passport", "iban"]);
        for (body, first) in [
            ("card;iban;passport\nWRONGTYPE is a word;x:450401", "WRONGTYPE"),
            ("passport: abc\n01.450401", "01"),
            ("the iban,A1 of 450401", "A1"),
            ("תעודת ibanéN 450401", "N"),
        ] {
            let (first, last) = (body.find(first).unwrap(), body.find("450401").unwrap());
            let mut context = Context::default();
            context.near(&keywords, body.as_bytes(), first);
            let after = context.near(&keywords, body.as_bytes(), last);
            let alone = keywords.near(body.as_bytes(), last);
            assert_eq!(after.rules().collect::<Vec<_>>(), alone.rules().collect::<Vec<_>>(), "{body}");
        }
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
