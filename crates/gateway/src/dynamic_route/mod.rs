//! Dynamic routes: a model's name that stands for a graph, which finds the provider and model of each call by its
//! metadata, its fields and its body, by chance and by what was used already.
//!
//! A graph is declared as a list of elements in JSON (`notes/ai-gateway.md` section 1.6). What an element leads to is
//! checked when it is read, so that a walk always ends: a graph has no circle.

mod condition;
mod element;
mod field_path;
mod graph;

pub use element::{ElementIndex, RouteLimit, RouteModel};
pub use field_path::{FieldPath, RouteFacts};
pub use graph::{MAX_MODELS, RouteFault, RouteGraph, RouteStop};

/// What stands before the name of a route in place of a provider.
pub const PREFIX: &str = "dynamic";
/// Longest name of a route, in characters.
const MAX_NAME_CHARS: usize = 64;

/// Checks that a text may be the name of a route.
///
/// # Errors
/// One sentence with what a name is.
pub fn check_name(text: &str) -> Result<(), String> {
    let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_name = (1..=MAX_NAME_CHARS).contains(&text.len()) && text.bytes().all(is_sound);
    is_name.then_some(()).ok_or_else(|| {
        format!("expected 1 to {MAX_NAME_CHARS} letters, digits, `-`, `_` and `.`, found `{text}`")
    })
}
