//! A resource with where it comes from.

use std::fmt;
use std::ops::Deref;

use diagnostic::Place;

/// What declared a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// A configuration file.
    File(Box<Place>),
    /// A changeset of the store.
    Revision(u64),
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(place) => f.write_str(&place.label()),
            Self::Revision(revision) => write!(f, "revision {revision} of the store"),
        }
    }
}

/// A resource, and what declared it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared<T> {
    pub value: T,
    pub provenance: Provenance,
}

impl<T> Declared<T> {
    pub fn in_file(value: T, place: Place) -> Self {
        Self { value, provenance: Provenance::File(Box::new(place)) }
    }

    pub fn at_revision(value: T, revision: u64) -> Self {
        Self { value, provenance: Provenance::Revision(revision) }
    }

    /// The place in a file, for diagnostics.
    pub fn place(&self) -> Option<&Place> {
        match &self.provenance {
            Provenance::File(place) => Some(place),
            Provenance::Revision(_) => None,
        }
    }
}

impl<T> Deref for Declared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
