//! Fields to field sections (RFC 9204 section 4.5), plain: what Huffman's code would save of a response's head is a few
//! dozen bytes.

use super::integer;
use super::static_table::{self, Found};

/// A section without fields: nothing in it needs an entry of a dynamic table.
pub(crate) fn begin() -> Vec<u8> {
    vec![0, 0]
}

/// Appends a field.
pub(crate) fn write_field(name: &str, value: &[u8], section: &mut Vec<u8>) {
    match static_table::find(name, value) {
        Some(Found { index, is_exact: true }) => {
            integer::write(0b1100_0000, 6, u64::from(index), section);
            return;
        }
        Some(Found { index, .. }) => integer::write(0b0101_0000, 4, u64::from(index), section),
        None => {
            integer::write(0b0010_0000, 3, name.len() as u64, section);
            section.extend(name.as_bytes());
        }
    }
    integer::write(0, 7, value.len() as u64, section);
    section.extend(value);
}
