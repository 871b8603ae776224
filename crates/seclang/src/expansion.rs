//! Macros compiled: TX names are array indexes, the rest is ready to be copied.

use crate::data::Data;
use crate::macros::{Macro, Part};
use crate::variables;

/// The names in `TX` that rules mention, each with its index. The first ten are the groups of a
/// capture.
#[derive(Clone, Debug)]
pub struct TxNames(Vec<String>);

impl Default for TxNames {
    fn default() -> Self {
        Self((0..10).map(|group| group.to_string()).collect())
    }
}

impl TxNames {
    /// The index of a name, ignoring case; a new name gets the next one.
    pub fn intern(&mut self, name: &str) -> usize {
        let name = name.to_ascii_lowercase();
        self.find(name.as_bytes()).unwrap_or_else(|| {
            self.0.push(name);
            self.0.len() - 1
        })
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<usize> {
        self.0.iter().position(|known| known.as_bytes().eq_ignore_ascii_case(name))
    }

    pub(crate) fn name(&self, index: usize) -> &str {
        self.0.get(index).map_or("", String::as_str)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A text with macros, ready to be expanded.
#[derive(Clone, Debug, Default)]
pub struct Expansion(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Literal(Box<[u8]>),
    Tx(usize),
    Variable { variable: &'static variables::Definition, selector: Option<Box<[u8]>> },
}

impl Expansion {
    pub fn of(text: &Macro, names: &mut TxNames) -> Self {
        let piece = |part: &Part| match part {
            Part::Literal(text) => Piece::Literal(text.as_bytes().into()),
            Part::Variable { variable, selector: Some(selector) } if variable.name == "TX" => {
                Piece::Tx(names.intern(selector))
            }
            Part::Variable { variable, selector } => {
                Piece::Variable { variable, selector: selector.as_ref().map(|s| s.as_bytes().into()) }
            }
        };
        Self(text.0.iter().map(piece).collect())
    }

    /// The text, if it has no macros.
    pub fn literal(&self) -> Option<&[u8]> {
        match self.0.as_slice() {
            [] => Some(&[]),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// What every expansion begins with.
    pub(crate) fn prefix(&self) -> &[u8] {
        match self.0.first() {
            Some(Piece::Literal(text)) => text,
            _ => &[],
        }
    }

    /// The index of the one TX variable this is, if it is just that.
    pub(crate) fn as_tx(&self) -> Option<usize> {
        match self.0.as_slice() {
            [Piece::Tx(index)] => Some(*index),
            _ => None,
        }
    }

    /// Calls `act` with the expanded text. A text without macros is not copied.
    pub fn with<T>(&self, data: &Data, act: impl FnOnce(&[u8]) -> T) -> T {
        if let Some(text) = self.literal() {
            return act(text);
        }
        if let Some(index) = self.as_tx() {
            return act(data.tx_value(index));
        }
        let mut expanded = Vec::new();
        self.expand(data, &mut expanded);
        act(&expanded)
    }

    /// Appends the expanded text.
    pub fn expand(&self, data: &Data, out: &mut Vec<u8>) {
        for piece in &self.0 {
            match piece {
                Piece::Literal(text) => out.extend_from_slice(text),
                Piece::Tx(index) => out.extend_from_slice(data.tx_value(*index)),
                Piece::Variable { variable, selector } => {
                    let mut first = None;
                    (variable.values)(data, &mut |key, value| {
                        let wanted =
                            selector.as_ref().is_none_or(|s| data.bytes(key).eq_ignore_ascii_case(s));
                        if first.is_none() && wanted {
                            first = Some(value);
                        }
                    });
                    out.extend_from_slice(first.map_or(&[][..], |text| data.bytes(text)));
                }
            }
        }
    }
}
