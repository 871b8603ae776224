//! The value becomes Base64 (RFC 4648 section 4).

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "base64Encode",
    summary: "The value becomes Base64 (RFC 4648 section 4).",
    apply,
    touches: None,
    examples: &[(b"<script>", b"PHNjcmlwdD4="), (b"a", b"YQ=="), (b"", b"")],
};

const ALPHABET: [u8; 64] = *b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn apply(input: &[u8], out: &mut Vec<u8>) -> bool {
    for chunk in input.chunks(3) {
        let byte = |at: usize| chunk.get(at).map_or(0, |b| u32::from(*b));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for sextet in 0..4 {
            let value = (bits >> (18 - 6 * sextet)) & 63;
            let letter = ALPHABET.get(value as usize).copied().unwrap_or(b'=');
            out.push(if sextet > chunk.len() { b'=' } else { letter });
        }
    }
    !input.is_empty()
}
