//! Diagnostics as text for a terminal.

use std::fmt::Write;

use super::{Diagnostic, Diagnostics, Place, Severity};

/// Longest part of a source line that is shown, in characters.
const MAX_SHOWN_CHARS: usize = 120;

/// All diagnostics, each with its place marked. Of warnings that say the same the first is shown, with
/// the number of the others: a rule set may have hundreds.
pub fn terminal(diagnostics: &Diagnostics) -> String {
    let mut out = String::new();
    let mut shown: Vec<&str> = Vec::new();
    for diagnostic in diagnostics.iter() {
        if diagnostic.severity == Severity::Error {
            one(&mut out, diagnostic, 0);
        } else if !shown.contains(&diagnostic.message.as_str()) {
            shown.push(&diagnostic.message);
            let same = |other: &&Diagnostic| {
                other.severity == Severity::Warning && other.message == diagnostic.message
            };
            one(&mut out, diagnostic, diagnostics.iter().filter(same).count() - 1);
        }
    }
    out
}

fn one(out: &mut String, diagnostic: &Diagnostic, repeats: usize) {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    // INVARIANT: writing to a `String` cannot fail, so the results below are of no interest.
    let _ = writeln!(out, "{severity}[{}]: {}", diagnostic.code.word(), diagnostic.message);
    let gutter = diagnostic.place.as_ref().map_or(1, |place| excerpt(out, place));
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(out, "{:gutter$} = help: {help}", "");
    }
    if repeats > 0 {
        let noun = if repeats == 1 { "place" } else { "places" };
        let _ = writeln!(out, "{:gutter$} = the same in {repeats} more {noun}", "");
    }
    out.push('\n');
}

/// Writes the marked line and returns the width of the line number.
fn excerpt(out: &mut String, place: &Place) -> usize {
    let (line, column) = place.source.line_column(place.span.start);
    let width = line.to_string().len();
    let _ = writeln!(out, "{:width$}--> {}", "", place.label());
    let Some(text) = place.source.text.lines().nth(line - 1) else { return width };
    let skipped = column.saturating_sub(MAX_SHOWN_CHARS / 2);
    let shown: String = text.chars().skip(skipped).take(MAX_SHOWN_CHARS).map(printable).collect();
    let marked = place.source.text.get(place.span.clone()).unwrap_or("");
    let marks = marked.lines().next().unwrap_or("").chars().count().clamp(1, MAX_SHOWN_CHARS);
    let _ = writeln!(out, "{:width$} |", "");
    let _ = writeln!(out, "{line} | {shown}");
    let _ =
        writeln!(out, "{:width$} | {:indent$}{}", "", "", "^".repeat(marks), indent = column - 1 - skipped);
    width
}

/// Control characters never reach a terminal from a file.
fn printable(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

#[cfg(test)]
mod tests {
    use super::super::{Code, Source};
    use super::*;

    #[test]
    fn marks_the_place_and_adds_help() {
        let source = Source::new("p.toml", "[[zones]]\norgins = []\n");
        let diagnostic = Diagnostic::error(Code::ConfUnknownKey, "unknown key `orgins`")
            .at(Place::new(&source, 10..16))
            .help("did you mean `origins`?");
        insta::assert_snapshot!(terminal(&diagnostic.into()), @r"
        error[conf/unknown-key]: unknown key `orgins`
         --> p.toml:2:1
          |
        2 | orgins = []
          | ^^^^^^
          = help: did you mean `origins`?
        ");
    }
}
