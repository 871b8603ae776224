//! Where a chunked body ends (RFC 9112 section 7.1), strictly: what readers take differently is refused.

/// Longest line of a chunk's size, its extensions among it.
const MAX_SIZE_LINE_BYTES: usize = 256;
/// More digits say more than any body has.
const MAX_DIGITS: usize = 15;
/// Longest trailer section.
const MAX_TRAILER_BYTES: usize = 8 << 10;

/// A body that is not in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadChunk;

/// How far a chunked body has come.
#[derive(Clone, Debug)]
pub struct Chunks {
    stage: Stage,
    /// Bytes of the line so far.
    line_bytes: usize,
    trailer_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Size { value: u64, digits: usize },
    Extension { value: u64 },
    SizeEnd { value: u64 },
    Data { left: u64 },
    DataEnd,
    DataLineEnd,
    Trailer,
    TrailerEnd,
    Over,
}

impl Default for Chunks {
    fn default() -> Self {
        Self { stage: Stage::Size { value: 0, digits: 0 }, line_bytes: 0, trailer_bytes: 0 }
    }
}

impl Chunks {
    /// Takes bytes as they come. Returns how many of them are of this body.
    ///
    /// # Errors
    /// The body is not in chunks.
    pub fn push(&mut self, bytes: &[u8]) -> Result<usize, BadChunk> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if let Stage::Data { left } = self.stage {
                let here = left.min((bytes.len() - at) as u64);
                at += usize::try_from(here).unwrap_or(usize::MAX);
                self.stage = if here == left { Stage::DataEnd } else { Stage::Data { left: left - here } };
                continue;
            }
            if self.stage == Stage::Over {
                break;
            }
            self.stage = self.next(byte)?;
            at += 1;
        }
        Ok(at)
    }

    /// Whether the body is complete.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    fn next(&mut self, byte: u8) -> Result<Stage, BadChunk> {
        let stage = match (self.stage, byte) {
            (Stage::Size { value, digits }, _) if byte.is_ascii_hexdigit() => {
                let digit = char::from(byte).to_digit(16).unwrap_or(0);
                if digits == MAX_DIGITS {
                    return Err(BadChunk);
                }
                Stage::Size { value: value << 4 | u64::from(digit), digits: digits + 1 }
            }
            (Stage::Size { value, digits: 1.. } | Stage::Extension { value }, b'\r') => {
                Stage::SizeEnd { value }
            }
            (Stage::Size { value, digits: 1.. }, b';' | b' ' | b'\t') => Stage::Extension { value },
            (Stage::Extension { value }, b'\t' | b' '..=b'~' | 0x80..) => Stage::Extension { value },
            (Stage::SizeEnd { value: 0 }, b'\n') => Stage::Trailer,
            (Stage::SizeEnd { value }, b'\n') => Stage::Data { left: value },
            (Stage::DataEnd, b'\r') => Stage::DataLineEnd,
            (Stage::DataLineEnd, b'\n') => Stage::Size { value: 0, digits: 0 },
            (Stage::Trailer, b'\r') => Stage::TrailerEnd,
            (Stage::Trailer, b'\t' | b' '..=b'~' | 0x80..) => Stage::Trailer,
            // An empty line ends the section.
            (Stage::TrailerEnd, b'\n') if self.line_bytes == 1 => Stage::Over,
            (Stage::TrailerEnd, b'\n') => Stage::Trailer,
            _ => return Err(BadChunk),
        };
        self.trailer_bytes += usize::from(matches!(self.stage, Stage::Trailer | Stage::TrailerEnd));
        self.line_bytes = if byte == b'\n' { 0 } else { self.line_bytes + 1 };
        let is_size = matches!(stage, Stage::Size { .. } | Stage::Extension { .. });
        let fits = !is_size || self.line_bytes <= MAX_SIZE_LINE_BYTES;
        (fits && self.trailer_bytes <= MAX_TRAILER_BYTES).then_some(stage).ok_or(BadChunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of the body and whether it is over, however it is split.
    fn read(text: &[u8]) -> Result<(usize, bool), BadChunk> {
        let mut whole = Chunks::default();
        let outcome = whole.push(text).map(|taken| (taken, whole.is_over()));
        let mut split = Chunks::default();
        let mut taken = 0;
        let by_byte = (|| {
            for byte in text {
                taken += split.push(std::slice::from_ref(byte))?;
            }
            Ok((taken, split.is_over()))
        })();
        assert_eq!(outcome, by_byte, "{}", text.escape_ascii());
        outcome
    }

    #[test]
    fn bodies_end_where_they_end() {
        for (text, taken) in [
            (&b"0\r\n\r\n"[..], 5),
            (b"3\r\nabc\r\n0\r\n\r\nGET /", 13),
            (b"3;a=b\r\nabc\r\n0;x\r\n\r\n", 19),
            (b"A \r\n0123456789\r\n000\r\nX-T: 1\r\nY: 2\r\n\r\nz", 37),
        ] {
            assert_eq!(read(text), Ok((taken, true)), "{}", text.escape_ascii());
        }
        for text in [&b""[..], b"3", b"3\r\nab", b"3\r\nabc\r\n", b"0\r\n", b"0\r\nX: 1\r\n"] {
            assert_eq!(read(text), Ok((text.len(), false)), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn what_readers_take_differently_is_refused() {
        let long_line = [b"3;".as_slice(), &[b'a'; 300], b"\r\n"].concat();
        let long_trailer = [b"0\r\n".as_slice(), &b"X: aaaaaaaaaaaaaa\r\n".repeat(500)].concat();
        for text in [
            &b"\r\nabc"[..],
            b";a\r\n",
            b"3\nabc",
            b"3\r\nabcd\r\n",
            b"3\r\nabc\n0",
            b"0x3\r\n",
            b"-1\r\n",
            b"+3\r\n",
            b"g\r\n",
            b" 3\r\n",
            b"3\r\rabc",
            b"0000000000000003\r\n",
            b"3;a\0b\r\n",
            b"0\r\nX: 1\n\r\n",
            b"0\r\n\n",
            &long_line,
            &long_trailer,
        ] {
            assert_eq!(read(text), Err(BadChunk), "{}", text.escape_ascii());
        }
    }
}
