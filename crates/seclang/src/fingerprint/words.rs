//! The words of SQL dialects with their kinds, and the fingerprints of injections.

use std::collections::HashMap;
use std::sync::OnceLock;

use foldhash::fast::FixedState;
use libinjectionrs::sqli::sqli_data::SQL_KEYWORDS;

use super::token::{Kind, MAX_TEXT_BYTES, kind};

struct Words {
    kinds: HashMap<&'static [u8], Kind, FixedState>,
    /// For each first byte, in upper case, a bit for each length that words with it have: most of what a
    /// value says is no word, and this tells without a hash.
    lengths: [u32; 256],
    /// The same of what stands before a space of words that are several.
    heads: [u32; 256],
}

fn words() -> &'static Words {
    static WORDS: OnceLock<Words> = OnceLock::new();
    WORDS.get_or_init(|| {
        let (mut lengths, mut heads) = ([0; 256], [0; 256]);
        for word in SQL_KEYWORDS.iter().map(|word| word.word.as_bytes()) {
            mark(&mut lengths, word);
            let spaces = word.iter().enumerate().filter(|(_, byte)| **byte == b' ');
            spaces.filter_map(|(at, _)| word.get(..at)).for_each(|head| mark(&mut heads, head));
        }
        let kinds = SQL_KEYWORDS.iter().map(|word| (word.word.as_bytes(), word.token_type)).collect();
        Words { kinds, lengths, heads }
    })
}

fn mark(lengths: &mut [u32; 256], word: &[u8]) {
    let entry = word.first().and_then(|first| lengths.get_mut(usize::from(*first)));
    if let (Some(entry), 0..=31) = (entry, word.len()) {
        *entry |= 1 << word.len();
    }
}

fn is_marked(lengths: &[u32; 256], word: &[u8]) -> bool {
    let first = word.first().and_then(|first| lengths.get(usize::from(first.to_ascii_uppercase())));
    matches!((first, word.len()), (Some(lengths), length @ 0..=31) if lengths >> length & 1 == 1)
}

/// The kind of a word, ignoring case; `None` of a word that is none of SQL's.
pub(super) fn kind_of(word: &[u8]) -> Option<Kind> {
    let words = words();
    if !is_marked(&words.lengths, word) {
        return None;
    }
    let mut upper = [0; MAX_TEXT_BYTES];
    let upper = upper.get_mut(..word.len())?;
    upper.copy_from_slice(word);
    upper.make_ascii_uppercase();
    words.kinds.get(&*upper).copied()
}

/// Whether a word may be the first of several that mean something together.
pub(super) fn may_begin_several(word: &[u8]) -> bool {
    is_marked(&words().heads, word)
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
        assert_eq!(words().kinds.len(), SQL_KEYWORDS.len());
    }

    #[test]
    fn words_have_no_case_and_fingerprints_are_no_words_of_values() {
        assert_eq!(
            (kind_of(b"select"), kind_of(b"Select"), kind_of(b"selec")),
            (Some(b'E'), Some(b'E'), None)
        );
        assert!(may_begin_several(b"union all") && may_begin_several(b"Group") && !may_begin_several(b"a"));
        assert!(is_fingerprint(b"s&1") && !is_fingerprint(b"n") && !is_fingerprint(b""));
        assert!(!is_fingerprint(b"nnnnnnnnnn"));
    }
}
