//! Certificates of zones: packs, and how far their validation is.

mod packs;
mod shapes;
mod shown;
mod universal;

pub(super) use packs::OPERATIONS as PACKS;
pub(super) use shapes::SETTING as SETTING_SHAPE;
pub(super) use universal::OPERATIONS as UNIVERSAL;
