//! Field sections to fields (RFC 9204 section 4.5).

use super::{huffman, integer, static_table};

/// What a field costs beside its bytes (RFC 9114 section 4.2.2).
const FIELD_BYTES: usize = 32;

/// Why a section cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// It is not sound, or refers to a table that is empty.
    Unsound,
    /// Its fields are more than is allowed.
    TooLong,
}

/// Calls `field` with the name and value of each field, in their order.
///
/// # Errors
/// If the section is not sound, or if its fields pass `max_bytes`, counted as RFC 9114 section 4.2.2 does; what came before
/// has been given by then.
pub(crate) fn decode(
    mut section: &[u8],
    max_bytes: usize,
    mut field: impl FnMut(&[u8], &[u8]),
) -> Result<(), DecodeError> {
    let rest = &mut section;
    let insert_count = integer::take(8, rest).ok_or(DecodeError::Unsound)?;
    integer::take(7, rest).ok_or(DecodeError::Unsound)?;
    if insert_count != 0 {
        return Err(DecodeError::Unsound);
    }
    let mut left = max_bytes;
    let (mut name, mut value) = (Vec::new(), Vec::new());
    while let Some(first) = rest.first().copied() {
        name.clear();
        value.clear();
        // INVARIANT: only the forms that name the static table, or none, are known.
        if first & 0b1100_0000 == 0b1100_0000 {
            let index = integer::take(6, rest).ok_or(DecodeError::Unsound)?;
            let (known, its_value) = static_table::get(index).ok_or(DecodeError::Unsound)?;
            name.extend(known.as_bytes());
            value.extend(its_value.as_bytes());
        } else if first & 0b1101_0000 == 0b0101_0000 {
            let index = integer::take(4, rest).ok_or(DecodeError::Unsound)?;
            let (known, _) = static_table::get(index).ok_or(DecodeError::Unsound)?;
            name.extend(known.as_bytes());
            take_text(7, rest, left, &mut value)?;
        } else if first & 0b1110_0000 == 0b0010_0000 {
            take_text(3, rest, left, &mut name)?;
            take_text(7, rest, left, &mut value)?;
        } else {
            return Err(DecodeError::Unsound);
        }
        left = left.checked_sub(name.len() + value.len() + FIELD_BYTES).ok_or(DecodeError::TooLong)?;
        field(&name, &value);
    }
    Ok(())
}

/// Takes a text whose length stands in the low `bits` of its first byte, below a bit that says whether it is coded (RFC
/// 7541 section 5.2).
fn take_text(bits: u32, rest: &mut &[u8], most: usize, to: &mut Vec<u8>) -> Result<(), DecodeError> {
    let is_coded = rest.first().is_some_and(|first| first >> bits & 1 == 1);
    let length = integer::take(bits, rest).ok_or(DecodeError::Unsound)?;
    let length = usize::try_from(length).map_err(|_| DecodeError::Unsound)?;
    let (text, behind) = rest.split_at_checked(length).ok_or(DecodeError::Unsound)?;
    *rest = behind;
    // The shortest code has five bits for a byte of eight.
    if text.len() > most {
        return Err(DecodeError::TooLong);
    }
    match is_coded {
        true => huffman::decode(text, to).ok_or(DecodeError::Unsound),
        false => {
            to.extend(text);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qpack::encode::{begin, write_field};

    fn decoded(section: &[u8], max_bytes: usize) -> Result<Vec<(String, String)>, DecodeError> {
        let mut fields = Vec::new();
        decode(section, max_bytes, |name, value| {
            fields.push((String::from_utf8_lossy(name).into(), String::from_utf8_lossy(value).into()));
        })?;
        Ok(fields)
    }

    fn field(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    /// RFC 9204 appendix B.1, and each form.
    #[test]
    fn each_form_is_read() {
        type Case = (&'static [u8], &'static [(&'static str, &'static str)]);
        let cases: &[Case] = &[
            (b"\0\0", &[]),
            (b"\0\0\x51\x0b/index.html", &[(":path", "/index.html")]),
            (b"\0\0\xd1\xc1", &[(":method", "GET"), (":path", "/")]),
            (b"\0\0\x23own\x02on", &[("own", "on")]),
            // Coded, with a name that is never to be indexed.
            (b"\0\0\x3e\xa8\xeb\x10\x64\x9c\xbf\x86\xa8\xeb\x10\x64\x9c\xbf", &[("no-cache", "no-cache")]),
        ];
        for (section, fields) in cases {
            let expected: Vec<_> = fields.iter().map(|(name, value)| field(name, value)).collect();
            assert_eq!(decoded(section, 1_000).unwrap(), expected, "{section:x?}");
        }
    }

    #[test]
    fn what_is_not_sound_is_refused() {
        for (name, section) in [
            ("no prefix", &b""[..]),
            ("half a prefix", b"\0"),
            ("a section that needs entries", b"\x02\0\xd1"),
            ("an index of the dynamic table", b"\0\0\x80"),
            ("an index behind the base", b"\0\0\x10"),
            ("a name of the dynamic table", b"\0\0\x41\x01x"),
            ("a name behind the base", b"\0\0\x01\x01x"),
            ("an index past the static table", b"\0\0\xff\x24"),
            ("a name past the static table", b"\0\0\x5f\x54\x01x"),
            ("a text that is not there", b"\0\0\x51\x0b/index"),
            ("a length past everything", b"\0\0\x51\x7f\xff\xff\xff\xff\xff\xff\x01"),
            ("padding that is no padding", b"\0\0\x51\x81\x00"),
        ] {
            assert_eq!(decoded(section, 1_000), Err(DecodeError::Unsound), "{name}");
        }
    }

    #[test]
    fn fields_are_counted_before_they_are_given() {
        // One byte for a field of 42: 97 of them and no more.
        let section = [&b"\0\0"[..], &[0xd1; 100]].concat();
        let mut given = 0;
        let outcome = decode(&section, 97 * 42, |_, _| given += 1);
        assert_eq!((outcome, given), (Err(DecodeError::TooLong), 97));
        let mut long = begin();
        write_field("x-own", &[b'x'; 2_000], &mut long);
        assert_eq!(decoded(&long, 1_000), Err(DecodeError::TooLong));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let fields = [
            (":status", "200"),
            (":status", "418"),
            ("content-type", "text/html; charset=utf-8"),
            ("content-type", "text/own"),
            ("x-own", ""),
            ("set-cookie", "a=b"),
        ];
        let mut section = begin();
        for (name, value) in fields {
            write_field(name, value.as_bytes(), &mut section);
        }
        let expected: Vec<_> = fields.iter().map(|(name, value)| field(name, value)).collect();
        assert_eq!(decoded(&section, 1_000).unwrap(), expected);
    }
}
