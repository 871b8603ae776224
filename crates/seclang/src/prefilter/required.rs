//! Required literals: every match of a pattern contains one of them.
//!
//! Each part of a pattern with what follows it begins with some literals, if those can be spelled out. The set is
//! taken that a text of prose is least likely to hold a literal of: `print (` says more than `print `.

use regex_syntax::hir::literal::{ExtractKind, Extractor, Literal, Seq};
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir, HirKind, Repetition};

use super::automaton::fold;
use super::literals::{Literals, MAX_LITERAL_BYTES, folded};

/// Most literals one pattern is known by: every one makes the automaton larger for all.
const MAX_LITERALS: usize = 256;
/// Most bytes of a class that is spelled out.
const MAX_CLASS_BYTES: usize = 10;
/// Most bytes of a class whose repetition is written out as branches.
const MAX_UNROLLED_BYTES: usize = 2;
/// A text of prose holds a literal of rarity n at one in 2^n bytes. From here on literals, and sets of them, are worth a
/// search.
const MIN_LITERAL_RARITY: f64 = 10.0;
const MIN_RARITY: f64 = 6.0;
/// What a word is worth, however long it is.
const MAX_WORD_RARITY: f64 = 14.0;
/// Of sets rarer than this the smallest is the best.
const MAX_RARITY: f64 = 30.0;

/// The best set of folded literals; `None` if none is worth a search.
pub fn of_pattern(hir: &Hir) -> Option<Literals> {
    let extractor = extractor();
    let found = best(&extractor, &of_folded(hir))?;
    (rarity(&found) >= MIN_RARITY).then_some(found)
}

fn extractor() -> Extractor {
    let mut extractor = Extractor::new();
    extractor
        .kind(ExtractKind::Prefix)
        .limit_class(MAX_CLASS_BYTES)
        .limit_literal_len(MAX_LITERAL_BYTES)
        .limit_total(MAX_LITERALS);
    extractor
}

/// Returns the rarest set of required literals: every match contains one of them. The pattern is for folded texts.
fn best(extractor: &Extractor, hir: &Hir) -> Option<Literals> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => None,
        HirKind::Literal(_) | HirKind::Class(_) => begins(extractor, std::slice::from_ref(hir)),
        HirKind::Repetition(Repetition { min: 0, .. }) => None,
        HirKind::Repetition(repetition) => {
            better(begins(extractor, std::slice::from_ref(hir)), best(extractor, &repetition.sub))
        }
        HirKind::Capture(capture) => best(extractor, &capture.sub),
        HirKind::Concat(parts) => (0..parts.len())
            .map(|from| {
                let inner = parts.get(from).and_then(|part| best(extractor, part));
                better(begins(extractor, parts.get(from..).unwrap_or_default()), inner)
            })
            .fold(None, better),
        HirKind::Alternation(branches) => {
            let each: Option<Vec<Literals>> = branches.iter().map(|branch| best(extractor, branch)).collect();
            let all = each.map(|each| each.concat()).and_then(tidy);
            better(begins(extractor, std::slice::from_ref(hir)), all)
        }
    }
}

/// The literals with which these parts in a row begin.
fn begins(extractor: &Extractor, parts: &[Hir]) -> Option<Literals> {
    let mut all = Seq::singleton(Literal::exact(Vec::new()));
    for part in parts {
        let mut next = extractor.extract(part);
        let is_small = all.max_cross_len(&next).is_some_and(|literals| literals <= MAX_LITERALS);
        if !is_small || all.is_inexact() {
            break;
        }
        all.cross_forward(&mut next);
        all.keep_first_bytes(MAX_LITERAL_BYTES);
        all.dedup();
    }
    tidy(all.literals()?.iter().map(|literal| folded(literal.as_bytes())).collect())
}

/// The set without literals that begin with another of it, each cut as far as it takes to have few; `None` if they are
/// too many all the same, or if one is too common.
fn tidy(mut literals: Literals) -> Option<Literals> {
    for length in (1..=MAX_LITERAL_BYTES).rev() {
        literals.iter_mut().for_each(|literal| literal.truncate(length));
        literals.sort_unstable();
        // One that begins with another stands behind it, and behind nothing but others that do.
        literals.dedup_by(|next, kept| next.starts_with(kept));
        if literals.len() <= MAX_LITERALS {
            let is_rare = literals.iter().all(|literal| rarity_of_one(literal) >= MIN_LITERAL_RARITY);
            return is_rare.then_some(literals);
        }
    }
    None
}

/// The rarer set; of two that are rare enough, the smaller.
fn better(one: Option<Literals>, other: Option<Literals>) -> Option<Literals> {
    let (Some(one), Some(other)) = (&one, &other) else { return one.or(other) };
    let (first, second) = (rarity(one).min(MAX_RARITY), rarity(other).min(MAX_RARITY));
    let is_first = first > second || (first - second).abs() < f64::EPSILON && one.len() <= other.len();
    Some(if is_first { one.clone() } else { other.clone() })
}

/// How rare the literals of a set are together, as the logarithm to base 2 of the bytes of prose for each of them.
fn rarity(literals: &Literals) -> f64 {
    let each = literals.iter().map(|literal| (-rarity_of_one(literal)).exp2());
    -each.sum::<f64>().log2()
}

/// Letters in a row are a word, or a part of one, and words come again.
fn rarity_of_one(literal: &[u8]) -> f64 {
    let bits = |byte: &u8| match byte {
        b' ' => 2.5,
        b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 4.0,
        b'a'..=b'z' => 5.5,
        b'.' | b',' | b'-' | 0x80.. => 6.5,
        b'0'..=b'9' | b'\'' | b'"' | b'/' | b':' | b'(' | b')' | b'=' => 8.0,
        _ => 10.0,
    };
    let runs = literal.chunk_by(|a, b| a.is_ascii_lowercase() && b.is_ascii_lowercase());
    runs.map(|run| run.iter().map(bits).sum::<f64>().min(MAX_WORD_RARITY)).sum()
}

/// A pattern that matches the folded form of whatever the pattern matches. If a few bytes repeat, none, one and
/// more of them are branches, so that what follows them can be spelled out.
fn of_folded(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => hir.clone(),
        HirKind::Literal(literal) => Hir::literal(folded(&literal.0)),
        HirKind::Class(Class::Unicode(_)) => hir.clone(),
        HirKind::Class(Class::Bytes(class)) => {
            let bytes = class.iter().flat_map(|range| range.start()..=range.end());
            let ranges = bytes.map(|byte| ClassBytesRange::new(fold(byte), fold(byte)));
            Hir::class(Class::Bytes(ClassBytes::new(ranges)))
        }
        HirKind::Capture(capture) => of_folded(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(of_folded).collect()),
        HirKind::Alternation(branches) => Hir::alternation(branches.iter().map(of_folded).collect()),
        HirKind::Repetition(repetition) => {
            let sub = of_folded(&repetition.sub);
            let repeat = |min, max| {
                Hir::repetition(Repetition {
                    min,
                    max,
                    greedy: repetition.greedy,
                    sub: Box::new(sub.clone()),
                })
            };
            let is_few = match sub.kind() {
                HirKind::Literal(literal) => literal.0.len() == 1,
                HirKind::Class(Class::Bytes(class)) => {
                    let bytes = class.iter().map(ClassBytesRange::len).sum::<usize>();
                    bytes <= MAX_UNROLLED_BYTES
                }
                _ => false,
            };
            match (repetition.min, repetition.max) {
                (min @ 0..=1, max) if is_few && max.is_none_or(|max| max > 1) => {
                    let more = repeat(1, max.map(|max| max - 1));
                    let mut branches = vec![sub.clone(), Hir::concat(vec![sub.clone(), more])];
                    if min == 0 {
                        branches.push(Hir::empty());
                    }
                    Hir::alternation(branches)
                }
                (min, max) => repeat(min, max),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pattern::Pattern;

    fn literals(pattern: &str) -> Option<Vec<String>> {
        let syntax = Pattern::with_syntax(pattern).unwrap().1.unwrap();
        let found = of_pattern(&syntax)?;
        Some(found.into_iter().map(|literal| String::from_utf8(literal).unwrap()).collect())
    }

    #[test]
    fn what_every_match_holds() {
        let of = |pattern: &str| literals(pattern).map(|all| all.join("|"));
        for (pattern, expected) in [
            ("(?i)union.{1,100}select", Some("union")),
            (r"\b(?:select|from)\b", Some("from|select")),
            ("(?i)un(?:ion|til)s?", Some("union|until")),
            ("x*abc[0-9]+defgh?", Some("abc0|abc1|abc2|abc3|abc4|abc5|abc6|abc7|abc8|abc9")),
            ("(?:abc|d+)", None),
            ("[a-z]+", None),
            ("ab", None),
            (r"<\?[ ]*x|\$\{", Some("${|<?  |<? x|<?x")),
            ("(?:abc)?", None),
            ("(?:abc)+x", Some("abc")),
            ("(?:ab){2}", Some("abab")),
            ("^<script", Some("<script")),
            ("a_very_long_literal", Some("a_very_long_")),
            (r"(?i)\bPRINT[ ]*\(", Some("print  |print (|print(")),
            (r"(?i)\bfor[ ]+[a-z]+=", Some("for ")),
            (r"\bORD\s*\(", Some("ord  |ord (|ord(")),
            (r"[\r\n]to:", Some(" to:")),
        ] {
            assert_eq!(of(pattern).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn a_rarer_place_is_better_than_a_longer_word() {
        assert_eq!(literals("information.{0,9}%{").unwrap(), ["%{"]);
        assert_eq!(literals("and[a-z]*#{").unwrap(), ["#{"]);
    }
}
