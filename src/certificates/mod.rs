//! Certificates: read from files, chosen by name.

mod load;
mod select;

pub use load::load;
pub use select::Certificates;
