//! A path in the value climbs above the folder it starts in.

use super::memo::Memo;
use super::{Argument, Compiled, Definition, Example, Prefilter, Test};
use crate::data::Data;
use crate::grammars::levels_above_root;
use pattern::ByteSet;

pub(super) const DEFINITION: Definition = Definition {
    name: "leavesRoot",
    summary: "A path in the value climbs so many levels above the folder it starts in, however it is encoded.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "2", input: b"..%252f..\\x", matches: true },
        Example { argument: "2", input: b"a/../../x", matches: false },
        Example { argument: "1", input: b"a/../../x", matches: true },
        Example { argument: "1", input: b"wait... what", matches: false },
    ],
};

thread_local! {
    static KNOWN: Memo<usize> = const { Memo::new() };
}

struct LeavesRoot {
    levels: usize,
}

/// A dot as it is, percent-encoded, or in more bytes than it needs.
static DOTS: Prefilter = Prefilter::any_of(ByteSet::of(b".%\xc0\xe0\xef"));

fn compile(argument: &mut Argument<'_>) -> Compiled {
    match argument.text.trim().parse() {
        Ok(levels @ 1..) => Ok(Box::new(LeavesRoot { levels })),
        _ => Err(format!("expected a number of levels from 1 on, found `{}`", argument.text)),
    }
}

impl Test for LeavesRoot {
    fn is_match(&self, input: &[u8], _: &Data) -> bool {
        KNOWN.with(|known| known.answer(input, levels_above_root)) >= self.levels
    }

    fn prefilter(&self) -> Option<&Prefilter> {
        Some(&DOTS)
    }
}
