//! Metrics of zones that are gone. To find them means to look through all metrics, which with many zones takes longer
//! than a write may, so a thread of its own does it.

use std::sync::mpsc::{SyncSender, sync_channel};

use crate::events::Events;
use crate::snapshot::SnapshotHandle;

/// The thread that forgets them; it ends with this.
pub(super) struct MetricsSweep {
    ask: SyncSender<()>,
}

impl MetricsSweep {
    pub(super) fn start(events: Events, snapshots: SnapshotHandle) -> Self {
        let (ask, asked) = sync_channel(1);
        let sweep = move || {
            while asked.recv().is_ok() {
                events.metrics().keep_zones(|zone| snapshots.load().has_zone(zone));
            }
        };
        // Without the thread they go with the next scrape.
        let _ = std::thread::Builder::new().name("metrics-sweep".to_owned()).spawn(sweep);
        Self { ask }
    }

    /// Zones are gone.
    pub(super) fn ask(&self) {
        // If a sweep is due already, it sees these as well.
        let _ = self.ask.try_send(());
    }
}

#[cfg(test)]
mod tests {
    use store::SqliteStore;

    use super::super::load::{self, ConfSource};
    use super::*;
    use crate::clock::Clock;

    #[test]
    fn metrics_of_zones_that_are_gone_go_without_a_scrape() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edge.toml");
        std::fs::write(&path, "[[zones]]\nname = \"a.example\"\norigins = [\"http://192.0.2.1\"]\n").unwrap();
        let store = SqliteStore::open(&folder.path().join("state")).unwrap();
        let start = load::start(&ConfSource::File(path), &store).unwrap_or_else(|found| panic!("{found}"));
        let (events, snapshots) = (Events::silent(), SnapshotHandle::new(start.snapshot));
        for zone in ["a.example", "gone.example", "other"] {
            events.metrics().requests.with_label_values(&[zone, "200", "pass"]).inc();
        }
        let sweep = MetricsSweep::start(events.clone(), snapshots);
        let text = || String::from_utf8(events.metrics().render()).unwrap();
        assert!(text().contains("zone=\"gone.example\""));
        sweep.ask();
        let begun = Clock::real().start();
        while text().contains("zone=\"gone.example\"") {
            assert!(begun.elapsed() < std::time::Duration::from_secs(30), "{}", text());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(text().contains("zone=\"a.example\"") && text().contains("zone=\"other\""));
    }
}
