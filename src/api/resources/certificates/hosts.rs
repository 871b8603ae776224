//! Names of certificates, as bodies write them.

use hostnames::name;

use crate::api::error::ErrorCode;
use crate::api::input::Fields;

/// The names of a field, each once and in lower case; a list that is empty or too long is refused, and so is each name that
/// is none or that `check` says something against.
pub(super) fn host_list(
    fields: &Fields<'_>,
    field: &'static str,
    longest: usize,
    code: &'static ErrorCode,
    check: impl Fn(&str) -> Result<(), String>,
) -> Vec<String> {
    let texts = fields.texts(field).unwrap_or_default();
    if texts.is_empty() || texts.len() > longest {
        let message = format!("expected 1 to {longest} names for `{field}`, found {}", texts.len());
        fields.refuse(code, field, message);
    }
    let mut hosts = Vec::new();
    for (nth, text) in texts.iter().take(longest).enumerate() {
        match name::of_certificate(text).and_then(|host| check(&host).map(|()| host)) {
            Ok(host) if hosts.contains(&host) => {}
            Ok(host) => hosts.push(host),
            Err(message) => fields.refuse(code, &format!("{field}/{nth}"), message),
        }
    }
    hosts
}
