//! What people note about a DNS record.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::RecordTime;

/// The notes of a record. Most records have none, which takes one pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "NoteFields", into = "NoteFields")]
pub struct RecordNotes(Option<Box<NoteFields>>);

/// A comment and tags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NoteFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<Box<str>>,
    /// Each `name:value`, or a name alone.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub tags: Box<[Box<str>]>,
    /// RFC 3339, as the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment_modified_on: Option<RecordTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags_modified_on: Option<RecordTime>,
}

static NONE: std::sync::LazyLock<NoteFields> = std::sync::LazyLock::new(NoteFields::default);

impl Deref for RecordNotes {
    type Target = NoteFields;

    fn deref(&self) -> &NoteFields {
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl From<NoteFields> for RecordNotes {
    fn from(fields: NoteFields) -> Self {
        Self((fields != *NONE).then(|| Box::new(fields)))
    }
}

impl From<RecordNotes> for NoteFields {
    fn from(notes: RecordNotes) -> Self {
        notes.0.map(|fields| *fields).unwrap_or_default()
    }
}
