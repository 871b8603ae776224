//! Fields of data, one by one, to its text and wire form.

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::location::EarthPlace;
use super::{Rdata, RdataError, RdataField, RdataFieldKind, service_parameters};
use crate::name::Name;
use crate::record_type::RecordType;
use crate::token::{self, quote};

/// Longest text in a string behind its length.
const MAX_TEXT_BYTES: usize = 255;
/// Longest data (RFC 1035 section 3.2.1).
const MAX_WIRE_BYTES: usize = u16::MAX as usize;

/// Whether a field that is the last takes all words that are left.
pub(super) fn takes_rest(kind: RdataFieldKind) -> bool {
    use RdataFieldKind::{Base64, Hex, Location, ServiceParameters, Texts};
    matches!(kind, Texts | Hex | Base64 | ServiceParameters | Location)
}

/// Text and wire form, while fields are added.
#[derive(Default)]
pub(super) struct RdataParts {
    text: String,
    wire: Vec<u8>,
}

impl RdataParts {
    pub(super) fn finish(self, record_type: RecordType) -> Result<Rdata, RdataError> {
        if self.wire.len() > MAX_WIRE_BYTES {
            let message = format!("the record has {} bytes; at most {MAX_WIRE_BYTES} fit", self.wire.len());
            return Err(RdataError { field: "", message });
        }
        Ok(Rdata::of_parts(record_type, &self.text, &self.wire))
    }

    fn word(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(text);
    }

    fn quoted(&mut self, bytes: &[u8]) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        quote(bytes, &mut self.text);
    }

    pub(super) fn place(&mut self, place: EarthPlace) {
        self.word(&place.to_string());
        self.wire.extend(place.wire());
    }

    /// Strings behind their lengths; longer ones are split.
    pub(super) fn texts<'t>(&mut self, texts: impl Iterator<Item = &'t [u8]>) {
        for text in texts {
            let empty = text.is_empty().then_some(text);
            for part in empty.into_iter().chain(text.chunks(MAX_TEXT_BYTES)) {
                self.quoted(part);
                self.wire.push(u8::try_from(part.len()).unwrap_or(0));
                self.wire.extend_from_slice(part);
            }
        }
    }

    /// Adds a field that is one word of a zone file.
    pub(super) fn add(
        &mut self,
        field: &RdataField,
        word: &str,
        origin: Option<&Name>,
    ) -> Result<(), RdataError> {
        let refused = |message| RdataError { field: field.name, message };
        match field.kind {
            RdataFieldKind::Name => {
                let name = Name::parse(word, origin).map_err(refused)?;
                self.name(&name);
                Ok(())
            }
            RdataFieldKind::Text | RdataFieldKind::LongText => {
                self.bytes(field, &token::bytes_of(word).map_err(refused)?)
            }
            _ => self.add_value(field, word),
        }
    }

    /// Adds a field that is all words that are left.
    pub(super) fn add_rest(&mut self, field: &RdataField, rest: &str) -> Result<(), RdataError> {
        let refused = |message| RdataError { field: field.name, message };
        match field.kind {
            RdataFieldKind::Texts => {
                let tokens = token::tokens(rest).map_err(refused)?;
                if tokens.is_empty() {
                    return Err(refused("expected one or more strings in quotes".to_owned()));
                }
                let texts = tokens
                    .into_iter()
                    .map(token::bytes_of)
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(refused)?;
                self.texts(texts.iter().map(Vec::as_slice));
                Ok(())
            }
            RdataFieldKind::Location => {
                let place = EarthPlace::parse(rest);
                self.place(place.map_err(|(field, message)| RdataError { field, message })?);
                Ok(())
            }
            _ => self.add_value(field, rest),
        }
    }

    pub(super) fn name(&mut self, name: &Name) {
        let text = name.to_string();
        self.word(&if name.is_root() { text } else { format!("{text}.") });
        self.wire.extend_from_slice(name.wire());
    }

    pub(super) fn bytes(&mut self, field: &RdataField, bytes: &[u8]) -> Result<(), RdataError> {
        self.quoted(bytes);
        if field.kind == RdataFieldKind::Text {
            let length = u8::try_from(bytes.len()).map_err(|_| RdataError {
                field: field.name,
                message: format!(
                    "`{}` has at most {MAX_TEXT_BYTES} bytes, found {}",
                    field.name,
                    bytes.len()
                ),
            })?;
            self.wire.push(length);
        }
        self.wire.extend_from_slice(bytes);
        Ok(())
    }

    /// Adds a field by its value, without quotes and escapes.
    pub(super) fn add_value(&mut self, field: &RdataField, value: &str) -> Result<(), RdataError> {
        let name = field.name;
        let refused = |message: String| RdataError { field: name, message };
        let expected = |what: &str| refused(format!("expected {what} for `{name}`, found `{value:.80}`"));
        let joined = || value.split_ascii_whitespace().collect::<String>();
        match field.kind {
            RdataFieldKind::Byte => {
                let number: u8 = value.parse().map_err(|_| expected("a number from 0 to 255"))?;
                self.word(&number.to_string());
                self.wire.push(number);
            }
            RdataFieldKind::Short => {
                let number: u16 = value.parse().map_err(|_| expected("a number from 0 to 65535"))?;
                self.word(&number.to_string());
                self.wire.extend(number.to_be_bytes());
            }
            RdataFieldKind::Ipv4 => {
                let address: Ipv4Addr = value.parse().map_err(|_| expected("an IPv4 address"))?;
                self.word(&address.to_string());
                self.wire.extend(address.octets());
            }
            RdataFieldKind::Ipv6 => {
                let address: Ipv6Addr = value.parse().map_err(|_| expected("an IPv6 address"))?;
                self.word(&address.to_string());
                self.wire.extend(address.octets());
            }
            RdataFieldKind::Name => self.name(&Name::parse(value, None).map_err(refused)?),
            RdataFieldKind::Tag => {
                let is_tag =
                    (1..=15).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_alphanumeric());
                let length = u8::try_from(value.len()).ok().filter(|_| is_tag);
                self.wire.push(length.ok_or_else(|| expected("1 to 15 letters and digits"))?);
                self.wire.extend_from_slice(value.as_bytes());
                self.word(value);
            }
            RdataFieldKind::Text | RdataFieldKind::LongText => return self.bytes(field, value.as_bytes()),
            RdataFieldKind::Texts => self.texts([value.as_bytes()].into_iter()),
            RdataFieldKind::Hex => {
                let digits = joined();
                let bytes = hex(&digits).ok_or_else(|| expected("pairs of hex digits"))?;
                self.word(&digits);
                self.wire.extend(bytes);
            }
            RdataFieldKind::Base64 => {
                let bytes = STANDARD.decode(joined()).ok().filter(|bytes| !bytes.is_empty());
                let bytes = bytes.ok_or_else(|| expected("Base64"))?;
                self.word(&STANDARD.encode(&bytes));
                self.wire.extend(bytes);
            }
            RdataFieldKind::ServiceParameters => {
                let wire = service_parameters::wire(value).map_err(refused)?;
                if !value.trim().is_empty() {
                    self.word(value.trim());
                }
                self.wire.extend(wire);
            }
            RdataFieldKind::Location => {
                let place = EarthPlace::parse(value);
                self.place(place.map_err(|(field, message)| RdataError { field, message })?);
            }
        }
        Ok(())
    }
}

/// Pairs of hex digits; `None` if there are none or they are not whole.
fn hex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = digits.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> =
        pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect();
    bytes.filter(|bytes| !bytes.is_empty())
}
