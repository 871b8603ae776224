//! Location paths of XPath 1.0 over an XML document, all of them in one walk.
//!
//! Known are absolute paths of names: `/a/b`, `//a`, `/a/*`, `/soap:Envelope//item`, with `@name`, `@*` or `text()` as the
//! last step. Predicates, functions and other axes are not: what they cost depends on the document.

use std::collections::HashMap;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::xml::{reference, unescaped};

/// Most steps of a path: a bit each, and one for the end.
const MAX_STEPS: usize = 62;
/// Bytes that values may have together, for each byte of the document: elements within elements have texts in common.
const MAX_BYTES_FOR_A_BYTE: usize = 8;

/// A path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlPath {
    steps: Vec<Step>,
    end: End,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    /// `//`
    any_depth: bool,
    test: NameTest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum NameTest {
    Any,
    /// `soap:*`
    AnyOf(String),
    Name {
        /// Empty for a name without a prefix, which is in no namespace.
        namespace: String,
        local: String,
    },
}

/// What is taken of the elements that the steps lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    /// All text in it.
    Element,
    /// Each piece of its own text; with `//` of all elements in it, too.
    Text {
        any_depth: bool,
    },
    Attribute {
        any_depth: bool,
        test: NameTest,
    },
}

impl End {
    fn any_depth(&self) -> bool {
        matches!(self, Self::Text { any_depth: true } | Self::Attribute { any_depth: true, .. })
    }
}

impl XmlPath {
    /// Reads a path; `namespace` gives the address of a prefix.
    ///
    /// # Errors
    /// One sentence: what of it is not known here, or which prefix is not declared.
    pub fn parse(text: &str, namespace: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let (mut rest, mut steps, mut end) = (text, Vec::new(), None);
        while !rest.is_empty() {
            let (any_depth, after) = match (rest.strip_prefix("//"), rest.strip_prefix('/')) {
                (Some(after), _) => (true, after),
                (None, Some(after)) => (false, after),
                (None, None) => return Err("a path begins with `/`".to_owned()),
            };
            if end.is_some() {
                return Err("`@` and `text()` are last".to_owned());
            }
            let (step, after) = after.split_at(after.find('/').unwrap_or(after.len()));
            rest = after;
            match step.strip_prefix('@') {
                Some(name) => {
                    end = Some(End::Attribute { any_depth, test: NameTest::parse(name, &namespace)? });
                }
                None if step == "text()" => end = Some(End::Text { any_depth }),
                None => steps.push(Step { any_depth, test: NameTest::parse(step, &namespace)? }),
            }
        }
        if steps.is_empty() && end.is_none() || steps.len() > MAX_STEPS {
            return Err(format!("a path has 1 to {MAX_STEPS} steps"));
        }
        Ok(Self { steps, end: end.unwrap_or(End::Element) })
    }

    /// The states of an element in one whose states these are: bit N for N steps that were taken.
    fn enter(&self, parent: u64, namespace: &str, local: &str) -> u64 {
        let stays = if self.end.any_depth() { parent & self.end_bit() } else { 0 };
        self.steps.iter().enumerate().filter(|(nth, _)| parent >> nth & 1 == 1).fold(
            stays,
            |states, (nth, step)| {
                let same = u64::from(step.any_depth) << nth;
                let next = u64::from(step.test.takes(namespace, local)) << (nth + 1);
                states | same | next
            },
        )
    }

    fn end_bit(&self) -> u64 {
        1 << self.steps.len()
    }
}

impl NameTest {
    fn parse(text: &str, namespace: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let is_name = |text: &str| {
            text.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
        };
        let of = |prefix: &str| {
            namespace(prefix)
                .ok_or_else(|| format!("the prefix `{prefix}` needs an action `xmlns:{prefix}=address`"))
        };
        match text.split_once(':') {
            None if text == "*" => Ok(Self::Any),
            None if is_name(text) => Ok(Self::Name { namespace: String::new(), local: text.to_owned() }),
            Some((prefix, "*")) if is_name(prefix) => Ok(Self::AnyOf(of(prefix)?)),
            Some((prefix, local)) if is_name(prefix) && is_name(local) => {
                Ok(Self::Name { namespace: of(prefix)?, local: local.to_owned() })
            }
            _ => Err(format!("`{text}` is not known here: steps are names, `*`, `@name`, `@*` and `text()`")),
        }
    }

    fn takes(&self, namespace: &str, local: &str) -> bool {
        match self {
            Self::Any => true,
            Self::AnyOf(wanted) => wanted == namespace,
            Self::Name { namespace: wanted, local: name } => wanted == namespace && name == local,
        }
    }
}

/// Limits of one search.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub depth: usize,
    /// Values of all paths together.
    pub values: usize,
}

/// A value that is being read.
struct Capture {
    path: usize,
    depth: usize,
    /// Only text of the element itself.
    is_own: bool,
    text: Vec<u8>,
}

/// An element that is open.
struct Open {
    /// For each path the states.
    states: Vec<u64>,
    /// The prefixes that it declares.
    declared: Vec<String>,
}

struct Walk<'p> {
    paths: &'p [&'p XmlPath],
    limits: Limits,
    open: Vec<Open>,
    captures: Vec<Capture>,
    /// For each prefix its addresses, the innermost last.
    namespaces: HashMap<String, Vec<String>>,
    found: Values,
    bytes_left: usize,
}

/// Values, each with the index of its path.
pub type Values = Vec<(usize, Vec<u8>)>;

/// Why nothing behind a place is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// More values, or more text in them, than the limit.
    TooMany,
    /// Malformed, or too deep.
    Malformed,
}

/// What the paths find, and why the search ended before the document, if it did.
pub fn find(body: &[u8], paths: &[&XmlPath], limits: Limits) -> (Values, Result<(), Stop>) {
    let text = String::from_utf8_lossy(body);
    let mut reader = Reader::from_str(&text);
    let mut walk = Walk {
        paths,
        limits,
        open: Vec::new(),
        captures: Vec::new(),
        namespaces: HashMap::new(),
        found: Vec::new(),
        bytes_left: text.len().saturating_mul(MAX_BYTES_FOR_A_BYTE),
    };
    let read = loop {
        let read = match reader.read_event() {
            Ok(Event::Start(element)) => walk.start(&element),
            Ok(Event::Empty(element)) => walk.start(&element).and_then(|()| walk.end()),
            Ok(Event::End(_)) => walk.end(),
            Ok(Event::Text(text)) => walk.text(text.as_bytes()),
            Ok(Event::CData(text)) => walk.text(text.as_bytes()),
            Ok(Event::GeneralRef(name)) => {
                let mut text = Vec::new();
                reference(&name, &mut text);
                walk.text(&text)
            }
            Ok(Event::Eof) if walk.open.is_empty() => break Ok(()),
            Ok(Event::Eof) | Err(_) => Err(Stop::Malformed),
            Ok(_) => Ok(()),
        };
        if read.is_err() {
            break read;
        }
    };
    // What a lenient reader has of elements that do not end.
    let unfinished = std::mem::take(&mut walk.captures);
    walk.found.extend(unfinished.into_iter().map(|capture| (capture.path, capture.text)));
    (walk.found, read)
}

impl Walk<'_> {
    fn start(&mut self, element: &BytesStart<'_>) -> Result<(), Stop> {
        if self.open.len() == self.limits.depth {
            return Err(Stop::Malformed);
        }
        self.end_own_texts()?;
        let mut attributes = Vec::new();
        let mut declared = Vec::new();
        for attribute in element.attributes().with_checks(false) {
            let attribute = attribute.map_err(|_| Stop::Malformed)?;
            let name: &str = attribute.key.into_inner();
            let prefix = if name == "xmlns" { Some("") } else { name.strip_prefix("xmlns:") };
            match prefix {
                Some(prefix) => {
                    let address = String::from_utf8_lossy(&unescaped(&attribute.value)).into_owned();
                    self.namespaces.entry(prefix.to_owned()).or_default().push(address);
                    declared.push(prefix.to_owned());
                }
                None => attributes.push((name.to_owned(), attribute.value.into_owned())),
            }
        }
        let (prefix, local) = split(element.name().into_inner());
        let namespace = self.namespace(prefix).to_owned();
        let depth = self.open.len() + 1;
        let mut states = Vec::with_capacity(self.paths.len());
        for (nth, path) in self.paths.iter().enumerate() {
            // Outside the root no step was taken.
            let parent = self.open.last().map_or(1, |open| open.states.get(nth).copied().unwrap_or(0));
            let entered = path.enter(parent, &namespace, local);
            states.push(entered);
            if entered & path.end_bit() == 0 {
                continue;
            }
            if let End::Attribute { test, .. } = &path.end {
                for (name, value) in &attributes {
                    let (prefix, local) = split(name);
                    // An attribute without a prefix is in no namespace.
                    let namespace = if prefix.is_empty() { "" } else { self.namespace(prefix) };
                    if test.takes(namespace, local) {
                        let value = unescaped(value);
                        self.take(value.len())?;
                        self.add(nth, value)?;
                    }
                }
            } else {
                let is_own = matches!(path.end, End::Text { .. });
                self.captures.push(Capture { path: nth, depth, is_own, text: Vec::new() });
            }
        }
        self.open.push(Open { states, declared });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Stop> {
        let depth = self.open.len();
        let Some(open) = self.open.pop() else { return Err(Stop::Malformed) };
        while let Some(capture) = self.captures.pop_if(|capture| capture.depth == depth) {
            if !capture.is_own || !capture.text.is_empty() {
                self.add(capture.path, capture.text)?;
            }
        }
        for prefix in open.declared {
            self.namespaces.get_mut(&prefix).and_then(Vec::pop);
        }
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> Result<(), Stop> {
        let depth = self.open.len();
        let mut taken = 0;
        for capture in self.captures.iter_mut().filter(|capture| !capture.is_own || capture.depth == depth) {
            taken += text.len();
            if taken > self.bytes_left {
                return Err(Stop::TooMany);
            }
            capture.text.extend_from_slice(text);
        }
        self.take(taken)
    }

    /// An element begins: the text before it is a value of its own.
    fn end_own_texts(&mut self) -> Result<(), Stop> {
        let depth = self.open.len();
        let mut ended = Vec::new();
        let innermost = self.captures.iter_mut().rev().take_while(|capture| capture.depth == depth);
        for capture in innermost.filter(|capture| capture.is_own && !capture.text.is_empty()) {
            ended.push((capture.path, std::mem::take(&mut capture.text)));
        }
        ended.into_iter().try_for_each(|(path, text)| self.add(path, text))
    }

    fn add(&mut self, path: usize, value: Vec<u8>) -> Result<(), Stop> {
        if self.found.len() == self.limits.values {
            return Err(Stop::TooMany);
        }
        self.found.push((path, value));
        Ok(())
    }

    fn take(&mut self, bytes: usize) -> Result<(), Stop> {
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(Stop::TooMany)?;
        Ok(())
    }

    /// The address of a prefix; empty if it is not declared.
    fn namespace(&self, prefix: &str) -> &str {
        match prefix {
            "xml" => "http://www.w3.org/XML/1998/namespace",
            _ => self.namespaces.get(prefix).and_then(|all| all.last()).map_or("", String::as_str),
        }
    }
}

/// The prefix of a name, empty if it has none, and the rest.
fn split(name: &str) -> (&str, &str) {
    name.split_once(':').unwrap_or(("", name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { depth: 8, values: 16 };

    fn parse(path: &str) -> Result<XmlPath, String> {
        XmlPath::parse(path, |prefix| (prefix == "s").then(|| "urn:s".to_owned()))
    }

    fn values(path: &str, body: &str) -> String {
        let (mut found, _) = find(body.as_bytes(), &[&parse(path).unwrap()], LIMITS);
        found.sort();
        let texts = found.into_iter().map(|(_, value)| String::from_utf8(value).unwrap());
        texts.collect::<Vec<_>>().join("|")
    }

    #[test]
    fn paths_lead_where_xpath_says() {
        let body = "<a x='1'><b id='2'>one<c>t&amp;w<![CDATA[o]]></c>three</b><b><c id='3'/></b>\
            <n:b xmlns:n='urn:s' n:id='4'>four</n:b><d xmlns='urn:s'><b>five</b></d></a>";
        for (path, expected) in [
            ("/a/b", "|onet&wothree"),
            ("/a/b/c", "|t&wo"),
            ("//c", "|t&wo"),
            ("/a/b/text()", "one|three"),
            ("/a/b//text()", "one|t&wo|three"),
            ("/a/@x", "1"),
            ("//@id", "2|3"),
            ("/a/b/@id", "2"),
            ("/a/b//@id", "2|3"),
            ("//@*", "1|2|3|4"),
            ("/a/s:b", "four"),
            ("//s:b", "five|four"),
            ("//s:*/@s:id", "4"),
            ("/a/s:d/s:b", "five"),
            ("/a/*/c", "|t&wo"),
            ("/*/*/*", "|five|t&wo"),
            ("/b", ""),
            ("/a/a", ""),
        ] {
            assert_eq!(values(path, body), expected, "{path}");
        }
    }

    #[test]
    fn what_depends_on_the_document_is_not_known() {
        for path in ["", "a/b", "/", "/a/", "/a[1]", "/a/@x/b", "count(/a)", "/a/../b", "/t:a", "/a/text()/b"]
        {
            assert!(parse(path).is_err(), "{path}");
        }
        assert!(parse(&"/a".repeat(MAX_STEPS + 1)).is_err());
        assert_eq!(parse("/t:a").unwrap_err(), "the prefix `t` needs an action `xmlns:t=address`");
    }

    #[test]
    fn a_search_has_limits_and_reads_what_it_can() {
        let whole = |body: &str| find(body.as_bytes(), &[&parse("//a").unwrap()], LIMITS);
        let (found, read) = whole("<a>x<a>y</b>");
        assert_eq!((found, read), (vec![(0, b"xy".to_vec()), (0, b"y".to_vec())], Err(Stop::Malformed)));
        assert_eq!(whole(&"<a>".repeat(9)).1, Err(Stop::Malformed));
        assert_eq!(whole(&format!("<r>{}</r>", "<a/>".repeat(17))).1, Err(Stop::TooMany));
        // Nested elements share their texts.
        let nested = format!("{}{}{}", "<a>".repeat(8), "x".repeat(1000), "</a>".repeat(8));
        assert_eq!(whole(&nested).1, Ok(()));
        let paths = [&parse("//a").unwrap(), &parse("/a//a").unwrap()];
        assert_eq!(find(nested.as_bytes(), &paths, LIMITS).1, Err(Stop::TooMany));
    }
}
