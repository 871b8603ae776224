//! Text to AST. Knows nothing of matching: names are kept as written.

pub mod ast;
mod lex;
mod parse;

use std::sync::Arc;

use ast::{ItemAst, Word};
use diagnostic::{Code, Diagnostic, Diagnostics, Place, Source};

pub use lex::MAX_DIRECTIVE_BYTES;

/// Deepest nesting of `Include`.
pub const MAX_INCLUDE_DEPTH: usize = 16;

/// Where the text of rules comes from.
pub trait Loader {
    /// The text behind `name`.
    ///
    /// # Errors
    /// One sentence: why it cannot be read.
    fn read(&self, name: &str) -> Result<String, String>;

    /// The bytes behind `name`, for what is no text.
    ///
    /// # Errors
    /// One sentence: why they cannot be read.
    fn read_bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        self.read(name).map(String::into_bytes)
    }

    /// The names a glob or path in `from` stands for, sorted.
    ///
    /// # Errors
    /// One sentence: why it stands for nothing.
    fn resolve(&self, from: &str, pattern: &str) -> Result<Vec<String>, String>;
}

/// Rules held in memory, by name; `Include` finds them by their whole name.
#[derive(Debug, Default)]
pub struct MemoryLoader(pub Vec<(String, String)>);

impl Loader for MemoryLoader {
    fn read(&self, name: &str) -> Result<String, String> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, text)| text.clone()).ok_or_else(|| format!("there is no file `{name}`"))
    }

    fn resolve(&self, _from: &str, pattern: &str) -> Result<Vec<String>, String> {
        self.read(pattern).map(|_| vec![pattern.to_owned()])
    }
}

/// Reads and parses `roots` and everything they include, in order.
pub fn read(roots: &[String], loader: &dyn Loader, diagnostics: &mut Diagnostics) -> Vec<ItemAst> {
    let mut items = Vec::new();
    for root in roots {
        match loader.read(root) {
            Ok(text) => one(&Source::new(root, text), loader, 0, &mut items, diagnostics),
            Err(reason) => diagnostics
                .push(Diagnostic::error(Code::RulesUnreadable, format!("cannot read `{root}`: {reason}"))),
        }
    }
    items
}

/// Parses one text; `Include` is kept as a directive.
pub fn parse_text(source: &Arc<Source>, diagnostics: &mut Diagnostics) -> Vec<ItemAst> {
    lex::directives(source, diagnostics)
        .into_iter()
        .filter_map(|words| parse::item(source, words, diagnostics))
        .collect()
}

fn one(
    source: &Arc<Source>,
    loader: &dyn Loader,
    depth: usize,
    items: &mut Vec<ItemAst>,
    diagnostics: &mut Diagnostics,
) {
    for item in parse_text(source, diagnostics) {
        match &item {
            ItemAst::Directive { name, arguments, .. } if name.is("Include") => {
                include(source, arguments, loader, depth, items, diagnostics);
            }
            // As servers read it: what does not exist is passed over.
            ItemAst::Directive { name, arguments, .. } if name.is("IncludeOptional") => {
                let exists = |pattern: &Word| loader.resolve(&source.name, &pattern.text).is_ok();
                if arguments.first().is_some_and(exists) {
                    include(source, arguments, loader, depth, items, diagnostics);
                }
            }
            _ => items.push(item),
        }
    }
}

fn include(
    source: &Arc<Source>,
    arguments: &[Word],
    loader: &dyn Loader,
    depth: usize,
    items: &mut Vec<ItemAst>,
    diagnostics: &mut Diagnostics,
) {
    let Some(pattern) = arguments.first() else { return };
    let mut refuse = |reason: String| {
        let message = format!("cannot include `{}`: {reason}", pattern.text);
        diagnostics.push(Diagnostic::error(Code::RulesUnreadable, message).at(pattern.place()));
    };
    if depth >= MAX_INCLUDE_DEPTH {
        return refuse(format!("includes are nested more than {MAX_INCLUDE_DEPTH} deep"));
    }
    let names = match loader.resolve(&source.name, &pattern.text) {
        Ok(names) => names,
        Err(reason) => return refuse(reason),
    };
    for name in names {
        match loader.read(&name) {
            Ok(text) => one(&Source::new(name, text), loader, depth + 1, items, diagnostics),
            Err(reason) => {
                let message = format!("cannot include `{name}`: {reason}");
                diagnostics.push(Diagnostic::error(Code::RulesUnreadable, message).at(pattern.place()));
            }
        }
    }
}

/// A list of actions, as it stands in one word.
pub fn action_list(word: &Word, diagnostics: &mut Diagnostics) -> Vec<ast::ActionAst> {
    parse::actions(word, diagnostics)
}

/// An error of syntax at a place.
fn mistake(place: Place, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::SecLangSyntax, message).at(place)
}
