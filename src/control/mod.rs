//! The control plane: one thread that owns configuration, rules, certificates and store, and makes snapshots of them.
//!
//! Its clients send messages and never touch its state: the API and other writers apply changesets, SIGHUP asks for a
//! reload, changes of files and of the store arrive from a watch. A snapshot is compiled beside the one in use and
//! published whole. What does not compile is refused with its diagnostics and changes nothing.
//!
//! ```text
//!  API, SIGHUP, file watch ──Message──► thread ──► load ──► compile ──► SnapshotHandle
//!                                         └─► store: a changeset is committed only if it compiles
//! ```

mod load;
mod metrics_sweep;
mod name_service;
mod plane;
mod watch;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use diagnostic::Diagnostics;
use dns::Name;
use model::Resources;
use store::{Change as StoreChange, Changeset, KeyedRequest, Revision, Store, StoreError};
use tokio::sync::oneshot;

use crate::clock::{Clock, Stopwatch};
use crate::events::Events;
use crate::events::kinds::ServiceFailed;
use crate::snapshot::{FlattenedTarget, SnapshotHandle};
pub use load::{ConfSource, Start, start};
use plane::Plane;
use watch::{Change, FileWatch};

/// How long changes of files are gathered before a reload: editors write in several steps.
const SETTLE: Duration = Duration::from_millis(100);
/// How often the store is asked for its revision, in one indexed read, though no change of its file is seen.
const STORE_POLL: Duration = Duration::from_secs(1);
/// When it is asked again after its file changed, and then after twice as long each time: a commit is written before
/// readers see it.
const STORE_RECHECK: Duration = Duration::from_millis(10);

/// What the thread is asked.
enum Message {
    Write(Queued),
    Read(StoreRead),
    Reload,
    Changed(Change),
    Found(Vec<(Name, FlattenedTarget)>),
}

/// Reads the store, and answers who asked.
type StoreRead = Box<dyn FnOnce(&dyn Store) + Send>;

/// What a write changes, given everything that is declared when its turn comes. It is asked again if the writes before it
/// turn out not to compile.
pub type Edit = Box<dyn Fn(&Resources) -> Result<Vec<StoreChange>, Declined> + Send>;

/// Why an edit changes nothing, in the terms of who made it.
pub type Declined = Box<dyn std::error::Error + Send + Sync>;

/// A write: one changeset, if it changes anything.
pub struct Write {
    /// Who asks, for the history.
    pub actor: String,
    pub edit: Edit,
    /// The revision that the store must be at; any if `None`.
    pub expected: Option<Revision>,
    /// Whether everything is checked, and nothing kept.
    pub is_dry_run: bool,
    /// The request that asks, if it has an idempotency key.
    pub request: Option<KeyedRequest>,
}

impl Write {
    /// One that this process makes by itself, whatever revision the store is at.
    pub fn of(
        actor: &str,
        edit: impl Fn(&Resources) -> Result<Vec<StoreChange>, Declined> + Send + 'static,
    ) -> Self {
        Self {
            actor: actor.to_owned(),
            edit: Box::new(edit),
            expected: None,
            is_dry_run: false,
            request: None,
        }
    }
}

/// A write that waits for its turn, and who waits for its outcome.
struct Queued {
    write: Write,
    reply: oneshot::Sender<Result<Applied, ApplyError>>,
}

/// Most writes that are compiled as one.
const MAX_FOLDED_WRITES: usize = 256;

/// A changeset that this node serves, or would serve.
#[derive(Clone, Debug)]
pub struct Applied {
    /// Of the store.
    pub revision: Revision,
    /// Of the snapshot that serves it.
    pub snapshot: u64,
    /// Everything that is declared, with it.
    pub resources: Arc<Resources>,
}

/// Why a changeset was not applied. Nothing has changed then.
#[derive(Debug)]
pub enum ApplyError {
    /// Somebody else committed first.
    Conflict { expected: Revision, found: Revision },
    /// Its edit changes nothing, and says why.
    Declined(Declined),
    /// It does not compile.
    Refused(Diagnostics),
    /// The store cannot be written.
    Failed(String),
    /// The process ends.
    Ended,
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict { expected, found } => write!(
                f,
                "the resources are at revision {found}, not {expected}; read them again and repeat the change"
            ),
            Self::Declined(reason) => write!(f, "{reason}"),
            Self::Refused(diagnostics) => write!(f, "{diagnostics}"),
            Self::Failed(reason) => f.write_str(reason),
            Self::Ended => f.write_str("the process ends; try again with the one that takes its place"),
        }
    }
}

impl std::error::Error for ApplyError {}

/// The way to the control plane; clones send to the same thread.
#[derive(Clone, Debug)]
pub struct Control {
    messages: Sender<Message>,
    handle: SnapshotHandle,
}

impl Control {
    /// Publishes the first snapshot and starts the thread, which lasts as long as the process.
    ///
    /// # Errors
    /// One sentence if the system has no thread to give.
    pub fn start(
        source: ConfSource,
        store: Box<dyn Store>,
        start: Start,
        events: Events,
        clock: Clock,
    ) -> Result<Self, String> {
        let plane = Plane::new(source, store, start, events, clock);
        let handle = plane.handle().clone();
        let (messages, received) = channel();
        let to_itself = messages.clone();
        std::thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || run(plane, &received, &to_itself))
            .map_err(|error| format!("cannot start the thread of the control plane: {error}"))?;
        Ok(Self { messages, handle })
    }

    pub fn handle(&self) -> &SnapshotHandle {
        &self.handle
    }

    /// Asks for everything to be read again. What comes of it is an event.
    pub fn reload(&self) {
        // Only fails while the process ends.
        let _ = self.messages.send(Message::Reload);
    }

    /// Tells what a resolver found for names that zones lead to. It is published when its turn comes.
    pub fn found(&self, found: Vec<(Name, FlattenedTarget)>) {
        // Only fails while the process ends.
        let _ = self.messages.send(Message::Found(found));
    }

    /// Commits a changeset if the store is at `expected` (at any revision if `None`) and publishes it: once this
    /// returns, requests are judged by it.
    ///
    /// # Errors
    /// [`ApplyError`]; nothing has changed then.
    pub async fn apply(
        &self,
        changeset: Changeset,
        expected: Option<Revision>,
    ) -> Result<Applied, ApplyError> {
        let Changeset { actor, changes, request } = changeset;
        let edit = Box::new(move |_: &Resources| Ok(changes.clone()));
        self.write(Write { actor, edit, expected, is_dry_run: false, request }).await
    }

    /// Asks an edit what it changes, commits that and publishes it: once this returns, requests are judged by it.
    ///
    /// # Errors
    /// [`ApplyError`]; nothing has changed then.
    pub async fn write(&self, write: Write) -> Result<Applied, ApplyError> {
        let (reply, answer) = oneshot::channel();
        let message = Message::Write(Queued { write, reply });
        self.messages.send(message).map_err(|_| ApplyError::Ended)?;
        answer.await.unwrap_or(Err(ApplyError::Ended))
    }

    /// Reads what the store has beside the current state.
    ///
    /// # Errors
    /// [`ApplyError::Failed`] if the store cannot be read, [`ApplyError::Ended`] if the process ends.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, ApplyError> {
        let (reply, answer) = oneshot::channel();
        let message = Message::Read(Box::new(move |store| {
            // Who asked may have stopped waiting.
            let _ = reply.send(read(store));
        }));
        self.messages.send(message).map_err(|_| ApplyError::Ended)?;
        let outcome = answer.await.map_err(|_| ApplyError::Ended)?;
        outcome.map_err(|error| ApplyError::Failed(error.to_string()))
    }
}

fn run(mut plane: Plane, messages: &Receiver<Message>, to_itself: &Sender<Message>) {
    let mut watch = watch(&plane, to_itself);
    let mut due: Option<Stopwatch> = None;
    let mut store_wait = STORE_RECHECK;
    // What came while writes were gathered.
    let mut backlog = VecDeque::new();
    loop {
        let longest_wait = due.map_or(store_wait, |since| SETTLE.saturating_sub(since.elapsed()));
        let message = backlog.pop_front().map_or_else(|| messages.recv_timeout(longest_wait), Ok);
        match message {
            Ok(Message::Write(first)) => {
                let mut writes = vec![first];
                while writes.len() < MAX_FOLDED_WRITES && backlog.is_empty() {
                    match messages.try_recv() {
                        Ok(Message::Write(next)) => writes.push(next),
                        Ok(other) => backlog.push_back(other),
                        Err(_) => break,
                    }
                }
                plane.write(writes);
                continue;
            }
            Ok(Message::Read(read)) => {
                read(plane.store());
                continue;
            }
            Ok(Message::Found(found)) => {
                plane.found(&found);
                continue;
            }
            Ok(Message::Changed(Change::Store)) => {
                plane.store_changed();
                store_wait = STORE_RECHECK;
                continue;
            }
            Ok(Message::Changed(Change::Files)) => {
                due = due.or_else(|| Some(plane.clock().start()));
                continue;
            }
            Err(RecvTimeoutError::Timeout) if due.is_none() => {
                plane.store_changed();
                store_wait = (store_wait * 2).min(STORE_POLL);
                continue;
            }
            Ok(Message::Reload) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        due = None;
        plane.reload();
        if let Some(watch) = &mut watch {
            report(watch.watch(plane.watched()), plane.events());
        }
    }
}

/// A watch over the files of a plane; `None` if the system has none to give.
fn watch(plane: &Plane, to_itself: &Sender<Message>) -> Option<FileWatch> {
    let to_itself = to_itself.clone();
    let changed = move |change| {
        let _ = to_itself.send(Message::Changed(change));
    };
    let made = FileWatch::new(plane.state_dir(), changed).and_then(|mut watch| {
        watch.watch(plane.watched())?;
        Ok(watch)
    });
    made.map_err(|error| report(Err(error), plane.events())).ok()
}

fn report(outcome: notify::Result<()>, events: &Events) {
    if let Err(error) = outcome {
        let error = format!("changes of files are not seen, send SIGHUP instead: {error}");
        events.emit(&ServiceFailed { service: "control", error });
    }
}

#[cfg(test)]
mod tests {
    use model::gateway::ProviderKey;
    use model::{AccountId, GatewayId, GatewayToken, TokenId};
    use store::{Change as StoreChange, SqliteStore};

    use super::*;

    fn token(id: &str) -> Changeset {
        let token = GatewayToken {
            id: TokenId::new(id),
            account: AccountId::new("acme"),
            gateway: GatewayId::new("main"),
            name: String::new(),
            hash: "00".repeat(32),
            created_on: String::new(),
            expires_at: None,
            tools: None,
        };
        Changeset::new("test", vec![StoreChange::PutToken { token }])
    }

    /// A key that no master key opens.
    fn unsealed_key() -> ProviderKey {
        ProviderKey {
            account: AccountId::new("acme"),
            gateway: GatewayId::new("main"),
            provider: "openai".to_owned(),
            authority: "api.openai.com".to_owned(),
            alias: "default".to_owned(),
            weight: 1,
            sealed: "not sealed".to_owned(),
        }
    }

    fn tokens(control: &Control) -> usize {
        control.handle().load().gateways.by_account["acme"]["main"].tokens.len()
    }

    /// A control plane over a folder of its own, with a gateway in its configuration.
    fn control(folder: &std::path::Path) -> Control {
        let path = folder.join("edge.toml");
        std::fs::write(&path, "[[gateways]]\naccount = \"acme\"\nid = \"main\"\n").unwrap();
        let source = ConfSource::File(path);
        let store = Box::new(SqliteStore::open(&folder.join("state")).unwrap());
        let first = start(&source, store.as_ref()).unwrap_or_else(|found| panic!("{found}"));
        Control::start(source, store, first, Events::silent(), Clock::real()).unwrap()
    }

    fn wait_for(condition: impl Fn() -> bool) {
        let begun = Clock::real().start();
        while !condition() {
            assert!(begun.elapsed() < Duration::from_secs(30), "the condition does not come true");
            // A wait that spins takes the processor from tests that measure progress.
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[tokio::test]
    async fn a_changeset_is_served_when_it_is_acknowledged() {
        let folder = tempfile::tempdir().unwrap();
        let control = control(folder.path());
        let applied = control.apply(token("a"), Some(0)).await.unwrap();
        assert_eq!((applied.revision, applied.snapshot, tokens(&control)), (1, 2, 1));
        let stale = control.apply(token("b"), Some(0)).await;
        assert!(matches!(stale, Err(ApplyError::Conflict { expected: 0, found: 1 })), "{stale:?}");
        assert_eq!(control.apply(token("b"), None).await.unwrap().revision, 2);
        assert_eq!(tokens(&control), 2);
    }

    #[tokio::test]
    async fn what_does_not_compile_is_refused_and_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let control = control(folder.path());
        let changes = vec![StoreChange::PutKey { key: unsealed_key() }];
        let refused = control.apply(Changeset::new("test", changes), None).await;
        let Err(ApplyError::Refused(diagnostics)) = refused else { panic!("{refused:?}") };
        assert!(diagnostics.to_string().contains("secrets_key_file"), "{diagnostics}");
        let store = SqliteStore::open(&folder.path().join("state")).unwrap();
        assert_eq!(store.revision().unwrap(), 0);
        assert_eq!(control.handle().load().revision, 1);
    }

    #[tokio::test]
    async fn what_another_process_wrote_wrongly_is_mended_by_a_changeset() {
        let folder = tempfile::tempdir().unwrap();
        let control = control(folder.path());
        let mut other = SqliteStore::open(&folder.path().join("state")).unwrap();
        let changes = vec![StoreChange::PutKey { key: unsealed_key() }];
        other.commit(0, &Changeset::new("test", changes)).unwrap();
        // What does not mend it is refused, whether the watch has seen the key or not.
        let refused = control.apply(token("a"), None).await;
        assert!(matches!(refused, Err(ApplyError::Refused(_))), "{refused:?}");
        let key = unsealed_key();
        let changes = vec![StoreChange::DeleteKey {
            account: key.account,
            gateway: key.gateway,
            provider: key.provider,
            alias: key.alias,
        }];
        let mend = Changeset::new("test", changes);
        assert_eq!(control.apply(mend, Some(1)).await.unwrap().revision, 2);
        assert_eq!(control.apply(token("a"), Some(2)).await.unwrap().revision, 3);
        assert_eq!(tokens(&control), 1);
    }

    #[tokio::test]
    async fn what_another_process_writes_is_served_and_makes_a_stale_write_fail() {
        let folder = tempfile::tempdir().unwrap();
        let control = control(folder.path());
        let mut other = SqliteStore::open(&folder.path().join("state")).unwrap();
        assert_eq!(other.commit(0, &token("a")).unwrap(), 1);
        wait_for(|| tokens(&control) == 1);
        assert_eq!(other.commit(1, &token("b")).unwrap(), 2);
        // Whether the watch was faster or not.
        assert!(control.apply(token("c"), Some(1)).await.is_err());
        wait_for(|| tokens(&control) == 2);
        assert_eq!(control.apply(token("c"), Some(2)).await.unwrap().revision, 3);
    }

    #[tokio::test]
    async fn writers_at_the_same_time_are_all_served_or_told() {
        let folder = tempfile::tempdir().unwrap();
        let control = control(folder.path());
        let writes: Vec<_> = (0..20)
            .map(|nth| {
                let control = control.clone();
                tokio::spawn(async move { control.apply(token(&format!("t{nth}")), None).await })
            })
            .collect();
        let mut revisions = Vec::new();
        for write in writes {
            revisions.push(write.await.unwrap().unwrap().revision);
        }
        revisions.sort_unstable();
        assert_eq!(revisions, (1..=20).collect::<Vec<_>>());
        assert_eq!(tokens(&control), 20);
    }
}
