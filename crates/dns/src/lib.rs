//! DNS without sockets and clock: names, records, zone files, zones, and what an authoritative server answers.
//!
//! | module | what it is |
//! |---|---|
//! | [`name`] | domain names |
//! | [`record_type`] | types of records |
//! | [`rdata`] | data of records: text, fields, wire form |
//! | [`zone_file`] | zone files to entries |

pub mod name;
pub mod rdata;
pub mod record_type;
mod token;
pub mod zone_file;

pub use name::Name;
pub use rdata::{FieldValue, Rdata, RdataError};
pub use record_type::RecordType;
