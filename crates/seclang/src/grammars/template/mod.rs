//! Templates: whether a value is an expression that a template engine would compute.
//!
//! Expressions stand between the marks of an engine (`{{ }}`, `${ }`, `<%= %>` …). A name or a path of
//! names between them is what templates are for; an attack computes something to be seen by, or walks
//! from what it has to what runs code.

mod walks;

use self::walks::Walks;
use super::fragment::strongest_of_lines;
use super::{Finding, Strength};
use pattern::ByteSet;

/// Expressions of a value that are looked at.
const MAX_EXPRESSIONS: usize = 1 << 14;
/// Bytes of each.
const MAX_EXPRESSION_BYTES: usize = 1024;

/// What a computation applies to literals.
const OPERATORS: ByteSet = ByteSet::of(b"*/+-^%|=<>");

/// How engines mark an expression.
const MARKS: &[(&[u8], &[u8])] = &[
    (b"{{", b"}}"),
    (b"${", b"}"),
    (b"$!{", b"}"),
    (b"#{", b"}"),
    (b"*{", b"}"),
    (b"@{", b"}"),
    (b"~{", b"}"),
    (b"%{", b"}"),
    (b"<%", b"%>"),
    (b"{%", b"%}"),
    (b"@(", b")"),
    (b"[[", b"]]"),
    (b"[=", b"]"),
    (b"{", b"}"),
    (b"#set(", b")"),
    (b"<#", b">"),
    (b"__${", b"}__"),
];

/// What they begin with.
const MARK_STARTS: ByteSet = ByteSet::of(b"{$#*@~%<[_");

/// Names that only tell about the program, alone between marks.
const GLOBALS: &[&str] = &[
    "config",
    "self",
    "settings",
    "request",
    "env",
    "app",
    "debug",
    "this",
    "constructor",
    "_self.env",
    "$smarty.version",
    "global",
    "process",
    "session",
];

/// How sure it is that a value holds an expression to be computed by a template engine.
pub(crate) fn template(value: &[u8]) -> Option<Finding> {
    strongest_of_lines(value, |_, line| expressions_in(line))
}

fn expressions_in(value: &[u8]) -> Option<Finding> {
    let mut found = None;
    let mut from = 0;
    let mut walks = Walks::new(value);
    for nth in 0..=MAX_EXPRESSIONS {
        if nth == MAX_EXPRESSIONS {
            // What follows so many is not read.
            found = found.max(Finding::at(Some(Strength::Likely), from));
            break;
        }
        let Some((at, inner, mark)) = next_expression(value, from) else { break };
        let strength = judge(inner, mark, || walks.any_in(at..at + inner.len()));
        found = found.max(Finding::at(strength, at.saturating_sub(mark.len())));
        if found.is_some_and(|found: Finding| found.strength == Strength::Certain) {
            break;
        }
        from = at;
    }
    found
}

/// The next expression from a place on: where to go on, what is in it, and its mark.
fn next_expression(value: &[u8], from: usize) -> Option<(usize, &[u8], &'static [u8])> {
    let mut at = from;
    loop {
        let rest = value.get(at..)?;
        at += rest.iter().position(|byte| MARK_STARTS.has(*byte))?;
        let rest = value.get(at..)?;
        let is_open = |(open, _): &&(&[u8], _)| open.first() == rest.first() && rest.starts_with(open);
        if let Some((open, close)) = MARKS.iter().find(is_open) {
            let inner = rest.get(open.len()..)?;
            let inner = inner.get(..MAX_EXPRESSION_BYTES).unwrap_or(inner);
            let end = end_of(inner, open, close);
            return Some((at + open.len(), inner.get(..end)?, open));
        }
        at += 1;
    }
}

fn end_of(inner: &[u8], open: &[u8], close: &[u8]) -> usize {
    if open == b"<%" || open == b"{{" || open == b"{%" || open == b"[[" {
        return memchr::memmem::find(inner, close).unwrap_or(inner.len());
    }
    // Brackets of the same kind nest.
    let (up, down) = match close {
        b")" => (b'(', b')'),
        b"]" => (b'[', b']'),
        b">" => (b'<', b'>'),
        _ => (b'{', b'}'),
    };
    let mut depth = 1usize;
    for (at, byte) in inner.iter().enumerate() {
        depth = if *byte == up { depth + 1 } else { depth - usize::from(*byte == down) };
        if depth == 0 {
            return at;
        }
    }
    inner.len()
}

fn judge(inner: &[u8], mark: &[u8], names_walk: impl FnOnce() -> bool) -> Option<Strength> {
    let inner = inner.trim_ascii();
    let inner = inner.strip_prefix(b"=").unwrap_or(inner);
    // Marks within marks, and those that miss one of their braces.
    let inner = inner.strip_prefix(b"{").unwrap_or(inner);
    let inner = inner.strip_suffix(b"}").unwrap_or(inner).trim_ascii();
    // JSON, CSS and program text stand between single braces.
    let is_brace = mark == b"{";
    if computes(inner) {
        return Some(if is_brace { Strength::Likely } else { Strength::Certain });
    }
    if names_walk() {
        return Some(if is_brace || mark == b"[[" { Strength::Likely } else { Strength::Certain });
    }
    if is_brace {
        return None;
    }
    if matches!(mark, b"<%") {
        return Some(Strength::Likely);
    }
    let is_expression = matches!(mark, b"{{" | b"${" | b"#{" | b"*{" | b"@(");
    if is_expression && GLOBALS.iter().any(|name| letters(inner).eq(name.bytes())) {
        return Some(Strength::Likely);
    }
    if matches!(mark, b"<#" | b"#set(") && letters(inner).next().is_some() {
        return Some(Strength::Likely);
    }
    (mark == b"{{" || mark == b"${" || mark == b"#{").then_some(Strength::Possible)
}

/// The bytes of an expression without spaces, in lower case.
fn letters(inner: &[u8]) -> impl Iterator<Item = u8> {
    inner.iter().filter(|byte| **byte > b' ').map(u8::to_ascii_lowercase)
}

/// Whether an expression, or what stands before its first filter, is a computation.
fn computes(inner: &[u8]) -> bool {
    let mut signs = letters(inner);
    let is_begun = match signs.next() {
        Some(b'\'' | b'"') => true,
        // Only literals stand before the operator: of most texts the first word ends this.
        Some(first) if is_literal(first) => {
            signs.find(|byte| !is_literal(*byte)).is_some_and(|byte| OPERATORS.has(byte))
        }
        _ => false,
    };
    if !is_begun {
        return false;
    }
    let text: Vec<u8> = letters(inner).collect();
    // A filter takes the result on.
    let computed = text.split(|byte| *byte == b'|').next().unwrap_or_default();
    is_computation(&text) || is_computation(computed)
}

fn is_literal(byte: u8) -> bool {
    byte.is_ascii_digit() || b"'\"().".contains(&byte)
}

/// Literals and operators alone: `7*7`, `'a'+'b'`, `7*'7'`, `1/0`, `"x".toUpperCase()`.
fn is_computation(text: &[u8]) -> bool {
    let text = text.strip_suffix(b"!").unwrap_or(text);
    let digits = |text: &[u8]| text.iter().filter(|byte| byte.is_ascii_digit()).count();
    let Some(at) = text.iter().position(|byte| OPERATORS.has(*byte)).filter(|at| *at > 0) else {
        // A method of a literal.
        return text.first().is_some_and(|byte| b"'\"".contains(byte))
            && memchr::memmem::find(text, b"(").is_some()
            && (memchr::memmem::find(text, b"'.").is_some() || memchr::memmem::find(text, b"\".").is_some());
    };
    let (left, right) = (text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default());
    let is_sum = |byte: &u8| is_literal(*byte) || b"*/+-^%=<>".contains(byte);
    (left.iter().all(|byte| is_literal(*byte))
        && right.iter().all(is_sum)
        && digits(left) > 0
        && digits(right) > 0)
        || (text.first().is_some_and(|byte| b"'\"".contains(byte))
            && matches!(text.get(at), Some(b'*' | b'+' | b'|'))
            && text.last().is_some_and(|byte| b"'\"0123456789)".contains(byte))
            && text.len() < 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strength(value: &[u8]) -> Option<Strength> {
        template(value).map(|found| found.strength)
    }

    #[test]
    fn what_an_engine_would_compute() {
        for value in [
            "{{7*7}}",
            "{{ 7 * '7' }}",
            "${7*7}",
            "<%= 7*7 %>",
            "#{7*7}",
            "*{7*7}",
            "@(1+2)",
            "{{7*7}",
            "${{7*7}}",
            "{{''.__class__.__mro__[1].__subclasses__()}}",
            "{{ config.items() }}",
            "${T(java.lang.Runtime).getRuntime().exec('id')}",
            "<#assign ex=\"freemarker.template.utility.Execute\"?new()>${ex(\"id\")}",
            "{{constructor.constructor('alert(1)')()}}",
            "{{request.application.__globals__}}",
            "{{['id']|map('system')}}",
            "{% import os %}",
            "{{ lipsum.__globals__ }}",
            "#set($x='')#set($rt=$x.class.forName('java.lang.Runtime'))",
            "{{_self.env.registerUndefinedFilterCallback('exec')}}",
            "${\"freemarker.template.utility.Execute\"?new()(\"id\")}",
            "<%= system('id') %>",
            "{{\"a\"+\"b\"}}",
            "[[${7*7}]]",
        ] {
            assert!(strength(value.as_bytes()) == Some(Strength::Certain), "{value}");
        }
        for value in [
            "{{ name }}",
            "${user.name}",
            "{{ price * quantity }}",
            "{name}",
            "{\"a\": 1}",
            "#{title}",
            "costs ${5}",
            "{{count + 1}}",
            "",
            "{{",
            "100%",
            "[1,2]",
            "{{> partial}}",
            "{{#if a}}b{{/if}}",
            "a{b{c",
            "$(7*7)",
            "{7}",
            "{{ user.first_name | upper }}",
        ] {
            assert!(strength(value.as_bytes()) < Some(Strength::Likely), "{value}");
        }
    }

    #[test]
    fn names_count_within_their_expression_alone() {
        let long = "a ".repeat(600);
        for (value, expected) in [
            ("{{ a }} {{ s e l f . e n v }}".to_owned(), Some(Strength::Certain)),
            ("${a{b{c}}${ OS.System }".to_owned(), Some(Strength::Certain)),
            (format!("{{{{ {long} {{{{ popen( }}}}"), Some(Strength::Certain)),
            (format!("{{{{ {long} }}}} popen( {{{{ b }}}}"), Some(Strength::Possible)),
            ("{{ a }} os.system {{ b }}".to_owned(), Some(Strength::Possible)),
            ("{{ os. }} system {{ .system }}".to_owned(), Some(Strength::Possible)),
        ] {
            assert_eq!(strength(value.as_bytes()), expected, "{value}");
        }
    }

    #[test]
    fn many_marks_end() {
        assert!(strength("{{".repeat(1 << 19).as_bytes()).is_none_or(|found| found < Strength::Certain));
    }
}
