//! How common bytes are in bodies, and how common one is behind another.
//!
//! The table was counted by `benches/world/byte_pairs` in the Debian packages that it names.

/// A line of shares of single bytes, then a line for each first byte with the shares of those that follow it.
const TABLE: &[u8] = include_bytes!("byte_pairs.txt");
/// The commonest four bytes in order, each with the letter of its share and a line end.
const COMMON_GRAMS: &[u8] = include_bytes!("common_grams.txt");
/// Printed bytes but capitals, in their order, and one for all others.
const SYMBOLS: usize = 70;
const LINE_BYTES: usize = SYMBOLS + 1;

/// Where a byte stands in a line.
fn column(byte: u8) -> usize {
    match byte.to_ascii_lowercase() {
        byte @ b' '..=b'@' => usize::from(byte - b' '),
        byte @ b'['..=b'~' => usize::from(byte - b'[') + 33,
        _ => SYMBOLS - 1,
    }
}

/// The share that is written at a place: a letter is -log2 of it, in halves.
fn share_at(line: usize, column: usize) -> f64 {
    share_of_letter(TABLE.get(line * LINE_BYTES + column).copied())
}

fn share_of_letter(letter: Option<u8>) -> f64 {
    let halves = match letter {
        Some(letter @ b'A'..=b'Z') => letter - b'A',
        Some(letter @ b'a'..=b'z') => letter - b'a' + 26,
        _ => 51,
    };
    (-f64::from(halves) / 2.0).exp2()
}

/// The share of a byte among all.
pub fn share(byte: u8) -> f64 {
    share_at(0, column(byte))
}

/// The share of a text among all of its length, as far as pairs of bytes say; of four bytes that stand together often,
/// as it was counted.
pub fn share_of_text(text: &[u8]) -> f64 {
    let folded = text.to_ascii_lowercase();
    if let Ok(at) = COMMON_GRAMS.as_chunks().0.binary_search_by(|line: &[u8; 6]| line[..4].cmp(&folded)) {
        return share_of_letter(COMMON_GRAMS.get(6 * at + 4).copied());
    }
    let pairs = text.array_windows().map(|[first, second]| share_at(1 + column(*first), column(*second)));
    text.first().map_or(1.0, |first| share(*first)) * pairs.product::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        assert_eq!(TABLE.len(), (SYMBOLS + 1) * LINE_BYTES);
        for (nth, line) in TABLE.chunks(LINE_BYTES).enumerate() {
            let (letters, end) = line.split_at(SYMBOLS);
            assert!(letters.iter().all(u8::is_ascii_alphabetic) && end == b"\n", "line {nth}");
            // What is rounded comes to about one.
            let sum: f64 = (0..SYMBOLS).map(|column| share_at(nth, column)).sum();
            assert!((0.8..1.25).contains(&sum), "line {nth}: {sum}");
        }
        let mut columns: Vec<usize> = (0..=0xFF).map(column).collect();
        columns.sort_unstable();
        columns.dedup();
        assert_eq!(columns, (0..SYMBOLS).collect::<Vec<_>>());
    }

    #[test]
    fn common_grams_are_in_order() {
        let (lines, rest) = COMMON_GRAMS.as_chunks::<6>();
        assert_eq!((lines.len(), rest.len()), (3000, 0));
        assert!(lines.is_sorted_by(|a, b| a[..4] < b[..4]) && lines.iter().all(|line| line[5] == b'\n'));
        assert!(share_of_text(b" THE") > share_of_text(b" thj"));
    }

    #[test]
    fn what_is_common_has_a_greater_share() {
        for (common, rare) in [("the ", "qxzj"), ("</p>", "}]$~"), ("tion", "AKIA"), ("e", "q")] {
            assert!(
                share_of_text(common.as_bytes()) > 10.0 * share_of_text(rare.as_bytes()),
                "{common} {rare}"
            );
        }
        assert!((share_of_text(b"The") - share_of_text(b"tHE")).abs() < f64::EPSILON);
    }
}
