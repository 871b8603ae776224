//! Location paths over an XML document, all of them in one walk.

use std::collections::HashMap;
use std::rc::Rc;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::xml::{reference, unescaped};
use super::xml_name::{ElementStart, XmlAttribute};
use super::xml_path::{ElementPlaces, End, XmlPath};

/// Bytes that values may have together, for each byte of the document: elements within elements have texts in common.
const MAX_BYTES_FOR_A_BYTE: usize = 8;

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
    /// For each path the places of its elements.
    places: Vec<ElementPlaces>,
    /// The prefixes that it declares.
    declared: Vec<String>,
}

struct Walk<'p> {
    paths: &'p [&'p XmlPath],
    limits: Limits,
    /// The document round its root element: no step was taken there.
    outside: Open,
    open: Vec<Open>,
    captures: Vec<Capture>,
    /// For each prefix its addresses, the innermost last.
    namespaces: HashMap<String, Vec<Rc<str>>>,
    /// The empty address, made once.
    no_namespace: Rc<str>,
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
        outside: Open {
            states: vec![1; paths.len()],
            places: vec![ElementPlaces::new(); paths.len()],
            declared: Vec::new(),
        },
        open: Vec::new(),
        captures: Vec::new(),
        namespaces: HashMap::new(),
        no_namespace: Rc::from(""),
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
                    let address = String::from_utf8_lossy(&unescaped(&attribute.value)).as_ref().into();
                    self.namespaces.entry(prefix.to_owned()).or_default().push(address);
                    declared.push(prefix.to_owned());
                }
                None => attributes.push((name.to_owned(), unescaped(&attribute.value))),
            }
        }
        let attributes: Vec<XmlAttribute> = attributes
            .into_iter()
            .map(|(name, value)| {
                let (prefix, local) = split(&name);
                // An attribute without a prefix is in no namespace.
                let namespace =
                    if prefix.is_empty() { Rc::clone(&self.no_namespace) } else { self.namespace(prefix) };
                XmlAttribute { namespace, local: local.to_owned(), value }
            })
            .collect();
        let name = element.name().into_inner();
        let (prefix, local) = split(name);
        let namespace = self.namespace(prefix);
        let element = ElementStart { name, namespace: &namespace, local, attributes: &attributes };
        let depth = self.open.len() + 1;
        let mut states = Vec::with_capacity(self.paths.len());
        let paths = self.paths;
        for (nth, path) in paths.iter().enumerate() {
            let parent = self.open.last_mut().unwrap_or(&mut self.outside);
            let (Some(of_parent), Some(places)) = (parent.states.get(nth), parent.places.get_mut(nth)) else {
                continue;
            };
            let entered = path.enter(*of_parent, element, places);
            states.push(entered);
            if entered & path.end_bit() == 0 {
                continue;
            }
            if let End::Attribute { test, .. } = &path.end {
                for attribute in &attributes {
                    if test.takes(&attribute.namespace, &attribute.local) {
                        self.take(attribute.value.len())?;
                        self.add(nth, attribute.value.clone())?;
                    }
                }
            } else {
                let is_own = matches!(path.end, End::Text { .. });
                self.captures.push(Capture { path: nth, depth, is_own, text: Vec::new() });
            }
        }
        self.open.push(Open { states, places: vec![ElementPlaces::new(); paths.len()], declared });
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
    fn namespace(&self, prefix: &str) -> Rc<str> {
        match prefix {
            "xml" => "http://www.w3.org/XML/1998/namespace".into(),
            _ => Rc::clone(
                self.namespaces.get(prefix).and_then(|all| all.last()).unwrap_or(&self.no_namespace),
            ),
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
        if found.is_empty() {
            return "nothing".to_owned();
        }
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
            ("/a/b[1]", "onet&wothree"),
            ("/a/b[2]", ""),
            ("/a/b[3]", "nothing"),
            ("//b[1]", "onet&wothree"),
            ("//*[local-name()='b'][2]/c/@id", "3"),
            ("/a/*[3]", "four"),
            ("//b[@id]/c", "t&wo"),
            ("//b[@id='2'][1]/@id", "2"),
            ("//b[not(@id)]/c/@id", "3"),
            ("//*[@id!='2']/@id", "3"),
            ("//*[@s:id]", "four"),
            ("//*[namespace-uri()='urn:s']/s:b", "five"),
            ("/a[@x='/b]']/b", "nothing"),
            ("/a[@x = \"1\"]/b[ 1 ]/c/text()", "t&wo"),
            ("/b", "nothing"),
            ("/a/a", "nothing"),
        ] {
            assert_eq!(values(path, body), expected, "{path}");
        }
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
