//! The variables, one file each: what of a transaction a rule can look at.

mod args;
mod args_combined_size;
mod args_get;
mod args_get_names;
mod args_names;
mod args_post;
mod args_post_names;
mod files;
mod files_names;
mod matched_var;
mod matched_var_name;
mod matched_vars;
mod matched_vars_names;
mod multipart_part_headers;
mod multipart_strict_error;
mod query_string;
mod remote_addr;
mod reqbody_error;
mod reqbody_error_msg;
mod reqbody_processor;
mod request_basename;
mod request_body;
mod request_body_length;
mod request_cookies;
mod request_cookies_names;
mod request_filename;
mod request_headers;
mod request_headers_names;
mod request_line;
mod request_method;
mod request_protocol;
mod request_uri;
mod request_uri_raw;
mod tx;
mod unique_id;

use super::matcher::{Text, Transaction};

/// One variable.
pub struct Definition {
    pub name: &'static str,
    pub summary: &'static str,
    /// Whether it has entries with names, or is one value.
    pub collection: bool,
    /// Whether rules change it, so that its values cannot be kept.
    pub volatile: bool,
    /// Calls with each entry's name and value.
    pub values: fn(&Transaction, &mut Visit<'_>),
}

pub(super) type Visit<'v> = dyn FnMut(Text, Text) + 'v;

impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Definition {}

impl std::fmt::Debug for Definition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Every variable, sorted by name.
pub const ALL: &[&Definition] = &[
    &args::DEFINITION,
    &args_combined_size::DEFINITION,
    &args_get::DEFINITION,
    &args_get_names::DEFINITION,
    &args_names::DEFINITION,
    &args_post::DEFINITION,
    &args_post_names::DEFINITION,
    &files::DEFINITION,
    &files_names::DEFINITION,
    &matched_var::DEFINITION,
    &matched_var_name::DEFINITION,
    &matched_vars::DEFINITION,
    &matched_vars_names::DEFINITION,
    &multipart_part_headers::DEFINITION,
    &multipart_strict_error::DEFINITION,
    &query_string::DEFINITION,
    &remote_addr::DEFINITION,
    &reqbody_error::DEFINITION,
    &reqbody_error_msg::DEFINITION,
    &reqbody_processor::DEFINITION,
    &request_basename::DEFINITION,
    &request_body::DEFINITION,
    &request_body_length::DEFINITION,
    &request_cookies::DEFINITION,
    &request_cookies_names::DEFINITION,
    &request_filename::DEFINITION,
    &request_headers::DEFINITION,
    &request_headers_names::DEFINITION,
    &request_line::DEFINITION,
    &request_method::DEFINITION,
    &request_protocol::DEFINITION,
    &request_uri::DEFINITION,
    &request_uri_raw::DEFINITION,
    &tx::DEFINITION,
    &unique_id::DEFINITION,
];

/// The variable of a name, whatever its case.
pub fn find(name: &str) -> Option<&'static Definition> {
    ALL.iter().copied().find(|definition| definition.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_unique_and_complete() {
        let names: Vec<&str> = ALL.iter().map(|d| d.name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable_by_key(|name| name.to_lowercase());
        sorted.dedup();
        assert_eq!(names, sorted);
        assert!(ALL.iter().all(|d| d.summary.ends_with('.')));
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/waf/variables");
        assert_eq!(std::fs::read_dir(folder).unwrap().count() - 1, ALL.len());
    }

    #[test]
    fn every_variable_can_be_asked_of_an_empty_transaction() {
        let transaction = Transaction::detached();
        for definition in ALL {
            let mut seen = 0;
            (definition.values)(&transaction, &mut |_, _| seen += 1);
            assert!(seen <= 1 || definition.collection, "{definition:?}");
        }
    }
}
