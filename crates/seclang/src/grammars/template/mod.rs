//! Templates: whether a value is an expression that a template engine would compute.
//!
//! Expressions stand between the marks of an engine (`{{ }}`, `${ }`, `<%= %>` …). A name or a path of
//! names between them is what templates are for; an attack computes something to be seen by, or walks
//! from what it has to what runs code.

mod computation;
mod expression;
mod walks;

use std::ops::Range;

use self::computation::Computations;
use self::expression::{Expressions, MarkedExpression};
use self::walks::Walks;
use super::fragment::strongest_of_lines;
use super::places::Places;
use super::{Differences, Finding, Question, Strength};

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
pub(crate) fn template(value: &[u8], question: Question<'_>) -> Option<Finding> {
    let differences = question.differences(value);
    let judge = |_, line: &[u8]| expressions_in(line, question.at_least);
    let found = strongest_of_lines(value, |part| differences.touch(part), judge);
    match found {
        Some(Finding { strength: Strength::Certain, .. }) => found,
        _ => found.max(spread(value, &differences)),
    }
}

/// The first expression that goes on in another line and certainly runs: lines by themselves hold no whole one.
fn spread(value: &[u8], differences: &Differences) -> Option<Finding> {
    memchr::memchr2(b'\n', b'\r', value)?;
    let mut computations = Computations::new(value);
    let mut walks = Walks::new(value);
    let mut line_breaks = Places::new(value, |text| memchr::memchr2(b'\n', b'\r', text));
    let mut line_begin = 0;
    let mut expressions = Expressions::beside_braces(value);
    let found = expressions.find(|expression| {
        let MarkedExpression { inner, .. } = expression;
        while let Some(line_break) = line_breaks.within(line_begin..inner.start) {
            line_begin = line_break + 1;
        }
        // The line is compared from its start, because earlier braces decide where a mark begins: `{{{`.
        differences.touch(line_begin..inner.end)
            && judge(value, expression, &mut computations, &mut walks) == Some(Strength::Certain)
    })?;
    Finding::at(Some(Strength::Certain), found.inner.start.saturating_sub(found.mark.len()))
}

fn expressions_in(value: &[u8], at_least: Strength) -> Option<Finding> {
    let mut found = None;
    let mut walks = Walks::new(value);
    let mut computations = Computations::new(value);
    // None between single braces is certain.
    let expressions = match at_least {
        Strength::Certain => Expressions::beside_braces(value),
        _ => Expressions::new(value),
    };
    for expression in expressions {
        let strength = judge(value, &expression, &mut computations, &mut walks);
        let from = expression.inner.start.saturating_sub(expression.mark.len());
        found = found.max(Finding::at(strength, from));
        if found.is_some_and(|found: Finding| found.strength == Strength::Certain) {
            break;
        }
    }
    found
}

fn judge(
    value: &[u8],
    MarkedExpression { mark, inner }: &MarkedExpression,
    computations: &mut Computations<'_>,
    walks: &mut Walks<'_>,
) -> Option<Strength> {
    // JSON, CSS and program text stand between single braces.
    let is_brace = *mark == b"{";
    let text = text(value, inner.clone());
    if computations.any_is(text.clone()) {
        return Some(if is_brace { Strength::Likely } else { Strength::Certain });
    }
    if walks.any_in(inner.clone()) {
        return Some(if is_brace || *mark == b"[[" { Strength::Likely } else { Strength::Certain });
    }
    if is_brace {
        return None;
    }
    if matches!(*mark, b"<%") {
        return Some(Strength::Likely);
    }
    let text = value.get(text).unwrap_or_default();
    let is_expression = matches!(*mark, b"{{" | b"${" | b"#{" | b"*{" | b"@(");
    if is_expression && GLOBALS.iter().any(|name| letters(text).eq(name.bytes())) {
        return Some(Strength::Likely);
    }
    if matches!(*mark, b"<#" | b"#set(") && !text.is_empty() {
        return Some(Strength::Likely);
    }
    matches!(*mark, b"{{" | b"${" | b"#{").then_some(Strength::Possible)
}

/// The place of an expression without the spaces around it, nor the marks within marks and those that miss one of their
/// braces.
fn text(value: &[u8], inner: Range<usize>) -> Range<usize> {
    let mut text = trimmed(value, inner);
    for sign in [b'=', b'{'] {
        text.start += usize::from(!text.is_empty() && value.get(text.start) == Some(&sign));
    }
    text.end -= usize::from(!text.is_empty() && value.get(text.end - 1) == Some(&b'}'));
    trimmed(value, text)
}

fn trimmed(value: &[u8], part: Range<usize>) -> Range<usize> {
    let text = value.get(part.clone()).unwrap_or_default();
    let behind = text.iter().rev().take_while(|byte| **byte <= b' ').count();
    let before = text.iter().take(text.len() - behind).take_while(|byte| **byte <= b' ').count();
    part.start + before..part.end - behind
}

/// The bytes of an expression without spaces, in lower case.
fn letters(inner: &[u8]) -> impl Iterator<Item = u8> {
    inner.iter().filter(|byte| **byte > b' ').map(u8::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strength(value: &[u8]) -> Option<Strength> {
        template(value, Question::ANY).map(|found| found.strength)
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
