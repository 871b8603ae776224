//! A URL in the value reaches a host of one of these kinds.

use super::memo::LastAnswer;
use super::{Argument, Compiled, Definition, Example, Test};
use crate::data::Data;
use crate::grammars::{ADDRESS_MARKS, Reach, reach};

pub(super) const DEFINITION: Definition = Definition {
    name: "reachesHost",
    summary: "A URL in the value reaches a host of one of these kinds: `loopback`, `metadata`, `private`, `inner`, \
              `disguised` (an address in an unusual notation), `numeric`; `mentioned` is one of the first four in a \
              sentence, but for ports from 1024 on of the machine itself.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "loopback,metadata", input: b"http://2130706433/", matches: true },
        Example { argument: "loopback,metadata", input: b"https://example.com/127.0.0.1", matches: false },
        Example { argument: "private", input: b"https://10.0.0.1/", matches: true },
        Example { argument: "disguised", input: b"http://0x7f.1/", matches: true },
        Example { argument: "loopback", input: br"http:\/127.0.0.1", matches: true },
        Example { argument: "mentioned", input: b"it is at http://10.0.0.1/ now", matches: true },
    ],
};

thread_local! {
    static KNOWN: LastAnswer<Reach> = const { LastAnswer::new() };
}

struct ReachesHost {
    kinds: Vec<fn(&Reach) -> bool>,
    marks: Vec<Vec<u8>>,
}

fn compile(argument: &mut Argument<'_>) -> Compiled {
    let kind = |name: &str| -> Result<fn(&Reach) -> bool, String> {
        Ok(match name.trim() {
            "loopback" => |reach: &Reach| reach.loopback,
            "metadata" => |reach: &Reach| reach.metadata,
            "private" => |reach: &Reach| reach.private,
            "inner" => |reach: &Reach| reach.inner,
            "disguised" => |reach: &Reach| reach.disguised,
            "numeric" => |reach: &Reach| reach.numeric,
            "mentioned" => |reach: &Reach| reach.mentioned,
            other => {
                return Err(format!(
                    "expected `loopback`, `metadata`, `private`, `inner`, `disguised`, `numeric` or `mentioned`, \
                     found `{other}`"
                ));
            }
        })
    };
    let kinds = argument.text.split(',').map(kind).collect::<Result<_, _>>()?;
    let marks = ADDRESS_MARKS.iter().map(|mark| mark.to_vec()).collect();
    Ok(Box::new(ReachesHost { kinds, marks }))
}

impl Test for ReachesHost {
    fn is_match(&self, input: &[u8], _: &Data) -> bool {
        let reach = KNOWN.with(|known| known.answer(input, reach));
        self.kinds.iter().any(|is| is(&reach))
    }

    fn literals(&self) -> Option<&[Vec<u8>]> {
        Some(&self.marks)
    }
}
