//! Custom hostnames: names of a customer's customers, served through a zone.

mod checks;
mod diagnose;
mod fallback_origin;
mod filters;
mod pack_certificates;
mod records;
mod shapes;
mod shown;
mod tls_input;
mod written;

pub(super) use diagnose::OPERATIONS as DIAGNOSE;
pub(super) use fallback_origin::OPERATIONS as FALLBACK_ORIGIN;
pub(super) use pack_certificates::OPERATIONS as PACK_CERTIFICATES;
pub(super) use records::OPERATIONS as RECORDS;
pub(super) use shown::{ShownMistake, ShownValidation, due, time};
pub(super) use tls_input::certificate_authority;

#[cfg(test)]
mod tests {
    #[test]
    fn each_file_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/api/resources/hostnames");
        // This file, those of operations, and those that they share.
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1 + 4 + 6);
    }
}
