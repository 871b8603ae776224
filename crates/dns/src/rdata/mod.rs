//! Data of records: read from zone files or fields, kept as text and wire form.

mod fields;
mod from_wire;
mod location;
mod parts;
mod service_parameters;

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

pub use fields::{RdataField, RdataFieldKind, fields_of, is_structured};
use location::EarthPlace;
use parts::RdataParts;

use crate::name::Name;
use crate::record_type::RecordType;
use crate::token;

/// The data of a record.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredRdata", into = "StoredRdata")]
pub struct Rdata {
    record_type: RecordType,
    text_bytes: u32,
    /// The text, then the wire form. As zones have millions of records, both are in one piece.
    bytes: Box<[u8]>,
}

/// As changesets have it.
#[derive(Serialize, Deserialize)]
struct StoredRdata {
    r#type: RecordType,
    rdata: Box<str>,
}

impl TryFrom<StoredRdata> for Rdata {
    type Error = RdataError;

    fn try_from(stored: StoredRdata) -> Result<Self, RdataError> {
        Self::parse(stored.r#type, &stored.rdata, None)
    }
}

impl From<Rdata> for StoredRdata {
    fn from(rdata: Rdata) -> Self {
        Self { r#type: rdata.record_type, rdata: rdata.text().into() }
    }
}

/// Why data is none of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RdataError {
    /// The field; empty if it is about all of it.
    pub field: &'static str,
    /// What was expected, and what was found.
    pub message: String,
}

impl fmt::Display for RdataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RdataError {}

/// The value of a field, as the API shows it.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    Number(f64),
    Text(String),
}

impl Rdata {
    /// Reads data as zone files write it. Names without a final dot are below `origin`, or absolute without one.
    ///
    /// # Errors
    /// [`RdataError`]: the first field that is not of its kind.
    pub fn parse(record_type: RecordType, text: &str, origin: Option<&Name>) -> Result<Self, RdataError> {
        let whole = |message: String| RdataError { field: "", message };
        let known = fields_of(record_type);
        let mut parts = RdataParts::default();
        let mut rest = text.trim();
        for (nth, field) in known.iter().enumerate() {
            let takes_rest = nth + 1 == known.len() && parts::takes_rest(field.kind);
            if takes_rest {
                parts.add_rest(field, rest)?;
                return parts.finish(record_type);
            }
            if rest.is_empty() {
                let names: Vec<&str> = known.iter().map(|field| field.name).collect();
                let message = format!("expected {} for a record of the type {record_type}", names.join(", "));
                return Err(RdataError { field: field.name, message });
            }
            let (word, behind) = token::token(rest).map_err(whole)?;
            parts.add(field, word, origin)?;
            rest = behind.trim_start();
        }
        if !rest.is_empty() {
            return Err(whole(format!("expected the end of the {record_type} record, found `{rest:.60}`")));
        }
        parts.finish(record_type)
    }

    /// Makes data of fields, as the API has them: texts without quotes and escapes.
    ///
    /// # Errors
    /// One for each field that is missing or not of its kind.
    pub fn of_fields(
        record_type: RecordType,
        get: impl Fn(&'static str) -> Option<String>,
    ) -> Result<Self, Vec<RdataError>> {
        let mut parts = RdataParts::default();
        let mut errors = Vec::new();
        for field in fields_of(record_type) {
            if field.kind == RdataFieldKind::Location {
                let values = location::FIELDS.map(&get);
                let place = EarthPlace::of_fields(&values.each_ref().map(Option::as_deref));
                match place {
                    Ok(place) => parts.place(place),
                    Err((field, message)) => errors.push(RdataError { field, message }),
                }
                continue;
            }
            let default = match field.kind {
                // Clients leave numbers out that are 0.
                RdataFieldKind::Byte | RdataFieldKind::Short => Some("0"),
                RdataFieldKind::Text | RdataFieldKind::ServiceParameters => Some(""),
                _ => None,
            };
            let Some(value) = get(field.name).or_else(|| default.map(str::to_owned)) else {
                let message = format!("{} is a required data field.", field.name);
                errors.push(RdataError { field: field.name, message });
                continue;
            };
            if let Err(error) = parts.add_value(field, &value) {
                errors.push(error);
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        parts.finish(record_type).map_err(|error| vec![error])
    }

    /// Makes a TXT record of a text without quotes: strings of up to 255 bytes.
    ///
    /// # Errors
    /// If it is too long.
    pub fn of_text(text: &str) -> Result<Self, RdataError> {
        let mut parts = RdataParts::default();
        parts.texts([text.as_bytes()].into_iter());
        parts.finish(RecordType::Txt)
    }

    fn of_parts(record_type: RecordType, text: &str, wire: &[u8]) -> Self {
        // INVARIANT: data has at most 64 KB in wire form, and its text a few times that.
        let text_bytes = u32::try_from(text.len()).unwrap_or(0);
        Self { record_type, text_bytes, bytes: [text.as_bytes(), wire].concat().into() }
    }

    pub fn of_address(address: IpAddr) -> Self {
        let (record_type, wire) = match address {
            IpAddr::V4(address) => (RecordType::A, address.octets().to_vec()),
            IpAddr::V6(address) => (RecordType::Aaaa, address.octets().to_vec()),
        };
        Self::of_parts(record_type, &address.to_string(), &wire)
    }

    pub fn record_type(&self) -> RecordType {
        self.record_type
    }

    pub fn wire(&self) -> &[u8] {
        self.bytes.get(self.text_bytes as usize..).unwrap_or_default()
    }

    /// As zone files write it.
    pub fn text(&self) -> &str {
        // INVARIANT: they were a text.
        let text = self.bytes.get(..self.text_bytes as usize).unwrap_or_default();
        std::str::from_utf8(text).unwrap_or_default()
    }

    /// The address of an A or AAAA record.
    pub fn address(&self) -> Option<IpAddr> {
        match self.record_type {
            RecordType::A => <[u8; 4]>::try_from(self.wire()).ok().map(IpAddr::from),
            RecordType::Aaaa => <[u8; 16]>::try_from(self.wire()).ok().map(IpAddr::from),
            _ => None,
        }
    }

    /// The name that it leads to, if its type has one.
    pub fn target(&self) -> Option<Name> {
        let before: usize = match self.record_type {
            RecordType::Cname | RecordType::Ns | RecordType::Ptr => 0,
            RecordType::Mx => 2,
            RecordType::Srv => 6,
            _ => return None,
        };
        Name::from_wire(self.wire().get(before..)?)
    }

    /// The strings of a TXT record, one behind the other.
    pub fn joined_text(&self) -> Cow<'_, str> {
        let mut all = Vec::new();
        let mut rest = self.wire();
        while let Some((text, behind)) =
            rest.split_first().and_then(|(&length, rest)| rest.split_at_checked(usize::from(length)))
        {
            all.extend_from_slice(text);
            rest = behind;
        }
        String::from_utf8_lossy(&all).into_owned().into()
    }

    /// Its first number, if the API shows that as `priority`.
    pub fn priority(&self) -> Option<u16> {
        let bytes = self.wire().first_chunk::<2>().filter(|_| self.record_type.has_priority())?;
        Some(u16::from_be_bytes(*bytes))
    }

    /// As the API shows it: without the priority, and names without their final dot. Those of SVCB and HTTPS records keep
    /// it, because clients read their content as zone files have it.
    pub fn content(&self) -> String {
        if self.record_type == RecordType::Txt {
            return self.text().to_owned();
        }
        let skipped = usize::from(self.record_type.has_priority());
        let keeps_dots = matches!(self.record_type, RecordType::Https | RecordType::Svcb);
        let mut content = String::new();
        for (nth, (field, text)) in self.parts().into_iter().enumerate().skip(skipped) {
            if nth > skipped && !text.is_empty() {
                content.push(' ');
            }
            content.push_str(match field.kind {
                RdataFieldKind::Name if !keeps_dots => {
                    text.strip_suffix('.').filter(|name| !name.is_empty()).unwrap_or(text)
                }
                _ => text,
            });
        }
        content
    }

    /// Its fields as the API shows them, for types whose data is structured.
    pub fn fields(&self) -> Vec<(&'static str, FieldValue)> {
        if self.record_type == RecordType::Loc {
            let place = EarthPlace::parse(self.text()).map(EarthPlace::fields).unwrap_or_default();
            return location::FIELDS
                .into_iter()
                .zip(place)
                .map(|(name, text)| (name, text.parse().map_or(FieldValue::Text(text), FieldValue::Number)))
                .collect();
        }
        let value = |(field, text): (&RdataField, &str)| {
            let value = match field.kind {
                RdataFieldKind::Byte | RdataFieldKind::Short => {
                    FieldValue::Number(text.parse().unwrap_or_default())
                }
                RdataFieldKind::Name => {
                    let name = text.strip_suffix('.').filter(|name| !name.is_empty());
                    FieldValue::Text(name.unwrap_or(text).to_owned())
                }
                RdataFieldKind::Text | RdataFieldKind::LongText => {
                    let bytes = token::token(text).ok().and_then(|(word, _)| token::bytes_of(word).ok());
                    FieldValue::Text(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
                }
                _ => FieldValue::Text(text.to_owned()),
            };
            (field.name, value)
        };
        self.parts().into_iter().map(value).collect()
    }

    /// Its fields with their texts.
    fn parts(&self) -> Vec<(&'static RdataField, &str)> {
        let known = fields_of(self.record_type);
        let mut rest = self.text();
        let mut parts = Vec::with_capacity(known.len());
        for (nth, field) in known.iter().enumerate() {
            let behind =
                if nth + 1 == known.len() { "" } else { token::token(rest).map_or("", |(_, behind)| behind) };
            let text = rest.get(..rest.len() - behind.len()).unwrap_or("");
            parts.push((field, text));
            rest = behind.trim_start();
        }
        parts
    }
}

impl fmt::Debug for Rdata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.record_type, self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each type: as a zone file writes it, as the API shows it.
    const EXAMPLES: &[(&str, &str, &str)] = &[
        ("A", "192.0.2.1", "192.0.2.1"),
        ("AAAA", "2001:DB8:0::1", "2001:db8::1"),
        ("CAA", "0 issue \"ca.example; policy=ev\"", "0 issue \"ca.example; policy=ev\""),
        ("CERT", "1 2 3 AQID BA==", "1 2 3 AQIDBA=="),
        ("CNAME", "Target.Example.", "target.example"),
        ("DNSKEY", "257 3 13 AQIDBA==", "257 3 13 AQIDBA=="),
        ("DS", "1 13 2 abCD 01", "1 13 2 abCD01"),
        ("HTTPS", "1 . alpn=\"h3,h2\"", "1 . alpn=\"h3,h2\""),
        ("LOC", "31 58 52.1 S 115 49 11.7 E 20m 10m 10m 2m", "31 58 52.1 S 115 49 11.7 E 20m 10m 10m 2m"),
        ("MX", "10 mail.example.", "mail.example"),
        (
            "NAPTR",
            "30 100 \"S\" \"SIP+D2T\" \"\" _sip._tcp.example.",
            "30 100 \"S\" \"SIP+D2T\" \"\" _sip._tcp.example",
        ),
        ("NS", "ns1.example.", "ns1.example"),
        ("OPENPGPKEY", "AQIDBA==", "AQIDBA=="),
        ("PTR", "host.example.", "host.example"),
        ("SMIMEA", "3 1 1 aabb", "3 1 1 aabb"),
        ("SRV", "1 2 443 sip.example.", "2 443 sip.example"),
        ("SSHFP", "1 1 aabb", "1 1 aabb"),
        ("SVCB", "0 alias.example.", "0 alias.example."),
        ("TLSA", "3 1 1 aabb", "3 1 1 aabb"),
        ("TXT", "\"a b\" c", "\"a b\" \"c\""),
        ("URI", "1 2 \"https://example.com/\"", "2 \"https://example.com/\""),
    ];

    #[test]
    fn every_type_is_read_shown_and_read_again() {
        assert_eq!(EXAMPLES.len(), RecordType::ALL.len());
        for (word, text, content) in EXAMPLES {
            let record_type = RecordType::parse(word).unwrap();
            let rdata =
                Rdata::parse(record_type, text, None).unwrap_or_else(|error| panic!("{word}: {error}"));
            assert_eq!(rdata.content(), *content, "{word}");
            assert_eq!(Rdata::parse(record_type, rdata.text(), None).unwrap(), rdata, "{word}");
            let received = Rdata::of_wire(record_type, rdata.wire()).unwrap_or_else(|| panic!("{word}"));
            assert_eq!(received.wire(), rdata.wire(), "{word}");
            assert_eq!(Rdata::parse(record_type, received.text(), None).unwrap(), received, "{word}");
            if is_structured(record_type) {
                let fields = rdata.fields();
                let get = |name: &'static str| {
                    let (_, value) = fields.iter().find(|(known, _)| *known == name)?;
                    Some(match value {
                        FieldValue::Number(number) => number.to_string(),
                        FieldValue::Text(text) => text.clone(),
                    })
                };
                assert_eq!(Rdata::of_fields(record_type, get).unwrap(), rdata, "{word}");
            }
        }
    }

    #[test]
    fn what_is_not_of_its_kind_is_refused_by_its_field() {
        for (word, text, field) in [
            ("A", "192.0.2", "content"),
            ("A", "192.0.2.01", "content"),
            ("A", "192.0.2.1 2", ""),
            ("AAAA", "192.0.2.1", "content"),
            ("MX", "mail.example.", "priority"),
            ("MX", "10", "content"),
            ("MX", "65536 a.", "priority"),
            ("CAA", "256 issue \"a\"", "flags"),
            ("CAA", "0 is-sue \"a\"", "tag"),
            ("DS", "1 13 2 abc", "digest"),
            ("DS", "1 13 2", "digest"),
            ("CERT", "1 2 3 ===", "certificate"),
            ("TXT", "\"a", "content"),
            ("TXT", "", "content"),
            ("HTTPS", "1 . port=x", "value"),
            ("LOC", "91 N 1 E 0m", "lat_degrees"),
            ("CNAME", "a..b", "content"),
        ] {
            let refused = Rdata::parse(RecordType::parse(word).unwrap(), text, None).unwrap_err();
            assert_eq!(refused.field, field, "{word} {text}: {refused}");
        }
        let missing = Rdata::of_fields(RecordType::Caa, |_| None).unwrap_err();
        assert_eq!(missing.iter().map(|error| error.field).collect::<Vec<_>>(), ["tag", "value"]);
    }

    #[test]
    fn texts_are_split_at_255_bytes_and_stay_so() {
        let rdata = Rdata::of_text(&"x".repeat(600)).unwrap();
        assert_eq!(rdata.wire().len(), 603);
        assert_eq!(Rdata::parse(RecordType::Txt, rdata.text(), None).unwrap(), rdata);
        assert_eq!(rdata.joined_text().len(), 600);
        assert_eq!(Rdata::of_text("").unwrap().text(), "\"\"");
        assert!(Rdata::of_text(&"x".repeat(66_000)).is_err());
    }

    #[test]
    fn names_are_below_the_origin_unless_they_end_with_a_dot() {
        let origin = Name::parse("example.com", None).unwrap();
        let target =
            |text: &str| Rdata::parse(RecordType::Srv, text, Some(&origin)).unwrap().target().unwrap();
        assert_eq!(target("0 0 1 sip").to_string(), "sip.example.com");
        assert_eq!(target("0 0 1 sip.example.org.").to_string(), "sip.example.org");
        assert_eq!(target("0 0 0 .").to_string(), ".");
    }
}
