//! `[tracing]` as written.

use super::table::{Located, Table};

#[derive(Clone, Debug)]
pub struct TracingFile {
    pub endpoint: Located<String>,
    pub logs_endpoint: Option<Located<String>>,
    pub authorization: Option<Located<String>>,
    pub service_name: String,
    pub sample_every: usize,
}

pub(super) fn tracing(root: &mut Table<'_>) -> Option<TracingFile> {
    let mut table = root.table("tracing")?;
    let endpoint = table.required("endpoint");
    let logs_endpoint = table.get("logs_endpoint");
    let authorization = table.get("authorization");
    let service_name = table.or("service_name", "portcullis".to_owned());
    let sample_every = table.number("sample_every", 1, 1..=1_000_000);
    table.finish();
    Some(TracingFile { endpoint: endpoint?, logs_endpoint, authorization, service_name, sample_every })
}
