//! SecLang: text in, verdict out.
//!
//! ```text
//! text --syntax::parse--> ast --lower--> RuleSetIr --optimize--> Program --Plan--> Transaction
//! ```
//! Everything up to [`Plan`] happens when rules or settings change; a request only walks arrays.
//! The four lists of definitions ([`variables`], [`transformations`], [`operators`], [`actions`])
//! are what the language knows; each has one file for each entry. `grammars` reads values as the
//! languages that attacks are written in, for operators of our own; `fingerprint` is what `@detectSQLi`
//! asks. This module does no I/O: files
//! are read through [`syntax::Loader`].

pub mod actions;
pub mod audit;
mod fingerprint;
pub mod geo;
mod grammars;
pub mod ir;
pub mod lower;
pub mod macros;
pub mod matcher;
pub mod operators;
pub mod optimize;
pub mod syntax;
pub mod transformations;
pub mod variables;

use diagnostic::Diagnostics;

pub use ir::RuleSetIr;
pub use matcher::{
    Interruption, Match, Plan, PlanSettings, Program, RequestHead, ResponseHead, Transaction, Watch,
};

/// Text of rules to IR: the whole front half of the pipeline.
///
/// `roots` are names that `loader` understands, read in order.
pub fn load(roots: &[String], loader: &dyn syntax::Loader) -> (RuleSetIr, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let items = syntax::read(roots, loader, &mut diagnostics);
    let ir = lower::lower(items, loader, &mut diagnostics);
    (ir, diagnostics)
}

/// The phases of a transaction, as SecLang numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    RequestHeaders = 1,
    RequestBody = 2,
    ResponseHeaders = 3,
    ResponseBody = 4,
    Logging = 5,
}

impl Phase {
    pub const ALL: [Self; 5] =
        [Self::RequestHeaders, Self::RequestBody, Self::ResponseHeaders, Self::ResponseBody, Self::Logging];

    /// The phase of a number or of one of its words (`request`, `response`, `logging`).
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "1" => Some(Self::RequestHeaders),
            "2" | "request" => Some(Self::RequestBody),
            "3" => Some(Self::ResponseHeaders),
            "4" | "response" => Some(Self::ResponseBody),
            "5" | "logging" => Some(Self::Logging),
            _ => None,
        }
    }

    pub fn number(self) -> u8 {
        self as u8
    }

    pub fn index(self) -> usize {
        self as usize - 1
    }
}

/// Severities as SecLang names them, worst first.
pub const SEVERITIES: [&str; 8] =
    ["EMERGENCY", "ALERT", "CRITICAL", "ERROR", "WARNING", "NOTICE", "INFO", "DEBUG"];
