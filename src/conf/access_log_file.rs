//! `[access_log]` as written.

use super::table::{Located, Table, Words};
use crate::events::AccessFormat;

#[derive(Clone, Debug)]
pub struct AccessLogFile {
    pub file: Located<String>,
    pub format: AccessFormat,
    pub sample_every: usize,
    /// Of the JSON, in this order.
    pub fields: Option<Located<Vec<String>>>,
}

impl Words for AccessFormat {
    const WORDS: &'static [(&'static str, Self)] =
        &[("json", Self::Json), ("common", Self::Common), ("combined", Self::Combined)];
}

pub(super) fn access_log(root: &mut Table<'_>) -> Option<AccessLogFile> {
    let mut table = root.table("access_log")?;
    let file = table.required("file");
    let format = table.or("format", AccessFormat::Json);
    let sample_every = table.number("sample_every", 1, 1..=1_000_000);
    let fields = table.get("fields");
    table.finish();
    Some(AccessLogFile { file: file?, format, sample_every, fields })
}
