//! Files of every version, and what of them survives what.

use model::gateway::ProviderKey;
use model::{AccountId, GatewayId, GatewayToken, TokenId};

use super::*;

fn token(id: &str) -> Change {
    let (account, gateway) = (AccountId::new("acme"), GatewayId::new("main"));
    let token = GatewayToken {
        id: TokenId::new(id),
        account,
        gateway,
        name: "ci".to_owned(),
        hash: "00".repeat(32),
        created_on: String::new(),
        expires_at: Some(5),
        tools: None,
    };
    Change::PutToken { token }
}

fn key(alias: &str) -> Change {
    let (account, gateway) = (AccountId::new("acme"), GatewayId::new("main"));
    let key = ProviderKey {
        account,
        gateway,
        provider: "openai".to_owned(),
        authority: "api.example".to_owned(),
        alias: alias.to_owned(),
        weight: 1,
        sealed: "sealed".to_owned(),
    };
    Change::PutKey { key }
}

/// Makes a file as a version with this number of migration steps would leave it.
fn file_of_version(folder: &Path, steps: usize, log: &[Vec<Change>]) {
    let mut connection = Connection::open(private_file(folder, FILE).unwrap()).unwrap();
    migrate(&mut connection, &MIGRATIONS[..steps]).unwrap();
    for (index, changes) in log.iter().enumerate() {
        let changeset = Changeset::new("test", changes.clone());
        let text = serde_json::to_string(&changeset).unwrap();
        let (transaction, revision) = (connection.transaction().unwrap(), index as i64 + 1);
        let sql = "INSERT INTO changesets (revision, changeset) VALUES (?1, ?2)";
        transaction.execute(sql, params![revision, text]).unwrap();
        // From the third step on, versions wrote the current state as well.
        for change in changes.iter().filter(|_| steps >= 3) {
            write(&transaction, revision, change).unwrap();
        }
        // From the fifth on, its history too.
        for change in changes.iter().filter(|_| steps >= 5) {
            remember(&transaction, revision, change).unwrap();
        }
        transaction.commit().unwrap();
    }
}

#[test]
fn files_of_every_version_are_read() {
    let gone = Change::DeleteToken { id: TokenId::new("a") };
    let log = [vec![token("a"), token("b")], vec![key("one"), key("two")], vec![gone]];
    for steps in 1..=MIGRATIONS.len() {
        let folder = tempfile::tempdir().unwrap();
        file_of_version(folder.path(), steps, &log);
        let mut store = SqliteStore::open(folder.path()).unwrap();
        let (revision, resources) = store.load().unwrap();
        let tokens: Vec<&str> = resources.tokens.keys().map(TokenId::as_str).collect();
        assert_eq!((revision, tokens, resources.keys.len()), (3, vec!["b"], 2), "{steps} steps");
        let history = store.history("gateway_token", "a").unwrap();
        let history: Vec<_> = history.iter().map(|row| (row.revision, row.body.is_some())).collect();
        assert_eq!(history, [(3, false), (1, true)], "{steps} steps");
        let changeset = Changeset::new("test", vec![token("c")]);
        assert_eq!(store.commit(3, &changeset).unwrap(), 4);
        assert_eq!(store.load().unwrap().1.tokens.len(), 2);
    }
}

/// The id of a record that a digit stands for.
fn record_id(digit: &str) -> model::RecordId {
    model::RecordId::parse(&format!("{digit:0>32}")).unwrap()
}

#[test]
fn the_records_of_a_zone_go_with_it_and_their_last_change_is_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    let zone = |id: &str| {
        let zone = serde_json::json!({"id": id, "account": "a", "name": format!("{id}.example"), "sensitive_data": {
            "enabled": false, "expression": "true", "payload_key": null, "sample_every": 1}});
        Change::PutZone { zone: serde_json::from_value(zone).unwrap() }
    };
    let record = |zone: &str, id: &str| {
        let record = serde_json::json!({"id": record_id(id), "zone": zone, "name": format!("{id}.{zone}.example"), "type": "A",
            "rdata": "192.0.2.1", "ttl": 60, "created_on": "", "modified_on": ""});
        Change::PutRecord { record: serde_json::from_value(record).unwrap() }
    };
    let gone = Change::DeleteRecord { zone: ZoneId::new("z1"), id: record_id("b") };
    let log = [
        vec![zone("z1"), zone("z10"), record("z1", "a"), record("z1", "b"), record("z10", "a")],
        vec![gone],
        vec![Change::DeleteZone { id: ZoneId::new("z1") }],
    ];
    let mut applied = Resources::default();
    for (revision, changes) in log.into_iter().enumerate() {
        let changeset = Changeset::new("test", changes);
        store.commit(revision as Revision, &changeset).unwrap();
        changeset.apply(&mut applied, revision as Revision + 1);
        let loaded = Resources::default().merged(store.load().unwrap().1).unwrap();
        assert_eq!(loaded, applied.clone(), "revision {}", revision + 1);
    }
    let rows: i64 = store
        .connection
        .query_row("SELECT count(*) FROM resources WHERE kind = 'dns_record'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 1);
}

#[test]
fn a_file_of_a_later_version_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    file_of_version(folder.path(), MIGRATIONS.len(), &[]);
    let connection = Connection::open(folder.path().join(FILE)).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    let error = SqliteStore::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("schema 99"), "{error}");
    let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 99);
}

#[test]
fn a_log_that_cannot_be_read_fails_the_migration_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    file_of_version(folder.path(), 1, &[]);
    let connection = Connection::open(folder.path().join(FILE)).unwrap();
    connection.execute("INSERT INTO changesets (revision, changeset) VALUES (1, '{')", []).unwrap();
    let error = SqliteStore::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("revision 1 cannot be read"), "{error}");
    let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 1);
}

#[test]
fn the_current_state_is_that_of_the_log_whatever_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    let delete_key = |alias: &str| Change::DeleteKey {
        account: AccountId::new("acme"),
        gateway: GatewayId::new("main"),
        provider: "openai".to_owned(),
        alias: alias.to_owned(),
    };
    let log = [
        vec![key("a"), key("b")],
        vec![delete_key("a"), key("a"), token("t")],
        vec![delete_key("b"), delete_key("never")],
        vec![token("t"), token("u")],
    ];
    let mut applied = Resources::default();
    for (revision, changes) in log.into_iter().enumerate() {
        let changeset = Changeset::new("test", changes);
        store.commit(revision as Revision, &changeset).unwrap();
        changeset.apply(&mut applied, revision as Revision + 1);
        let current = store.load().unwrap();
        assert_eq!(current.1, applied);
        store.connection.execute("DELETE FROM resources", []).unwrap();
        let transaction = store.connection.transaction().unwrap();
        replay(&transaction).unwrap();
        transaction.commit().unwrap();
        assert_eq!(store.load().unwrap(), current);
        assert_eq!(store.revision().unwrap(), revision as Revision + 1);
    }
}

/// A power failure leaves the write-ahead log cut anywhere: what was acknowledged before its last page is there, and
/// nothing half.
#[test]
fn a_log_that_is_cut_anywhere_in_its_last_page_keeps_what_was_before() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    let put = |id: &str| Changeset::new("test", vec![token(id)]);
    for revision in 0..5 {
        store.commit(revision, &put(&format!("t{revision}"))).unwrap();
    }
    let read = |suffix: &str| std::fs::read(folder.path().join(format!("{FILE}{suffix}"))).unwrap();
    let before = read("-wal").len();
    store.commit(5, &put("last")).unwrap();
    let (file, log) = (read(""), read("-wal"));
    assert!(log.len() > before, "the commit is in the log");
    // A page of 4 KiB with the head of its frame (https://www.sqlite.org/fileformat2.html, section 4.1).
    let last_page = 4_096 + 24;
    // In memory, if there is such a folder: each file is synced when it is opened.
    let cut = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    for missing in 0..=last_page {
        std::fs::write(cut.path().join(FILE), &file).unwrap();
        let _ = std::fs::remove_file(cut.path().join(format!("{FILE}-shm")));
        std::fs::write(cut.path().join(format!("{FILE}-wal")), &log[..log.len() - missing]).unwrap();
        let (revision, resources) = SqliteStore::open(cut.path()).unwrap().load().unwrap();
        let expected = if missing == 0 { 6 } else { 5 };
        assert_eq!((revision, resources.tokens.len()), (expected, expected as usize), "{missing} bytes less");
    }
}

#[test]
fn a_full_disk_refuses_a_commit_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path()).unwrap();
    let put = |id: &str| Changeset::new("test", vec![token(id)]);
    store.commit(0, &put("a")).unwrap();
    let pages: i64 = store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    store.connection.pragma_update(None, "max_page_count", pages).unwrap();
    let large = "x".repeat(1 << 20);
    let refused = store.commit(1, &put(&large)).unwrap_err().to_string();
    assert!(refused.contains("full"), "{refused}");
    assert_eq!(store.load().unwrap().1.tokens.len(), 1);
    store.connection.pragma_update(None, "max_page_count", 1 << 20).unwrap();
    assert_eq!(store.commit(1, &put("b")).unwrap(), 2);
}
