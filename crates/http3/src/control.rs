//! Control streams (RFC 9114 section 6.2.1): ours as it is written, a client's as it is judged.

use bytes::{Bytes, BytesMut};

use crate::code::Http3Code;
use crate::frame::{self, FrameHead, FramePart, FrameReader};
use crate::varint;

/// `SETTINGS_MAX_FIELD_SECTION_SIZE`
const MAX_FIELD_SECTION_SIZE: u64 = 0x06;
/// The most bytes of settings that are held; a client has about ten.
const MAX_SETTINGS_BYTES: u64 = 4 << 10;
/// The longest payload of one integer.
const MAX_INTEGER_BYTES: u64 = 8;

/// What our control stream begins with: its kind, and the largest field section that is taken, in bytes as RFC 9114
/// section 4.2.2 counts them. The table of QPACK has its default capacity: none.
pub fn open_control(max_field_section_bytes: usize) -> Vec<u8> {
    let mut settings = Vec::new();
    varint::encode(MAX_FIELD_SECTION_SIZE, &mut settings);
    varint::encode(max_field_section_bytes as u64, &mut settings);
    let mut stream = vec![0x00];
    frame::write_head(frame::SETTINGS, settings.len(), &mut stream);
    stream.extend(settings);
    stream
}

/// The frame that says that requests of streams from this id on are not answered (RFC 9114 section 5.2).
pub fn goaway(stream_id: u64) -> Vec<u8> {
    let mut payload = Vec::new();
    varint::encode(stream_id, &mut payload);
    let mut written = Vec::new();
    frame::write_head(frame::GOAWAY, payload.len(), &mut written);
    written.extend(payload);
    written
}

/// Judges a client's control stream. Nothing it can say changes what is sent to it: there are no pushes, and no table.
#[derive(Debug, Default)]
pub struct ControlReader {
    frames: FrameReader,
    /// What is held of the current frame, if it is looked at.
    held: Option<(u64, BytesMut)>,
    has_settings: bool,
    max_push_id: Option<u64>,
}

impl ControlReader {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// Why the connection ends: the first frame is not SETTINGS, SETTINGS come twice or are wrong, or a frame is here that
    /// must not be, or is malformed.
    pub fn take(&mut self, mut bytes: Bytes) -> Result<(), Http3Code> {
        while let Some(part) = self.frames.next(&mut bytes) {
            match part {
                FramePart::Head(head) => self.begin(head)?,
                FramePart::Payload(piece) => {
                    if let Some((_, held)) = &mut self.held {
                        held.extend_from_slice(&piece);
                    }
                }
            }
            if self.frames.left() == 0
                && let Some((kind, payload)) = self.held.take()
            {
                self.judge(kind, &payload)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, FrameHead { kind, length }: FrameHead) -> Result<(), Http3Code> {
        if !self.has_settings && kind != frame::SETTINGS {
            return Err(Http3Code::MissingSettings);
        }
        let most = match kind {
            frame::SETTINGS if self.has_settings => return Err(Http3Code::FrameUnexpected),
            frame::DATA | frame::HEADERS | frame::PUSH_PROMISE => return Err(Http3Code::FrameUnexpected),
            kind if frame::is_of_http2(kind) => return Err(Http3Code::FrameUnexpected),
            frame::SETTINGS => MAX_SETTINGS_BYTES,
            frame::GOAWAY | frame::MAX_PUSH_ID | frame::CANCEL_PUSH => MAX_INTEGER_BYTES,
            _ => return Ok(()),
        };
        self.has_settings = true;
        if length > most {
            let is_of_settings = kind == frame::SETTINGS;
            return Err(if is_of_settings { Http3Code::ExcessiveLoad } else { Http3Code::FrameError });
        }
        self.held = Some((kind, BytesMut::new()));
        Ok(())
    }

    fn judge(&mut self, kind: u64, payload: &[u8]) -> Result<(), Http3Code> {
        if kind == frame::SETTINGS {
            return judge_settings(payload);
        }
        let id = match varint::decode(payload) {
            Some((id, used)) if used == payload.len() => id,
            _ => return Err(Http3Code::FrameError),
        };
        match kind {
            // Nothing was promised that could be cancelled.
            frame::CANCEL_PUSH => Err(Http3Code::IdError),
            frame::MAX_PUSH_ID => {
                let fell = self.max_push_id.is_some_and(|before| id < before);
                self.max_push_id = Some(id);
                if fell { Err(Http3Code::IdError) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }
}

fn judge_settings(mut payload: &[u8]) -> Result<(), Http3Code> {
    let mut seen = Vec::new();
    while !payload.is_empty() {
        let (id, used) = varint::decode(payload).ok_or(Http3Code::FrameError)?;
        payload = payload.get(used..).unwrap_or(&[]);
        let (_, used) = varint::decode(payload).ok_or(Http3Code::FrameError)?;
        payload = payload.get(used..).unwrap_or(&[]);
        // Of HTTP/2 (RFC 9114 section 7.2.4.1).
        if matches!(id, 0x02..=0x05) {
            return Err(Http3Code::SettingsError);
        }
        seen.push(id);
    }
    seen.sort_unstable();
    let are_repeated = seen.windows(2).any(|pair| pair.first() == pair.last());
    if are_repeated { Err(Http3Code::SettingsError) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame.
    fn framed(kind: u64, payload: &[u8]) -> Vec<u8> {
        let mut written = Vec::new();
        frame::write_head(kind, payload.len(), &mut written);
        written.extend(payload);
        written
    }

    #[test]
    fn a_control_stream_is_judged_however_it_is_cut() {
        let settings = framed(frame::SETTINGS, &[0x06, 0x40, 0x64, 0x21, 0x00]);
        let after = |kind, payload: &[u8]| [settings.clone(), framed(kind, payload)].concat();
        let long = vec![0; 5_000];
        let cases: &[(&str, Vec<u8>, Result<(), Http3Code>)] = &[
            ("settings", settings.clone(), Ok(())),
            ("none of them", framed(frame::SETTINGS, &[]), Ok(())),
            ("something before them", framed(frame::GOAWAY, &[0]), Err(Http3Code::MissingSettings)),
            ("an unknown frame before them", framed(0x21, &[0]), Err(Http3Code::MissingSettings)),
            (
                "settings twice",
                [settings.clone(), settings.clone()].concat(),
                Err(Http3Code::FrameUnexpected),
            ),
            ("a setting twice", framed(frame::SETTINGS, &[1, 0, 1, 0]), Err(Http3Code::SettingsError)),
            ("a setting of HTTP/2", framed(frame::SETTINGS, &[3, 0]), Err(Http3Code::SettingsError)),
            ("half a setting", framed(frame::SETTINGS, &[6]), Err(Http3Code::FrameError)),
            ("many settings", framed(frame::SETTINGS, &long), Err(Http3Code::ExcessiveLoad)),
            ("a body", after(frame::DATA, b"x"), Err(Http3Code::FrameUnexpected)),
            ("a head", after(frame::HEADERS, b"x"), Err(Http3Code::FrameUnexpected)),
            ("a promise", after(frame::PUSH_PROMISE, b"x"), Err(Http3Code::FrameUnexpected)),
            ("a frame of HTTP/2", after(0x08, b"x"), Err(Http3Code::FrameUnexpected)),
            ("an unknown frame", after(0x21, &long), Ok(())),
            ("goaway", after(frame::GOAWAY, &[4]), Ok(())),
            ("goaway with more", after(frame::GOAWAY, &[4, 4]), Err(Http3Code::FrameError)),
            ("goaway without an id", after(frame::GOAWAY, &[]), Err(Http3Code::FrameError)),
            ("a long goaway", after(frame::GOAWAY, &long), Err(Http3Code::FrameError)),
            ("a cancelled push", after(frame::CANCEL_PUSH, &[0]), Err(Http3Code::IdError)),
            ("pushes allowed", after(frame::MAX_PUSH_ID, &[9]), Ok(())),
            (
                "fewer pushes allowed",
                [after(frame::MAX_PUSH_ID, &[9]), framed(frame::MAX_PUSH_ID, &[8])].concat(),
                Err(Http3Code::IdError),
            ),
        ];
        for (name, stream, expected) in cases {
            for size in [1, 3, stream.len()] {
                let mut reader = ControlReader::default();
                let judged =
                    stream.chunks(size).try_for_each(|chunk| reader.take(Bytes::copy_from_slice(chunk)));
                assert_eq!(judged, *expected, "{name}, in pieces of {size}");
            }
        }
    }

    #[test]
    fn what_is_written_is_a_sound_control_stream() {
        let stream = [open_control(65_536), goaway(400)].concat();
        assert_eq!(stream.first(), Some(&0));
        assert_eq!(ControlReader::default().take(Bytes::copy_from_slice(&stream[1..])), Ok(()));
    }
}
