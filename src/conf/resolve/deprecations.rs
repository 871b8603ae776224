//! `[deprecations]`: an operator's rows read, modes checked.

use std::path::Path;
use std::sync::Arc;

use deprecations::{DeprecationSchedule, SHIPPED};
use diagnostic::{Code, Diagnostic, Place, Source, nearest};
use model::{DeprecationMode, DeprecationSettings};

use super::Resolving;
use crate::conf::DeprecationCalendar;
use crate::conf::deprecation_file::DeprecationsFile;
use crate::conf::dns_file::SrvNames;
use crate::conf::table::Located;

/// The row that `dns.srv_names` is about.
const SRV_RECORD_DATA: &str = "srv-record-data";

impl Resolving<'_> {
    pub(super) fn deprecations(
        &mut self,
        file: DeprecationsFile,
        srv_names: Option<Located<SrvNames>>,
    ) -> DeprecationCalendar {
        let schedule =
            file.file.and_then(|file| self.schedule(&file)).unwrap_or_else(|| Arc::clone(&SHIPPED));
        let mut settings = DeprecationSettings { api_version: file.as_of, ..DeprecationSettings::default() };
        if let Some(Located { value, place }) = srv_names {
            self.warn_of_key("dns.srv_names", &place);
            if value == SrvNames::Ignore {
                settings.modes.insert(SRV_RECORD_DATA.to_owned(), DeprecationMode::Warn);
            }
        }
        if let Some(Located { value, place }) = file.modes {
            for id in deprecations::unknown_ids(&value, &schedule) {
                let known = schedule.rows().iter().map(|row| row.id.as_str());
                let help = match nearest(id, known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "`portcullis deprecations` lists the rows".to_owned(),
                };
                let message = format!("`deprecations.modes`: there is no row `{id}`");
                let diagnostic = Diagnostic::error(Code::ConfBadValue, message).at(place.clone());
                self.diagnostics.push(diagnostic.help(help));
            }
            settings.modes.extend(value);
        }
        let notice_days = i32::try_from(file.alert_days).unwrap_or(i32::MAX);
        DeprecationCalendar {
            schedule,
            settings,
            earliest_api_version: file.earliest_api_version,
            notice_days,
        }
    }

    fn schedule(&mut self, file: &Located<String>) -> Option<Arc<DeprecationSchedule>> {
        let path = self.path(Path::new(&file.value));
        self.files.insert(path.clone());
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                self.bad(&file.place, format!("cannot read `{}`: {error}", path.display()));
                return None;
            }
        };
        match DeprecationSchedule::with_file(&Source::new(path.display().to_string(), text)) {
            Ok(schedule) => Some(Arc::new(schedule)),
            Err(diagnostics) => {
                self.diagnostics.append(diagnostics);
                None
            }
        }
    }

    /// Warns of a key that ends.
    fn warn_of_key(&mut self, key: &str, place: &Place) {
        let of_key = |row: &&deprecations::DeprecationRow| match &row.what {
            deprecations::DeprecationKind::ConfigurationKey(keys) => keys.iter().any(|known| known == key),
            _ => false,
        };
        let Some(row) = SHIPPED.rows().iter().find(of_key) else { return };
        let message =
            format!("`{key}` ends with the first release from {} on; use {}", row.end(), row.replacement);
        let diagnostic = Diagnostic::warning(Code::ConfDeprecated, message).at(place.clone());
        self.diagnostics.push(diagnostic.help("`portcullis check --fix` rewrites the file".to_owned()));
    }
}
