//! Calls of a gateway added up: by token, model, team or time.

use rusqlite::{Connection, ToSql};
use serde::Serialize;

use super::record_log::LogQuery;
use super::records::{WHERE, conditions};

/// Longest key of metadata, in bytes.
const MAX_KEY_BYTES: usize = 128;

/// What calls are added up by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TotalsBy {
    /// A member of rows.
    Member(&'static str),
    /// An entry of their metadata.
    Metadata(String),
    /// The first characters of the time at which they ended (RFC 3339): 10 for a day, 13 for an hour.
    Time(usize),
}

/// Words for what is no entry of metadata.
const WORDS: &[(&str, TotalsBy)] = &[
    ("token", TotalsBy::Member("token_id")),
    ("provider", TotalsBy::Member("provider")),
    ("model", TotalsBy::Member("model")),
    ("operation", TotalsBy::Member("model_type")),
    ("route", TotalsBy::Member("route")),
    ("status", TotalsBy::Member("status_code")),
    ("day", TotalsBy::Time("2026-01-01".len())),
    ("hour", TotalsBy::Time("2026-01-01T00".len())),
];

/// What the calls of one value come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CallTotals {
    /// Empty for those that have none.
    pub value: String,
    pub calls: u64,
    pub failed: u64,
    pub cached: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// In US dollars, of those that have a price.
    pub cost: f64,
}

impl TotalsBy {
    /// Reads `token`, `provider`, `model`, `operation`, `route`, `status`, `day`, `hour` or `metadata.KEY`.
    ///
    /// # Errors
    /// One sentence with these words.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some((_, by)) = WORDS.iter().find(|(word, _)| *word == text) {
            return Ok(by.clone());
        }
        let key = text.strip_prefix("metadata.").filter(|key| {
            (1..=MAX_KEY_BYTES).contains(&key.len()) && !key.contains('"') && !key.contains('\0')
        });
        key.map(|key| Self::Metadata(key.to_owned())).ok_or_else(|| {
            let words: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
            format!("expected `{}` or `metadata.KEY`, found `{text}`", words.join("`, `"))
        })
    }

    /// The value of a row, and what stands for `?8` in it.
    fn sql(&self) -> (&'static str, Box<dyn ToSql>) {
        match self {
            Self::Member(name) => ("json_extract(row, ?8)", Box::new(format!("$.{name}"))),
            // INVARIANT: a key has no quote.
            Self::Metadata(key) => ("json_extract(row, ?8)", Box::new(format!("$.metadata.\"{key}\""))),
            Self::Time(characters) => {
                ("substr(created_at, 1, ?8)", Box::new(i64::try_from(*characters).unwrap_or(0)))
            }
        }
    }
}

/// The values with the highest cost, then with the most calls; times in their order, the newest first.
pub(super) fn totals(
    connection: &Connection,
    query: &LogQuery,
    by: &TotalsBy,
) -> rusqlite::Result<Vec<CallTotals>> {
    let (value, parameter) = by.sql();
    let order = if matches!(by, TotalsBy::Time(_)) { "value DESC" } else { "cost DESC, calls DESC, value" };
    let sql = format!(
        "SELECT CAST(coalesce({value}, '') AS TEXT) AS value, count(*) AS calls,
            total(NOT json_extract(row, '$.success')), total(json_extract(row, '$.cached')),
            total(json_extract(row, '$.tokens_in')), total(json_extract(row, '$.tokens_out')),
            total(json_extract(row, '$.cost')) AS cost
         FROM ai_log WHERE {WHERE} GROUP BY value ORDER BY {order} LIMIT {} OFFSET {}",
        query.limit,
        i64::try_from(query.skip).unwrap_or(i64::MAX)
    );
    let conditions = conditions(query);
    let parameters: Vec<&dyn ToSql> = conditions.into_iter().chain([parameter.as_ref()]).collect();
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(&parameters[..], |row| {
        Ok(CallTotals {
            value: row.get(0)?,
            calls: row.get::<_, i64>(1)?.unsigned_abs(),
            failed: whole(row.get(2)?),
            cached: whole(row.get(3)?),
            tokens_in: whole(row.get(4)?),
            tokens_out: whole(row.get(5)?),
            cost: row.get(6)?,
        })
    })?;
    rows.collect()
}

/// A sum of whole numbers, which SQLite adds as floats so that none overflows.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a sum of counts; it saturates")]
fn whole(sum: f64) -> u64 {
    sum as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_log::{NewRecord, RecordLog, RecordReader};
    use crate::records::RecordStore;
    use model::AiLog;
    use serde_json::json;

    #[test]
    fn words_are_read() {
        assert_eq!(TotalsBy::parse("token"), Ok(TotalsBy::Member("token_id")));
        assert_eq!(TotalsBy::parse("metadata.team"), Ok(TotalsBy::Metadata("team".to_owned())));
        for text in ["", "metadata.", "metadata.a\"b", "metadata", "cost", "metadata.a\0"] {
            assert!(TotalsBy::parse(text).unwrap_err().contains("`hour` or `metadata.KEY`"), "{text}");
        }
    }

    #[test]
    fn calls_are_added_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = RecordStore::open(folder.path(), 1 << 30).unwrap();
        let row = |nth: usize, team: serde_json::Value, cost: Option<f64>| AiLog {
            id: format!("{nth:026}"),
            account_id: "acme".to_owned(),
            gateway_id: "main".to_owned(),
            created_at: format!("2026-11-0{}T0{}:00:00.000000Z", 1 + nth / 4, nth % 4),
            success: nth != 1,
            cached: nth == 2,
            tokens_in: (nth != 3).then_some(10),
            tokens_out: Some(u64::MAX >> 12),
            cost,
            model: "m".to_owned(),
            metadata: json!({ "team": team, "a.b $[0]": "odd" }).as_object().cloned().unwrap(),
            ..AiLog::default()
        };
        let rows = [
            row(0, json!("search"), Some(0.5)),
            row(1, json!("search"), None),
            row(2, json!("shop"), Some(2.0)),
            row(3, json!(7), None),
            row(4, json!(null), None),
        ];
        store.append(&rows.map(NewRecord::from), &[]).unwrap();
        let of = |by: &str, change: fn(&mut LogQuery)| {
            let mut query = LogQuery { gateway: "acme/main".to_owned(), limit: 10, ..LogQuery::default() };
            change(&mut query);
            let found = store.totals(&query, &TotalsBy::parse(by).unwrap()).unwrap();
            found
                .into_iter()
                .map(|t| (t.value, t.calls, t.failed, t.cached, t.tokens_in, t.cost))
                .collect::<Vec<_>>()
        };
        let row = |value: &str, calls, failed, cached, tokens, cost| {
            (value.to_owned(), calls, failed, cached, tokens, cost)
        };
        let teams = [
            row("shop", 1, 0, 1, 10, 2.0),
            row("search", 2, 1, 0, 20, 0.5),
            row("", 1, 0, 0, 10, 0.0),
            row("7", 1, 0, 0, 0, 0.0),
        ];
        assert_eq!(of("metadata.team", |_| {}), teams);
        assert_eq!(of("metadata.team", |query| query.limit = 1), teams[..1]);
        assert_eq!(of("metadata.a.b $[0]", |_| {}), [row("odd", 5, 1, 1, 40, 2.5)]);
        assert_eq!(of("metadata.other", |_| {}), [row("", 5, 1, 1, 40, 2.5)]);
        assert_eq!(
            of("day", |_| {}).iter().map(|day| day.0.as_str()).collect::<Vec<_>>(),
            ["2026-11-02", "2026-11-01"]
        );
        assert_eq!(
            of("hour", |query| query.start_date = Some("2026-11-02".to_owned()))[0].0,
            "2026-11-02T00"
        );
        assert_eq!(of("model", |query| query.success = Some(false)), [row("m", 1, 1, 0, 10, 0.0)]);
        assert_eq!(of("model", |query| query.gateway = "acme/other".to_owned()), []);
    }
}
