//! The value begins a command of its own in the command line around it.

use super::recognizer::Findings;
use super::{Argument, Compiled, Definition, Example, Recognizer, Test};
use crate::grammars::{Dialect, Finding, Question, shell};
use pattern::ByteSet;

pub(super) const DEFINITION: Definition = Definition {
    name: "injectsShell",
    summary: "The value begins a command of its own in the command line around it: `unix` or `windows`, \
              then `certain`, `likely` or `possible`.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "unix certain", input: b"x; cat /etc/hosts", matches: true },
        Example { argument: "unix certain", input: b"cats; dogs", matches: false },
        Example { argument: "unix likely", input: b"ls -la /tmp", matches: true },
        Example { argument: "windows certain", input: b"x & dir c:\\", matches: true },
        Example { argument: "windows certain", input: b"salt & pepper", matches: false },
    ],
};

/// Without one of these a value is one word.
const MARKS: ByteSet = ByteSet::of(b" \t\n\r;|&`$<>{/\\^");

thread_local! {
    static KNOWN_UNIX: Findings = const { Findings::new() };
    static KNOWN_WINDOWS: Findings = const { Findings::new() };
}

fn judge_unix(value: &[u8], question: Question<'_>) -> Option<Finding> {
    KNOWN_UNIX.with(|known| known.recall(value, question, |value, _| shell(value, Dialect::Unix)))
}

fn judge_windows(value: &[u8], question: Question<'_>) -> Option<Finding> {
    KNOWN_WINDOWS.with(|known| known.recall(value, question, |value, _| shell(value, Dialect::Windows)))
}

fn compile(argument: &mut Argument<'_>) -> Compiled {
    let (dialect, strength) = argument.text.trim().split_once(' ').unwrap_or((argument.text, ""));
    let recognizer = match dialect {
        "unix" => Recognizer::new(strength, judge_unix, MARKS),
        "windows" => Recognizer::new(strength, judge_windows, MARKS),
        other => return Err(format!("expected `unix` or `windows`, found `{other}`")),
    };
    Ok(Box::new(recognizer?) as Box<dyn Test>)
}
