//! The value is an address of one of the networks: `192.0.2.0/24,2001:db8::/32`.

use super::{Argument, Compiled, Definition, Example, networks};

pub(super) const DEFINITION: Definition = Definition {
    name: "ipMatch",
    summary: "The value is an address of one of the networks: `192.0.2.0/24,2001:db8::/32`.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "192.0.2.0/24", input: b"192.0.2.9", matches: true },
        Example { argument: "192.0.2.1,2001:db8::/32", input: b"2001:db8::1", matches: true },
        Example { argument: "192.0.2.0/24", input: b"198.51.100.1", matches: false },
        Example { argument: "192.0.2.0/24", input: b"x", matches: false },
    ],
};

fn compile(argument: &mut Argument<'_>) -> Compiled {
    networks::compile(argument.text.split([',', ' ']))
}
