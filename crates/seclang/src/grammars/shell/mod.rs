//! Shells: whether a value begins another command in the command line around it.
//!
//! A value does harm if it ends a word or a command and begins a command of its own: after `;`, `|`,
//! `&`, a line break, or within `$(…)` and backquotes. The word after each of those places is read as the
//! shell reads it, without the quotes, escapes and empty expansions that hide it from filters, and is
//! looked up among the programs of a system. Many of those are also words that people use, so what
//! follows counts too: an option, a path, an address, or nothing.

mod commands;
mod prefixes;
mod windows_commands;
mod word;

use std::cell::LazyCell;
use std::ops::Range;

use self::commands::{Class, class, is_filter, is_harmless, is_keyword};
use self::prefixes::word;
use self::word::{Argument, Word, argument, is_lead};
use super::fragment::strongest_of_lines;
use super::{Finding, Strength};
use pattern::ByteSet;

pub(crate) use self::word::Dialect;

/// What every separator begins with.
const MARKS: ByteSet = ByteSet::of(b"&|;\n\r$<>`");
/// A call of a tool that begins a value is no longer.
const MAX_TOOL_BYTES: usize = 128;
/// What the line below the head of a table of Markdown holds.
const TABLE_RULES: &[&[u8]] = &[b"|--", b"| --", b"|:-", b"| :-"];
/// Bytes before a place that say whether it stands in a text.
const TEXT_BYTES: usize = 128;

/// What stands before a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    Start,
    /// `;`, `&&`, `||` or the end of a line. Sentences have a space behind it.
    Sequence {
        is_glued: bool,
    },
    Pipe {
        is_in_list: bool,
    },
    Background,
    /// `$(`, `<(`, `>(`
    Substitution {
        is_in_text: bool,
    },
    Backquote {
        is_in_text: bool,
        /// Words of Markdown have a space before.
        is_bare: bool,
    },
    /// `{`, and `;}` at the end of the value.
    Group,
}

/// How sure it is that a value is a command injection.
pub(crate) fn shell(value: &[u8], dialect: Dialect) -> Option<Finding> {
    // Only rows of a table need it, and few values have rows.
    let has_table =
        LazyCell::new(|| TABLE_RULES.iter().any(|rule| memchr::memmem::find(value, rule).is_some()));
    strongest_of_lines(value, |_| true, |_, line| commands_in(line, || *has_table, dialect))
}

fn commands_in(value: &[u8], has_table: impl Fn() -> bool, dialect: Dialect) -> Option<Finding> {
    let start = judge(value, || Separator::Start, dialect);
    let group = group(value).and_then(|commands| judge(commands, || Separator::Group, dialect));
    let mut found = Finding::at(start.max(group), 0);
    let mut from = 0;
    let mut is_script_line = false;
    // A row of a table. No shell runs what begins and ends with a pipe where more rows follow.
    let is_row = value.trim_ascii().starts_with(b"|") && value.trim_ascii().ends_with(b"|");
    let mut edges = None;
    while let Some(place) = next_separator(value, from, dialect) {
        let command = place.end;
        let text = value.get(command..)?;
        // `(|name| …`: a closure of a program; no shell reads a pipe behind a bracket.
        if place.len() == 1 && value.get(place.start.wrapping_sub(1)..command) == Some(b"(|") {
            from = command;
            continue;
        }
        let is_line_break = matches!(value.get(place.start), Some(b'\n' | b'\r'));
        // A name alone between two pipes.
        let is_cell = || {
            let is_in_table = is_row && has_table() && value.get(place.clone()) == Some(b"|");
            is_in_table
                && memchr::memchr(b'|', text)
                    .and_then(|end| text.get(..end))
                    .is_some_and(|cell| cell.trim_ascii().iter().all(u8::is_ascii_alphanumeric))
        };
        let judged = judge(text, || separator(value, place.clone()), dialect);
        is_script_line =
            is_script_line || value.get(from..command).is_some_and(|text| begins_script(text, dialect));
        let judged = if judged.is_some() && (is_script_line || is_row) && goes_on_harmlessly(text, dialect) {
            judged.min(Some(Strength::Possible))
        } else if is_cell() {
            judged.min(Some(Strength::Likely))
        } else {
            judged
        };
        // A value that begins by ending a command is meant for a shell, whatever it names.
        let is_meant = judged.is_some()
            && !is_cell()
            && edges.get_or_insert_with(|| Edges::of(value)).is_meant(value, command, dialect);
        let judged = if is_meant { Some(Strength::Certain) } else { judged };
        found = found.max(Finding::at(judged, command));
        if found.is_some_and(|found| found.strength == Strength::Certain) {
            break;
        }
        // Line breaks before one command all lead to it.
        from = if is_line_break { command + text.iter().take_while(is_lead).count() } else { command };
    }
    let found = found?;
    // A script begins with a command of its own; what follows it there is no injection.
    let is_script = start.is_some() && memchr::memchr(b'\n', value.trim_ascii()).is_some();
    Some(if is_script { Finding { strength: Strength::Possible, ..found } } else { found })
}

/// Whether a text, or its last quoted part, begins with a command: then what follows continues that script and escapes
/// from nothing.
fn begins_script(text: &[u8], dialect: Dialect) -> bool {
    let last = text.len().saturating_sub(1);
    let quote = text.get(..last).and_then(|text| memchr::memrchr3(b'`', b'\'', b'"', text));
    begins_with_call(text, dialect)
        || quote.and_then(|at| text.get(at..)).is_some_and(|quoted| begins_with_call(quoted, dialect))
        || names_call(text, dialect)
}

/// Whether a program with an option is among the last words of a text: `I ran ls -la`.
fn names_call(text: &[u8], dialect: Dialect) -> bool {
    let text = text.get(text.len().saturating_sub(TEXT_BYTES)..).unwrap_or_default();
    memchr::memmem::find_iter(text, b" -").any(|at| {
        let before = text.get(..at).unwrap_or_default();
        let name =
            memchr::memrchr(b' ', before).map_or(before, |space| before.get(space + 1..).unwrap_or_default());
        let is_option = text.get(at + 2).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'-');
        is_option && class(name, dialect).is_some()
    })
}

/// Whether a text begins with a program and an argument, or what assigns a result, behind a prompt, a bullet or a quote
/// at the most.
fn begins_with_call(text: &[u8], dialect: Dialect) -> bool {
    let is_lead = |byte: &u8| byte.is_ascii_whitespace() || b"$>#-*`'\"(@+|:".contains(byte);
    let text = text.get(text.iter().take_while(|byte| is_lead(byte)).count()..).unwrap_or_default();
    let text = text.strip_prefix(b"RUN ").unwrap_or(text);
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let (name, rest) = text.split_at(text.iter().take_while(|byte| is_name(byte)).count());
    match rest {
        [b'=', b'$' | b'`', ..] => !name.is_empty(),
        [b' ', next, ..] if *next > b' ' && !matches!(next, b';' | b'|' | b'&') => {
            is_keyword(name)
                || word(text, dialect).is_some_and(|(word, _)| class(word.name(), dialect).is_some())
        }
        _ => false,
    }
}

/// Whether a command only does what scripts of any kind do: it filters, moves files of its own, builds.
fn goes_on_harmlessly(command: &[u8], dialect: Dialect) -> bool {
    word(command, dialect).is_some_and(|(word, rest)| {
        let is_hidden = word.is_disguised || word.has_separator_expansion || word.is_in_bin();
        !is_hidden && is_harmless(word.name(), &argument(rest, dialect))
    })
}

/// How a value begins and ends, by which it is meant for a shell.
struct Edges {
    /// Where it has more than separators.
    separators_end: usize,
    /// Where it has more than separators and what closes a string or is a number or an address before one, or where a
    /// line ends: what goes on behind a line break may be a text.
    closers_end: usize,
    line_end: usize,
    /// What follows is quotes, separators and comments.
    text_end: usize,
}

impl Edges {
    fn of(value: &[u8]) -> Self {
        let is_separator = |byte: &u8| matches!(byte, b';' | b'|' | b'&' | b'\n' | b'\r' | b' ');
        let is_closer = |byte: &u8| matches!(byte, b'\'' | b'"' | b')' | b'0'..=b'9' | b'.' | b':' | b'-');
        let is_end =
            |byte: &u8| matches!(byte, b' ' | b';' | b'#' | b'\'' | b'"' | b'&' | b'|' | b'\n' | b'\r');
        let line_end = memchr::memchr2(b'\n', b'\r', value).unwrap_or(value.len());
        let closers = value.iter().take_while(|byte| is_separator(byte) || is_closer(byte)).count();
        Self {
            separators_end: value.iter().take_while(|byte| is_separator(byte)).count(),
            closers_end: closers.min(line_end),
            line_end,
            text_end: value.iter().rposition(|byte| !is_end(byte)).map_or(0, |at| at + 1),
        }
    }

    /// Whether the value begins with a separator, with what closes a string before one, or with a number or an address
    /// before one. Then a name alone is a command, and that of a tool with anything behind it.
    fn is_meant(&self, value: &[u8], command: usize, dialect: Dialect) -> bool {
        if command > self.separators_end.max(self.closers_end) {
            return false;
        }
        let name = value.get(command..self.text_end).unwrap_or_default().trim_ascii_start();
        let is_alone = || name.len() <= 16 && name.iter().all(u8::is_ascii_alphanumeric);
        let is_tool = || {
            name.len() <= MAX_TOOL_BYTES
                && command <= self.line_end
                && word(value.get(command..).unwrap_or_default(), dialect).is_some_and(|(word, _)| {
                    matches!(class(word.name(), dialect), Some(Class::Noun | Class::Program))
                })
        };
        is_alone() || is_tool()
    }
}

/// The commands of `{ … ;}`, if a value is that.
fn group(value: &[u8]) -> Option<&[u8]> {
    let commands = value.trim_ascii().strip_prefix(b"{")?.strip_suffix(b"}")?;
    commands.trim_ascii_end().strip_suffix(b";")
}

/// The place of the next separator from a place on, behind which a command begins.
fn next_separator(value: &[u8], from: usize, dialect: Dialect) -> Option<Range<usize>> {
    let mut at = from;
    loop {
        at += value.get(at..)?.iter().position(|byte| MARKS.has(*byte))?;
        let is_unix = dialect == Dialect::Unix;
        let length = match value.get(at..)? {
            [b'&', b'&', ..] | [b'|', b'|', ..] => 2,
            [b'\n' | b'\r' | b'|' | b'&', ..] => 1,
            [b'$' | b'<' | b'>', b'(', ..] if is_unix => 2,
            // Markdown marks blocks of code so.
            [b'`', b'`', b'`', ..] => {
                at += 3;
                continue;
            }
            [b';' | b'`', ..] if is_unix => 1,
            _ => {
                at += 1;
                continue;
            }
        };
        return Some(at..at + length);
    }
}

/// What the separator at a place is.
fn separator(value: &[u8], place: Range<usize>) -> Separator {
    let Range { start: at, end: command } = place;
    match value.get(at..command) {
        Some(b"&&" | b"||" | b";") => Separator::Sequence { is_glued: is_glued(value, command) },
        Some(b"|") => {
            let is_in_list = at > 0 && value.get(at - 1).is_some_and(u8::is_ascii_alphabetic);
            Separator::Pipe { is_in_list }
        }
        Some(b"&") => Separator::Background,
        Some(b"`") => {
            let is_bare = at == 0 || value.get(at - 1).is_some_and(|before| *before > b' ');
            Separator::Backquote { is_in_text: is_in_text(value, at), is_bare }
        }
        Some([_, b'(']) => {
            Separator::Substitution { is_in_text: !names_command(value, at) && is_in_text(value, at) }
        }
        _ => Separator::Sequence { is_glued: false },
    }
}

/// Whether what is put in at a place names a command, which no text says: it stands right behind `;`, `|` or `&`.
fn names_command(value: &[u8], at: usize) -> bool {
    let before = value.get(..at).unwrap_or_default();
    let sign = before.iter().rfind(|byte| **byte != b' ');
    sign.is_some_and(|sign| matches!(sign, b';' | b'|' | b'&'))
}

/// Markdown writes names of programs so: a text has words before or behind.
fn is_in_text(value: &[u8], at: usize) -> bool {
    let before = value.get(at.saturating_sub(TEXT_BYTES)..at).unwrap_or_default();
    let after = value.get(at + 1..(at + 1 + TEXT_BYTES).min(value.len())).unwrap_or_default();
    // Behind the end of the span.
    let after = memchr::memchr(b'`', after).and_then(|end| after.get(end + 1..)).unwrap_or_default();
    let is_link = before.ends_with(b"[") && after.starts_with(b"]");
    words(before) + words(after) >= 2 || is_link || is_item(before) && !after.is_empty()
}

fn is_glued(value: &[u8], at: usize) -> bool {
    value.get(at).is_some_and(u8::is_ascii_alphabetic)
}

/// `- `, `1. `: where an item of a list begins.
fn is_item(text: &[u8]) -> bool {
    matches!(text, [b'-' | b'*', b' '] | [b'0'..=b'9', b'.', b' '])
}

fn words(text: &[u8]) -> usize {
    let is_word = |word: &&[u8]| {
        let word = word.trim_ascii_end();
        let word = word.strip_suffix(b",").or_else(|| word.strip_suffix(b".")).unwrap_or(word);
        !word.is_empty() && word.iter().all(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80)
    };
    text.split(|byte| *byte == b' ').filter(is_word).count()
}

fn judge(text: &[u8], separator: impl FnOnce() -> Separator, dialect: Dialect) -> Option<Strength> {
    let (word, rest) = word(text, dialect)?;
    if word.is_buried {
        return Some(Strength::Certain);
    }
    // Most words name no program, whatever follows them.
    (word.is_glob_path() || class(word.name(), dialect).is_some())
        .then(|| named(&word, &argument(rest, dialect), separator(), dialect))?
}

fn named(word: &Word, argument: &Argument, separator: Separator, dialect: Dialect) -> Option<Strength> {
    use Strength::{Certain, Likely, Possible};
    if word.is_glob_path() {
        let is_bare = separator == Separator::Start && !argument.is_given();
        return Some(if is_bare { Likely } else { Certain });
    }
    let class = class(word.name(), dialect)?;
    if word.has_separator_expansion || argument.has_separator_expansion {
        return Some(Certain);
    }
    if word.is_executable() && dialect == Dialect::Windows && separator != Separator::Start {
        return Some(Certain);
    }
    if word.is_in_bin() && dialect == Dialect::Unix {
        return Some(if separator == Separator::Start && !argument.is_given() { Likely } else { Certain });
    }
    if word.is_disguised {
        return Some(if separator == Separator::Start && !argument.is_given() { Possible } else { Certain });
    }
    // `Sleep`: a type, or a word at the begin of a sentence.
    if matches!(separator, Separator::Backquote { .. })
        && matches!(word.name(), [b'A'..=b'Z', b'a'..=b'z', ..])
    {
        return Some(Possible);
    }
    // What only a command line has after the name of a program.
    let is_called = argument.is_given() || class.is_called_with(argument);
    match (separator, class) {
        (Separator::Start, Class::Noun | Class::Everyday { .. }) if is_called => Some(Possible),
        (Separator::Start, Class::Probe) if !argument.is_given() && !argument.is_number => Some(Possible),
        (Separator::Start, Class::Program) if !is_called => Some(Possible),
        (Separator::Start, _) => is_called.then_some(Likely),
        (Separator::Group, _) => (is_called || argument.is_end).then_some(Certain),
        // Between words Markdown writes names and commands so, too.
        (Separator::Backquote { is_in_text: false, is_bare: true }, _) if is_called => Some(Certain),
        (Separator::Backquote { .. }, _) if is_harmless(word.name(), argument) && argument.is_plain() => {
            Some(Possible)
        }
        (Separator::Backquote { .. }, Class::Noun) => Some(Likely),
        (Separator::Backquote { .. }, Class::Everyday { runs_alone: false, .. }) if argument.is_end => {
            Some(Likely)
        }
        (Separator::Backquote { is_in_text: true, .. }, _) => Some(Likely),
        (Separator::Substitution { is_in_text: true }, _) if is_harmless(word.name(), argument) => {
            Some(Possible)
        }
        (Separator::Substitution { .. } | Separator::Backquote { .. }, _) if is_called || argument.is_end => {
            Some(Certain)
        }
        (Separator::Substitution { .. }, Class::Program | Class::Noun) => Some(Certain),
        (Separator::Substitution { is_in_text: false }, Class::Everyday { .. }) => Some(Likely),
        (Separator::Pipe { .. }, _) if is_called && !argument.has_path && is_filter(word.name()) => {
            Some(Likely)
        }
        (_, _) if is_called => Some(Certain),
        (Separator::Pipe { is_in_list: true }, Class::Everyday { runs_alone: true, .. })
            if argument.is_end =>
        {
            Some(Likely)
        }
        // `cmd.exe` ends a command with it.
        (Separator::Background, Class::Everyday { runs_alone, .. }) if argument.is_end => {
            Some(if runs_alone && dialect == Dialect::Windows { Certain } else { Possible })
        }
        (_, Class::Program | Class::Everyday { runs_alone: true, .. }) if argument.is_end => Some(Certain),
        // No text of another kind has the name of such a program there.
        (Separator::Background | Separator::Pipe { .. }, Class::Program) if dialect == Dialect::Windows => {
            Some(Certain)
        }
        (Separator::Sequence { is_glued: true }, Class::Program) => Some(Certain),
        (Separator::Pipe { is_in_list: true }, _) => Some(Possible),
        (_, Class::Program) => Some(Likely),
        _ => Some(Possible),
    }
}

#[cfg(test)]
mod tests;
