use super::*;
use crate::test_numbers::TestNumbers;

/// What statements, and values that get into them, are made of.
const PIECES: &[&str] = &[
    "1",
    "0x1f",
    "0X",
    "0b01",
    "0b",
    "1.5",
    ".",
    ".5",
    "1e5",
    "1e",
    "1E+2",
    "2d",
    "3f;",
    "1fUNION",
    "99999",
    "a",
    "id",
    "x.y",
    "`a`",
    "`",
    "`user",
    "``",
    "'",
    "''",
    "\\'",
    "\"",
    "\"\"",
    "'a'",
    "\"b\"",
    "\\",
    "\\N",
    "\\%1",
    "e'x'",
    "n'x'",
    "nq'(x)'",
    "q'[x]'",
    "q'!x!'",
    "q'x",
    "Q'<a>'",
    "u&'x'",
    "U&'",
    "b'01'",
    "B'02'",
    "x'ff'",
    "X'fg'",
    "$1,000.00",
    "$.",
    "$",
    "$$a$$",
    "$t$a$t$",
    "$a",
    "@",
    "@@",
    "@a",
    "@@version",
    "@`a`",
    "@'a'",
    "@\"a",
    "[a]",
    "[",
    "]",
    "(",
    ")",
    "((",
    "))",
    "{",
    "}",
    "{``.``.id}",
    "{a 1}",
    ",",
    ";",
    ";;",
    ":",
    "::",
    ":=",
    "::int",
    "=",
    "==",
    "<",
    "<=>",
    "<>",
    "!=",
    "!",
    "!!",
    "~",
    "~*",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "|",
    "||",
    "&",
    "&&",
    "#",
    "#c\n",
    "--",
    "-- ",
    "--x",
    "--\n",
    "/*",
    "*/",
    "/*c*/",
    "/*!",
    "/*!5*/",
    "/*/**/",
    "/**/",
    "?",
    "\n",
    "\t",
    " ",
    "  ",
    "\0",
    "or",
    "and",
    "OR",
    "xor",
    "not",
    "NOT",
    "in",
    "not in",
    "like",
    "not like",
    "is",
    "between",
    "union",
    "UNION",
    "select",
    "SELECT",
    "union all select",
    "from",
    "where",
    "group",
    "by",
    "group by",
    "order by",
    "having",
    "limit",
    "into",
    "INTO",
    "outfile",
    "OUTFILE",
    "INTO OUTFILE",
    "into dumpfile",
    "insert",
    "update",
    "delete",
    "drop",
    "table",
    "exec",
    "declare",
    "waitfor",
    "delay",
    "if",
    "IF(",
    "case",
    "when",
    "sleep(",
    "benchmark(",
    "user",
    "user(",
    "USER(1",
    "user_id(",
    "database()",
    "current_user",
    "password(",
    "cast(",
    "int",
    "varchar",
    "char(",
    "collate",
    "latin1_bin",
    "utf8",
    "null",
    "true",
    "sp_password",
    "\u{a0}",
    "\u{e9}",
    "\u{2019}",
    "create",
    "procedure",
    "analyse",
    "regexp",
    "div",
    "mod",
    "binary",
    "natural",
    "join",
    "left",
    "outer",
    "any",
    "some",
];

/// How many of so many values are injections; each verdict is that of the package.
fn compare(count: usize, mut value: impl FnMut(&mut TestNumbers) -> Vec<u8>) -> usize {
    let mut numbers = TestNumbers(7);
    let mut injections = 0;
    for _ in 0..count {
        let value = value(&mut numbers);
        let ours = is_injection(&value);
        let theirs = libinjectionrs::detect_sqli(&value).is_injection();
        assert_eq!(ours, theirs, "{:?}", String::from_utf8_lossy(&value));
        injections += usize::from(ours);
    }
    injections
}

#[test]
fn verdicts_on_statements_are_those_of_the_package() {
    let injections = compare(150_000, |numbers| {
        let count = 1 + numbers.below(9);
        let mut value = Vec::new();
        for _ in 0..count {
            value.extend_from_slice(PIECES[numbers.below(PIECES.len())].as_bytes());
            if numbers.below(3) == 0 {
                value.push(b' ');
            }
        }
        value
    });
    assert!(injections > 5_000, "{injections}");
}

#[test]
fn verdicts_on_words_are_those_of_the_package() {
    let words = libinjectionrs::sqli::sqli_data::SQL_KEYWORDS;
    let injections = compare(100_000, |numbers| {
        let signs = [" ", " ", " ", "(", ")", ",", "'", "=", " 1 ", " a ", ";", "--", " or ", "."];
        let mut value = Vec::new();
        for _ in 0..1 + numbers.below(5) {
            value.extend_from_slice(words[numbers.below(words.len())].word.as_bytes());
            value.extend_from_slice(signs[numbers.below(signs.len())].as_bytes());
        }
        value
    });
    assert!(injections > 1_000, "{injections}");
}

#[test]
fn verdicts_on_bytes_are_those_of_the_package() {
    const SIGNS: &[u8] = b"'\"`\\ ()[]{}.,;:!=<>~+-*/%^|&#@$?\n\0\xA0\xE901eExXbBnNqQuUaors_";
    compare(150_000, |numbers| (0..numbers.below(14)).map(|_| SIGNS[numbers.below(SIGNS.len())]).collect());
    compare(50_000, |numbers| (0..numbers.below(14)).map(|_| numbers.below(256) as u8).collect());
}

#[test]
fn each_kind_of_value_takes_linear_time() {
    // With a cost that grows with the square, one of these alone would take a minute.
    let mut read = 0;
    for piece in PIECES
        .iter()
        .chain(&["a.", "a`", "\u{e9}.", "$a.", "a=", "<a =", "= ", "'\\", "\\\\'", "/*/", "x'0", "$a$b"])
    {
        read += usize::from(is_injection(piece.repeat(100_000 / piece.len()).as_bytes()));
    }
    assert!(read < PIECES.len());
}
