//! The tables of the log of security events, step by step.

use super::event_columns;
use super::migration::Migration;

/// INVARIANT: steps are only added.
pub(super) const MIGRATIONS: &[Migration] = &[Migration::Sql(
    "CREATE TABLE events (
        id INTEGER PRIMARY KEY, at TEXT NOT NULL, zone TEXT NOT NULL, host TEXT NOT NULL, source TEXT NOT NULL,
        action TEXT NOT NULL, rule TEXT NOT NULL, reference TEXT NOT NULL, client TEXT NOT NULL, ray TEXT NOT NULL,
        path TEXT NOT NULL, count INTEGER NOT NULL, record TEXT NOT NULL
    ) STRICT;
    CREATE INDEX events_by_time ON events (at);
    CREATE INDEX events_by_zone ON events (zone, at, host, source, action, rule, reference, client, count);
    CREATE INDEX events_by_host ON events (host, at);
    CREATE INDEX events_by_source ON events (source, at);
    CREATE INDEX events_by_action ON events (action, at);
    CREATE INDEX events_by_rule ON events (rule, at);
    CREATE INDEX events_by_reference ON events (reference, at);
    CREATE INDEX events_by_client ON events (client, at);
    CREATE INDEX events_by_ray ON events (ray);",
), Migration::Sql(
    "CREATE TABLE alerts (
        id INTEGER PRIMARY KEY, policy TEXT NOT NULL, account TEXT NOT NULL, at TEXT NOT NULL, text TEXT NOT NULL,
        delivered TEXT NOT NULL, failed TEXT NOT NULL
    ) STRICT;
    CREATE INDEX alerts_by_policy ON alerts (policy, at);
    CREATE INDEX alerts_by_account ON alerts (account, at);",
), Migration::Sql(
    // The name of a zone does not show which account had it then, so earlier events are shown to nobody.
    "ALTER TABLE events ADD COLUMN zone_id TEXT NOT NULL DEFAULT '';
    ALTER TABLE events ADD COLUMN account TEXT NOT NULL DEFAULT '';
    DROP INDEX events_by_zone;
    CREATE INDEX events_by_zone ON events
        (zone_id, account, at, host, source, action, rule, reference, client, count);
    CREATE INDEX events_by_account ON events
        (account, at, zone, host, source, action, rule, reference, client, count);",
), Migration::Sql("CREATE INDEX events_by_path ON events (path, at);"),
Migration::Sql(
    "CREATE TABLE event_kinds (
        account TEXT NOT NULL, zone_id TEXT NOT NULL, host TEXT NOT NULL, source TEXT NOT NULL, action TEXT NOT NULL,
        rule TEXT NOT NULL, reference TEXT NOT NULL, events INTEGER NOT NULL,
        PRIMARY KEY (account, zone_id, host, source, action, rule, reference)
    ) STRICT, WITHOUT ROWID;",
), Migration::Sql(
    // Columns answer what these answered.
    "DROP TABLE event_kinds;
    DROP INDEX events_by_host;
    DROP INDEX events_by_source;
    DROP INDEX events_by_action;
    DROP INDEX events_by_rule;
    DROP INDEX events_by_client;
    DROP INDEX events_by_path;
    CREATE TABLE event_columns (id INTEGER PRIMARY KEY, texts BLOB NOT NULL) STRICT;",
), Migration::Code(|transaction| event_columns::extend(transaction))];
