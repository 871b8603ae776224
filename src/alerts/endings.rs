//! What ends soon and is still used.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::conf::DeprecationCalendar;
use model::CalendarDate;
use model::alert::AlertPolicy;
use store::{UseCount, UseKey};

/// A row counts as in use if it was used within this many days.
const IN_USE_DAYS: i32 = 30;

/// A row that ends soon, and how often an account used it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DueRow {
    pub(super) row: String,
    pub(super) end: CalendarDate,
    pub(super) days: i32,
    pub(super) account: String,
    pub(super) uses: u64,
}

/// Whether a row ends within the notice of the calendar.
fn ends_soon(calendar: &DeprecationCalendar, end: CalendarDate, today: CalendarDate) -> bool {
    let days = today.days_until(end);
    days > 0 && days <= calendar.notice_days
}

/// Whether any row does: on most days none, and then nobody need read who uses what.
pub(super) fn any_ends_soon(calendar: &DeprecationCalendar, today: CalendarDate) -> bool {
    calendar.schedule.rows().iter().any(|row| ends_soon(calendar, row.end(), today))
}

/// The rows that end within the notice of the calendar and are in use, by account.
pub(super) fn found(
    calendar: &DeprecationCalendar,
    uses: &[(UseKey, UseCount)],
    today: CalendarDate,
) -> Vec<DueRow> {
    let mut by_account: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for (key, count) in uses {
        let day = count.last.get(..10).and_then(CalendarDate::parse);
        if day.is_some_and(|day| day.days_until(today) <= IN_USE_DAYS) {
            *by_account.entry((&key.row, &key.account)).or_default() += count.uses;
        }
    }
    let ending = |((row, account), uses): (&(&str, &str), &u64)| {
        let end = calendar.schedule.row(row)?.end();
        let (row, account, days) = ((*row).to_owned(), (*account).to_owned(), today.days_until(end));
        ends_soon(calendar, end, today).then_some(DueRow { row, end, days, account, uses: *uses })
    };
    by_account.iter().filter_map(ending).collect()
}

/// Each row once, with the uses of all accounts.
pub(super) fn of_all_accounts(endings: &[DueRow]) -> Vec<DueRow> {
    let mut rows: BTreeMap<&str, DueRow> = BTreeMap::new();
    for ending in endings {
        let none = || DueRow { account: String::new(), uses: 0, ..ending.clone() };
        rows.entry(&ending.row).or_insert_with(none).uses += ending.uses;
    }
    rows.into_values().collect()
}

/// What is said to a policy about the rows that its account uses; `None` if it uses none.
pub(super) fn told(policy: &AlertPolicy, endings: &[DueRow]) -> Option<(String, Value)> {
    let mine: Vec<&DueRow> =
        endings.iter().filter(|ending| ending.account == policy.account.as_str()).collect();
    let first = mine.iter().min_by_key(|ending| ending.days)?;
    let rows: Vec<Value> = mine
        .iter()
        .map(|ending| json!({"id": ending.row, "ends": ending.end, "days": ending.days, "uses": ending.uses}))
        .collect();
    let text = format!(
        "{}: `{}` ends on {} and is still used; {} in all end soon",
        policy.name,
        first.row,
        first.end,
        rows.len()
    );
    Some((text, json!({"deprecations": rows})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_soon_is_told_while_it_is_used() {
        let calendar = DeprecationCalendar { notice_days: 30, ..DeprecationCalendar::default() };
        let day = |text: &str| CalendarDate::parse(text).unwrap();
        let used = |row: &str, account: &str, last: &str| {
            let key = UseKey {
                row: row.to_owned(),
                account: account.to_owned(),
                token: "t".to_owned(),
                agent: String::new(),
            };
            (key, UseCount { uses: 2, last: format!("{last}T10:00:00Z") })
        };
        let uses = [
            used("firewall-rules", "a", "2025-06-01"),
            used("firewall-rules", "b", "2025-05-01"),
            used("rate-limits", "a", "2025-06-09"),
            used("setting-brotli", "a", "2025-06-09"),
        ];
        let rows = |today: &str| -> Vec<(String, String)> {
            let found = found(&calendar, &uses, day(today));
            found.into_iter().map(|ending| (ending.row, ending.account)).collect()
        };
        let of = |row: &str, account: &str| (row.to_owned(), account.to_owned());
        assert_eq!(rows("2025-06-10"), [of("firewall-rules", "a"), of("rate-limits", "a")]);
        let all = of_all_accounts(&found(&calendar, &uses, day("2025-05-16")));
        let sums: Vec<(&str, u64)> = all.iter().map(|row| (row.row.as_str(), row.uses)).collect();
        assert_eq!(sums, [("firewall-rules", 4), ("rate-limits", 2)]);
        assert!(any_ends_soon(&calendar, day("2025-05-16")) && !any_ends_soon(&calendar, day("2026-06-01")));
        assert_eq!(rows("2025-05-16").len(), 3, "thirty days before");
        assert_eq!(rows("2025-05-15"), [], "thirty-one days before");
        assert_eq!(rows("2025-06-14").len(), 2);
        assert_eq!(rows("2025-06-15"), [], "it has ended");
    }
}
