//! Words and breaks of a text, read backwards from a value.

#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) at: usize,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Word {
        hash: u32,
        has_digit: bool,
        /// Whether a keyword may end with it.
        may_end: bool,
    },
    /// Words before it are about something else.
    Break,
}

/// Whether a byte belongs to a word.
#[inline]
pub(super) fn is_word(body: &[u8], at: usize) -> bool {
    body.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80)
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

    fn end(&mut self, at: usize, items: &mut Vec<Item>) {
        if self.length > 0 {
            let what = What::Word { hash: self.hash, has_digit: self.has_digit, may_end: false };
            items.push(Item { at, what });
        }
        *self = Self::default();
    }
}

/// Adds the words and breaks in `from..to`, the last first, and whether it ended at a break behind which
/// words stand.
#[inline]
pub(super) fn read_back(body: &[u8], from: usize, to: usize, items: &mut Vec<Item>) -> bool {
    let mut has_words = false;
    let mut word = Word::default();
    let window = body.get(..to).unwrap_or(&[]);
    let mut at = to;
    while let Some(byte) = at.checked_sub(1).filter(|at| *at >= from).and_then(|at| window.get(at)).copied() {
        at -= 1;
        if byte.is_ascii_alphanumeric() {
            if word.is_new_after(byte) {
                has_words = true;
                word.end(at + 1, items);
            }
            word.push(byte);
        } else if byte >= 0x80 {
            if let Some(character) = spaceless(window, at) {
                word.end(at + 1, items);
                character.iter().rev().for_each(|byte| word.push(*byte));
                at = at.saturating_sub(2);
                word.end(at, items);
                has_words = true;
            } else {
                word.push(byte);
            }
        } else {
            has_words |= word.length > 0;
            word.end(at + 1, items);
            if is_break(window, at, byte) {
                items.push(Item { at, what: What::Break });
                if has_words {
                    return true;
                }
            }
        }
    }
    word.end(at, items);
    false
}

/// The character of three bytes that ends at `at` if its script sets no spaces: Thai, Lao, and the ideographs
/// and syllables of East Asia.
#[inline]
fn spaceless(window: &[u8], at: usize) -> Option<&[u8; 3]> {
    let character: &[u8; 3] = window.get(at.checked_sub(2)?..)?.first_chunk()?;
    let [lead, second, _] = *character;
    (lead == 0xE0 && (0xB8..=0xBB).contains(&second) || (0xE3..=0xED).contains(&lead)).then_some(character)
}

/// Whether what stands before `at` is about something else than what stands behind: another member, another
/// object, another row.
#[inline]
pub(super) fn is_break(window: &[u8], at: usize, byte: u8) -> bool {
    let back = |by: usize| at.checked_sub(by).and_then(|at| window.get(at)).copied().unwrap_or(b' ');
    let ahead = |by: usize| window.get(at + by).copied().unwrap_or(b' ');
    match byte {
        b'{' | b'}' => true,
        // A comma between members; one in a sentence has a letter before it and a space behind.
        b',' => !(back(1).is_ascii_alphabetic() && ahead(1) == b' ' && ahead(2) != b'"'),
        // A line that goes on is one of markup.
        b'\n' => !matches!(back(1), b'>' | b':' | b' ' | b'\r') && !matches!(ahead(1), b' ' | b'<' | b'\t'),
        _ => false,
    }
}
