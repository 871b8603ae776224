//! Names in paths of XML, and the elements that they are compared with.

use std::rc::Rc;

/// What a step, or an attribute, may be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NameTest {
    Any,
    /// `soap:*`
    AnyOf(String),
    Name {
        /// Empty for a name without a prefix, which is in no namespace.
        namespace: String,
        local: String,
    },
}

impl NameTest {
    /// Reads a name; `namespace` gives the address of a prefix.
    ///
    /// # Errors
    /// One sentence: it is no name, or its prefix is not declared.
    pub(super) fn parse(text: &str, namespace: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
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

    pub(super) fn takes(&self, namespace: &str, local: &str) -> bool {
        match self {
            Self::Any => true,
            Self::AnyOf(wanted) => wanted == namespace,
            Self::Name { namespace: wanted, local: name } => wanted == namespace && name == local,
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(is_of_name)
}

/// Whether names may have this character behind their first.
pub(super) fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// The start of an element: all that is known of it before its content is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ElementStart<'e> {
    /// As it stands in the document, with its prefix.
    pub(super) name: &'e str,
    pub(super) namespace: &'e str,
    pub(super) local: &'e str,
    /// Those that declare no prefix.
    pub(super) attributes: &'e [XmlAttribute],
}

/// An attribute of an element.
#[derive(Debug)]
pub(super) struct XmlAttribute {
    pub(super) namespace: Rc<str>,
    pub(super) local: String,
    /// With its references resolved.
    pub(super) value: Vec<u8>,
}
