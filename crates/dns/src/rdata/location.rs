//! Places on earth in records of the type LOC (RFC 1876).

use std::fmt::{self, Write};

/// Thousandths of a second of arc from the equator or the prime meridian to zero of the wire form.
const MIDDLE: i64 = 1 << 31;
/// Centimetres below the reference spheroid at which altitudes begin.
const LOWEST_CM: i64 = 10_000_000;

/// A place, as it is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EarthPlace {
    /// Thousandths of a second of arc, north and east positive.
    latitude: i64,
    longitude: i64,
    altitude_cm: i64,
    /// Size, horizontal and vertical precision: a digit and a power of ten, in centimetres.
    lengths: [u8; 3],
}

/// The fields of the API.
pub(super) const FIELDS: [&str; 12] = [
    "lat_degrees",
    "lat_minutes",
    "lat_seconds",
    "lat_direction",
    "long_degrees",
    "long_minutes",
    "long_seconds",
    "long_direction",
    "altitude",
    "size",
    "precision_horz",
    "precision_vert",
];

/// Size and precisions where none are written, in metres (RFC 1876 section 3).
const DEFAULTS: [&str; 3] = ["1", "10000", "10"];

impl EarthPlace {
    /// Reads a place as zone files write it.
    pub(super) fn parse(text: &str) -> Result<Self, (&'static str, String)> {
        let mut words = text.split_ascii_whitespace().peekable();
        let mut fields: [String; 12] = Default::default();
        for (of, ends) in [(0, ["N", "S"]), (4, ["E", "W"])] {
            let mut parts = vec![];
            loop {
                let word = words.next().ok_or_else(|| {
                    ("", format!("expected `{}` or `{}` behind the degrees of a LOC", ends[0], ends[1]))
                })?;
                if ends.iter().any(|end| end.eq_ignore_ascii_case(word)) {
                    parts.resize(3, "0");
                    parts.push(word);
                    break;
                }
                if parts.len() == 3 {
                    return Err(("", format!("expected `{}` or `{}`, found `{word:.20}`", ends[0], ends[1])));
                }
                parts.push(word);
            }
            for (field, part) in fields.iter_mut().skip(of).zip(parts) {
                part.clone_into(field);
            }
        }
        for (nth, field) in fields.iter_mut().enumerate().skip(8) {
            let word = words.next();
            let default = nth.checked_sub(9).and_then(|nth| DEFAULTS.get(nth)).copied();
            let word =
                word.or(default).ok_or(("altitude", "a LOC has an altitude, such as `0m`".to_owned()))?;
            word.trim_end_matches(['m', 'M']).clone_into(field);
        }
        match words.next() {
            Some(word) => Err(("", format!("a LOC ends with its vertical precision, found `{word:.20}`"))),
            None => Self::of_fields(&fields.each_ref().map(|field| Some(field.as_str()))),
        }
    }

    /// Reads a place from fields in the order of [`FIELDS`].
    pub(super) fn of_fields(fields: &[Option<&str>; 12]) -> Result<Self, (&'static str, String)> {
        let [d1, m1, s1, ns, d2, m2, s2, ew, altitude, sizes @ ..] = *fields;
        let latitude = angle([d1, m1, s1], 90, 0)?;
        let longitude = angle([d2, m2, s2], 180, 4)?;
        let altitude_cm =
            thousandths("altitude", altitude.unwrap_or("0"), -100_000_000, 42_849_672_950)? / 10;
        let mut lengths = [0; 3];
        for (((length, text), default), name) in
            lengths.iter_mut().zip(sizes).zip(DEFAULTS).zip(["size", "precision_horz", "precision_vert"])
        {
            let cm = thousandths(name, text.unwrap_or(default), 0, 90_000_000_000)? / 10;
            *length = digit_and_power(cm);
        }
        Ok(Self {
            latitude: latitude * sign("lat_direction", ns, ["N", "S"])?,
            longitude: longitude * sign("long_direction", ew, ["E", "W"])?,
            altitude_cm,
            lengths,
        })
    }

    /// Reads a place in wire form; `None` if it is of another version, or no place.
    pub(super) fn of_wire(wire: &[u8; 16]) -> Option<Self> {
        let [version, size, horizontal, vertical, rest @ ..] = *wire;
        let lengths = [size, horizontal, vertical];
        let is_length = |length: u8| length >> 4 <= 9 && length & 15 <= 9;
        let [a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3] = rest;
        let word = |bytes| i64::from(u32::from_be_bytes(bytes));
        let (latitude, longitude) = (word([a0, a1, a2, a3]) - MIDDLE, word([b0, b1, b2, b3]) - MIDDLE);
        let is_angle = |angle: i64, degrees: i64| angle.abs() <= degrees * 3_600_000;
        let is_place = version == 0
            && lengths.into_iter().all(is_length)
            && is_angle(latitude, 90)
            && is_angle(longitude, 180);
        let altitude_cm = word([c0, c1, c2, c3]) - LOWEST_CM;
        is_place.then_some(Self { latitude, longitude, altitude_cm, lengths })
    }

    pub(super) fn wire(self) -> [u8; 16] {
        let mut wire = [0; 16];
        let [size, horizontal, vertical] = self.lengths;
        let word = |value: i64| u32::try_from(value).unwrap_or(0).to_be_bytes();
        let parts = [
            [0, size, horizontal, vertical],
            word(MIDDLE + self.latitude),
            word(MIDDLE + self.longitude),
            word(LOWEST_CM + self.altitude_cm),
        ];
        for (to, from) in wire.chunks_exact_mut(4).zip(parts) {
            to.copy_from_slice(&from);
        }
        wire
    }

    /// Its fields in the order of [`FIELDS`], as texts.
    pub(super) fn fields(self) -> [String; 12] {
        let of_angle = |value: i64, [positive, negative]: [&str; 2]| {
            let (whole, part) = (value.abs() / 1000, value.abs() % 1000);
            let seconds = decimal((whole % 60) * 1000 + part, 1000);
            let direction = if value < 0 { negative } else { positive };
            [(whole / 3600).to_string(), (whole / 60 % 60).to_string(), seconds, direction.to_owned()]
        };
        let [d1, m1, s1, ns] = of_angle(self.latitude, ["N", "S"]);
        let [d2, m2, s2, ew] = of_angle(self.longitude, ["E", "W"]);
        let [size, horizontal, vertical] = self
            .lengths
            .map(|length| decimal(i64::from(length >> 4) * 10_i64.pow(u32::from(length & 15)), 100));
        let altitude = decimal(self.altitude_cm, 100);
        [d1, m1, s1, ns, d2, m2, s2, ew, altitude, size, horizontal, vertical]
    }
}

/// As zone files write it.
impl fmt::Display for EarthPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, field) in self.fields().iter().enumerate() {
            if nth > 0 {
                f.write_char(' ')?;
            }
            f.write_str(field)?;
            if nth >= 8 {
                f.write_char('m')?;
            }
        }
        Ok(())
    }
}

/// A number of parts of a whole, without zeros at its end.
fn decimal(value: i64, parts: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let (whole, part) = (value.abs() / parts, value.abs() % parts);
    if part == 0 {
        return format!("{sign}{whole}");
    }
    let width = parts.ilog10() as usize;
    format!("{sign}{whole}.{part:0width$}").trim_end_matches('0').to_owned()
}

/// A decimal number in thousandths, within bounds that are so too.
fn thousandths(name: &'static str, text: &str, least: i64, most: i64) -> Result<i64, (&'static str, String)> {
    let refused = || {
        let (least, most) = (decimal(least, 1000), decimal(most, 1000));
        (name, format!("expected `{name}` from {least} to {most}, found `{text:.40}`"))
    };
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = !whole.is_empty() && whole.len() <= 9 && part.len() <= 12;
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || !is_digits(whole) || !is_digits(part) {
        return Err(refused());
    }
    let part: String = part.chars().chain("000".chars()).take(3).collect();
    let number = |text: &str| text.parse::<i64>().map_err(|_| refused());
    let value = sign * (number(whole)? * 1000 + number(&part)?);
    if (least..=most).contains(&value) { Ok(value) } else { Err(refused()) }
}

/// Degrees, minutes and seconds, whose fields begin at `first`, in thousandths of a second.
fn angle(parts: [Option<&str>; 3], most: i64, first: usize) -> Result<i64, (&'static str, String)> {
    let name = |nth: usize| FIELDS.get(first + nth).copied().unwrap_or("");
    let [degrees, minutes, seconds] = parts;
    let degrees = degrees.ok_or((name(0), format!("`{}` is required", name(0))))?;
    let whole = |nth, text: &str, most: i64| {
        let value = thousandths(name(nth), text, 0, most * 1000)?;
        if value % 1000 == 0 {
            Ok(value / 1000)
        } else {
            Err((name(nth), format!("expected a whole number for `{}`, found `{text:.40}`", name(nth))))
        }
    };
    let degrees = whole(0, degrees, most)?;
    let minutes = whole(1, minutes.unwrap_or("0"), 59)?;
    let seconds = thousandths(name(2), seconds.unwrap_or("0"), 0, 59_999)?;
    let angle = degrees * 3_600_000 + minutes * 60_000 + seconds;
    if angle > most * 3_600_000 {
        return Err((name(0), format!("an angle has at most {most} degrees")));
    }
    Ok(angle)
}

fn sign(
    name: &'static str,
    text: Option<&str>,
    [positive, negative]: [&str; 2],
) -> Result<i64, (&'static str, String)> {
    match text {
        Some(text) if text.eq_ignore_ascii_case(positive) => Ok(1),
        Some(text) if text.eq_ignore_ascii_case(negative) => Ok(-1),
        Some(text) => {
            Err((name, format!("expected `{positive}` or `{negative}` for `{name}`, found `{text:.20}`")))
        }
        None => Err((name, format!("`{name}` is required: `{positive}` or `{negative}`"))),
    }
}

/// Centimetres as a digit and a power of ten, rounded down.
fn digit_and_power(cm: i64) -> u8 {
    let (mut digit, mut power) = (cm, 0_u8);
    while digit > 9 {
        (digit, power) = (digit / 10, power + 1);
    }
    u8::try_from(digit).unwrap_or(9) << 4 | power.min(9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written() {
        for (text, expected) in [
            ("31 58 52.1 S 115 49 11.7 E 20m 10m 10m 2m", "31 58 52.1 S 115 49 11.7 E 20m 10m 10m 2m"),
            ("42 N 71 W -24m", "42 0 0 N 71 0 0 W -24m 1m 10000m 10m"),
            (
                "90 0 0 N 180 0 0 E 42849672.95m 90000000m 0m 0.05m",
                "90 0 0 N 180 0 0 E 42849672.95m 90000000m 0m 0.05m",
            ),
        ] {
            let place = EarthPlace::parse(text).unwrap();
            assert_eq!(place.to_string(), expected);
            assert_eq!(EarthPlace::parse(expected).unwrap(), place);
        }
        let wire = EarthPlace::parse("42 21 54 N 71 06 18 W -24m 30m").unwrap().wire();
        // RFC 1876, appendix C.
        assert_eq!(wire[..4], [0, 0x33, 0x16, 0x13]);
        assert_eq!(u32::from_be_bytes(wire[4..8].try_into().unwrap()), (1 << 31) + 152_514_000);
        for text in [
            "",
            "91 N 0 E 0m",
            "90 0 1 N 0 E 0m",
            "1 N 1 E",
            "1 60 N 1 E 0m",
            "1 X 1 E 0m",
            "1 N 1 E 0m 1m 1m 1m 1m",
            "1 N 1 E 1e9m",
        ] {
            assert!(EarthPlace::parse(text).is_err(), "{text}");
        }
    }
}
