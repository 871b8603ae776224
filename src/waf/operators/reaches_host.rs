//! A URL in the value reaches a host of one of these kinds.

use super::{Argument, Compiled, Definition, Example, Prefilter, Test};
use crate::pattern::ByteSet;
use crate::waf::grammars::{Reach, reach};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "reachesHost",
    summary: "A URL in the value reaches a host of one of these kinds: `loopback`, `metadata`, `private`, `inner`, \
              `disguised` (an address in an unusual notation), `numeric`.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "loopback,metadata", input: b"http://2130706433/", matches: true },
        Example { argument: "loopback,metadata", input: b"https://example.com/127.0.0.1", matches: false },
        Example { argument: "private", input: b"https://10.0.0.1/", matches: true },
        Example { argument: "disguised", input: b"http://0x7f.1/", matches: true },
    ],
};

struct ReachesHost {
    kinds: Vec<fn(&Reach) -> bool>,
}

/// A URL, or the one address that is asked for without.
static MARKS: Prefilter = Prefilter::any_of(ByteSet::of(b":/\\."));

fn compile(argument: &mut Argument<'_>) -> Compiled {
    let kind = |name: &str| -> Result<fn(&Reach) -> bool, String> {
        Ok(match name.trim() {
            "loopback" => |reach: &Reach| reach.loopback,
            "metadata" => |reach: &Reach| reach.metadata,
            "private" => |reach: &Reach| reach.private,
            "inner" => |reach: &Reach| reach.inner,
            "disguised" => |reach: &Reach| reach.disguised,
            "numeric" => |reach: &Reach| reach.numeric,
            other => {
                return Err(format!(
                    "expected `loopback`, `metadata`, `private`, `inner`, `disguised` or `numeric`, found `{other}`"
                ));
            }
        })
    };
    let kinds = argument.text.split(',').map(kind).collect::<Result<_, _>>()?;
    Ok(Box::new(ReachesHost { kinds }))
}

impl Test for ReachesHost {
    fn is_match(&self, input: &[u8], _: &Transaction) -> bool {
        let reach = reach(input);
        self.kinds.iter().any(|is| is(&reach))
    }

    fn prefilter(&self) -> Option<&Prefilter> {
        Some(&MARKS)
    }
}
