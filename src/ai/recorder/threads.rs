//! The threads that take calls that ended, and the one that puts the file of their rows in order.

use std::sync::Arc;
use std::time::Duration;

use super::backlog::Backlog;
use super::{Finished, RecordLog, Retention};
use crate::clock::{Stopwatch, rfc3339};
use crate::events::Events;
use crate::events::kinds::{AiCall, AiLogDropped, ServiceFailed};
use crate::model::{AiLog, Counted};

/// Rows that are written at once. The quiet thread may be kept from its processor while it writes some, and
/// the helper then waits for them.
const QUIET_BATCH: usize = 32;
const HELPER_BATCH: usize = 512;
/// Fewest old rows that are let go at once.
const SWEPT_ROWS: usize = 64;
/// Written rows after which the oldest are looked for.
const ROWS_BETWEEN_SWEEPS: usize = 10_000;
/// How long the quiet thread lets calls gather, and the helper: a thread that is woken for each costs the
/// caller more than the rest of the call.
const QUIET_GATHER: Duration = Duration::from_millis(5);
const HELPER_GATHER: Duration = Duration::from_millis(1);
/// From so many calls at once on the helper lets them gather.
const BUSY_BATCH: usize = 4;
/// How long rows gather before the file is put in order. The longer, the fewer pages are written again and
/// again, but the longer its writes hold up everyone: of one connection's calls the 99th percentile is 0.30 ms
/// with 5 ms, 0.32 with 30, 0.42 with 200 and 0.51 with 1,000; a call costs 7.4, 4.3, 2.8 and 1.7 µs of it.
const TIDY: Duration = Duration::from_millis(30);
/// A call that waits for longer than this, and less than twice, asks for help.
const LATE: Duration = Duration::from_millis(250);
/// Looks in a row that find nothing waiting, after which the helper sleeps until there is.
const WATCHES: u32 = 4;
/// How long help lasts; twice as long each time it was needed again soon.
const HELP: Duration = Duration::from_secs(1);
const MAX_HELP: Duration = Duration::from_mins(1);

/// Starts them, each with a way to the rows of its own. They end when the backlog is closed and empty.
pub(super) fn start(
    backlog: &Arc<Backlog>,
    [quiet, helper, mut tidier]: [Box<dyn RecordLog>; 3],
    retention: Retention,
    events: &Events,
) {
    let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
        if let Err(error) = std::thread::Builder::new().name(name.to_owned()).spawn(run) {
            tell(events, Err(format!("cannot start a thread: {error}")));
        }
    };
    let work = |rows| Work {
        backlog: Arc::clone(backlog),
        events: events.clone(),
        rows,
        retention,
        batch: Vec::new(),
        counted: Vec::new(),
        swept: None,
        rows_since_sweep: 0,
    };
    let (quiet, helper) = (work(quiet), work(helper));
    let (watched, failed) = (Arc::clone(backlog), events.clone());
    spawn("ai-log", Box::new(|| quiet.stay_quiet()));
    spawn("ai-log-help", Box::new(|| helper.help()));
    spawn("ai-log-tidy", Box::new(move || tidy(&watched, tidier.as_mut(), &failed)));
}

/// Puts the file in order a while after rows were written.
fn tidy(backlog: &Backlog, rows: &mut dyn RecordLog, events: &Events) {
    give_way();
    while !backlog.is_closed() {
        backlog.tidier.sleep(Duration::MAX, || backlog.is_closed() || backlog.is_untidy());
        // Rows that come meanwhile are of the same turn.
        backlog.tidier.sleep(TIDY, || backlog.is_closed());
        if backlog.take_untidy() {
            tell(events, rows.tidy());
        }
    }
}

fn tell(events: &Events, done: Result<(), String>) {
    if let Err(error) = done {
        events.emit(&ServiceFailed { service: "ai-log", error });
    }
}

/// What a thread works with.
struct Work {
    backlog: Arc<Backlog>,
    events: Events,
    rows: Box<dyn RecordLog>,
    retention: Retention,
    batch: Vec<AiLog>,
    /// What limits counted since it was last written.
    counted: Vec<Counted>,
    /// When all old rows were gone; nothing where some may still be there.
    swept: Option<Stopwatch>,
    rows_since_sweep: usize,
}

impl Work {
    /// The quiet thread.
    fn stay_quiet(mut self) {
        give_way();
        loop {
            let is_closed = self.backlog.is_closed();
            if self.backlog.is_helped() && !is_closed {
                self.backlog.quiet.sleep(Duration::MAX, || self.backlog.calls_quiet());
                continue;
            }
            let calls = self.turn(QUIET_BATCH, Backlog::next_quiet);
            if calls == 0 && is_closed {
                return;
            }
            if calls == 0 && self.swept.is_some() {
                self.backlog.quiet.sleep(self.retention.interval(), || self.backlog.calls_quiet());
            } else if calls > 0 && calls < QUIET_BATCH {
                std::thread::sleep(QUIET_GATHER);
            }
        }
    }

    /// The helper: looks on, and takes charge where the quiet thread does not keep up.
    fn help(mut self) {
        let mut help = HELP;
        let mut last: Option<Stopwatch> = None;
        let mut quiet_looks = 0;
        loop {
            let added = self.backlog.added();
            let is_watching = quiet_looks < WATCHES;
            self.backlog.set_watched(is_watching);
            let patience = if is_watching { LATE } else { Duration::MAX };
            let is_due = || self.backlog.is_pressing() || !is_watching && !self.backlog.is_empty();
            self.backlog.helper.sleep(patience, is_due);
            quiet_looks = if self.backlog.is_empty() { quiet_looks + 1 } else { 0 };
            if !self.backlog.is_pressing() && !self.backlog.is_late(added) {
                continue;
            }
            let is_again = last.is_some_and(|last| last.elapsed() < help);
            help = if is_again { (help * 2).min(MAX_HELP) } else { HELP };
            self.backlog.set_helped(true);
            let is_open = self.help_for(help);
            self.backlog.set_helped(false);
            if !is_open {
                return;
            }
            last = Some(self.retention.clock.start());
        }
    }

    /// In charge for so long. False where no more calls will come.
    fn help_for(&mut self, help: Duration) -> bool {
        let begun = self.retention.clock.start();
        loop {
            let is_closed = self.backlog.is_closed();
            let calls = self.turn(HELPER_BATCH, Backlog::next_for_helper);
            self.backlog.tell_flushed();
            let left = help.saturating_sub(begun.elapsed());
            if calls == 0 && is_closed {
                return false;
            } else if left.is_zero() && !is_closed {
                return true;
            } else if calls >= BUSY_BATCH {
                std::thread::sleep(HELPER_GATHER);
            } else if calls == 0 && self.backlog.is_empty() {
                self.backlog.helper.sleep(left, || self.backlog.calls_helper());
            } else if calls == 0 {
                // The quiet thread has the last ones, and may take long.
                self.backlog.helper.sleep(HELPER_GATHER, || false);
            }
        }
    }

    /// Takes calls, writes their rows, lets old ones go. How many calls there were.
    fn turn(&mut self, most: usize, next: impl Fn(&Backlog) -> Option<Box<Finished>>) -> usize {
        let (mut calls, mut bytes) = (0, 0);
        while calls < most
            && let Some(call) = next(&self.backlog)
        {
            calls += 1;
            bytes += call.size();
            self.take(*call);
        }
        self.write();
        self.backlog.done(calls, bytes);
        self.sweep(calls);
        calls
    }

    fn take(&mut self, mut call: Finished) {
        let (usage, model, counted) = call.complete();
        self.counted.extend(counted);
        call.score();
        call.scan(&self.events);
        self.events.emit(&AiCall {
            log: &call.log,
            usage: &usage,
            telemetry_name: call.telemetry_name,
            priced_model: &model,
            is_stream: call.is_stream,
            streamed_for: call.streamed_for,
            writes_line: call.collect_log,
        });
        if call.collect_log {
            call.payloads();
            self.batch.push(call.log);
        }
    }

    fn write(&mut self) {
        if self.batch.is_empty() && self.counted.is_empty() {
            return;
        }
        let written = self.rows.append(&self.batch, &self.counted);
        if written.is_err() && !self.batch.is_empty() {
            self.events.emit(&AiLogDropped { rows: self.batch.len(), reason: "not_written" });
        }
        tell(&self.events, written);
        self.rows_since_sweep += self.batch.len();
        self.batch.clear();
        self.counted.clear();
        self.backlog.set_untidy();
    }

    /// Lets old rows go: a few at a time, but more than come.
    fn sweep(&mut self, calls: usize) {
        let Retention { age, clock } = self.retention;
        let is_due = self.rows_since_sweep >= ROWS_BETWEEN_SWEEPS
            || self.swept.is_none_or(|swept| swept.elapsed() >= self.retention.interval());
        if !is_due {
            return;
        }
        let before = clock.now().checked_sub(age).filter(|_| !age.is_zero()).map(rfc3339);
        let swept = self.rows.sweep(before.as_deref(), SWEPT_ROWS.max(2 * calls));
        let is_more = *swept.as_ref().unwrap_or(&false);
        tell(&self.events, swept.map(|_| ()));
        self.swept = if is_more { None } else { Some(clock.start()) };
        self.rows_since_sweep = 0;
    }
}

/// From now on this thread runs where a processor has nothing else to do, and whoever is woken there takes it
/// over at once. Where this cannot be had it takes its turn like all others.
fn give_way() {
    #[cfg(target_os = "linux")]
    {
        use thread_priority::{NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy};
        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        let thread = thread_priority::thread_native_id();
        let _ = thread_priority::set_thread_priority_and_policy(thread, ThreadPriority::Min, idle);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

    use parking_lot::Mutex;

    use super::*;
    use crate::clock::Clock;

    fn forever() -> Retention {
        Retention { age: Duration::ZERO, clock: Clock::real() }
    }

    /// Rows in memory.
    #[derive(Clone, Default)]
    struct Kept {
        ids: Arc<Mutex<Vec<String>>>,
        sweeps: Arc<AtomicUsize>,
        tidied: Arc<AtomicUsize>,
    }

    impl RecordLog for Kept {
        fn append(&mut self, rows: &[AiLog], _: &[Counted]) -> Result<(), String> {
            self.ids.lock().extend(rows.iter().map(|row| row.id.clone()));
            Ok(())
        }

        fn sweep(&mut self, before: Option<&str>, most: usize) -> Result<bool, String> {
            assert!(before.is_none() && most >= SWEPT_ROWS);
            Ok(self.sweeps.fetch_add(1, Ordering::SeqCst) < 3)
        }

        fn tidy(&mut self) -> Result<(), String> {
            self.tidied.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    }

    /// Rows before each batch of which something is done.
    struct Before<F>(F, Kept);

    impl<F: FnMut() + Send> RecordLog for Before<F> {
        fn append(&mut self, rows: &[AiLog], counted: &[Counted]) -> Result<(), String> {
            (self.0)();
            self.1.append(rows, counted)
        }

        fn sweep(&mut self, before: Option<&str>, most: usize) -> Result<bool, String> {
            self.1.sweep(before, most)
        }

        fn tidy(&mut self) -> Result<(), String> {
            self.1.tidy()
        }
    }

    fn call(id: usize) -> Box<Finished> {
        let log = AiLog { id: format!("{id:05}"), ..AiLog::default() };
        Box::new(Finished { log, collect_log: true, ..Finished::default() })
    }

    fn add(backlog: &Backlog, id: usize) {
        assert!(backlog.add(call(id), usize::MAX).is_ok());
    }

    const PATIENCE: Duration = Duration::from_mins(1);

    #[test]
    fn each_call_is_written_once_whoever_takes_it() {
        let (backlog, kept) = (Arc::new(Backlog::default()), Kept::default());
        let rows = || Box::new(kept.clone()) as Box<dyn RecordLog>;
        start(&backlog, [rows(), rows(), rows()], forever(), &Events::silent());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let backlog = &backlog;
                scope.spawn(move || (0..2000).for_each(|call| add(backlog, thread * 2000 + call)));
            }
        });
        assert_eq!(backlog.flush(PATIENCE), 0);
        let mut ids = kept.ids.lock().clone();
        ids.sort_unstable();
        assert_eq!(ids, (0..8000).map(|id| format!("{id:05}")).collect::<Vec<_>>());
        // Old rows are let go until there are no more, and the file is put in order.
        while kept.sweeps.load(Ordering::SeqCst) < 4 || kept.tidied.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(backlog.add(call(0), 0).unwrap_err().log.id, "00000");
        backlog.close();
        // The rows go with the threads.
        while Arc::strong_count(&kept.ids) > 1 {
            std::thread::yield_now();
        }
    }

    #[test]
    fn no_call_waits_for_a_thread_that_is_kept_from_its_processor() {
        let (backlog, kept) = (Arc::new(Backlog::default()), Kept::default());
        let ((begun, begins), (release, released)) = (channel(), channel::<()>());
        let rows = || Box::new(kept.clone()) as Box<dyn RecordLog>;
        let hold = move || {
            let _ = (begun.send(()), released.recv());
        };
        let held = Box::new(Before(hold, kept.clone()));
        start(&backlog, [held, rows(), rows()], forever(), &Events::silent());
        // On a busy machine the helper may be faster.
        let mut calls = 0;
        while begins.recv_timeout(Duration::from_millis(1)).is_err() {
            add(&backlog, calls);
            calls += 1;
        }
        (calls..calls + 100).for_each(|id| add(&backlog, id));
        calls += 100;
        let is_written = |id: usize| kept.ids.lock().contains(&format!("{id:05}"));
        while !(calls - 100..calls).all(is_written) {
            std::thread::yield_now();
        }
        // Only what it had in its hands is left.
        let left = calls - kept.ids.lock().len();
        assert!((1..=QUIET_BATCH).contains(&left), "{left}");
        assert_eq!(backlog.flush(Duration::from_millis(1)), left);
        drop(release);
        assert_eq!(backlog.flush(PATIENCE), 0);
        assert_eq!(kept.ids.lock().len(), calls);
        backlog.close();
    }

    #[test]
    fn help_ends_though_calls_go_on() {
        let (backlog, kept) = (Arc::new(Backlog::default()), Kept::default());
        // While the helper is in charge there are always more calls.
        let endless = || {
            let backlog = Arc::clone(&backlog);
            let more = move || {
                if backlog.is_helped() {
                    (0..BUSY_BATCH).for_each(|id| add(&backlog, id));
                }
            };
            Box::new(Before(more, kept.clone())) as Box<dyn RecordLog>
        };
        start(&backlog, [endless(), endless(), endless()], forever(), &Events::silent());
        // Whoever waits for the last row calls the helper.
        assert_eq!(backlog.flush(PATIENCE), 0);
        (0..BUSY_BATCH).for_each(|id| add(&backlog, id));
        while backlog.is_helped() {
            assert!(kept.ids.lock().len() < 50_000, "the helper stays");
            std::thread::yield_now();
        }
        backlog.close();
    }
}
