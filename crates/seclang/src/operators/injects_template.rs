//! The value holds an expression that a template engine computes.

use super::recognizer::Findings;
use super::{Argument, Compiled, Definition, Example, Recognizer, Test};
use crate::grammars::{Finding, Question, template};
use pattern::ByteSet;

pub(super) const DEFINITION: Definition = Definition {
    name: "injectsTemplate",
    summary: "The value holds an expression that a template engine computes: `certain`, `likely` or `possible`.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "certain", input: b"{{7*7}}", matches: true },
        Example { argument: "certain", input: b"${user.name}", matches: false },
        Example { argument: "possible", input: b"${user.name}", matches: true },
    ],
};

/// Every mark of an expression begins with one of these.
const MARKS: ByteSet = ByteSet::of(b"{<[(");

thread_local! {
    static KNOWN: Findings = const { Findings::new() };
}

fn judge(value: &[u8], question: Question<'_>) -> Option<Finding> {
    KNOWN.with(|known| known.recall(value, question, template))
}

fn compile(argument: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(Recognizer::new(argument.text, judge, MARKS)?) as Box<dyn Test>)
}
