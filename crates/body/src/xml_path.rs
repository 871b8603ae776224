//! Location paths of XPath 1.0.
//!
//! Known are absolute paths of names: `/a/b`, `//a`, `/a/*`, `/soap:Envelope//item`, with `@name`, `@*` or `text()` as the
//! last step, and predicates that the start of an element decides. Other predicates and axes are not: what they cost depends
//! on the document.

use std::collections::HashMap;

use super::xml_name::{ElementStart, NameTest};
use super::xml_predicate::Predicate;

/// Most steps of a path: a bit each, and one for the end.
const MAX_STEPS: usize = 62;

/// A path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlPath {
    steps: Vec<Step>,
    pub(super) end: End,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    /// `//`
    any_depth: bool,
    test: NameTest,
    predicates: Vec<Predicate>,
}

/// What is taken of the elements that the steps lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
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
        let namespace: &dyn Fn(&str) -> Option<String> = &namespace;
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
            let (step, after) = after.split_at(after.find(['/', '[']).unwrap_or(after.len()));
            let (predicates, after) = predicates(after, namespace)?;
            rest = after;
            let of_attribute = step.strip_prefix('@');
            if !predicates.is_empty() && (of_attribute.is_some() || step == "text()") {
                return Err("predicates stand behind names of elements".to_owned());
            }
            match of_attribute {
                Some(name) => {
                    end = Some(End::Attribute { any_depth, test: NameTest::parse(name, namespace)? });
                }
                None if step == "text()" => end = Some(End::Text { any_depth }),
                None => steps.push(Step { any_depth, test: NameTest::parse(step, namespace)?, predicates }),
            }
        }
        if steps.is_empty() && end.is_none() || steps.len() > MAX_STEPS {
            return Err(format!("a path has 1 to {MAX_STEPS} steps"));
        }
        Ok(Self { steps, end: end.unwrap_or(End::Element) })
    }

    /// The states of an element in one whose states these are: bit N for N steps that were taken. `places` counts
    /// the elements of that parent.
    pub(super) fn enter(&self, parent: u64, element: ElementStart<'_>, places: &mut ElementPlaces) -> u64 {
        let stays = if self.end.any_depth() { parent & self.end_bit() } else { 0 };
        self.steps.iter().enumerate().filter(|(nth, _)| parent >> nth & 1 == 1).fold(
            stays,
            |states, (nth, step)| {
                let same = u64::from(step.any_depth) << nth;
                let next = u64::from(step.takes(nth, element, places)) << (nth + 1);
                states | same | next
            },
        )
    }

    pub(super) fn end_bit(&self) -> u64 {
        1 << self.steps.len()
    }
}

impl Step {
    fn takes(&self, nth: usize, element: ElementStart<'_>, places: &mut ElementPlaces) -> bool {
        self.test.takes(element.namespace, element.local)
            && self.predicates.iter().enumerate().all(|(predicate, kind)| match kind {
                Predicate::Holds(condition) => condition.holds(element),
                Predicate::Position(wanted) => {
                    let place = places.entry((nth, predicate)).or_insert(0);
                    *place += 1;
                    place == wanted
                }
            })
    }
}

/// How many elements of one parent came to each predicate that asks for a place, by the indexes of step and
/// predicate.
pub(super) type ElementPlaces = HashMap<(usize, usize), u32>;

/// The predicates that a text begins with, and what stands behind them.
fn predicates<'t>(
    text: &'t str,
    namespace: &dyn Fn(&str) -> Option<String>,
) -> Result<(Vec<Predicate>, &'t str), String> {
    let (mut rest, mut found) = (text, Vec::new());
    while let Some(inner) = rest.strip_prefix('[') {
        let mut quote = None;
        let end = inner.find(|c| match quote {
            Some(open) if c == open => {
                quote = None;
                false
            }
            None if matches!(c, '\'' | '"') => {
                quote = Some(c);
                false
            }
            _ => quote.is_none() && c == ']',
        });
        let (predicate, after) = inner.split_at(end.ok_or("a `]` is missing")?);
        found.push(Predicate::parse(predicate, namespace)?);
        rest = after.strip_prefix(']').unwrap_or(after);
    }
    Ok((found, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str) -> Result<XmlPath, String> {
        XmlPath::parse(path, |prefix| (prefix == "s").then(|| "urn:s".to_owned()))
    }

    #[test]
    fn what_content_decides_is_not_known() {
        for path in [
            "",
            "a/b",
            "/",
            "/a/",
            "/a[last()]",
            "/a[",
            "/a[1]b",
            "/a/@x[1]",
            "/a/text()[1]",
            "/a/@x/b",
            "count(/a)",
            "/a/../b",
            "/t:a",
            "/a/text()/b",
        ] {
            assert!(parse(path).is_err(), "{path}");
        }
        assert!(parse(&"/a".repeat(MAX_STEPS + 1)).is_err());
        assert_eq!(parse("/t:a").unwrap_err(), "the prefix `t` needs an action `xmlns:t=address`");
    }
}
