//! Integers of variable length (RFC 9000 section 16), and the kinds of streams they name.

/// The integer that the bytes begin with, and its length in bytes; `None` if more bytes are needed.
pub(crate) fn decode(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    let length = 1 << (first >> 6);
    let rest = bytes.get(1..length)?;
    let value = rest.iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
    Some((value, length))
}

/// Writes an integer; of one past 62 bits the low ones.
pub(crate) fn encode(value: u64, to: &mut Vec<u8>) {
    let bytes = value.to_be_bytes();
    let (length, mark) = match value {
        0..=0x3f => (1, 0),
        0x40..=0x3fff => (2, 0x40),
        0x4000..=0x3fff_ffff => (4, 0x80),
        _ => (8, 0xc0),
    };
    let start = to.len();
    to.extend(bytes.iter().skip(bytes.len() - length));
    if let Some(first) = to.get_mut(start) {
        *first = *first & 0x3f | mark;
    }
}

/// What a stream of one direction carries (RFC 9114 section 6.2, RFC 9204 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    Control,
    Push,
    QpackEncoder,
    QpackDecoder,
    /// To be refused, and no error (RFC 9114 section 6.2.3).
    Unknown,
}

impl StreamKind {
    /// The kind that a stream begins with, and the length of what says it in bytes; `None` if more bytes are needed.
    pub fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let (number, length) = decode(bytes)?;
        let kind = match number {
            0x00 => Self::Control,
            0x01 => Self::Push,
            0x02 => Self::QpackEncoder,
            0x03 => Self::QpackDecoder,
            _ => Self::Unknown,
        };
        Some((kind, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000 appendix A.1.
    #[test]
    fn the_examples_of_the_rfc() {
        for (bytes, value) in [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ] {
            assert_eq!(decode(bytes), Some((value, bytes.len())));
            for short in 0..bytes.len() {
                assert_eq!(decode(&bytes[..short]), None);
            }
            let mut written = Vec::new();
            encode(value, &mut written);
            assert_eq!(written, bytes);
        }
        assert_eq!(decode(&[0x40, 0x25]), Some((37, 2)));
    }
}
