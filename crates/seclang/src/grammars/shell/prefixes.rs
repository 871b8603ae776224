//! What stands before the name of a program in a command: assignments, redirections, words of the shell, and
//! programs that run another.

use super::word::{Dialect, Word, is_lead, raw_word};

/// More of them hide something; nobody else has as many.
const MAX_PREFIXES: usize = 1024;
/// Bytes in which `$(…)` in an assignment ends.
const MAX_SUBSTITUTION_BYTES: usize = 256;
/// Names of variables are no longer.
const MAX_NAME_BYTES: usize = 4096;
const USUAL_NAME_BYTES: usize = 64;
/// Bytes in which a loop or a branch shows its other words.
const MAX_KEYWORD_BYTES: usize = 256;

/// What runs the command that follows it.
const RUNNERS: &[&[u8]] = &[
    b"sudo", b"busybox", b"nohup", b"exec", b"command", b"builtin", b"time", b"then", b"do", b"else",
    b"eval", b"nice", b"coproc", b"setsid", b"stdbuf", b"timeout", b"watch", b"env",
];

/// The name of the program that a command runs, and what follows it.
pub(super) fn word(text: &[u8], dialect: Dialect) -> Option<(Word, &[u8])> {
    let mut rest = text;
    for _ in 0..MAX_PREFIXES {
        let next = match past_setting(rest, dialect) {
            Some(after) => after,
            None => {
                let (word, after) = raw_word(rest, dialect)?;
                match past_runner(&word, after, dialect) {
                    Some(after) => after,
                    None => return Some((word, after)),
                }
            }
        };
        rest = next.get(next.iter().take_while(|byte| is_blank(byte)).count()..)?;
        // A command ends with its line.
        if matches!(rest.first(), Some(b'\n' | b'\r')) {
            return None;
        }
    }
    Some((Word::buried(), rest))
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn name_length(text: &[u8]) -> usize {
    if text.first().is_some_and(u8::is_ascii_digit) {
        return 0;
    }
    text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
}

/// What follows an assignment, a redirection or a variable that nothing has set, if the command goes on behind it.
fn past_setting(text: &[u8], dialect: Dialect) -> Option<&[u8]> {
    if dialect == Dialect::Windows {
        return None;
    }
    let text = text.get(text.iter().take_while(is_lead).count()..)?;
    let after = match text.first()? {
        b'$' => {
            let name = text.get(1..)?;
            let length = name_length(name);
            name.get(length..).filter(|_| length > 0)?
        }
        b'0'..=b'9' | b'<' | b'>' => past_redirection(text)?,
        _ => past_assignment(text)?,
    };
    after.first().is_some_and(is_blank).then_some(after)
}

/// `>file`, `2>&1`, `</dev/null`: tags and entities of a page have no space there.
fn past_redirection(text: &[u8]) -> Option<&[u8]> {
    let text = text.get(text.iter().take_while(|byte| byte.is_ascii_digit()).count()..)?;
    let text = text.strip_prefix(b"<").or_else(|| text.strip_prefix(b">"))?;
    let text = text.strip_prefix(b">").or_else(|| text.strip_prefix(b"&")).unwrap_or(text);
    let text = text.get(text.iter().take_while(|byte| is_blank(byte)).count()..)?;
    let ends = |byte: &u8| *byte <= b' ' || b"<>|;&()".contains(byte);
    let length = text.iter().position(ends)?;
    text.get(length..).filter(|_| length > 0)
}

/// `a=1`, `a+="b c"`, `a=$(b)`. A separator that is escaped there, or stands in backquotes, begins a command of its own.
fn past_assignment(text: &[u8]) -> Option<&[u8]> {
    // Byte by byte only as far as names usually are.
    let mut length = name_length(text.get(..USUAL_NAME_BYTES).unwrap_or(text));
    if length == USUAL_NAME_BYTES {
        let begin = text.get(..MAX_NAME_BYTES).unwrap_or(text);
        length = memchr::memchr3(b'=', b' ', b'+', begin)?;
        (name_length(begin.get(..length)?) == length).then_some(())?;
    }
    let value = text.get(length..).filter(|_| length > 0)?;
    let value = value.strip_prefix(b"+").unwrap_or(value);
    let mut rest = value.strip_prefix(b"=")?;
    loop {
        rest = match rest {
            [b'\'', inner @ ..] => inner.get(memchr::memchr(b'\'', inner)? + 1..)?,
            [b'"', inner @ ..] => past_double_quotes(inner)?,
            [b'$', b'(', inner @ ..] | [b'(', inner @ ..] => past_parentheses(inner)?,
            [b' ' | b'\t', ..] => return Some(rest),
            [b'\\', after, ..] if !after.is_ascii_alphanumeric() => return None,
            [] | [0..=b' ' | b';' | b'|' | b'&' | b'<' | b'>' | b')' | b'`', ..] => return None,
            [_, after @ ..] => after,
        }
    }
}

fn past_double_quotes(mut text: &[u8]) -> Option<&[u8]> {
    loop {
        let at = memchr::memchr2(b'"', b'\\', text)?;
        let is_end = text.get(at) == Some(&b'"');
        text = text.get(at + if is_end { 1 } else { 2 }..)?;
        if is_end {
            return Some(text);
        }
    }
}

fn past_parentheses(text: &[u8]) -> Option<&[u8]> {
    let mut depth = 1usize;
    for (at, byte) in text.iter().take(MAX_SUBSTITUTION_BYTES).enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return text.get(at + 1..);
        }
    }
    None
}

/// What follows a word that runs a command, or a loop or a branch that begins with one.
fn past_runner<'t>(word: &Word, after: &'t [u8], dialect: Dialect) -> Option<&'t [u8]> {
    if dialect == Dialect::Windows || !after.first().is_some_and(is_blank) {
        return None;
    }
    let name = word.name();
    if RUNNERS.contains(&name) {
        let argument = after.trim_ascii_start();
        // Nothing else has options: no name need follow.
        if argument.first() == Some(&b'-') {
            return None;
        }
        let is_duration = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
        let digits = argument.iter().take_while(|byte| is_duration(byte)).count();
        let behind = argument.get(digits..)?;
        let behind = behind.strip_prefix(b"s").unwrap_or(behind);
        return Some(if digits > 0 && behind.first().is_some_and(is_blank) { behind } else { after });
    }
    let shown = after.get(..MAX_KEYWORD_BYTES).unwrap_or(after);
    match name {
        b"while" | b"until" | b"for" => begins_part(shown, b"do").then_some(after),
        b"if" | b"elif" => begins_part(shown, b"then").then_some(after),
        b"case" => {
            let end = memchr::memchr(b')', shown)?;
            memchr::memmem::find(shown.get(end..)?, b";;")?;
            let command = after.get(end + 1..)?;
            Some(command.trim_ascii_start())
        }
        _ => None,
    }
}

/// Whether a word stands at the begin of a command in a text.
fn begins_part(text: &[u8], word: &[u8]) -> bool {
    memchr::memchr2_iter(b';', b'\n', text).any(|at| {
        let part = text.get(at + 1..).unwrap_or_default().trim_ascii_start();
        part.strip_prefix(word)
            .is_some_and(|after| after.first().is_none_or(|byte| !byte.is_ascii_alphanumeric()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Option<String> {
        let (word, _) = word(text.as_bytes(), Dialect::Unix)?;
        Some(String::from_utf8_lossy(word.name()).into_owned())
    }

    #[test]
    fn the_program_stands_behind_its_prefixes() {
        for text in [
            "id",
            " ( id",
            "a=1 id",
            "a= id",
            "a+=1 id",
            "a='b c' id",
            "a=\"b \\\" c\" id",
            "a=$(b $(c)) id",
            "a=(b c) id",
            "$x id",
            ">x id",
            "</dev/null id",
            "2>&1 id",
            "2> /dev/null a=1 id",
            "sudo id",
            "timeout 5 id",
            "timeout 0.5s id",
            "eval id",
            "while id; do :; done",
            "until ! id\ndo :; done",
            "if id; then :; fi",
            "case x in x) id;; esac",
            "sudo nohup time command id",
        ] {
            assert_eq!(name(text).as_deref(), Some("id"), "{text}");
        }
        assert_eq!(name(&format!("{}id", "a=1 ".repeat(MAX_PREFIXES - 1))).as_deref(), Some("id"));
        assert!(
            word("a=1 ".repeat(MAX_PREFIXES).as_bytes(), Dialect::Unix)
                .is_some_and(|(word, _)| word.is_buried)
        );
    }

    #[test]
    fn what_is_no_prefix_is_a_name() {
        for (text, expected) in [
            ("if time permits; see you", Some("if")),
            ("while id lasts", Some("while")),
            ("case closed (id)", Some("case")),
            ("<b>id</b>", None),
            ("<b> id", None),
            ("a=1;id", Some("a=1")),
            ("a=1 \nid", None),
            ("sudo -u x id", Some("sudo")),
            ("a='b", Some("a=b")),
        ] {
            assert_eq!(name(text).as_deref(), expected, "{text}");
        }
    }
}
