//! Data as messages have it, to fields.

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::location::EarthPlace;
use super::parts::RdataParts;
use super::{Rdata, RdataField, RdataFieldKind, fields_of, service_parameters};
use crate::message_record::split_name;
use crate::name::Name;
use crate::record_type::RecordType;

impl Rdata {
    /// Reads data in wire form, in which names have no pointers, to its canonical form: what a text makes of it when it is
    /// read again. `None` if it is none of its type.
    pub fn of_wire(record_type: RecordType, wire: &[u8]) -> Option<Self> {
        let mut parts = RdataParts::default();
        let mut rest = wire;
        for field in fields_of(record_type) {
            rest = add(&mut parts, field, rest)?;
        }
        let received = rest.is_empty().then(|| parts.finish(record_type).ok()).flatten()?;
        Self::parse(record_type, received.text(), None).ok()
    }
}

/// Adds the field that the bytes begin with, and returns what follows it.
fn add<'w>(parts: &mut RdataParts, field: &RdataField, wire: &'w [u8]) -> Option<&'w [u8]> {
    let mut add_value = |value: &str| parts.add_value(field, value).ok();
    match field.kind {
        RdataFieldKind::Byte => {
            let (number, rest) = wire.split_first()?;
            add_value(&number.to_string()).map(|()| rest)
        }
        RdataFieldKind::Short => {
            let (number, rest) = wire.split_first_chunk::<2>()?;
            add_value(&u16::from_be_bytes(*number).to_string()).map(|()| rest)
        }
        RdataFieldKind::Ipv4 => {
            let (octets, rest) = wire.split_first_chunk::<4>()?;
            add_value(&Ipv4Addr::from(*octets).to_string()).map(|()| rest)
        }
        RdataFieldKind::Ipv6 => {
            let (octets, rest) = wire.split_first_chunk::<16>()?;
            add_value(&Ipv6Addr::from(*octets).to_string()).map(|()| rest)
        }
        RdataFieldKind::Name => {
            let (name, rest) = split_name(wire)?;
            parts.name(&Name::from_wire(name)?);
            Some(rest)
        }
        RdataFieldKind::Tag => {
            let (text, rest) = string(wire)?;
            add_value(std::str::from_utf8(text).ok()?).map(|()| rest)
        }
        RdataFieldKind::Text => {
            let (text, rest) = string(wire)?;
            parts.bytes(field, text).ok().map(|()| rest)
        }
        RdataFieldKind::Texts => {
            let mut rest = wire;
            // At least one.
            while !rest.is_empty() || wire.is_empty() {
                let (text, behind) = string(rest)?;
                parts.texts(std::iter::once(text));
                rest = behind;
            }
            Some(rest)
        }
        RdataFieldKind::LongText => parts.bytes(field, wire).ok().map(|()| &[][..]),
        RdataFieldKind::Hex => {
            let digits: String = wire.iter().map(|byte| format!("{byte:02X}")).collect();
            add_value(&digits).map(|()| &[][..])
        }
        RdataFieldKind::Base64 => add_value(&STANDARD.encode(wire)).map(|()| &[][..]),
        RdataFieldKind::ServiceParameters => add_value(&service_parameters::text(wire)?).map(|()| &[][..]),
        RdataFieldKind::Location => {
            let (wire, rest) = wire.split_first_chunk::<16>()?;
            parts.place(EarthPlace::of_wire(wire)?);
            Some(rest)
        }
    }
}

/// A string after its length, and what follows it.
fn string(wire: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = wire.split_first()?;
    rest.split_at_checked(usize::from(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_or_too_long_is_none_of_its_type() {
        let mut ran = 0;
        for (record_type, text) in [
            (RecordType::A, "192.0.2.1"),
            (RecordType::Aaaa, "2001:db8::1"),
            (RecordType::Cname, "www.example.com."),
            (RecordType::Srv, "1 2 3 www.example.com."),
            (RecordType::Loc, "52 14 5 N 0 8 50 E 10m"),
            (RecordType::Naptr, "1 2 \"u\" \"s\" \"r\" ."),
            (RecordType::Txt, "\"ab\""),
        ] {
            let sound = Rdata::parse(record_type, text, None).unwrap();
            for cut in 0..sound.wire().len() {
                assert!(Rdata::of_wire(record_type, &sound.wire()[..cut]).is_none(), "{text} cut at {cut}");
                ran += 1;
            }
            assert!(Rdata::of_wire(record_type, &[sound.wire(), b"\xFF"].concat()).is_none(), "{text}");
        }
        assert!(ran > 80, "{ran}");
        // A length of no centimetres, whatever its power of ten.
        let mut zero = Rdata::parse(RecordType::Loc, "1 N 1 E 0m 0m", None).unwrap().wire().to_vec();
        zero[1] = 7;
        assert_eq!(Rdata::of_wire(RecordType::Loc, &zero).unwrap().wire()[1], 0);
        // Versions and digits that there are not.
        let mut place =
            *Rdata::parse(RecordType::Loc, "1 N 1 E 0m", None).unwrap().wire().first_chunk::<16>().unwrap();
        for (at, value) in [(0, 1), (1, 0xFA), (4, 0)] {
            let before = std::mem::replace(&mut place[at], value);
            assert!(Rdata::of_wire(RecordType::Loc, &place).is_none(), "byte {at}");
            place[at] = before;
        }
        for parameters in
            [&b"\0\x01\0\x02"[..], b"\0\x03\0\x01\x01", b"\0\x01\0\x02\x05a", b"\0\x04\0\x03abc"]
        {
            let wire = [b"\0\x01\0", parameters].concat();
            assert!(Rdata::of_wire(RecordType::Https, &wire).is_none(), "{parameters:?}");
        }
    }
}
