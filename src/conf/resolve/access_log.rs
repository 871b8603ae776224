//! `[access_log]` resolved.

use std::path::Path;

use super::Resolving;
use crate::conf::access_log_file::AccessLogFile;
use crate::conf::table::Located;
use crate::events::kinds::RequestFinished;
use crate::events::{AccessFormat, AccessLogSettings};

impl Resolving<'_> {
    pub(super) fn access_log(&mut self, file: AccessLogFile) -> AccessLogSettings {
        let AccessLogFile { file, format, sample_every, fields } = file;
        let path = self.path(Path::new(&file.value));
        let mut chosen = Vec::new();
        if let Some(Located { value: fields, place }) = fields {
            if format != AccessFormat::Json {
                self.bad(&place, "`access_log.fields` is for the format `json`; the others have theirs");
            }
            if let Some(unknown) =
                fields.iter().find(|name| !RequestFinished::FIELDS.contains(&name.as_str()))
            {
                let known = RequestFinished::FIELDS.join("`, `");
                let message = format!("`access_log.fields`: unknown field `{unknown}`; expected `{known}`");
                self.bad(&place, message);
            }
            chosen = fields;
        }
        AccessLogSettings { path, format, sample_every: sample_every as u64, fields: chosen }
    }
}
