//! Script: its addresses, and how it goes on behind a string.

use pattern::ByteSet;
use smallvec::SmallVec;

use crate::grammars::Strength;

/// Bytes of an address that are read for its scheme.
const MAX_SCHEME_BYTES: usize = 128;

/// What script that was put in calls first.
const CALLS: &[&str] = &[
    "alert",
    "prompt",
    "confirm",
    "eval",
    "fetch",
    "atob",
    "print",
    "settimeout",
    "setinterval",
    "function",
    "import",
    "xmlhttprequest",
    "image",
    "worker",
    "open",
    "msgbox",
    "onerror",
    "require",
];

/// What it reads from.
const OBJECTS: &[&str] = &[
    "document",
    "window",
    "location",
    "self",
    "top",
    "parent",
    "frames",
    "globalthis",
    "navigator",
    "constructor",
    "onerror",
];

/// Whether an address runs script: `javascript:` and what is read as it.
pub(super) fn address(value: &[u8]) -> Option<Strength> {
    if !may_be_address(value) {
        return None;
    }
    let text = scheme(value);
    let text = text.strip_prefix(b"url=").unwrap_or(&text);
    if let Some(script) = text.strip_prefix(b"javascript:") {
        let script = script.strip_prefix(b"//").unwrap_or(script);
        // Links that do nothing are written so.
        let is_idle = script.is_empty()
            || script == b";"
            || script.starts_with(b"void(0)")
            || script.starts_with(b"returnfalse");
        let runs = script.iter().any(|byte| matches!(byte, b'(' | b'`' | b'=' | b'[' | b'\\' | b'%' | b'/'));
        return (!is_idle && runs).then_some(Strength::Certain);
    }
    let runs = [
        &b"vbscript:"[..],
        b"livescript:",
        b"data:text/html",
        b"data:application/xhtml",
        b"data:image/svg+xml;base64,",
        b"data:text/xml",
        b"data:;base64,phn",
        b"feed:javascript:",
        b"view-source:javascript:",
    ];
    runs.iter().any(|scheme| text.starts_with(scheme)).then_some(Strength::Certain)
}

/// Whether a text begins with the first letters of an address that may run, or with a reference. Most do not.
fn may_be_address(value: &[u8]) -> bool {
    let mut letters = value.iter().take(MAX_SCHEME_BYTES).filter(|byte| **byte > b' ' && **byte != 0x7f);
    let mut next = || letters.next().map_or(0, u8::to_ascii_lowercase);
    let first = next();
    first == b'&'
        || b"jvldfu".contains(&first)
            && matches!(
                (first, next()),
                (_, b'&')
                    | (b'j' | b'd', b'a')
                    | (b'v', b'b' | b'i')
                    | (b'l', b'i')
                    | (b'f', b'e')
                    | (b'u', b'r')
            )
}

/// The beginning of an address without what browsers leave out, in lower case, its references resolved.
fn scheme(value: &[u8]) -> SmallVec<[u8; MAX_SCHEME_BYTES]> {
    let mut scheme = SmallVec::new();
    let mut rest = value.get(..MAX_SCHEME_BYTES).unwrap_or(value);
    while let Some((&byte, after)) = rest.split_first() {
        let (byte, after) =
            if byte == b'&' { reference(rest).unwrap_or((byte, after)) } else { (byte, after) };
        if byte > b' ' && byte != 0x7f {
            scheme.push(byte.to_ascii_lowercase());
        }
        rest = after;
    }
    scheme
}

/// A character reference of ASCII: `&#106;`, `&#x6a`, `&Tab;`, `&colon;`.
fn reference(text: &[u8]) -> Option<(u8, &[u8])> {
    for (name, byte) in [(&b"&tab;"[..], b'\t'), (b"&newline;", b'\n'), (b"&colon;", b':'), (b"&lpar;", b'(')]
    {
        if text.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name)) {
            return Some((byte, text.get(name.len()..)?));
        }
    }
    let number = text.strip_prefix(b"&#")?;
    let (digits, radix) = match number.strip_prefix(b"x").or_else(|| number.strip_prefix(b"X")) {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    let length = digits
        .iter()
        .take(8)
        .take_while(|byte| byte.is_ascii_hexdigit() && (radix == 16 || byte.is_ascii_digit()))
        .count();
    let (digits, after) = digits.split_at_checked(length)?;
    let code = u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()?;
    Some((u8::try_from(code).ok()?, after.strip_prefix(b";").unwrap_or(after)))
}

/// What may stand between a string and a call behind it.
const SIGNS: ByteSet = ByteSet::of(b";-+*/^|&,.!?:=%~<>)]}\\(").and(0, b' ');
/// The signs of those that sentences do not go on with.
const JOINTS: ByteSet = ByteSet::of(b";-+*/^|&,!?%~)]}");

/// `';alert(1)//`, `"-alert(1)-"`, `${alert(1)}`: a quote, signs, and a call.
pub(super) fn breakout(value: &[u8]) -> Option<Strength> {
    let mut found = None;
    for at in memchr::memchr3_iter(b'\'', b'"', b'`', value) {
        let rest = value.get(at + 1..)?;
        let signs = rest.iter().take_while(|byte| SIGNS.has(**byte)).count();
        let joint = rest.get(..signs)?;
        // A quote and a space alone are how sentences go on.
        let is_joint = joint.iter().any(|byte| JOINTS.has(*byte));
        let call = rest.get(signs..)?;
        if is_joint && starts_with_sink(call) {
            let is_breakout = at == 0 || joint.iter().all(|byte| *byte != b' ') || ends_as_injection(value);
            found = found.max(Some(if is_breakout { Strength::Certain } else { Strength::Likely }));
        }
    }
    found
}

/// A comment or another string behind the script takes up what followed the value.
fn ends_as_injection(value: &[u8]) -> bool {
    let value = value.trim_ascii_end();
    value.ends_with(b"//")
        || value.ends_with(b"<!--")
        || value.last().is_some_and(|byte| b"'\"`".contains(byte))
}

/// Whether a text begins with a call or a use of what script reaches a page by.
fn starts_with_sink(text: &[u8]) -> bool {
    let name: SmallVec<[u8; 16]> = text
        .iter()
        .take(16)
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
        .map(u8::to_ascii_lowercase)
        .collect();
    let after = text.get(name.len()..).unwrap_or_default().trim_ascii_start();
    let is_one_of = |names: &[&str]| names.iter().any(|sink| name.as_slice() == sink.as_bytes());
    match after.first() {
        Some(b'(' | b'`' | b'?') => is_one_of(CALLS),
        Some(b'[' | b'=' | b'.') => is_one_of(OBJECTS),
        Some(_) => {
            is_one_of(&["new", "throw"])
                && CALLS.iter().any(|call| {
                    after.get(..call.len()).is_some_and(|head| head.eq_ignore_ascii_case(call.as_bytes()))
                })
        }
        None => false,
    }
}

pub(super) fn names_sink(text: &[u8]) -> bool {
    const SINKS: &[&str] = &[
        "alert",
        "prompt",
        "confirm",
        "eval",
        "fetch",
        "document",
        "window",
        "location",
        "javascript",
        "import",
    ];
    holds_any(text, SINKS)
}

/// Whether a text holds one of these words, which are in lower case.
pub(super) fn holds_any(text: &[u8], words: &[&str]) -> bool {
    let lower = text.to_ascii_lowercase();
    words.iter().any(|word| memchr::memmem::find(&lower, word.as_bytes()).is_some())
}
