//! `application/x-www-form-urlencoded` and query strings.

/// Calls with each pair as sent; a pair without `=` has an empty value. Empty pairs are left out.
pub fn read<'b>(input: &'b [u8], mut pair: impl FnMut(&'b [u8], &'b [u8])) {
    for part in input.split(|byte| *byte == b'&').filter(|part| !part.is_empty()) {
        match memchr::memchr(b'=', part) {
            Some(at) => {
                let (name, value) = part.split_at(at);
                pair(name, value.get(1..).unwrap_or(&[]));
            }
            None => pair(part, &[]),
        }
    }
}

/// Appends the decoded form of one name or value: `+` is a space, `%hh` its byte, what is
/// malformed stays as it is.
pub fn decode(input: &[u8], out: &mut Vec<u8>) {
    unescape(input, b' ', out);
}

/// Appends the decoded form of a path, in which `+` is itself (RFC 3986 section 3.3).
pub fn decode_path(input: &[u8], out: &mut Vec<u8>) {
    unescape(input, b'+', out);
}

fn unescape(input: &[u8], plus: u8, out: &mut Vec<u8>) {
    let mut rest = input;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match escaped(rest) {
            Some((escaped, tail)) => {
                out.push(escaped);
                tail
            }
            None => {
                out.push(if byte == b'+' { plus } else { byte });
                after
            }
        };
    }
}

/// The byte of the escape that a text begins with, and what follows it.
#[inline]
pub fn escaped(text: &[u8]) -> Option<(u8, &[u8])> {
    let [b'%', high, low, tail @ ..] = text else { return None };
    Some((hex_pair(*high, *low)?, tail))
}

/// The byte of two hex digits.
#[inline]
pub fn hex_pair(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

/// Whether a `%` is not followed by two hex digits.
pub fn is_malformed(input: &[u8]) -> bool {
    memchr::memchr_iter(b'%', input).any(|at| {
        let digits = input.get(at + 1..at + 3).unwrap_or(&[]);
        digits.len() < 2 || !digits.iter().all(u8::is_ascii_hexdigit)
    })
}

/// Whether [`decode`] would change the input.
pub fn needs_decoding(input: &[u8]) -> bool {
    memchr::memchr2(b'%', b'+', input).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyless_empty_and_repeated_pairs() {
        let mut seen = Vec::new();
        read(b"a=1&&b&=c&a=%3d+", |name, value| {
            let mut decoded = Vec::new();
            decode(value, &mut decoded);
            seen.push((name.to_vec(), decoded));
        });
        let expected: &[(&[u8], &[u8])] = &[(b"a", b"1"), (b"b", b""), (b"", b"c"), (b"a", b"= ")];
        assert_eq!(seen.len(), expected.len());
        assert!(seen.iter().zip(expected).all(|((n, v), (en, ev))| n == en && v == ev));
    }

    #[test]
    fn malformed_escapes_stay() {
        let mut out = Vec::new();
        decode(b"%4%zz%41%", &mut out);
        assert_eq!(out, b"%4%zzA%");
    }
}
