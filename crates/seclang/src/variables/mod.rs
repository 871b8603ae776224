//! The variables, one file each: what of a data a rule can look at.

mod args;
mod args_combined_size;
mod args_get;
mod args_get_names;
mod args_names;
mod args_post;
mod args_post_names;
mod arguments_limit_reached;
mod auth_type;
mod duration;
mod env;
mod files;
mod files_combined_size;
mod files_names;
mod files_sizes;
mod files_tmp_content;
mod files_tmpnames;
mod full_request;
mod full_request_length;
mod geo;
mod global;
mod highest_severity;
mod inbound_data_error;
mod ip;
mod matched_var;
mod matched_var_name;
mod matched_vars;
mod matched_vars_names;
mod modsec_build;
mod multipart_boundary_quoted;
mod multipart_boundary_whitespace;
mod multipart_crlf_lf_lines;
mod multipart_data_after;
mod multipart_data_before;
mod multipart_file_limit_exceeded;
mod multipart_filename;
mod multipart_header_folding;
mod multipart_invalid_header_folding;
mod multipart_invalid_part;
mod multipart_invalid_quoting;
mod multipart_lf_line;
mod multipart_name;
mod multipart_part_headers;
mod multipart_semicolon_missing;
mod multipart_strict_error;
mod multipart_unmatched_boundary;
mod outbound_data_error;
mod path_info;
mod query_string;
mod remote_addr;
mod remote_host;
mod remote_user;
mod reqbody_error;
mod reqbody_error_msg;
mod reqbody_processor;
mod reqbody_processor_error;
mod reqbody_processor_error_msg;
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
mod request_texts;
mod request_uri;
mod request_uri_raw;
mod resource;
mod response_args;
mod response_body;
mod response_content_length;
mod response_content_type;
mod response_headers;
mod response_headers_names;
mod response_protocol;
mod response_status;
mod rule;
mod server_addr;
mod server_name;
mod server_port;
mod session;
mod sessionid;
mod status_line;
mod time;
mod time_day;
mod time_epoch;
mod time_hour;
mod time_min;
mod time_mon;
mod time_sec;
mod time_wday;
mod time_year;
mod tx;
mod unique_id;
mod urlencoded_error;
mod user;
mod userid;
mod webappid;
mod xml;

use crate::data::{Data, Text};

/// One variable.
pub struct Definition {
    pub name: &'static str,
    pub summary: &'static str,
    /// Whether it has entries with names, or is one value.
    pub collection: bool,
    pub changes: Changes,
    /// Calls with each entry's name and value.
    pub values: fn(&Data, &mut Visit<'_>),
}

/// When a variable's values are other than they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Changes {
    /// They are those of the request's head.
    Never,
    /// With the request's body, or a part of the response.
    WithMessage,
    /// Whenever a rule acts: they cannot be kept.
    WithRules,
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
    &arguments_limit_reached::DEFINITION,
    &auth_type::DEFINITION,
    &duration::DEFINITION,
    &env::DEFINITION,
    &files::DEFINITION,
    &files_combined_size::DEFINITION,
    &files_names::DEFINITION,
    &files_sizes::DEFINITION,
    &files_tmp_content::DEFINITION,
    &files_tmpnames::DEFINITION,
    &full_request::DEFINITION,
    &full_request_length::DEFINITION,
    &geo::DEFINITION,
    &global::DEFINITION,
    &highest_severity::DEFINITION,
    &inbound_data_error::DEFINITION,
    &ip::DEFINITION,
    &matched_var::DEFINITION,
    &matched_var_name::DEFINITION,
    &matched_vars::DEFINITION,
    &matched_vars_names::DEFINITION,
    &modsec_build::DEFINITION,
    &multipart_boundary_quoted::DEFINITION,
    &multipart_boundary_whitespace::DEFINITION,
    &multipart_crlf_lf_lines::DEFINITION,
    &multipart_data_after::DEFINITION,
    &multipart_data_before::DEFINITION,
    &multipart_file_limit_exceeded::DEFINITION,
    &multipart_filename::DEFINITION,
    &multipart_header_folding::DEFINITION,
    &multipart_invalid_header_folding::DEFINITION,
    &multipart_invalid_part::DEFINITION,
    &multipart_invalid_quoting::DEFINITION,
    &multipart_lf_line::DEFINITION,
    &multipart_name::DEFINITION,
    &multipart_part_headers::DEFINITION,
    &multipart_semicolon_missing::DEFINITION,
    &multipart_strict_error::DEFINITION,
    &multipart_unmatched_boundary::DEFINITION,
    &outbound_data_error::DEFINITION,
    &path_info::DEFINITION,
    &query_string::DEFINITION,
    &remote_addr::DEFINITION,
    &remote_host::DEFINITION,
    &remote_user::DEFINITION,
    &reqbody_error::DEFINITION,
    &reqbody_error_msg::DEFINITION,
    &reqbody_processor::DEFINITION,
    &reqbody_processor_error::DEFINITION,
    &reqbody_processor_error_msg::DEFINITION,
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
    &request_texts::DEFINITION,
    &request_uri::DEFINITION,
    &request_uri_raw::DEFINITION,
    &resource::DEFINITION,
    &response_args::DEFINITION,
    &response_body::DEFINITION,
    &response_content_length::DEFINITION,
    &response_content_type::DEFINITION,
    &response_headers::DEFINITION,
    &response_headers_names::DEFINITION,
    &response_protocol::DEFINITION,
    &response_status::DEFINITION,
    &rule::DEFINITION,
    &server_addr::DEFINITION,
    &server_name::DEFINITION,
    &server_port::DEFINITION,
    &session::DEFINITION,
    &sessionid::DEFINITION,
    &status_line::DEFINITION,
    &time::DEFINITION,
    &time_day::DEFINITION,
    &time_epoch::DEFINITION,
    &time_hour::DEFINITION,
    &time_min::DEFINITION,
    &time_mon::DEFINITION,
    &time_sec::DEFINITION,
    &time_wday::DEFINITION,
    &time_year::DEFINITION,
    &tx::DEFINITION,
    &unique_id::DEFINITION,
    &urlencoded_error::DEFINITION,
    &user::DEFINITION,
    &userid::DEFINITION,
    &webappid::DEFINITION,
    &xml::DEFINITION,
];

/// The variable of a name, ignoring case.
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
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/variables");
        assert_eq!(std::fs::read_dir(folder).unwrap().count() - 1, ALL.len());
    }

    #[test]
    fn every_variable_can_be_asked_of_an_empty_transaction() {
        let data = Data::default();
        for definition in ALL {
            let mut seen = 0;
            (definition.values)(&data, &mut |_, _| seen += 1);
            assert!(seen <= 1 || definition.collection, "{definition:?}");
        }
    }
}
