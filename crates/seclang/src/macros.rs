//! `%{NAME.selector}` in operator arguments and action values, parsed once.

use super::variables;

/// A text with its macros resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Macro(pub Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Literal(String),
    /// The first value of a variable; nothing if it has none.
    Variable {
        variable: &'static variables::Definition,
        selector: Option<String>,
    },
}

impl Macro {
    /// Parses a text.
    ///
    /// # Errors
    /// One sentence if a macro is not closed or names no variable.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, from)) = rest.split_once("%{") {
            if !before.is_empty() {
                parts.push(Part::Literal(before.to_owned()));
            }
            let (name, after) = from
                .split_once('}')
                .ok_or_else(|| format!("the macro `%{{{from}` is not closed with `}}`"))?;
            let (name, selector) = match name.split_once(['.', ':']) {
                Some((name, selector)) => (name, Some(selector.to_owned())),
                None => (name, None),
            };
            let variable =
                variables::find(name).ok_or_else(|| format!("the macro `%{{{name}}}` names no variable"))?;
            parts.push(Part::Variable { variable, selector });
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Ok(Self(parts))
    }

    /// The text itself, if it has no macros.
    pub fn literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }
}

impl std::fmt::Display for Macro {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for part in &self.0 {
            match part {
                Part::Literal(text) => f.write_str(text)?,
                Part::Variable { variable, selector: Some(selector) } => {
                    write!(f, "%{{{}.{selector}}}", variable.name)?
                }
                Part::Variable { variable, selector: None } => write!(f, "%{{{}}}", variable.name)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_what_it_prints() {
        for text in ["", "plain", "a %{TX.x} b", "%{MATCHED_VAR}", "%{REQUEST_HEADERS.User-Agent}!"] {
            assert_eq!(Macro::parse(text).unwrap().to_string(), text);
        }
        assert!(Macro::parse("%{nope}").unwrap_err().contains("names no variable"));
        assert!(Macro::parse("%{tx.a").unwrap_err().contains("not closed"));
    }
}
