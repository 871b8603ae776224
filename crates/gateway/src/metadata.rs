//! What a client says of its call: a flat object of few entries, kept with the log row.

use serde_json::{Map, Value};

/// Entries that are kept.
pub const MAX_ENTRIES: usize = 5;
/// Longest text that is kept, in bytes.
const MAX_TEXT_BYTES: usize = 1024;

/// What was kept, and what the client is told of the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    pub entries: Map<String, Value>,
    pub warnings: Vec<String>,
}

impl Metadata {
    /// Reads the value of `svc-aig-metadata`. What cannot be kept is named, and loses nothing else.
    pub fn parse(text: &str) -> Self {
        let parsed: Result<Map<String, Value>, _> = serde_json::from_str(text);
        let Ok(all) = parsed else {
            let warning = "svc-aig-metadata: expected a JSON object; nothing was kept".to_owned();
            return Self { entries: Map::new(), warnings: vec![warning] };
        };
        let mut metadata = Self::default();
        for (key, value) in all {
            let name = name_in_warning(&key);
            let problem = match &value {
                _ if metadata.entries.len() == MAX_ENTRIES => {
                    Some(format!("more than {MAX_ENTRIES} entries"))
                }
                Value::Null | Value::Array(_) | Value::Object(_) => {
                    Some("a value must be a string, a number or a boolean".to_owned())
                }
                Value::String(text) if text.len() > MAX_TEXT_BYTES => {
                    Some(format!("longer than {MAX_TEXT_BYTES} bytes"))
                }
                _ if key.len() > MAX_TEXT_BYTES => Some(format!("a name longer than {MAX_TEXT_BYTES} bytes")),
                _ => None,
            };
            match problem {
                Some(problem) => {
                    metadata.warnings.push(format!("svc-aig-metadata: `{name}` was not kept: {problem}"));
                }
                None => {
                    metadata.entries.insert(key, value);
                }
            }
        }
        metadata
    }

    /// An entry as a text, for limits by its value.
    pub fn text(&self, key: &str) -> Option<String> {
        match self.entries.get(key)? {
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }
}

/// A name as it may stand in a header field.
fn name_in_warning(key: &str) -> String {
    key.chars().filter(|c| c.is_ascii_graphic() && *c != '`').take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_entries_survive_bad_ones() {
        let metadata = Metadata::parse(r#"{"a":"x","b":2,"c":true,"d":null,"e":{"f":1}}"#);
        assert_eq!(metadata.entries.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(metadata.warnings.len(), 2);
        assert_eq!((metadata.text("a").as_deref(), metadata.text("b").as_deref()), (Some("x"), Some("2")));
        let many = Metadata::parse(r#"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}"#);
        assert_eq!((many.entries.len(), many.warnings.len()), (5, 1));
        assert!(many.warnings[0].contains("`f`"));
    }

    #[test]
    fn what_is_no_object_is_said() {
        for text in ["", "[]", "{", "5", "\"a\""] {
            let metadata = Metadata::parse(text);
            assert!(metadata.entries.is_empty() && metadata.warnings.len() == 1, "{text}");
        }
        let odd = Metadata::parse("{\"a\\r\\nb`\":null}");
        assert!(odd.warnings[0].bytes().all(|byte| (b' '..0x7f).contains(&byte)), "{:?}", odd.warnings);
    }
}
