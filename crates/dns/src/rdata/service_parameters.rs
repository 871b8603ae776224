//! Keys with values of SVCB and HTTPS records (RFC 9460 sections 2.1 and 7).

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::token;

/// Keys that have a name, by their numbers (RFC 9460 section 14.3.2, RFC 9461, RFC 9540).
const KEYS: &[&str] =
    &["mandatory", "alpn", "no-default-alpn", "port", "ipv4hint", "ech", "ipv6hint", "dohpath", "ohttp"];

/// Reads parameters as zone files write them to their wire form, sorted by key.
///
/// # Errors
/// One sentence: which key is wrong, and why.
pub(super) fn wire(text: &str) -> Result<Vec<u8>, String> {
    let mut parameters = Vec::new();
    for (key, value) in split(text)? {
        let number = key_number(&key)?;
        let value = value.map(token::bytes_of).transpose()?;
        let value = encoded(number, &key, value.as_deref())?;
        parameters.push((number, value));
    }
    parameters.sort();
    let mut wire = Vec::new();
    let mut last = None;
    for (number, value) in &parameters {
        if last.replace(*number) == Some(*number) {
            return Err(format!("the parameter `{}` is given twice", key_name(*number)));
        }
        let length = u16::try_from(value.len())
            .map_err(|_| format!("the parameter `{}` is too long", key_name(*number)))?;
        wire.extend(number.to_be_bytes());
        wire.extend(length.to_be_bytes());
        wire.extend(value);
    }
    check_mandatory(&parameters)?;
    Ok(wire)
}

/// Writes parameters in wire form as zone files have them; `None` if they are malformed.
pub(super) fn text(wire: &[u8]) -> Option<String> {
    let mut texts = Vec::new();
    let mut rest = wire;
    while !rest.is_empty() {
        let ([k0, k1, n0, n1], behind) = rest.split_first_chunk::<4>()?;
        let (value, behind) = behind.split_at_checked(usize::from(u16::from_be_bytes([*n0, *n1])))?;
        let number = u16::from_be_bytes([*k0, *k1]);
        let mut text = key_name(number);
        if !value.is_empty() {
            text.push('=');
            token::quote(&decoded(number, value)?, &mut text);
        }
        texts.push(text);
        rest = behind;
    }
    Some(texts.join(" "))
}

/// A value in wire form as it is written, before escapes and quotes.
fn decoded(number: u16, value: &[u8]) -> Option<Vec<u8>> {
    let joined = |items: Vec<String>| items.join(",").into_bytes();
    Some(match number {
        0 => {
            let (keys, rest) = value.as_chunks::<2>();
            let keys = keys.iter().map(|key| key_name(u16::from_be_bytes(*key))).collect();
            rest.is_empty().then(|| joined(keys))?
        }
        1 => {
            let (mut text, mut rest) = (Vec::new(), value);
            while let Some((&length, behind)) = rest.split_first() {
                let (protocol, behind) = behind.split_at_checked(usize::from(length))?;
                if !text.is_empty() {
                    text.push(b',');
                }
                for byte in protocol {
                    if matches!(byte, b',' | b'\\') {
                        text.push(b'\\');
                    }
                    text.push(*byte);
                }
                rest = behind;
            }
            text
        }
        3 => u16::from_be_bytes(value.try_into().ok()?).to_string().into_bytes(),
        4 => {
            let (hints, rest) = value.as_chunks::<4>();
            let hints = hints.iter().map(|hint| Ipv4Addr::from(*hint).to_string()).collect();
            rest.is_empty().then(|| joined(hints))?
        }
        5 => STANDARD.encode(value).into_bytes(),
        6 => {
            let (hints, rest) = value.as_chunks::<16>();
            let hints = hints.iter().map(|hint| Ipv6Addr::from(*hint).to_string()).collect();
            rest.is_empty().then(|| joined(hints))?
        }
        _ => value.to_vec(),
    })
}

/// What `mandatory` lists must be there, and not itself (RFC 9460 section 8).
fn check_mandatory(parameters: &[(u16, Vec<u8>)]) -> Result<(), String> {
    let Some((_, listed)) = parameters.iter().find(|(number, _)| *number == 0) else { return Ok(()) };
    for key in listed.chunks_exact(2) {
        let key = key.iter().fold(0, |number, byte| number << 8 | u16::from(*byte));
        if key == 0 || !parameters.iter().any(|(number, _)| *number == key) {
            return Err(format!("`mandatory` lists `{}`, which is not among the parameters", key_name(key)));
        }
    }
    Ok(())
}

/// Keys and values: `key`, `key=word`, `key="a text"`, `"key=word"`.
fn split(text: &str) -> Result<Vec<(String, Option<&str>)>, String> {
    let mut parameters = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|next: char| next == '=' || next.is_ascii_whitespace()).unwrap_or(rest.len());
        let (key, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let (value, behind) = match behind.strip_prefix('=') {
            Some(value) if value.is_empty() || value.starts_with(|next: char| next.is_ascii_whitespace()) => {
                (Some(""), value)
            }
            Some(value) => {
                let (value, behind) = token::token(value)?;
                (Some(value), behind)
            }
            None => (None, behind),
        };
        parameters.push((key.to_ascii_lowercase(), value));
        rest = behind.trim_start();
    }
    Ok(parameters)
}

fn key_number(key: &str) -> Result<u16, String> {
    let named = KEYS.iter().position(|known| *known == key).and_then(|at| u16::try_from(at).ok());
    let numbered = || key.strip_prefix("key").filter(|digits| !digits.starts_with('0') || *digits == "0");
    let number = named.or_else(|| numbered()?.parse().ok().filter(|number| *number != u16::MAX));
    number.ok_or_else(|| {
        format!("unknown parameter `{key:.40}`; expected one of {}, or `keyNNN`", KEYS.join(", "))
    })
}

fn key_name(number: u16) -> String {
    KEYS.get(usize::from(number)).map_or_else(|| format!("key{number}"), |name| (*name).to_owned())
}

fn encoded(number: u16, key: &str, value: Option<&[u8]>) -> Result<Vec<u8>, String> {
    let text = || {
        let value = value.filter(|value| !value.is_empty());
        let text = value.and_then(|value| std::str::from_utf8(value).ok());
        text.ok_or_else(|| format!("the parameter `{key}` needs a value"))
    };
    let refused = |item: &str| format!("`{item:.60}` is no value of the parameter `{key}`");
    Ok(match number {
        0 => {
            let mut keys: Vec<u16> = text()?.split(',').map(key_number).collect::<Result<_, _>>()?;
            keys.sort_unstable();
            keys.into_iter().flat_map(u16::to_be_bytes).collect()
        }
        1 => alpn(value.filter(|value| !value.is_empty()).ok_or_else(|| refused(""))?)?,
        2 | 8 if value.is_some_and(|value| !value.is_empty()) => {
            return Err(format!("the parameter `{key}` has no value"));
        }
        2 | 8 => Vec::new(),
        3 => text()?.parse::<u16>().map_err(|_| refused(text().unwrap_or("")))?.to_be_bytes().to_vec(),
        4 => {
            let hints = text()?.split(',').map(|hint| hint.parse::<Ipv4Addr>().map_err(|_| refused(hint)));
            hints.collect::<Result<Vec<_>, _>>()?.into_iter().flat_map(|hint| hint.octets()).collect()
        }
        5 => STANDARD.decode(text()?).map_err(|_| refused(text().unwrap_or("")))?,
        6 => {
            let hints = text()?.split(',').map(|hint| hint.parse::<Ipv6Addr>().map_err(|_| refused(hint)));
            hints.collect::<Result<Vec<_>, _>>()?.into_iter().flat_map(|hint| hint.octets()).collect()
        }
        _ => value.unwrap_or_default().to_vec(),
    })
}

/// Protocols with commas between; one that has a comma writes it `\,` (RFC 9460 appendix A.1).
fn alpn(value: &[u8]) -> Result<Vec<u8>, String> {
    let mut wire = Vec::new();
    let mut protocol = Vec::new();
    let mut bytes = value.iter();
    let mut end = |protocol: &mut Vec<u8>| {
        let length = u8::try_from(protocol.len()).ok().filter(|length| *length > 0);
        wire.push(length.ok_or("the parameter `alpn` has a protocol of 0 or over 255 bytes")?);
        wire.append(protocol);
        Ok::<(), String>(())
    };
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\\' => protocol.extend(bytes.next()),
            b',' => end(&mut protocol)?,
            byte => protocol.push(byte),
        }
    }
    end(&mut protocol)?;
    Ok(wire)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_encoded_in_the_order_of_their_keys() {
        let wire = wire(r#"port=8443 alpn="h3,h2" ipv4hint=192.0.2.1,192.0.2.2 mandatory=alpn"#).unwrap();
        let expected: &[u8] =
            b"\0\0\0\x02\0\x01\0\x01\0\x06\x02h3\x02h2\0\x03\0\x02\x20\xfb\0\x04\0\x08\xc0\0\x02\x01\xc0\0\x02\x02";
        assert_eq!(wire, expected);
        assert_eq!(super::wire("key667=\"hello\\210qoo\"").unwrap()[4..], *b"hello\xd2qoo");
        assert_eq!(super::wire("no-default-alpn alpn=a\\\\,b").unwrap(), b"\0\x01\0\x04\x03a,b\0\x02\0\0");
        assert_eq!(super::wire("").unwrap(), b"");
        for text in [
            "",
            "mandatory=alpn,port alpn=h3,h2 port=8443",
            "no-default-alpn alpn=a\\\\,b,c ipv6hint=2001:db8::1,::1",
            "alpn=h2 ech=AAEC dohpath=/q{?dns} key667=\"a \\\"b\\210\" ohttp",
        ] {
            let wire = super::wire(text).unwrap();
            let written = super::text(&wire).unwrap();
            assert_eq!(super::wire(&written).unwrap(), wire, "{text} as {written}");
        }
    }

    #[test]
    fn parameters_that_say_nothing_sound_are_refused() {
        for text in [
            "alpn",
            "alpn=",
            "alpn=\"\"",
            "alpn=h2,,h3",
            "port=x",
            "port=70000",
            "ipv4hint=::1",
            "ipv6hint=1",
            "ech=!",
            "nothing=1",
            "key=1",
            "key65535=a",
            "alpn=h2 alpn=h3",
            "no-default-alpn=1",
            "alpn=\"h2",
            "mandatory=port alpn=h2",
            "mandatory=mandatory",
        ] {
            assert!(wire(text).is_err(), "{text}");
        }
    }
}
