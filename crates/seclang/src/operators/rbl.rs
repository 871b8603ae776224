//! Whether a block list in the DNS names the client (RFC 5782). The engine looks nothing up: its caller passes in the
//! lists that name the client.

use std::sync::Arc;

use super::{Argument, Compiled, Definition, Example, Test};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "rbl",
    summary: "Whether a block list in the DNS names the client; only `REMOTE_ADDR` is looked up.",
    reads_file: false,
    compile,
    examples: &[Example { argument: "list.example.com", input: b"192.0.2.1", matches: false }],
};

/// Longest name of a list: the labels of an IPv6 address, 64 bytes, stand before it.
const MAX_NAME_BYTES: usize = 253 - 64;

struct BlockList(Arc<str>);

fn compile(argument: &mut Argument<'_>) -> Compiled {
    let name = argument.text.trim().trim_end_matches('.').to_ascii_lowercase();
    match is_name(&name) {
        true => Ok(Box::new(BlockList(name.into()))),
        false => Err(format!(
            "`{}` is no name of a block list; expected a domain name such as `list.example.com`",
            argument.text
        )),
    }
}

fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    name.len() <= MAX_NAME_BYTES && name.contains('.') && name.split('.').all(is_label)
}

impl Test for BlockList {
    fn is_match(&self, input: &[u8], data: &Data) -> bool {
        data.message.listed_in.contains(&self.0) && input == data.buffers.get(data.message.remote_addr)
    }

    fn block_list(&self) -> Option<&Arc<str>> {
        Some(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_names() {
        for (name, expected) in [
            ("list.example.com", true),
            ("a_b.example", true),
            ("example", false),
            ("", false),
            ("a..b", false),
            (".a.b", false),
            ("a b.c", false),
            ("%{tx.list}.example", false),
            (&format!("{}.example", "a".repeat(64)), false),
            (&["a".repeat(60), "b".repeat(60), "c".repeat(60), "example".to_owned()].join("."), false),
        ] {
            assert_eq!(is_name(name), expected, "{name}");
        }
    }
}
