//! White space is taken out, the no-break space too.

use super::{Definition, SPACE, is_space};

pub(super) const DEFINITION: Definition = Definition {
    name: "removeWhitespace",
    summary: "White space is taken out, the no-break space too.",
    apply,
    touches: Some(SPACE),
    examples: &[(b" a\tb\xa0 ", b"ab"), (b"ab", b"ab")],
};

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    input.split(|byte| is_space(*byte)).for_each(|part| out.extend_from_slice(part));
    out.len() != input.len()
}
