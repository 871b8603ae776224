//! A worker has been busy with the same task for seconds.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct WorkerStuck<'a> {
    pub service: &'a str,
    /// Its number among the workers of the service, from 0.
    pub worker: usize,
}

impl Event for WorkerStuck<'_> {
    const NAME: &'static str = "worker_stuck";
    const MESSAGE: &'static str = "worker busy for seconds";
    const LEVEL: Level = Level::Error;

    fn count(&self, metrics: &Metrics) {
        metrics.workers_stuck.inc();
    }
}
