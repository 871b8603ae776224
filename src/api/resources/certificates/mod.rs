//! Certificates of zones: packs, how far their validation is, and how TLS is spoken.

mod packs;
mod settings;
mod shapes;
mod shown;
mod universal;

pub(super) use packs::OPERATIONS as PACKS;
pub(super) use settings::OPERATIONS as SETTINGS;
pub(super) use universal::OPERATIONS as UNIVERSAL;
