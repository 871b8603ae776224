//! Bodies compressed as they come, and which content coding a client takes.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Content codings that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentEncoding {
    Zstd,
    Brotli,
    Gzip,
}

impl ContentEncoding {
    /// The best first.
    pub const ALL: [Self; 3] = [Self::Zstd, Self::Brotli, Self::Gzip];

    /// The word of `Content-Encoding`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// The coding to use, by a client's `Accept-Encoding` fields (RFC 9110 section 12.5.3): the first of those with the
    /// highest weight. `None` if the client takes none of them, or prefers `identity`.
    pub fn accepted<'f>(among: &[Self], fields: impl Iterator<Item = &'f [u8]>) -> Option<Self> {
        let mut weights: [Option<u16>; Self::ALL.len()] = [None; 3];
        let (mut of_others, mut identity) = (None, None);
        for item in fields.flat_map(|field| field.split(|byte| *byte == b',')) {
            let mut parts = item.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
            let name = parts.next().unwrap_or_default();
            let weight = parts.find_map(|part| part.strip_prefix(b"q=").or_else(|| part.strip_prefix(b"Q=")));
            let weight = weight.map_or(Some(1000), thousandths);
            let is = |word: &str| name.eq_ignore_ascii_case(word.as_bytes());
            match Self::ALL.iter().position(|one| is(one.word()) || (*one == Self::Gzip && is("x-gzip"))) {
                Some(nth) => {
                    if let Some(slot) = weights.get_mut(nth) {
                        *slot = weight;
                    }
                }
                None if name == b"*" => of_others = weight,
                None if is("identity") => identity = weight,
                None => {}
            }
        }
        let weight = |one: &Self| weights.get(*one as usize).copied().flatten().or(of_others).unwrap_or(0);
        let most = among.iter().map(weight).max().filter(|most| *most > 0)?;
        let is_wanted = identity.is_none_or(|identity| identity <= most);
        among.iter().find(|one| is_wanted && weight(one) == most).copied()
    }
}

/// A weight such as `0.5`; `None` if it is none.
fn thousandths(text: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    if rest.len() > 3 || !rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let weight = match whole {
        "0" => format!("{rest:0<3}").parse().ok()?,
        "1" => 1000,
        _ => return None,
    };
    Some(weight)
}

/// Compresses one body. Each call returns everything that was pushed so far, so that a client never waits for later pieces.
pub struct Encoder(Writer);

enum Writer {
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    /// Boxed, because it is much larger than the others.
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Gzip(GzEncoder<Vec<u8>>),
}

/// About as fast as gzip at 4, and smaller.
const ZSTD_LEVEL: i32 = 3;
const BROTLI_QUALITY: u32 = 4;
/// Of the window, as a power of two: 256 KB, which is what a body on its way may cost.
const BROTLI_WINDOW_BITS: u32 = 18;
const GZIP_LEVEL: u32 = 4;

impl Encoder {
    /// # Errors
    /// If there is no memory for it.
    pub fn new(encoding: ContentEncoding) -> io::Result<Self> {
        Ok(Self(match encoding {
            ContentEncoding::Zstd => Writer::Zstd(zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?),
            ContentEncoding::Brotli => {
                let writer =
                    brotli::CompressorWriter::new(Vec::new(), 4 << 10, BROTLI_QUALITY, BROTLI_WINDOW_BITS);
                Writer::Brotli(Box::new(writer))
            }
            ContentEncoding::Gzip => Writer::Gzip(GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL))),
        }))
    }

    /// Compresses a piece.
    ///
    /// # Errors
    /// If the encoder fails; the body is then lost.
    pub fn push(&mut self, piece: &[u8]) -> io::Result<Vec<u8>> {
        /// Has a writer give out everything that it has.
        fn feed(writer: &mut impl Write, piece: &[u8]) -> io::Result<()> {
            writer.write_all(piece)?;
            writer.flush()
        }
        let out = match &mut self.0 {
            Writer::Zstd(writer) => {
                feed(writer, piece)?;
                writer.get_mut()
            }
            Writer::Brotli(writer) => {
                feed(writer, piece)?;
                writer.get_mut()
            }
            Writer::Gzip(writer) => {
                feed(writer, piece)?;
                writer.get_mut()
            }
        };
        Ok(std::mem::take(out))
    }

    /// What ends the body.
    ///
    /// # Errors
    /// If the encoder fails.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        match self.0 {
            Writer::Zstd(writer) => writer.finish(),
            Writer::Brotli(writer) => Ok(writer.into_inner()),
            Writer::Gzip(writer) => writer.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decompress::{self, Coding, End, Limits};

    #[test]
    fn a_client_gets_the_first_coding_that_it_takes() {
        use ContentEncoding::{Brotli, Gzip, Zstd};
        let of =
            |field: &str| ContentEncoding::accepted(&ContentEncoding::ALL, std::iter::once(field.as_bytes()));
        for (field, expected) in [
            ("gzip, deflate, br, zstd", Some(Zstd)),
            ("gzip, deflate, br", Some(Brotli)),
            ("gzip", Some(Gzip)),
            ("X-GZIP", Some(Gzip)),
            ("*", Some(Zstd)),
            ("*;q=0.1, br;q=0.5", Some(Brotli)),
            ("zstd;q=0, *", Some(Brotli)),
            ("zstd;q=0.5, gzip;q=0.8", Some(Gzip)),
            ("gzip ; q=1.0", Some(Gzip)),
            ("gzip;Q=0.001", Some(Gzip)),
            ("gzip;q=0.5, identity", None),
            ("gzip;q=0.5, identity;q=0.5", Some(Gzip)),
            ("gzip;q=0", None),
            ("gzip;q=0.000", None),
            ("gzip;q=2", None),
            ("gzip;q=", None),
            ("gzip;q=0.5000", None),
            ("gzipped, deflate", None),
            ("identity", None),
            ("", None),
        ] {
            assert_eq!(of(field), expected, "{field}");
        }
        let fields = ["deflate", "gzip"].into_iter().map(str::as_bytes);
        assert_eq!(ContentEncoding::accepted(&[Brotli, Gzip], fields), Some(Gzip));
        assert_eq!(ContentEncoding::accepted(&[], std::iter::once(&b"*"[..])), None);
    }

    #[test]
    fn every_piece_comes_out_at_once_and_the_whole_is_what_went_in() {
        let limits = Limits { output_bytes: 1 << 24, ratio: 1 << 20 };
        let text: Vec<u8> =
            (0..300_000u32).flat_map(|nth| format!("{} ", nth * 7 % 1000).into_bytes()).collect();
        for (encoding, coding) in [
            (ContentEncoding::Zstd, Coding::Zstd),
            (ContentEncoding::Brotli, Coding::Brotli),
            (ContentEncoding::Gzip, Coding::Gzip),
        ] {
            for piece_bytes in [1, 1000, 65_536, text.len()] {
                let text = &text[..text.len().min(piece_bytes * 2000)];
                let mut encoder = Encoder::new(encoding).unwrap();
                let mut out = Vec::new();
                for (nth, piece) in text.chunks(piece_bytes).enumerate() {
                    out.extend(encoder.push(piece).unwrap());
                    if nth < 3 {
                        let so_far = &text[..((nth + 1) * piece_bytes).min(text.len())];
                        assert_eq!(decompress::decode(coding, &out, limits).bytes, so_far, "{encoding:?}");
                    }
                }
                out.extend(encoder.finish().unwrap());
                let decoded = decompress::decode(coding, &out, limits);
                assert_eq!((decoded.end, decoded.bytes.as_slice()), (End::Complete, text), "{encoding:?}");
                assert!(piece_bytes == 1 || out.len() < text.len() / 2, "{encoding:?}: {}", out.len());
            }
            let empty = Encoder::new(encoding).unwrap().finish().unwrap();
            assert_eq!(decompress::decode(coding, &empty, limits).bytes, b"", "{encoding:?}");
        }
    }
}
