//! What a client may say about tables that have no capacity (RFC 9204 section 4.2): next to nothing.

use crate::code::Http3Code;

/// Judges a client's encoder stream.
#[derive(Debug, Default)]
pub struct EncoderStreamReader;

impl EncoderStreamReader {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// If they are more than "the capacity is 0": an entry, or a capacity that was not offered.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), Http3Code> {
        const CAPACITY_0: u8 = 0x20;
        let is_sound = bytes.iter().all(|byte| *byte == CAPACITY_0);
        if is_sound { Ok(()) } else { Err(Http3Code::QpackEncoderStreamError) }
    }
}

/// Judges a client's decoder stream.
#[derive(Debug, Default)]
pub struct DecoderStreamReader {
    is_within_id: bool,
}

impl DecoderStreamReader {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// If the client confirms what was never sent. That a stream was cancelled it may say.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), Http3Code> {
        for byte in bytes {
            match (self.is_within_id, byte >> 6) {
                (true, _) => self.is_within_id = byte & 0x80 != 0,
                (false, 0b01) => self.is_within_id = byte & 0x3f == 0x3f,
                (false, _) => return Err(Http3Code::QpackDecoderStreamError),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_stay_empty() {
        for (bytes, is_sound) in [(&[0x20, 0x20][..], true), (&[0x21], false), (&[0xc0, 0x00], false)] {
            assert_eq!(EncoderStreamReader.take(bytes).is_ok(), is_sound, "{bytes:x?}");
        }
        // Streams 4 and 1337 are cancelled; a section is acknowledged; an entry is confirmed.
        for (bytes, is_sound) in [
            (&[0x44, 0x7f, 0xba, 0x09, 0x44][..], true),
            (&[0x44, 0x84], false),
            (&[0x7f, 0xba, 0x09, 0x01], false),
        ] {
            let mut reader = DecoderStreamReader::default();
            let judged = bytes.iter().try_for_each(|byte| reader.take(&[*byte]));
            assert_eq!(judged.is_ok(), is_sound, "{bytes:x?}");
        }
    }
}
