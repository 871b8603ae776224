//! `portcullis top`: what the edge of this machine does now, in a terminal.

mod figures;
mod scrape;
mod view;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};

use super::{Failure, print};
use crate::clock::{Clock, rfc3339};
use crate::conf::{self, Conf};
use figures::{Figures, TopFindings};
use scrape::Scrape;
use store::{SecurityField, SecurityLog, SecurityQuery};

/// How long what the tables of security events count is ago.
const WINDOW: Duration = Duration::from_mins(10);
/// Rows of these tables.
const ROWS: u64 = 10;
/// The size of a frame that is printed.
const PRINTED: (u16, u16) = (110, 40);

/// Show requests, verdicts, rules, clients, origins and AI calls as they happen.
#[derive(Debug, Args)]
#[command(after_help = "Keys: q ends, + and - change the interval.\n\n\
    Example:\n  portcullis top --conf /etc/portcullis/portcullis.toml")]
pub(super) struct TopCommand {
    /// The configuration that the edge runs with; its admin port and its state are read.
    #[arg(long, value_name = "FILE", default_value = "portcullis.toml")]
    conf: PathBuf,
    /// Seconds between two looks.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=60))]
    interval: u64,
    /// Print one frame and end, for scripts and tickets.
    #[arg(long)]
    once: bool,
}

impl TopCommand {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let conf = conf::load(&self.conf)?.0;
        let watch = WatchedEdge { log: security_log(&conf), conf, clock: Clock::real() };
        let interval = Duration::from_secs(self.interval);
        if self.once {
            return watch.print(interval);
        }
        let mut terminal = ratatui::try_init().map_err(|error| format!("this is no terminal: {error}"))?;
        let ended = watch.run(&mut terminal, interval);
        ratatui::restore();
        ended
    }
}

/// The security events of an edge; one sentence if they cannot be read.
fn security_log(conf: &Conf) -> Result<SecurityLog, String> {
    SecurityLog::open(&conf.state_dir, conf.security_event_size.0 as u64).map_err(|error| error.to_string())
}

/// What is looked at.
struct WatchedEdge {
    conf: Conf,
    log: Result<SecurityLog, String>,
    clock: Clock,
}

impl WatchedEdge {
    fn print(&self, interval: Duration) -> Result<(), Failure> {
        let before = self.scrape()?;
        std::thread::sleep(interval);
        let figures = Figures::between(&before, &self.scrape()?, self.top_findings());
        let (width, height) = PRINTED;
        // INVARIANT: a buffer takes everything.
        let mut terminal =
            Terminal::new(TestBackend::new(width, height)).map_err(|error| error.to_string())?;
        terminal.draw(|frame| view::draw(frame, &figures, interval)).map_err(|error| error.to_string())?;
        let lines = terminal.backend().to_string();
        // Each line stands in quotes.
        let lines = lines.lines().map(|line| line.trim_matches('"').trim_end());
        print(&lines.map(|line| format!("{line}\n")).collect::<String>())
    }

    fn run(&self, terminal: &mut ratatui::DefaultTerminal, mut interval: Duration) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::Input(format!("the terminal: {error}"));
        let mut before = self.scrape()?;
        let mut figures = Figures::between(&before, &before, self.top_findings());
        let mut next = self.clock.start();
        loop {
            terminal.draw(|frame| view::draw(frame, &figures, interval)).map_err(failed)?;
            let wait = interval.saturating_sub(next.elapsed());
            if event::poll(wait).map_err(failed)? {
                match key(&event::read().map_err(failed)?) {
                    Some(Key::End) => return Ok(()),
                    Some(Key::Slower) => {
                        interval = (interval + Duration::from_secs(1)).min(Duration::from_mins(1))
                    }
                    Some(Key::Faster) => {
                        interval = (interval - Duration::from_secs(1)).max(Duration::from_secs(1))
                    }
                    None => {}
                }
                continue;
            }
            next = self.clock.start();
            // An edge that is away for a moment, as in an upgrade, is shown as that.
            match self.scrape() {
                Ok(now) => {
                    figures = Figures::between(&before, &now, self.top_findings());
                    before = now;
                }
                Err(error) => figures.away = Some(error),
            }
        }
    }

    fn scrape(&self) -> Result<Scrape, String> {
        scrape::scrape(self.conf.admin_address, self.clock)
    }

    fn top_findings(&self) -> TopFindings {
        let log = match &self.log {
            Ok(log) => log,
            Err(error) => return TopFindings { error: Some(error.clone()), ..TopFindings::default() },
        };
        let since = Some(rfc3339(self.clock.now() - WINDOW));
        let query = SecurityQuery { since, limit: ROWS, ..SecurityQuery::default() };
        let top = |field| log.top(&query, field).unwrap_or_default();
        TopFindings {
            rules: top(SecurityField::Reference),
            clients: top(SecurityField::Client),
            paths: top(SecurityField::Path),
            error: None,
        }
    }
}

/// What a key asks for.
enum Key {
    End,
    Faster,
    Slower,
}

fn key(event: &Event) -> Option<Key> {
    let Event::Key(key) = event else { return None };
    match key.code {
        _ if key.kind != KeyEventKind::Press => None,
        KeyCode::Char('q') | KeyCode::Esc => Some(Key::End),
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Key::End),
        KeyCode::Char('+') => Some(Key::Slower),
        KeyCode::Char('-') => Some(Key::Faster),
        _ => None,
    }
}
