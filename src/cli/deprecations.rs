//! `portcullis deprecations`: what ends, how it is served, and who still uses it, from the state folder.

use std::path::PathBuf;

use clap::Args;
use deprecations::Precedence;

use super::{Failure, print, printable};
use crate::clock::Clock;
use model::CalendarDate;
use store::{DeprecationLog, RowUses};

/// List what ends, when, and who still uses it.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portcullis deprecations --conf conf/portcullis.toml --used")]
pub(super) struct Deprecations {
    /// The configuration whose calendar and state folder are meant.
    #[arg(long, value_name = "FILE", default_value = "conf/portcullis.toml")]
    conf: PathBuf,
    /// Only what is used, with the tokens and clients that use it.
    #[arg(long)]
    used: bool,
}

impl Deprecations {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let (conf, _) = crate::conf::load(&self.conf)?;
        // A folder that no process has used has no uses.
        let uses = if conf.state_dir.join(DeprecationLog::FILE).exists() {
            DeprecationLog::open(&conf.state_dir)?.all()?
        } else {
            Vec::new()
        };
        let mut by_row = RowUses::by_row(&uses);
        let calendar = &conf.deprecations;
        let today = CalendarDate::of_unix(Clock::real().unix().as_secs());
        let settings = [None, None, Some(&calendar.settings)];
        let precedence = Precedence { request: None, settings, today };
        let mut text = "row\tmode\tends\tdays\tuses\tlast used\treplacement\n".to_owned();
        for row in calendar.schedule.rows() {
            let used = by_row.remove(row.id.as_str()).unwrap_or_default();
            if self.used && used.by.is_empty() {
                continue;
            }
            let (total, last) = (used.total, used.last().unwrap_or("-"));
            let (mode, end) = (precedence.mode(row).word(), row.end());
            let days = today.days_until(end);
            text += &format!("{}\t{mode}\t{end}\t{days}\t{total}\t{last}\t{}\n", row.id, row.replacement);
            for (key, count) in used.by.iter().filter(|_| self.used) {
                let (token, agent) = (printable(&key.token), printable(&key.agent));
                text += &format!("  {}\t{token}\t{agent}\t{}\n", count.uses, count.last);
            }
        }
        print(&text)
    }
}
