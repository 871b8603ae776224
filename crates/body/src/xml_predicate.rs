//! Predicates of XPath 1.0 that the start of an element decides: its place, its names and its attributes.
//!
//! `[2]`, `[@id]`, `[@type='admin']`, `[local-name()='Body']`, `[starts-with(@href, 'file:') and not(@safe)]`. What depends on
//! content (`[price > 5]`, `[last()]`) is not known, because a path is followed in one walk.

use super::xml_name::{ElementStart, NameTest, is_of_name};

/// Most brackets within brackets.
const MAX_NESTING: usize = 16;

/// What an element must be for a step to take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Predicate {
    /// So many elements of the same parent pass what stands before it, itself included.
    Position(u32),
    Holds(XmlCondition),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum XmlCondition {
    Any(Vec<Self>),
    All(Vec<Self>),
    Not(Box<Self>),
    /// There is such an attribute, or the name is not empty.
    Has(XmlOperand),
    /// One of the operand's values equals the text, or differs from it.
    Compares {
        operand: XmlOperand,
        equals: bool,
        text: String,
    },
    /// The operand's first value, or an empty one, begins with the text or has it in it.
    Contains {
        operand: XmlOperand,
        at_start: bool,
        text: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum XmlOperand {
    Attribute(NameTest),
    LocalName,
    Name,
    Namespace,
}

impl Predicate {
    /// Reads what stands between `[` and `]`; `namespace` gives the address of a prefix.
    ///
    /// # Errors
    /// One sentence: what of it is not known here.
    pub(super) fn parse(text: &str, namespace: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let trimmed = text.trim();
        let position = match trimmed.strip_prefix("position()").map(str::trim_start) {
            Some(rest) => rest.strip_prefix('=').map(str::trim),
            None => Some(trimmed),
        };
        if let Some(position) = position.and_then(|digits| digits.parse().ok()) {
            return Ok(Self::Position(position));
        }
        let mut reader = PredicateReader { rest: text, namespace, nesting: 0 };
        let condition = reader.any()?;
        match reader.rest.trim_start() {
            "" => Ok(Self::Holds(condition)),
            _ => Err(unknown(text)),
        }
    }
}

fn unknown(text: &str) -> String {
    format!(
        "`[{text}]` is not known here: predicates compare places, names and attributes, such as `[2]`, `[@id='a']` \
         and `[local-name()='Body']`"
    )
}

struct PredicateReader<'t> {
    rest: &'t str,
    namespace: &'t dyn Fn(&str) -> Option<String>,
    nesting: usize,
}

impl<'t> PredicateReader<'t> {
    fn any(&mut self) -> Result<XmlCondition, String> {
        self.list("or", Self::all, XmlCondition::Any)
    }

    fn all(&mut self) -> Result<XmlCondition, String> {
        self.list("and", Self::one, XmlCondition::All)
    }

    fn list(
        &mut self,
        word: &str,
        mut part: impl FnMut(&mut Self) -> Result<XmlCondition, String>,
        whole: fn(Vec<XmlCondition>) -> XmlCondition,
    ) -> Result<XmlCondition, String> {
        let first = part(self)?;
        let mut parts = vec![first];
        while self.takes_word(word) {
            parts.push(part(self)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { whole(parts) })
    }

    fn one(&mut self) -> Result<XmlCondition, String> {
        let before = self.rest;
        let is_not = self.takes_word("not");
        if self.takes("(") {
            self.nesting += 1;
            if self.nesting > MAX_NESTING {
                return Err(format!("predicates have at most {MAX_NESTING} brackets within brackets"));
            }
            let inner = self.any()?;
            self.nesting -= 1;
            self.expect(")")?;
            return Ok(if is_not { XmlCondition::Not(Box::new(inner)) } else { inner });
        }
        self.rest = before;
        for (function, at_start) in [("starts-with", true), ("contains", false)] {
            if self.takes_word(function) {
                self.expect("(")?;
                let operand = self.operand()?;
                self.expect(",")?;
                let text = self.literal().ok_or_else(|| unknown(self.rest))?;
                self.expect(")")?;
                if operand == XmlOperand::Namespace && !at_start {
                    // One long address would be searched again for each element that has it.
                    return Err(
                        "`contains()` does not search `namespace-uri()`; compare it with `=`".to_owned()
                    );
                }
                return Ok(XmlCondition::Contains { operand, at_start, text });
            }
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<XmlCondition, String> {
        let literal = self.literal();
        let operand = if literal.is_none() { Some(self.operand()?) } else { None };
        let equals = match (self.takes("!="), self.takes("=")) {
            (true, _) => false,
            (false, true) => true,
            (false, false) => return operand.map(XmlCondition::Has).ok_or_else(|| unknown(self.rest)),
        };
        let (operand, text) = match (operand, literal) {
            (Some(operand), _) => (operand, self.literal().ok_or_else(|| unknown(self.rest))?),
            (None, literal) => (self.operand()?, literal.unwrap_or_default()),
        };
        Ok(XmlCondition::Compares { operand, equals, text })
    }

    fn operand(&mut self) -> Result<XmlOperand, String> {
        if self.takes("@") {
            let rest = self.rest.trim_start();
            let end = rest.find(|c: char| !is_of_name(c) && !matches!(c, ':' | '*')).unwrap_or(rest.len());
            let (name, rest) = rest.split_at(end);
            self.rest = rest;
            return NameTest::parse(name, self.namespace).map(XmlOperand::Attribute);
        }
        for (function, operand) in [
            ("local-name()", XmlOperand::LocalName),
            ("namespace-uri()", XmlOperand::Namespace),
            ("name()", XmlOperand::Name),
        ] {
            if self.takes(function) {
                return Ok(operand);
            }
        }
        Err(unknown(self.rest))
    }

    /// A text in quotes.
    fn literal(&mut self) -> Option<String> {
        let rest = self.rest.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (text, rest) = rest.get(1..)?.split_once(quote)?;
        self.rest = rest;
        Some(text.to_owned())
    }

    fn takes(&mut self, token: &str) -> bool {
        let after = self.rest.trim_start().strip_prefix(token);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// The same for a word that must end there.
    fn takes_word(&mut self, word: &str) -> bool {
        let after = self.rest.trim_start().strip_prefix(word).filter(|after| !after.starts_with(is_of_name));
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.takes(token) { Ok(()) } else { Err(unknown(self.rest)) }
    }
}

impl XmlCondition {
    pub(super) fn holds(&self, element: ElementStart<'_>) -> bool {
        match self {
            Self::Any(parts) => parts.iter().any(|part| part.holds(element)),
            Self::All(parts) => parts.iter().all(|part| part.holds(element)),
            Self::Not(inner) => !inner.holds(element),
            Self::Has(XmlOperand::Attribute(test)) => {
                XmlOperand::of_attributes(test, element).next().is_some()
            }
            Self::Has(operand) => operand.first(element).is_some_and(|value| !value.is_empty()),
            Self::Compares { operand: XmlOperand::Attribute(test), equals, text } => {
                XmlOperand::of_attributes(test, element).any(|value| (value == text.as_bytes()) == *equals)
            }
            Self::Compares { operand, equals, text } => {
                operand.first(element).is_some_and(|value| (value == text.as_bytes()) == *equals)
            }
            Self::Contains { operand, at_start, text } => {
                let value = operand.first(element).unwrap_or(b"");
                match at_start {
                    true => value.starts_with(text.as_bytes()),
                    false => memchr::memmem::find(value, text.as_bytes()).is_some(),
                }
            }
        }
    }
}

impl XmlOperand {
    fn of_attributes<'e>(test: &NameTest, element: ElementStart<'e>) -> impl Iterator<Item = &'e [u8]> {
        let attributes = element.attributes.iter();
        attributes.filter(|found| test.takes(&found.namespace, &found.local)).map(|found| &*found.value)
    }

    fn first<'e>(&self, element: ElementStart<'e>) -> Option<&'e [u8]> {
        match self {
            Self::Attribute(test) => Self::of_attributes(test, element).next(),
            Self::LocalName => Some(element.local.as_bytes()),
            Self::Name => Some(element.name.as_bytes()),
            Self::Namespace => Some(element.namespace.as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::xml_name::XmlAttribute;
    use super::*;

    fn parse(text: &str) -> Result<Predicate, String> {
        Predicate::parse(text, &|prefix| (prefix == "s").then(|| "urn:s".to_owned()))
    }

    #[test]
    fn conditions_hold_as_xpath_says() {
        let attribute = |namespace: &str, local: &str, value: &str| XmlAttribute {
            namespace: namespace.into(),
            local: local.to_owned(),
            value: value.as_bytes().to_vec(),
        };
        let attributes =
            [attribute("", "id", "7"), attribute("", "or", "file:x"), attribute("urn:s", "id", "8")];
        let element =
            ElementStart { name: "soap:Body", namespace: "urn:s", local: "Body", attributes: &attributes };
        for (text, expected) in [
            ("@id", true),
            (" @none ", false),
            ("@id='7'", true),
            ("'7' = @id", true),
            ("@id!=\"7\"", false),
            ("@none!='7'", false),
            ("@*='8'", true),
            ("@*!='8'", true),
            ("@s:id = '8'", true),
            ("@s:*='7'", false),
            ("local-name()='Body'", true),
            ("name()='soap:Body'", true),
            ("name()='Body'", false),
            ("namespace-uri() = 'urn:s'", true),
            ("namespace-uri()", true),
            ("starts-with(@or, 'file:')", true),
            ("starts-with(@none,'')", true),
            ("starts-with(namespace-uri(), 'urn')", true),
            ("contains( local-name() , 'od')", true),
            ("contains(@id,'8')", false),
            ("@none or @id", true),
            ("@none or @id and @other", false),
            ("(@none or @id) and not(@other)", true),
            ("not(@id)", false),
            ("not (@id = '8')", true),
            ("@id='7' and @or='file:x' and @s:id='8'", true),
        ] {
            let Ok(Predicate::Holds(condition)) = parse(text) else { panic!("{text}") };
            assert_eq!(condition.holds(element), expected, "{text}");
        }
        for (text, place) in [("1", 1), (" 20 ", 20), ("position()=3", 3), ("position() = 4", 4)] {
            assert_eq!(parse(text), Ok(Predicate::Position(place)));
        }
    }

    #[test]
    fn what_content_decides_is_not_known() {
        for text in [
            "",
            "b",
            "last()",
            "position()<3",
            "@id>5",
            "@id=5",
            "@id='a",
            "text()='a'",
            "count(b)=1",
            "@id = ",
            "'a'='a'",
            "not @id",
            "(@id",
            "@id)",
            "@id @or",
            "@t:id",
            "@",
            "-1",
            "99999999999",
            "contains(namespace-uri(), 'soap')",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&format!("{}@id{}", "(".repeat(1 << 20), ")".repeat(1 << 20))).is_err());
    }
}
