//! The words of SQL dialects with their kinds, and the fingerprints of injections.

use std::collections::HashMap;
use std::sync::OnceLock;

use foldhash::fast::FixedState;
use libinjectionrs::sqli::sqli_data::SQL_KEYWORDS;

use super::token::{Kind, MAX_TEXT_BYTES, kind};

type Words = HashMap<&'static [u8], Kind, FixedState>;

fn words() -> &'static Words {
    static WORDS: OnceLock<Words> = OnceLock::new();
    WORDS.get_or_init(|| SQL_KEYWORDS.iter().map(|word| (word.word.as_bytes(), word.token_type)).collect())
}

/// The kind of a word, whatever its case; `None` of a word that is none of SQL's.
pub(super) fn kind_of(word: &[u8]) -> Option<Kind> {
    let mut upper = [0; MAX_TEXT_BYTES];
    let upper = upper.get_mut(..word.len())?;
    upper.copy_from_slice(word);
    upper.make_ascii_uppercase();
    words().get(&*upper).copied()
}

/// Whether these kinds are the fingerprint of an injection.
pub(super) fn is_fingerprint(kinds: &[Kind]) -> bool {
    // Version 0 of a fingerprint is written before it.
    let mut entry = [b'0'; 8];
    let Some(place) = entry.get_mut(1..=kinds.len()).filter(|_| !kinds.is_empty()) else { return false };
    place.copy_from_slice(kinds);
    entry.get(..=kinds.len()).is_some_and(|entry| kind_of(entry) == Some(kind::FINGERPRINT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_longer_than_what_a_token_keeps() {
        assert!(SQL_KEYWORDS.iter().all(|word| word.word.len() <= MAX_TEXT_BYTES && word.word.is_ascii()));
        assert_eq!(words().len(), SQL_KEYWORDS.len());
    }

    #[test]
    fn words_have_no_case_and_fingerprints_are_no_words_of_values() {
        assert_eq!(
            (kind_of(b"select"), kind_of(b"Select"), kind_of(b"selec")),
            (Some(b'E'), Some(b'E'), None)
        );
        assert!(is_fingerprint(b"s&1") && !is_fingerprint(b"n") && !is_fingerprint(b""));
        assert!(!is_fingerprint(b"nnnnnnnnnn"));
    }
}
