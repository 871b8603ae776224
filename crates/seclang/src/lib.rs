//! SecLang: text in, verdict out. No I/O: files are read through [`syntax::Loader`].
//!
//! # The way of a rule
//!
//! ```text
//!  text ──syntax──► ast ──lower──► RuleSetIr ──compile──► Program ──run::plan──► Plan ──► Transaction
//!        parsed           lowered             grouped,            settings applied,     evaluated
//!                                             prefilters built    constants folded      for one request
//! ```
//!
//! | step | room | what comes out |
//! |---|---|---|
//! | parsed | [`syntax`] | directives with their places |
//! | lowered | [`lower`] | [`ir`]: names resolved in the four lists, errors located |
//! | compiled | [`compile`] | [`Program`]: arrays and indexes; equal targets and transformations are shared, targets of a link form a group |
//! | planned | [`run`] | [`Plan`]: one zone's settings; what is the same for every request is folded away |
//!
//! # The way of a request
//!
//! ```text
//!  head, body, response ──► data ──► phase: for each rule of the plan, in order
//!                                      group prefilter ──no──► next rule
//!                                      │ maybe
//!                                      each chain link: target ─► values ─► transformations ─► prefilter ─► operator
//!                                      │ all links matched              (cached)
//!                                      act ──► report ──► refuse, or go on
//! ```
//!
//! A [`Transaction`] has four parts: `data` is what variables and macros read, `cache` is what was found out about
//! values, `verdict` is what rules decided, `controls` is what rules changed about the rest of the run.
//!
//! # What the language knows
//!
//! Four lists of definitions, one file for each entry: [`variables`], [`transformations`], [`operators`], [`actions`].
//! Below the operators: `grammars` reads values as the languages that attacks are written in, `fingerprint` is what
//! `@detectSQLi` asks, `prefilter` knows what a value must hold for a pattern to match.

pub mod actions;
pub mod audit;
mod collections;
pub mod compile;
mod data;
mod expansion;
mod fingerprint;
pub mod geo;
mod grammars;
pub mod ir;
pub mod lower;
pub mod macros;
pub mod operators;
mod prefilter;
pub mod run;
pub mod syntax;
pub mod transformations;
pub mod variables;

use diagnostic::Diagnostics;

pub use body::head::{RequestHead, ResponseHead};
pub use collections::Collections;
pub use compile::{Program, Root, optimize};
pub use data::BodyLimits;
pub use ir::RuleSetIr;
#[cfg(feature = "oracle")]
pub use run::oracle;
pub use run::{ActionOverride, Interruption, Match, Plan, PlanSettings, Transaction, Watch};

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

#[cfg(test)]
mod test_numbers;
