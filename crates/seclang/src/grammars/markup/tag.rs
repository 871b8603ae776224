//! Tags and attributes.

use smallvec::SmallVec;

use super::script;
use crate::grammars::Strength;

/// Bytes of a value without quotes; what follows is read as more attributes.
const MAX_BARE_VALUE_BYTES: usize = 2048;
const MAX_NAME_BYTES: usize = 32;
/// Bytes behind a handler without quotes that may go on with it: `onload=new Function(…)`.
const MAX_REST_BYTES: usize = 64;

/// What the names of event handlers begin with, behind `on`.
const EVENTS: &[&str] = &[
    "abort",
    "activate",
    "after",
    "animation",
    "auxclick",
    "before",
    "begin",
    "blur",
    "bounce",
    "cancel",
    "canplay",
    "change",
    "click",
    "close",
    "content",
    "contextmenu",
    "copy",
    "cuechange",
    "cut",
    "dblclick",
    "deactivate",
    "drag",
    "drop",
    "duration",
    "emptied",
    "end",
    "error",
    "finish",
    "focus",
    "formdata",
    "fullscreen",
    "gesture",
    "gotpointer",
    "hashchange",
    "help",
    "input",
    "invalid",
    "key",
    "load",
    "lostpointer",
    "message",
    "mouse",
    "move",
    "page",
    "paste",
    "pause",
    "play",
    "pointer",
    "popstate",
    "progress",
    "property",
    "ratechange",
    "readystate",
    "repeat",
    "reset",
    "resize",
    "row",
    "scroll",
    "search",
    "security",
    "seek",
    "select",
    "show",
    "slotchange",
    "start",
    "stalled",
    "storage",
    "submit",
    "suspend",
    "timeupdate",
    "toggle",
    "touch",
    "transition",
    "unhandled",
    "unload",
    "volume",
    "waiting",
    "webkit",
    "wheel",
];

/// Attributes whose value is an address that the page follows.
const ADDRESSES: &[&str] = &[
    "href",
    "src",
    "action",
    "formaction",
    "data",
    "xlink:href",
    "background",
    "poster",
    "from",
    "to",
    "values",
    "content",
    "code",
    "codebase",
    "dynsrc",
    "lowsrc",
    "classid",
    "cite",
    "manifest",
    "srcset",
    "ping",
];

type TagName = SmallVec<[u8; MAX_NAME_BYTES]>;

#[derive(Debug)]
struct Attribute<'v> {
    name: TagName,
    value: &'v [u8],
}

/// The tags of a text, asked about one by one.
///
/// A tag that stands in an attribute of another one, or behind a quote that another one opens, has attributes in common
/// with it. Each is judged once for each kind of element, so that tags within tags cost no more than tags in a row.
pub(super) struct Tags<'v> {
    text: &'v [u8],
    judged: [PlaceBits; ELEMENTS.len() + 1],
    /// Where the tag ends that reaches furthest.
    end: usize,
}

/// A set of places in a text, one bit each.
type PlaceBits = SmallVec<[u64; 4]>;

/// Elements that give attributes a meaning of their own.
const ELEMENTS: [&[u8]; 10] = [
    b"object",
    b"embed",
    b"applet",
    b"base",
    b"set",
    b"animate",
    b"animatetransform",
    b"iframe",
    b"use",
    b"meta",
];

impl<'v> Tags<'v> {
    pub(super) fn new(text: &'v [u8]) -> Self {
        Self { text, judged: Default::default(), end: 0 }
    }

    /// How sure it is that the tag behind a `<` runs something, and where it ends. What it has in common with an
    /// earlier tag counts for that one alone.
    pub(super) fn judge(&mut self, at: usize) -> (Option<Strength>, usize) {
        let text = self.text.get(at..).unwrap_or_default();
        // Some filters take the first of two names away, and browsers skip control bytes in none.
        if !text.first().is_some_and(u8::is_ascii_alphabetic) {
            return (None, at);
        }
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':' | b'_');
        let length = text.iter().take_while(|byte| is_name(byte)).count();
        let (name, mut rest) = text.split_at_checked(length).unwrap_or_default();
        let name = lower(name);
        let mut found = element(&name);
        if *name == *b"script" && rest.strip_prefix(b">").is_some_and(is_blank) {
            // It loads nothing and holds nothing.
            return (Some(Strength::Likely), at + length);
        }
        let kind = ELEMENTS.iter().position(|element| *name == **element).map_or(0, |nth| nth + 1);
        let mut is_refresh = false;
        while let Some((attribute, after)) = attribute(rest) {
            if !self.begin_attribute(kind, self.text.len() - rest.len()) {
                // An earlier tag has this attribute and all behind it.
                rest = self.text.get(self.end..).unwrap_or_default();
                break;
            }
            rest = after;
            is_refresh |= *attribute.name == *b"http-equiv"
                && !attribute.value.to_ascii_lowercase().starts_with(b"content-");
            found = found.max(judge(&name, &attribute));
        }
        let end = self.text.len() - rest.len();
        self.end = self.end.max(end);
        (if is_refresh && *name == *b"meta" { Some(Strength::Certain) } else { found }, end)
    }

    /// Whether the attribute at a place was not judged before.
    fn begin_attribute(&mut self, kind: usize, at: usize) -> bool {
        let Some(judged) = self.judged.get_mut(kind) else { return true };
        if judged.is_empty() {
            judged.resize(self.text.len() / 64 + 1, 0);
        }
        let bit = 1 << (at % 64);
        judged.get_mut(at / 64).is_none_or(|word| std::mem::replace(word, *word | bit) & bit == 0)
    }
}

fn is_blank(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_whitespace)
}

fn element(name: &[u8]) -> Option<Strength> {
    Some(match name {
        b"script" => Strength::Certain,
        b"frame" | b"frameset" | b"link" | b"form" | b"svg" | b"math" | b"marquee" | b"isindex" | b"xml"
        | b"layer" | b"bgsound" | b"applet" | b"xss" | b"noscript" | b"template" => Strength::Likely,
        _ => Strength::Possible,
    })
}

fn judge(element: &[u8], attribute: &Attribute<'_>) -> Option<Strength> {
    let name = &*attribute.name;
    let has_value = !attribute.value.is_empty();
    if is_handler(name) && has_value {
        return Some(if is_balanced(attribute.value) { Strength::Certain } else { Strength::Possible });
    }
    match (element, name) {
        (_, b"srcdoc")
        | (b"object", b"data")
        | (b"embed", b"src" | b"code")
        | (b"applet", b"code")
        | (b"base", b"href") => {
            return has_value.then_some(Strength::Certain);
        }
        (b"set" | b"animate" | b"animatetransform", b"attributename") if attribute.value.len() > 3 => {
            return Some(Strength::Certain);
        }
        // Videos and maps are framed by their whole address.
        (b"iframe", b"src") if attribute.value.starts_with(b"//") => return Some(Strength::Likely),
        (b"use", b"href" | b"xlink:href") => return Some(Strength::Certain),
        (_, b"style") => {
            const RUNS: &[&str] = &["expression", "javascript:", "behavior", "-moz-binding"];
            return script::holds_any(attribute.value, RUNS).then_some(Strength::Certain);
        }
        _ => {}
    }
    let is_address = ADDRESSES.iter().any(|address| name == address.as_bytes());
    if is_address { script::address(attribute.value) } else { None }
}

pub(super) fn is_handler(name: &[u8]) -> bool {
    let Some(event) = name.strip_prefix(b"on") else { return false };
    event.iter().all(u8::is_ascii_alphanumeric)
        && EVENTS.iter().any(|known| event.starts_with(known.as_bytes()))
}

/// Whether a block of script that begins a handler ends with it, and holds more than a name. A handler without quotes
/// ends at its first space: `{() =>` is what frameworks bind a function with, and no script.
fn is_balanced(handler: &[u8]) -> bool {
    let Some(block) = handler.strip_prefix(b"{") else { return true };
    let count = |byte: u8| handler.iter().filter(|found| **found == byte).count();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.$}".contains(byte);
    count(b'{') == count(b'}') && !block.iter().all(is_name)
}

fn lower(name: &[u8]) -> TagName {
    name.iter().take(MAX_NAME_BYTES).map(u8::to_ascii_lowercase).collect()
}

/// The next attribute of a tag and what follows it; nothing at the end of the tag or the next one.
fn attribute(text: &[u8]) -> Option<(Attribute<'_>, &[u8])> {
    let is_separator = |byte: &u8| *byte <= b' ' || matches!(byte, b'/' | b'"' | b'\'' | b'`' | b'=');
    let skipped = text.iter().take_while(|byte| is_separator(byte)).count();
    let text = text.get(skipped..)?;
    if matches!(text.first()?, b'>' | b'<') {
        return None;
    }
    let ends_name = |byte: &u8| *byte <= b' ' || matches!(byte, b'/' | b'>' | b'<' | b'=' | b'"' | b'\'');
    let length = text.iter().take_while(|byte| !ends_name(byte)).count();
    let (name, rest) = text.split_at_checked(length.max(1))?;
    let (value, rest) = value_of(rest).unwrap_or((&[], rest));
    Some((Attribute { name: lower(name), value }, rest))
}

/// The value behind a name, if there is a `=`.
fn value_of(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let skip = |text: &[u8]| text.iter().take_while(|byte| **byte <= b' ').count();
    let text = text.get(skip(text)..)?.strip_prefix(b"=")?;
    let text = text.get(skip(text)..)?;
    match text.first() {
        Some(quote @ (b'"' | b'\'' | b'`')) => {
            let inner = text.get(1..)?;
            let end = memchr::memchr(*quote, inner).unwrap_or(inner.len());
            Some((inner.get(..end)?, inner.get(end + 1..).unwrap_or_default()))
        }
        _ => {
            let window = text.get(..MAX_BARE_VALUE_BYTES).unwrap_or(text);
            text.split_at_checked(window.iter().take_while(|byte| **byte > b' ' && **byte != b'>').count())
        }
    }
}

/// An event handler that the value adds to the tag around it.
pub(super) fn added_attribute(value: &[u8]) -> Option<Strength> {
    let mut found = None;
    let mut first_quote = None;
    let mut unquoted_end = 0;
    for equals in memchr::memchr_iter(b'=', value) {
        let Some(at) = handler_before(value, equals) else { continue };
        // What stands in a handler without quotes was judged with it.
        if at < unquoted_end {
            continue;
        }
        let Some((handler, after)) = value.get(equals..).and_then(value_of) else { continue };
        if handler.is_empty() || !is_balanced(handler) {
            continue;
        }
        let end = value.len() - after.len();
        if value.get(..end).is_some_and(|before| before.ends_with(handler)) {
            unquoted_end = end;
        }
        let first_quote = *first_quote
            .get_or_insert_with(|| memchr::memchr3(b'"', b'\'', b'`', value).unwrap_or(value.len()));
        let is_quoted = first_quote < at;
        let calls = |text: &[u8]| text.iter().any(|byte| matches!(byte, b'(' | b'`' | b'['));
        let rest = after.get(..MAX_REST_BYTES).unwrap_or(after);
        let is_script = calls(handler) || script::names_sink(handler) || handler == b"new" && calls(rest);
        found = found.max(match (is_quoted, is_script) {
            (_, true) => Some(Strength::Certain),
            (true, false) => Some(Strength::Likely),
            (false, false) => Some(Strength::Possible),
        });
    }
    found
}

/// Returns where the name of an event handler begins, if one ends right before this `=` and is a word of its own.
fn handler_before(value: &[u8], equals: usize) -> Option<usize> {
    let is_space = |byte: &u8| *byte <= b' ';
    let before = value.get(..equals)?;
    let before = before.get(..before.iter().rposition(|byte| !is_space(byte))? + 1)?;
    let length =
        before.iter().rev().take(MAX_NAME_BYTES + 1).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let at = before.len() - length;
    let is_first =
        at == 0 || before.get(at - 1).is_some_and(|byte| is_space(byte) || b"\"'`/;".contains(byte));
    (is_first && is_handler(&lower(before.get(at..)?))).then_some(at)
}
