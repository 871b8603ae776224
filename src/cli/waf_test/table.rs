//! Detection and false positives of rules, by family of requests.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::regression::Sample;

/// Requests of one family.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    attacks: usize,
    detected: usize,
    benign: usize,
    false_alarms: usize,
}

/// The rows by family.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: BTreeMap<String, Row>,
}

impl Table {
    pub(super) fn add(&mut self, family: String, sample: &Sample) {
        self.rows.entry(family).or_default().add(sample);
    }

    pub(super) fn render(&self, text: &mut String) {
        let mut sum = Row::default();
        let width = self.rows.keys().map(String::len).max().unwrap_or(0).max(6);
        // INVARIANT: writing to a `String` cannot fail.
        let _ = writeln!(
            text,
            "{:width$} {:>8} {:>9} {:>7} {:>7} {:>7} {:>13} {:>7}",
            "family", "attacks", "detected", "missed", "", "benign", "false alarms", ""
        );
        for (family, row) in &self.rows {
            row.render(family, width, text);
            sum.attacks += row.attacks;
            sum.detected += row.detected;
            sum.benign += row.benign;
            sum.false_alarms += row.false_alarms;
        }
        sum.render("all", width, text);
    }
}

impl Row {
    fn add(&mut self, sample: &Sample) {
        if sample.is_attack {
            self.attacks += 1;
            self.detected += usize::from(sample.is_refused);
        } else {
            self.benign += 1;
            self.false_alarms += usize::from(sample.is_refused);
        }
    }

    fn render(&self, family: &str, width: usize, text: &mut String) {
        let _ = writeln!(
            text,
            "{family:width$} {:>8} {:>9} {:>7} {:>7} {:>7} {:>13} {:>7}",
            self.attacks,
            self.detected,
            self.attacks - self.detected,
            share(self.detected, self.attacks, 1),
            self.benign,
            self.false_alarms,
            share(self.false_alarms, self.benign, 2),
        );
    }
}

/// A part in percent; nothing if there is no whole.
#[expect(clippy::cast_precision_loss, reason = "counts of tests are far below 2^52")]
fn share(part: usize, whole: usize, digits: usize) -> String {
    if whole == 0 {
        return String::new();
    }
    format!("{:.digits$} %", 100.0 * part as f64 / whole as f64)
}

/// The family of a file: the folder below the root that it is in, or its own name.
pub(super) fn family(root: &Path, file: &Path) -> String {
    let below = file.strip_prefix(root).unwrap_or(file);
    let mut parts = below.components();
    let first = parts.next().map(|part| part.as_os_str().to_string_lossy().into_owned()).unwrap_or_default();
    if parts.next().is_some() {
        first
    } else {
        first.trim_end_matches(".yaml").trim_end_matches(".yml").to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_families() {
        let mut table = Table::default();
        let sample = |is_attack, is_refused| Sample { is_attack, is_refused, rules: Vec::new() };
        table.add("sqli".into(), &sample(true, true));
        table.add("sqli".into(), &sample(true, false));
        table.add("plain".into(), &sample(false, false));
        let mut text = String::new();
        table.render(&mut text);
        let rows: Vec<Vec<&str>> =
            text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["plain", "0", "0", "0", "1", "0", "0.00", "%"]);
        assert_eq!(rows[1], ["sqli", "2", "1", "1", "50.0", "%", "0", "0"]);
        assert_eq!(rows[2][..4], ["all", "2", "1", "1"]);
        let family = |file: &str| family(Path::new("/t"), Path::new(file));
        assert_eq!(
            (family("/t/REQUEST-9/1.yaml").as_str(), family("/t/xss.yaml").as_str()),
            ("REQUEST-9", "xss")
        );
    }
}
