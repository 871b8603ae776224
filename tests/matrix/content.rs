//! What is sent: bodies that rules pass and refuse, of every length that was ever a border.

use super::support::gzip;

/// The most that the edges of the matrix hold of a body.
pub const LIMIT: usize = 1_100_000;

/// Lengths of bodies, in bytes.
pub const LENGTHS: &[usize] =
    &[0, 1, 3_000, 5_000, 16_384, 16_385, 65_535, 65_536, 65_537, 1_000_000, LIMIT, LIMIT + 1];

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Text,
    Form,
    FormAttack,
    Json,
    JsonAttack,
    File,
    FileAttack,
    /// Forms that are coded as gzip.
    CodedForm,
    CodedAttack,
    /// A chat, and one with a card number in it.
    Chat,
    Card,
    CodedChat,
    CodedCard,
}

pub const OF_ZONES: &[Kind] = &[
    Kind::Text,
    Kind::Form,
    Kind::FormAttack,
    Kind::Json,
    Kind::JsonAttack,
    Kind::File,
    Kind::FileAttack,
    Kind::CodedForm,
    Kind::CodedAttack,
];
pub const OF_GATEWAYS: &[Kind] = &[Kind::Chat, Kind::Card, Kind::CodedChat, Kind::CodedCard];

const ATTACK: &str = "1' UNION SELECT password FROM users--";

impl Kind {
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain",
            Self::Form | Self::FormAttack | Self::CodedForm | Self::CodedAttack => {
                "application/x-www-form-urlencoded"
            }
            Self::Json | Self::JsonAttack | Self::Chat | Self::Card | Self::CodedChat | Self::CodedCard => {
                "application/json"
            }
            Self::File | Self::FileAttack => "multipart/form-data; boundary=B",
        }
    }

    /// The kind of the decoded body; `None` if this kind is not coded.
    fn decoded(self) -> Option<Self> {
        match self {
            Self::CodedForm => Some(Self::Form),
            Self::CodedAttack => Some(Self::FormAttack),
            Self::CodedChat => Some(Self::Chat),
            Self::CodedCard => Some(Self::Card),
            _ => None,
        }
    }

    pub fn is_coded(self) -> bool {
        self.decoded().is_some()
    }

    /// Whether it has what rules or scans refuse.
    pub fn is_bad(self) -> bool {
        matches!(
            self.decoded().unwrap_or(self),
            Self::FormAttack | Self::JsonAttack | Self::FileAttack | Self::Card
        )
    }

    /// A body of as many bytes before it is coded; `None` where it cannot be as short, or expands too far.
    pub fn body(self, length: usize) -> Option<Vec<u8>> {
        if let Some(decoded) = self.decoded() {
            // Past that it is a question of limits, not of framing.
            return decoded.body(length).filter(|_| length < LIMIT).map(gzip);
        }
        let card = ["4111", "1111", "1111", "1111"].join("");
        let (before, after) = match self {
            Self::Text => (String::new(), String::new()),
            Self::Form => ("a=".into(), "&b=plain".into()),
            // At the end: whoever judges the beginning alone does not see it.
            Self::FormAttack => ("a=".into(), format!("&b={}", ATTACK.replace(' ', "%20"))),
            Self::Json => (r#"{"a":""#.into(), r#"","b":"plain"}"#.into()),
            Self::JsonAttack => (r#"{"a":""#.into(), format!(r#"","b":"{ATTACK}"}}"#)),
            Self::File | Self::FileAttack => {
                let value = if self == Self::File { "plain" } else { ATTACK };
                let file = "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f.txt\"\r\nContent-Type: text/plain\r\n\r\n";
                let field = format!(
                    "\r\n--B\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n{value}\r\n--B--\r\n"
                );
                (file.into(), field)
            }
            Self::Chat => (
                r#"{"model":"gpt-4o","max_tokens":5,"messages":[{"role":"user","content":""#.into(),
                r#""}]}"#.into(),
            ),
            Self::Card => (
                r#"{"model":"gpt-4o","max_tokens":5,"messages":[{"role":"user","content":""#.into(),
                format!(r#" my card is {card}"}}]}}"#),
            ),
            Self::CodedForm | Self::CodedAttack | Self::CodedChat | Self::CodedCard => return None,
        };
        let filler = length.checked_sub(before.len() + after.len())?;
        let letters = b"abcdefghij".repeat(filler.div_ceil(10));
        Some([before.as_bytes(), &letters[..filler], after.as_bytes()].concat())
    }
}
