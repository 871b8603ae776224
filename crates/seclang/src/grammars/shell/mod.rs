//! Shells: whether a value begins another command in the command line around it.
//!
//! A value does harm if it ends a word or a command and begins a command of its own: after `;`, `|`,
//! `&`, a line break, or within `$(…)` and backquotes. The word after each of those places is read as the
//! shell reads it, without the quotes, escapes and empty expansions that hide it from filters, and is
//! looked up among the programs of a system. Many of those are also words that people use, so what
//! follows counts too: an option, a path, an address, or nothing.

mod commands;
mod windows_commands;
mod word;

use self::commands::{Class, class, is_filter, is_harmless, is_keyword};
use self::word::{Argument, Word, argument, word};
use super::fragment::strongest_of_lines;
use super::{Finding, Strength};
use pattern::ByteSet;

pub(crate) use self::word::Dialect;

/// Places of a value that are tried as the beginning of a command.
const MAX_PLACES: usize = 1 << 14;
/// What every separator begins with.
const MARKS: ByteSet = ByteSet::of(b"&|;\n\r$<>`");
/// A call of a tool that begins a value is no longer.
const MAX_TOOL_BYTES: usize = 128;
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
    strongest_of_lines(value, |_, line| commands_in(line, dialect))
}

fn commands_in(value: &[u8], dialect: Dialect) -> Option<Finding> {
    let start = judge(value, Separator::Start, dialect);
    let group = group(value).and_then(|commands| judge(commands, Separator::Group, dialect));
    let mut found = Finding::at(start.max(group), 0);
    let mut from = 0;
    let mut is_script_line = false;
    // A row of a table.
    let is_row = value.trim_ascii().starts_with(b"|") && value.trim_ascii().ends_with(b"|");
    for nth in 0..=MAX_PLACES {
        if nth == MAX_PLACES {
            // What follows so many is not read.
            found = found.max(Finding::at(Some(Strength::Likely), from));
            break;
        }
        let Some((separator, command)) = next_command(value, from, dialect) else { break };
        let judged = judge(value.get(command..)?, separator, dialect);
        is_script_line |= value.get(from..command).is_some_and(|text| begins_script(text, dialect));
        let judged = if judged.is_some()
            && (is_script_line || is_row)
            && goes_on_harmlessly(value.get(command..)?, dialect)
        {
            judged.min(Some(Strength::Possible))
        } else {
            judged
        };
        // A value that begins by ending a command is meant for a shell, whatever it names.
        let is_meant = judged.is_some() && begins_with_separator(value, command, dialect);
        let judged = if is_meant { Some(Strength::Certain) } else { judged };
        found = found.max(Finding::at(judged, command));
        if found.is_some_and(|found| found.strength == Strength::Certain) {
            break;
        }
        from = command;
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

/// Whether a value is meant for a shell by how it begins: with a separator, with what closes a string before one, or with
/// a number or an address before one. Then a name alone is a command, and that of a tool with anything behind it.
fn begins_with_separator(value: &[u8], command: usize, dialect: Dialect) -> bool {
    let (before, after) = value.split_at(command.min(value.len()));
    let is_separator = |byte: &u8| matches!(byte, b';' | b'|' | b'&' | b'\n' | b'\r' | b' ');
    let is_closer = |byte: &u8| matches!(byte, b'\'' | b'"' | b')' | b'0'..=b'9' | b'.' | b':' | b'-');
    // What goes on behind a line break may be a text.
    let is_within_line = || !before.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
    let is_begun = before.iter().all(is_separator)
        || is_within_line() && before.iter().all(|byte| is_separator(byte) || is_closer(byte));
    let is_end = |byte: &u8| matches!(byte, b' ' | b';' | b'#' | b'\'' | b'"' | b'&' | b'|' | b'\n' | b'\r');
    let end = after.iter().rposition(|byte| !is_end(byte)).map_or(0, |at| at + 1);
    let name = after.get(..end).unwrap_or_default().trim_ascii_start();
    let is_alone = || name.len() <= 16 && name.iter().all(u8::is_ascii_alphanumeric);
    let is_tool = || {
        name.len() <= MAX_TOOL_BYTES
            && is_within_line()
            && word(after, dialect).is_some_and(|(word, _)| {
                matches!(class(word.name(), dialect), Some(Class::Noun | Class::Program))
            })
    };
    is_begun && (is_alone() || is_tool())
}

/// The commands of `{ … ;}`, if a value is that.
fn group(value: &[u8]) -> Option<&[u8]> {
    let commands = value.trim_ascii().strip_prefix(b"{")?.strip_suffix(b"}")?;
    commands.trim_ascii_end().strip_suffix(b";")
}

/// The next separator from a place on, and where the command after it begins.
fn next_command(value: &[u8], from: usize, dialect: Dialect) -> Option<(Separator, usize)> {
    let mut at = from;
    loop {
        at += value.get(at..)?.iter().position(|byte| MARKS.has(*byte))?;
        let byte = *value.get(at)?;
        let next = value.get(at + 1).copied();
        let is_unix = dialect == Dialect::Unix;
        match (byte, next) {
            (b'&', Some(b'&')) | (b'|', Some(b'|')) => {
                return Some((Separator::Sequence { is_glued: is_glued(value, at + 2) }, at + 2));
            }
            (b';', _) if is_unix => {
                return Some((Separator::Sequence { is_glued: is_glued(value, at + 1) }, at + 1));
            }
            (b'\n' | b'\r', _) => return Some((Separator::Sequence { is_glued: false }, at + 1)),
            (b'|', _) => {
                let is_in_list = at > 0 && value.get(at - 1).is_some_and(u8::is_ascii_alphabetic);
                return Some((Separator::Pipe { is_in_list }, at + 1));
            }
            (b'&', _) => return Some((Separator::Background, at + 1)),
            (b'$' | b'<' | b'>', Some(b'(')) if is_unix => {
                return Some((Separator::Substitution { is_in_text: is_in_text(value, at) }, at + 2));
            }
            // Markdown marks blocks of code so.
            (b'`', Some(b'`')) if value.get(at + 2) == Some(&b'`') => at += 3,
            (b'`', _) if is_unix => {
                let is_bare = at == 0 || value.get(at - 1).is_some_and(|before| *before > b' ');
                return Some((Separator::Backquote { is_in_text: is_in_text(value, at), is_bare }, at + 1));
            }
            _ => at += 1,
        }
    }
}

/// Markdown writes names of programs so: a text has words before or behind.
fn is_in_text(value: &[u8], at: usize) -> bool {
    let before = value.get(at.saturating_sub(TEXT_BYTES)..at).unwrap_or_default();
    let after = value.get(at + 1..(at + 1 + TEXT_BYTES).min(value.len())).unwrap_or_default();
    // Behind the end of the span.
    let after = memchr::memchr(b'`', after).and_then(|end| after.get(end + 1..)).unwrap_or_default();
    words(before) >= 2 || words(after) >= 2 || is_item(before) && !after.is_empty()
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

fn judge(text: &[u8], separator: Separator, dialect: Dialect) -> Option<Strength> {
    let (word, rest) = word(text, dialect)?;
    // Most words name no program, whatever follows them.
    (word.is_glob_path() || class(word.name(), dialect).is_some())
        .then(|| named(&word, &argument(rest, dialect), separator, dialect))?
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
        (Separator::Backquote { .. }, Class::Everyday { runs_alone: false }) if argument.is_end => {
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
        (Separator::Pipe { is_in_list: true }, Class::Everyday { runs_alone: true }) if argument.is_end => {
            Some(Likely)
        }
        // `cmd.exe` ends a command with it.
        (Separator::Background, Class::Everyday { runs_alone }) if argument.is_end => {
            Some(if runs_alone && dialect == Dialect::Windows { Certain } else { Possible })
        }
        (_, Class::Program | Class::Everyday { runs_alone: true }) if argument.is_end => Some(Certain),
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
