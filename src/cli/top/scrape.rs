//! The metrics of an edge at one moment.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use crate::cli::admin_port;
use crate::clock::Clock;

/// Longest answer that is read.
const MAX_BYTES: u64 = 64 << 20;

/// Values by the names of their metrics.
#[derive(Clone, Debug, Default)]
pub(super) struct Scrape {
    /// When it was, since the Unix epoch.
    pub(super) at: Duration,
    series: BTreeMap<String, Vec<(Labels, f64)>>,
}

/// Values of labels by their names.
pub(super) type Labels = BTreeMap<String, String>;

impl Scrape {
    /// The values of a metric.
    pub(super) fn of(&self, name: &str) -> &[(Labels, f64)] {
        self.series.get(name).map_or(&[], Vec::as_slice)
    }

    /// The value of a metric with these labels; 0 if it has none.
    pub(super) fn value(&self, name: &str, labels: &Labels) -> f64 {
        self.of(name).iter().find(|(known, _)| known == labels).map_or(0.0, |(_, value)| *value)
    }

    /// The sum of all values of a metric.
    pub(super) fn total(&self, name: &str) -> f64 {
        self.of(name).iter().map(|(_, value)| value).sum()
    }
}

/// The metrics of a text.
#[cfg(test)]
pub(super) fn of_text(at: Duration, text: &str) -> Scrape {
    Scrape { at, series: parse(text) }
}

/// Asks the admin port.
pub(super) fn scrape(admin: SocketAddr, clock: Clock) -> Result<Scrape, String> {
    let failed = |error: std::io::Error| format!("the edge at {admin} does not answer: {error}");
    match admin_port::get(admin, "/metrics", MAX_BYTES).map_err(failed)? {
        (status, body) if status == "200" => Ok(Scrape { at: clock.unix(), series: parse(&body) }),
        (status, _) => Err(format!("the edge at {admin} answers `{status}` for its metrics; expected 200")),
    }
}

/// The lines of the text format of Prometheus, 0.0.4. What is no line of it is passed over.
fn parse(text: &str) -> BTreeMap<String, Vec<(Labels, f64)>> {
    let mut series: BTreeMap<String, Vec<(Labels, f64)>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, labels, value)) = line_parts(line) else { continue };
        series.entry(name.to_owned()).or_default().push((labels, value));
    }
    series
}

fn line_parts(line: &str) -> Option<(&str, Labels, f64)> {
    let (head, value) = line.rsplit_once(' ')?;
    let value = value.parse().ok()?;
    let Some((name, rest)) = head.split_once('{') else { return Some((head, Labels::new(), value)) };
    let mut labels = Labels::new();
    let mut rest = rest;
    while let Some((label, quoted)) = rest.split_once("=\"") {
        let mut text = String::new();
        let mut characters = quoted.char_indices();
        let end = loop {
            match characters.next()? {
                (at, '"') => break at,
                (_, '\\') => text.push(match characters.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (_, character) => text.push(character),
            }
        };
        labels.insert(label.trim_start_matches(',').to_owned(), text);
        rest = quoted.get(end + 1..)?;
    }
    Some((name, labels, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_quotes_in_labels() {
        let read = parse(
            "# HELP a b\na_total{x=\"1\",y=\"q\\\"}, \\\\ \\n\"} 2\nb 1.5\n\nbroken{x=\"1 3\nc nan\nd x\n",
        );
        let labels =
            Labels::from([("x".to_owned(), "1".to_owned()), ("y".to_owned(), "q\"}, \\ \n".to_owned())]);
        assert_eq!(read["a_total"], [(labels, 2.0)]);
        assert_eq!(read["b"], [(Labels::new(), 1.5)]);
        assert!(!read.contains_key("broken") && !read.contains_key("d"));
    }
}
