//! The data of records as requests write it: as fields, or as a text beside a priority.

use dns::{FieldValue, Rdata, RdataError, RecordType, rdata};
use model::{DeprecationMode, DnsRecord};
use serde_json::Value;

use super::names::host_text;
use super::shown::{SRV_NAMES, SRV_RECORD_DATA};
use super::written::Reading;
use crate::api::error::{self, ErrorCode};
use crate::api::input::Fields;

/// Longest data of a record, in wire form: some of a name fit into one answer.
const MAX_RDATA_BYTES: usize = 4_096;

impl Reading<'_, '_> {
    /// The data, which is not too long.
    pub(super) fn rdata(&self, record_type: RecordType) -> Option<Rdata> {
        let rdata = self.any_rdata(record_type)?;
        if rdata.wire().len() > MAX_RDATA_BYTES {
            let message =
                format!("Record content exceeds the allowed length of {MAX_RDATA_BYTES} wire format bytes.");
            self.refuse(error::DNS_TOO_LONG, "content", message);
            return None;
        }
        Some(rdata)
    }

    /// The data: of `data` if the type has it and it is there, else of `content`.
    fn any_rdata(&self, record_type: RecordType) -> Option<Rdata> {
        let kept = self.kept().filter(|kept| kept.rdata.record_type() == record_type);
        let data = self.fields.value("data").filter(|_| rdata::is_structured(record_type));
        let content = self.fields.text("content");
        let has_content_error = content.is_none() && self.fields.value("content").is_some();
        if has_content_error {
            return None;
        }
        if data.is_some() {
            return self.of_data(record_type, kept);
        }
        let priority = self.priority(record_type, kept);
        match (content, kept) {
            (Some(content), _) => self.of_content(record_type, content.trim(), priority?),
            (None, Some(kept)) => {
                self.is_unquoted.set(kept.is_unquoted);
                match (self.fields.value("priority"), priority?) {
                    (Some(_), Some(_)) => self.of_content(record_type, &kept.rdata.content(), priority?),
                    _ => Some(kept.rdata.clone()),
                }
            }
            (None, None) => {
                let (code, what) = if rdata::is_structured(record_type) {
                    (error::DNS_CONTENT, "data")
                } else {
                    (content_code(record_type), "content")
                };
                let message = match record_type {
                    RecordType::A => "Content for A record must be a valid IPv4 address.".to_owned(),
                    RecordType::Aaaa => "Content for AAAA record must be a valid IPv6 address.".to_owned(),
                    _ => format!("Content for {record_type} record is invalid: `{what}` is required"),
                };
                self.refuse(code, what, message);
                None
            }
        }
    }

    /// The priority beside the content; `Some(None)` for types without. `None` if it is refused.
    fn priority(&self, record_type: RecordType, kept: Option<&DnsRecord>) -> Option<Option<u16>> {
        if !record_type.has_priority() {
            // Clients send 0 with every type.
            self.fields.ignore(&["priority"]);
            return Some(None);
        }
        let sent = self.fields.value("priority");
        let found = match sent {
            Some(_) => self.fields.whole("priority").and_then(|priority| u16::try_from(priority).ok()),
            None => kept.and_then(|kept| kept.rdata.priority()),
        };
        let is_optional = record_type == RecordType::Srv;
        if found.is_none() && (sent.is_some() || !is_optional) {
            let message = "Invalid priority, priority must be set and be between 0 and 65535";
            self.refuse(error::DNS_PRIORITY, "priority", message);
            return None;
        }
        Some(found)
    }

    fn of_data(&self, record_type: RecordType, kept: Option<&DnsRecord>) -> Option<Rdata> {
        let data = self.fields.object("data")?;
        if record_type == RecordType::Srv {
            self.check_srv_names(&data)?;
        }
        let known: Vec<(&str, FieldValue)> = kept.map(|kept| kept.rdata.fields()).unwrap_or_default();
        let get = |name: &'static str| {
            let beside = || self.fields.value(name).filter(|_| name == "priority");
            let sent = data.value(name).or_else(beside).and_then(|value| match value {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(whole(number)),
                _ => None,
            });
            sent.or_else(|| {
                let (_, value) = known.iter().find(|(known, _)| *known == name)?;
                Some(match value {
                    FieldValue::Number(number) => number.to_string(),
                    FieldValue::Text(text) => text.clone(),
                })
            })
        };
        let host = |name: &'static str, text: String| match name {
            "target" | "replacement" if record_type != RecordType::Uri => host_text(&text).unwrap_or(text),
            _ => text,
        };
        // Asked also if the data does not have it.
        self.fields.ignore(&["priority", "content"]);
        match Rdata::of_fields(record_type, |name| get(name).map(|text| host(name, text))) {
            Ok(rdata) => Some(rdata),
            Err(errors) => {
                let code = if record_type == RecordType::Srv { error::DNS_SRV } else { error::DNS_CONTENT };
                for RdataError { field, message } in errors {
                    data.refuse(code, field, message);
                }
                None
            }
        }
    }

    /// The parts of an SRV record's name had fields of their own until 2024-05-31 (spec, "Versioning").
    fn check_srv_names(&self, data: &Fields<'_>) -> Option<()> {
        let Some(rows) = &self.context.old else { return Some(()) };
        if rows.mode(SRV_RECORD_DATA) == DeprecationMode::Gone {
            return Some(());
        }
        let found: Vec<&str> =
            SRV_NAMES.into_iter().filter(|name| data.value(name).is_some_and(|value| *value != "")).collect();
        let mut is_refused = false;
        for name in found {
            let pointer = data.pointer(name);
            if let Some(message) =
                rows.refusal(SRV_RECORD_DATA, &format!("`{pointer}`"), Some(pointer.clone()))
            {
                data.refuse(error::DNS_SRV, name, message);
                is_refused = true;
            }
        }
        (!is_refused).then_some(())
    }

    /// The name of an SRV record whose parts are in its data.
    pub(super) fn srv_name(&self) -> Option<String> {
        let is_served = self.context.old.as_ref().is_some_and(|rows| rows.mode(SRV_RECORD_DATA).is_served());
        let data = self.fields.object("data").filter(|_| is_served)?;
        // What else it has is read with the content.
        data.pass_over();
        let [service, proto, name] = SRV_NAMES.map(|part| data.text(part));
        Some(format!("{}.{}.{}", service?, proto?, name?))
    }

    fn of_content(&self, record_type: RecordType, content: &str, priority: Option<u16>) -> Option<Rdata> {
        if record_type == RecordType::Txt {
            return self.of_txt(content);
        }
        let is_host =
            matches!(record_type, RecordType::Cname | RecordType::Mx | RecordType::Ns | RecordType::Ptr);
        let content = match content {
            "@" if is_host => self.context.origin.to_string(),
            _ if is_host => match host_text(content) {
                Some(host) => host,
                None => {
                    let message = match record_type {
                        RecordType::Mx => "Content for MX record must be a hostname.".to_owned(),
                        _ => format!(
                            "Content for {record_type} record is invalid: expected a host name, found `{content:.80}`"
                        ),
                    };
                    self.refuse(content_code(record_type), "content", message);
                    return None;
                }
            },
            _ => content.to_owned(),
        };
        let fields = rdata::fields_of(record_type).len();
        let is_whole = content.split_ascii_whitespace().count() >= fields && record_type == RecordType::Srv;
        let text = match priority {
            Some(priority) if record_type.has_priority() && !is_whole => format!("{priority} {content}"),
            _ => content,
        };
        match Rdata::parse(record_type, &text, None) {
            Ok(rdata) => Some(rdata),
            Err(RdataError { message, .. }) => {
                let message = match record_type {
                    RecordType::A => "Content for A record must be a valid IPv4 address.".to_owned(),
                    RecordType::Aaaa => "Content for AAAA record must be a valid IPv6 address.".to_owned(),
                    _ => format!("Content for {record_type} record is invalid: {message}"),
                };
                self.refuse(content_code(record_type), "content", message);
                None
            }
        }
    }

    fn of_txt(&self, content: &str) -> Option<Rdata> {
        let refused = |code, message: String| {
            self.refuse(code, "content", message);
            None
        };
        if content.contains(['\n', '\r']) {
            return refused(
                error::DNS_NEW_LINE,
                "Content for TXT record cannot have a line break.".to_owned(),
            );
        }
        let is_quoted = content.starts_with('"');
        if !is_quoted && has_open_quote(content) {
            let message = "Content for TXT record is invalid: quotes are not consistent; put every string in quotes, or \
                           none";
            return refused(error::DNS_CONTENT, message.to_owned());
        }
        let read =
            if is_quoted { quoted_texts(content) } else { Rdata::of_text(content).map_err(|e| e.message) };
        self.is_unquoted.set(!is_quoted);
        match read {
            Ok(rdata) => Some(rdata),
            Err(message) => {
                refused(error::DNS_CONTENT, format!("Content for TXT record is invalid: {message}"))
            }
        }
    }
}

/// A whole number as text, also if it is written as a float.
fn whole(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(float) if number.as_i64().is_none() && float.fract() == 0.0 && float.abs() < 9e15 => {
            (float as i64).to_string()
        }
        _ => number.to_string(),
    }
}

fn content_code(record_type: RecordType) -> &'static ErrorCode {
    match record_type {
        RecordType::A => error::DNS_A_CONTENT,
        RecordType::Aaaa => error::DNS_AAAA_CONTENT,
        RecordType::Mx => error::DNS_MAIL_HOST,
        RecordType::Srv => error::DNS_SRV,
        _ => error::DNS_CONTENT,
    }
}

/// Whether a text without quotes around it has a quote that no backslash stands before.
fn has_open_quote(text: &str) -> bool {
    let mut is_escaped = false;
    text.chars().any(|character| {
        let found = character == '"' && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        found
    })
}

/// Strings that are all in quotes.
fn quoted_texts(content: &str) -> Result<Rdata, String> {
    let mut is_inside = false;
    let mut is_escaped = false;
    for character in content.chars() {
        match character {
            '"' if !is_escaped => is_inside = !is_inside,
            character if !is_inside && !character.is_ascii_whitespace() => {
                return Err("quotes are not consistent; put every string in quotes, or none".to_owned());
            }
            _ => {}
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    Rdata::parse(RecordType::Txt, content, None).map_err(|error| error.message)
}
