//! A frame of `portcullis top`.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Row, Table};

use super::figures::Figures;

/// Names are cut to this many characters.
const MAX_NAME: usize = 60;

/// Draws what is known.
pub(super) fn draw(frame: &mut Frame<'_>, figures: &Figures, interval: Duration) {
    let has_gateways = !figures.gateways.is_empty();
    let [head, zones, findings, origins, gateways] = Layout::vertical([
        Constraint::Length(5),
        Constraint::Min(6),
        Constraint::Length(12),
        Constraint::Length(7),
        Constraint::Length(if has_gateways { 7 } else { 0 }),
    ])
    .areas(frame.area());
    summary(frame, head, figures, interval);
    table(
        frame,
        zones,
        " zones ",
        &["zone", "requests/s", "stopped", "p99"],
        &[Constraint::Min(20), Constraint::Length(12), Constraint::Length(9), Constraint::Length(10)],
        figures.zones.iter().map(|zone| {
            [
                plain(&zone.zone),
                number(zone.requests_per_second),
                format!("{:.1} %", zone.stopped * 100.0),
                zone.latency.map_or_else(|| "–".to_owned(), milliseconds),
            ]
        }),
    );
    let areas: [Rect; 3] = Layout::horizontal([Constraint::Ratio(1, 3); 3]).areas(findings);
    let found = &figures.findings;
    for (area, (title, name, rows)) in areas.into_iter().zip([
        (" rules, last 10 minutes ", "rule", &found.rules),
        (" clients ", "client", &found.clients),
        (" paths ", "path", &found.paths),
    ]) {
        let rows = rows.iter().map(|(name, count)| [plain(name), count.to_string()]);
        table(frame, area, title, &[name, "events"], &[Constraint::Min(10), Constraint::Length(8)], rows);
    }
    origin_table(frame, origins, figures);
    if has_gateways {
        table(
            frame,
            gateways,
            " gateways, tokens and cost since the start ",
            &["gateway", "calls/s", "tokens in", "tokens out", "cost"],
            &[
                Constraint::Min(20),
                Constraint::Length(9),
                Constraint::Length(12),
                Constraint::Length(12),
                Constraint::Length(12),
            ],
            figures.gateways.iter().map(|gateway| {
                [
                    plain(&gateway.gateway),
                    number(gateway.calls_per_second),
                    number(gateway.input_tokens),
                    number(gateway.output_tokens),
                    format!("${:.4}", gateway.cost),
                ]
            }),
        );
    }
}

fn origin_table(frame: &mut Frame<'_>, area: Rect, figures: &Figures) {
    table(
        frame,
        area,
        " origins ",
        &["zone", "origin", "state", "answers/s", "mean"],
        &[
            Constraint::Min(15),
            Constraint::Min(25),
            Constraint::Length(6),
            Constraint::Length(10),
            Constraint::Length(9),
        ],
        figures.origins.iter().map(|of| {
            [
                plain(&of.zone),
                plain(&of.origin),
                if of.is_up { "up" } else { "DOWN" }.to_owned(),
                number(of.answers_per_second),
                of.latency.map_or_else(|| "–".to_owned(), milliseconds),
            ]
        }),
    );
}

fn summary(frame: &mut Frame<'_>, area: Rect, figures: &Figures, interval: Duration) {
    let strong = Style::new().add_modifier(Modifier::BOLD);
    let [_, s2, s3, s4, s5] = figures.statuses;
    let latency = figures.latency.map_or_else(
        || "latency –".to_owned(),
        |[half, most, nearly]| {
            format!(
                "latency p50 {}  p95 {}  p99 {}",
                milliseconds(half),
                milliseconds(most),
                milliseconds(nearly)
            )
        },
    );
    let verdicts: Vec<String> = figures
        .verdicts
        .iter()
        .map(|(verdict, rate)| format!("{} {}", plain(verdict), number(*rate)))
        .collect();
    let state = match (&figures.away, &figures.findings.error) {
        (Some(error), _) | (None, Some(error)) => Span::styled(plain(error), Style::new().fg(Color::Red)),
        (None, None) => Span::raw(format!(
            "{} connections  {} MB  every {} s  q ends",
            number(figures.connections),
            number((figures.memory_bytes / 1e6).round()),
            interval.as_secs()
        )),
    };
    let lines = vec![
        Line::from(vec![
            Span::styled(format!("{} requests/s", number(figures.requests_per_second)), strong),
            Span::raw(format!(
                "  2xx {}  3xx {}  4xx {}  5xx {}  ",
                number(s2),
                number(s3),
                number(s4),
                number(s5)
            )),
            Span::raw(latency),
        ]),
        Line::raw(format!(
            "verdicts: {}",
            if verdicts.is_empty() { "–".to_owned() } else { verdicts.join("  ") }
        )),
        Line::from(state),
    ];
    let block = Block::new().borders(Borders::ALL).title(" portcullis ");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn table<const N: usize>(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &'static str,
    names: &[&'static str; N],
    widths: &[Constraint; N],
    rows: impl Iterator<Item = [String; N]>,
) {
    let head = Row::new(*names).style(Style::new().add_modifier(Modifier::DIM));
    let rows = rows.map(|row| {
        let is_alarming = row.iter().any(|cell| cell == "DOWN");
        Row::new(row).style(if is_alarming { Style::new().fg(Color::Red) } else { Style::new() })
    });
    let table = Table::new(rows, *widths).header(head).block(Block::new().borders(Borders::ALL).title(title));
    frame.render_widget(table, area);
}

/// A text that a client may have made, without what a terminal would obey.
fn plain(text: &str) -> String {
    let mut plain: String =
        text.chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).take(MAX_NAME).collect();
    if text.chars().nth(MAX_NAME).is_some() {
        plain.push('…');
    }
    plain
}

fn number(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value < 10.0 && value.fract() != 0.0 => format!("{value:.1}"),
        value if value < 100_000.0 => format!("{value:.0}"),
        value if value < 1e8 => format!("{:.1}k", value / 1e3),
        value => format!("{:.1}M", value / 1e6),
    }
}

fn milliseconds(value: f64) -> String {
    if value < 1.0 { format!("≤{value} ms") } else { format!("≤{value:.0} ms") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_not_shown() {
        assert_eq!(plain("/a\u{1b}[2J\r\nb"), "/a\u{FFFD}[2J\u{FFFD}\u{FFFD}b");
        assert_eq!(plain(&"x".repeat(100)).chars().count(), MAX_NAME + 1);
        assert_eq!(
            ["0", "0.5", "12", "100.0k", "250.0M"],
            [0.0, 0.5, 12.3, 1e5, 2.5e8].map(number).as_slice()
        );
    }
}
