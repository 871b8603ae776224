//! The value runs in the page that shows it.

use super::recognizer::Findings;
use super::{Argument, Compiled, Definition, Example, Recognizer, Test};
use crate::grammars::{Finding, Question, markup};
use pattern::ByteSet;

pub(super) const DEFINITION: Definition = Definition {
    name: "injectsMarkup",
    summary: "The value runs script in the page that shows it: `certain`, `likely` or `possible`.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "certain", input: b"<img src=x onerror=alert(1)>", matches: true },
        Example { argument: "certain", input: b"';alert(1)//", matches: true },
        Example { argument: "certain", input: b"javascript&colon;alert(1)", matches: true },
        Example { argument: "certain", input: b"<b>bold</b>", matches: false },
        Example { argument: "possible", input: b"<b>bold</b>", matches: true },
        Example { argument: "possible", input: b"a < b", matches: false },
    ],
};

/// A tag, an address (whose colon may be a reference), a quote, or an attribute: each has one of these.
const MARKS: ByteSet = ByteSet::of(b"<:&=\"'`");

thread_local! {
    static KNOWN: Findings = const { Findings::new() };
}

fn judge(value: &[u8], question: Question<'_>) -> Option<Finding> {
    KNOWN.with(|known| known.recall(value, question, markup))
}

fn compile(argument: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(Recognizer::new(argument.text, judge, MARKS)?) as Box<dyn Test>)
}
