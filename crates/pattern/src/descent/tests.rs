use super::super::{LazyPattern, parse, rewrite};
use super::*;

/// A small generator (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }

    fn one_of(&mut self, set: &ByteSet) -> u8 {
        let start = self.below(256) as u8;
        (0..=255).map(|by| start.wrapping_add(by)).find(|byte| set.has(*byte)).unwrap()
    }
}

/// Adds a text that a part of a pattern may match.
fn write(hir: &Hir, random: &mut Random, text: &mut Vec<u8>) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.extend(&literal.0),
        HirKind::Class(_) => text.push(random.one_of(&class(hir).unwrap())),
        HirKind::Repetition(repetition) => {
            let least = repetition.min as usize;
            let most = repetition.max.map_or(least + 40, |most| most as usize).min(least + 40);
            let count = [least, most, least + random.below(most - least + 1)][random.below(3)];
            (0..count).for_each(|_| write(&repetition.sub, random, text));
        }
        HirKind::Capture(capture) => write(&capture.sub, random, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(part, random, text)),
        HirKind::Alternation(parts) => write(&parts[random.below(parts.len())], random, text),
    }
}

/// Texts that the pattern matches, nearly matches and does not.
fn texts(hir: &Hir, random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    write(hir, random, &mut text);
    if random.below(3) == 0 {
        write(hir, random, &mut text);
    }
    text.push(b" -.0a\"=@"[random.below(8)]);
    for _ in 0..random.below(4) {
        let at = random.below(text.len());
        let other = text[random.below(text.len())];
        match random.below(4) {
            0 => text[at] = other,
            1 => text.insert(at, other),
            2 => text.truncate(at.max(1)),
            _ => drop(text.remove(at)),
        }
        if text.is_empty() {
            text.push(b'x');
        }
    }
    text
}

/// Compares the descent with the automaton on `count` texts. Returns how many of them match.
fn compare(source: &str, count: usize) -> Option<usize> {
    let lazy = LazyPattern::new(source).unwrap();
    let descent = lazy.descent.as_ref()?;
    let hir = parse(&rewrite(source)).unwrap();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut matched = 0;
    for _ in 0..count {
        let text = texts(&hir, &mut random);
        let at = if random.below(4) == 0 { random.below(text.len() + 2) } else { 0 };
        let found = descent.match_at(&text, at);
        let expected = lazy.compiled_match_at(&text, at);
        assert_eq!(found, expected, "{source} at {at} of {:?}", String::from_utf8_lossy(&text));
        matched += usize::from(found.is_some());
    }
    Some(matched)
}

#[test]
fn what_is_found_is_what_the_automaton_finds() {
    let told = [
        "ghp_[a-z]{3}",
        "^(?:a|b)c",
        "(?:AKIA|ASIA|ABIA)[A-Z2-7]{4}",
        "[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]){3,9}",
        "\\+[0-9][0-9 ().-]{3,9}[0-9]",
        "[a-z][a-z.]{0,9}@(?:[a-z](?:[a-z-]{0,6}[a-z])?\\.){1,8}(?:xn--[a-z]{2,9}|[a-z]{2,5})",
        "(?:ab)?(?:cd)?",
        "(?:a(?:b)?c)*",
        "(?:a(?:bc)?d?){1,3}",
        "a+b*c?",
        "(?i)token=(?<value>[a-z]{2,5});?",
        "(?:(?<value>a)b){0,9}a",
        "(?:prod|preview)_[a-z]",
        "[a-z]{2,9}[a-z0-9]{3}",
        "(?:abc|ab)",
        "(?:x(?:yz|y))?",
        "x(?:ab){2}a?",
    ];
    for source in told {
        let matched = compare(source, 4_000).unwrap_or_else(|| panic!("{source} is not told"));
        assert!(matched > 200, "{source}: {matched}");
    }
}

#[test]
fn patterns_that_the_next_byte_does_not_tell_are_left_to_the_automaton() {
    for source in [
        "a+?b",
        "a*ab",
        "(?:a|ab)c",
        "\\ba",
        "a$",
        "(?=a)b",
        "(a)(b)",
        "(?:a*)*b",
        "(?:|a)b",
        "[a-z]{2,90}[a-z0-9]{3}",
    ] {
        assert!(LazyPattern::new(source).unwrap().descent.is_none(), "{source}");
    }
}

#[test]
fn the_patterns_of_the_rules_are_told_but_for_a_few() {
    /// What is read of a rule here.
    #[derive(serde::Deserialize)]
    struct RuleText {
        pattern: Option<String>,
    }
    let file = |text: &str| serde_saphyr::from_str::<Vec<RuleText>>(text).unwrap();
    let rules = shipped_rules::SENSITIVE_DATA.iter().flat_map(|(_, text)| file(text));
    let sources: Vec<String> = rules.filter_map(|rule| rule.pattern).collect();
    assert!(sources.len() > 150, "{} patterns", sources.len());
    let matched: Vec<Option<usize>> = sources.iter().map(|source| compare(source, 300)).collect();
    let told = matched.iter().flatten().filter(|matched| **matched > 0).count();
    assert!(told * 4 > sources.len() * 3, "{told} of {}", sources.len());
}
