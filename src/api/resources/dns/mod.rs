//! DNS: records of zones, and how zones are served.

mod batch;
mod checks;
mod content;
mod desired;
mod dnssec;
mod edits;
mod filters;
mod hints;
mod history;
mod incoming;
mod names;
mod outgoing;
pub(super) mod own_name_servers;
mod partners;
mod records;
mod scan;
pub(super) mod settings;
mod shadows;
mod shapes;
mod shown;
mod usage;
mod written;
mod zone_file;

pub(super) use batch::OPERATIONS as BATCH;
pub(super) use desired::OPERATIONS as DESIRED;
pub(super) use dnssec::OPERATIONS as DNSSEC;
pub(super) use history::OPERATIONS as HISTORY;
pub(super) use incoming::OPERATIONS as INCOMING;
pub(super) use outgoing::OPERATIONS as OUTGOING;
pub(super) use partners::OPERATIONS as PARTNERS;
pub(super) use records::OPERATIONS as RECORDS;
pub(super) use scan::OPERATIONS as SCAN;
pub(super) use settings::OPERATIONS as SETTINGS;
pub(super) use usage::OPERATIONS as USAGE;
pub(super) use zone_file::OPERATIONS as ZONE_FILES;
