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
    if !input.iter().copied().any(is_space) {
        return false;
    }
    out.extend(input.iter().filter(|b| !is_space(**b)));
    true
}
