//! DNS without sockets and clock: names, records, zone files, zones, and what an authoritative server answers.
//!
//! | module | what it is |
//! |---|---|
//! | [`name`] | domain names |
//! | [`record_type`] | types of records |
//! | [`rdata`] | data of records: text, fields, wire form |
//! | [`zone_file`] | zone files to entries |
//! | [`zone_check`] | what is wrong with a zone file |
//! | [`zone`] | a zone as it is answered from |
//! | [`query`] | messages to queries |
//! | [`answer`](mod@answer) | queries and zones to answers |
//! | [`explain`](mod@explain) | why a name has its answer |
//! | [`dnssec`] | signatures |
//! | [`denial`] | signed records that say what a name does not have |
//! | [`notify`](mod@notify) | messages that say that a zone has changed |
//! | [`receive`] | zones received from other name servers |
//! | [`transfer`] | zones handed over to other name servers |
//! | [`transfer_policy`] | who may have them |
//! | [`tsig`] | messages signed with a shared key |
//! | [`response_rate`] | limits of answers by network |
//! | [`cookie`] | what clients show that they are where they say |

pub mod answer;
pub mod cookie;
pub mod denial;
pub mod dnssec;
pub mod explain;
mod journal;
mod message_record;
pub mod name;
pub mod notify;
pub mod query;
pub mod rdata;
pub mod receive;
mod received_record;
mod record_set;
pub mod record_type;
pub mod response_rate;
mod token;
pub mod transfer;
pub mod transfer_policy;
pub mod tsig;
pub mod wire_map;
pub mod zone;
pub mod zone_check;
pub mod zone_file;

pub use answer::{Answered, Carrier, Catalog, Transport, answer};
pub use cookie::Cookies;
pub use name::Name;
pub use query::Rcode;
pub use rdata::{FieldValue, Rdata, RdataError};
pub use record_type::RecordType;
pub use transfer::Transfer;
pub use transfer_policy::TransferPolicy;
pub use zone::{DnsZone, NodeRecords, Soa, ZoneKeys};
