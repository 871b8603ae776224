//! The value begins a command of its own in the command line around it.

use super::recognizer::Findings;
use super::{Argument, Compiled, Definition, Example, Recognizer, Test};
use crate::waf::byte_set::ByteSet;
use crate::waf::grammars::{Dialect, shell};

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

fn compile(argument: &mut Argument<'_>) -> Compiled {
    let (dialect, strength) = argument.text.trim().split_once(' ').unwrap_or((argument.text, ""));
    let recognizer = match dialect {
        "unix" => Recognizer::new(strength, |value| shell(value, Dialect::Unix), &KNOWN_UNIX, MARKS),
        "windows" => Recognizer::new(strength, |value| shell(value, Dialect::Windows), &KNOWN_WINDOWS, MARKS),
        other => return Err(format!("expected `unix` or `windows`, found `{other}`")),
    };
    Ok(Box::new(recognizer?) as Box<dyn Test>)
}
