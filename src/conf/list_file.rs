//! `[[lists]]` as written.

use super::table::{Located, Table};

#[derive(Clone, Debug)]
pub struct ListFile {
    pub name: Located<String>,
    pub kind: Located<String>,
    pub description: String,
    pub items: Option<Located<Vec<String>>>,
    pub file: Option<Located<String>>,
}

pub(super) fn list(mut table: Table<'_>) -> Option<ListFile> {
    let (name, kind) = (table.required("name"), table.required("kind"));
    let (items, file) = (table.get("items"), table.get("file"));
    let description = table.or("description", String::new());
    table.finish();
    Some(ListFile { name: name?, kind: kind?, description, items, file })
}
