//! The value goes on with the SQL statement around it.

use super::recognizer::Findings;
use super::{Argument, Compiled, Definition, Example, Recognizer, Test};
use crate::grammars::{Finding, Question, sql};
use pattern::ByteSet;

pub(super) const DEFINITION: Definition = Definition {
    name: "injectsSql",
    summary: "The value goes on with the SQL statement around it: `certain`, `likely` or `possible`.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "certain", input: b"1' OR '1'='1", matches: true },
        Example { argument: "certain", input: b"1;drop table users", matches: true },
        Example { argument: "certain", input: b"SELECT a FROM b WHERE c = 'd' OR e = 'f'", matches: false },
        Example { argument: "possible", input: b"select * from users", matches: true },
        Example { argument: "likely", input: b"O'Brien and sons", matches: false },
    ],
};

/// Without one of these, spaces of any database among them, a value is a name or a number.
const MARKS: ByteSet = ByteSet::of(b"'\"`;()=<>+-*/%|&^#,\xa0\xc2").and(0, b' ');

thread_local! {
    static KNOWN: Findings = const { Findings::new() };
}

fn judge(value: &[u8], question: Question<'_>) -> Option<Finding> {
    KNOWN.with(|known| known.recall(value, question, sql))
}

fn compile(argument: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(Recognizer::new(argument.text, judge, MARKS)?) as Box<dyn Test>)
}
