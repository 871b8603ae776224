//! What all zones get from the configuration file as resolvers see them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// What the file said when it was last looked at. It is kept because serials are: zones that other name servers have, too,
/// get the revision of it if it is later than their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameService {
    /// Name servers by the number of their set, the primary first.
    pub name_servers: BTreeMap<u8, Vec<String>>,
    /// What proxied names are answered with.
    pub addresses: Vec<IpAddr>,
    /// The HTTPS record of proxied names.
    pub https_record: Option<String>,
}
