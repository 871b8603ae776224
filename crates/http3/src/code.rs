//! Why a stream or a connection ends (RFC 9114 section 8.1, RFC 9204 section 6).

/// An error code of HTTP/3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http3Code {
    NoError,
    InternalError,
    StreamCreationError,
    ClosedCriticalStream,
    FrameUnexpected,
    FrameError,
    ExcessiveLoad,
    IdError,
    SettingsError,
    MissingSettings,
    RequestRejected,
    RequestIncomplete,
    QpackDecompressionFailed,
    QpackEncoderStreamError,
    QpackDecoderStreamError,
}

impl Http3Code {
    /// Its number on the wire.
    pub fn number(self) -> u32 {
        match self {
            Self::NoError => 0x100,
            Self::InternalError => 0x102,
            Self::StreamCreationError => 0x103,
            Self::ClosedCriticalStream => 0x104,
            Self::FrameUnexpected => 0x105,
            Self::FrameError => 0x106,
            Self::ExcessiveLoad => 0x107,
            Self::IdError => 0x108,
            Self::SettingsError => 0x109,
            Self::MissingSettings => 0x10a,
            Self::RequestRejected => 0x10b,
            Self::RequestIncomplete => 0x10d,
            Self::QpackDecompressionFailed => 0x200,
            Self::QpackEncoderStreamError => 0x201,
            Self::QpackDecoderStreamError => 0x202,
        }
    }
}
