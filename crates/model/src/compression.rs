//! How responses are compressed, in the fields of the management API.

use serde::{Deserialize, Serialize};

use super::word::serde_by_word;

/// What a `compress_response` rule does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompressionParameters {
    /// The codings that may be used, the best first.
    pub algorithms: Vec<CompressionAlgorithm>,
}

/// One entry of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompressionAlgorithm {
    pub name: CompressionName,
}

/// A coding, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompressionName {
    Zstd,
    Brotli,
    Gzip,
    /// All of these, in this order.
    Auto,
    /// The same.
    Default,
    /// Not at all.
    None,
}

serde_by_word!(CompressionName, "algorithm");

impl CompressionName {
    pub const ALL: [Self; 6] = [Self::Zstd, Self::Brotli, Self::Gzip, Self::Auto, Self::Default, Self::None];

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Brotli => "brotli",
            Self::Gzip => "gzip",
            Self::Auto => "auto",
            Self::Default => "default",
            Self::None => "none",
        }
    }
}
