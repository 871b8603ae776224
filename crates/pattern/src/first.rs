//! The bytes that a match may begin with: most texts are told by one look that a pattern does not match.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::ByteSet;

/// The bytes that a match of a pattern may begin with; all if it may be empty or the syntax says nothing
/// of it.
pub(super) fn bytes(hir: &Hir) -> ByteSet {
    let (set, may_be_empty) = first(hir);
    if may_be_empty { ByteSet::ALL } else { set }
}

/// The set, and whether the pattern may match without a byte.
pub(super) fn first(hir: &Hir) -> (ByteSet, bool) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => (ByteSet::EMPTY, true),
        HirKind::Literal(literal) => match literal.0.first() {
            Some(byte) => (ByteSet::of(&[*byte]), false),
            None => (ByteSet::EMPTY, true),
        },
        HirKind::Class(class) => (of_class(class).unwrap_or(ByteSet::ALL), false),
        HirKind::Repetition(repetition) => {
            let (set, empty) = first(&repetition.sub);
            (set, empty || repetition.min == 0)
        }
        HirKind::Capture(capture) => first(&capture.sub),
        HirKind::Concat(parts) => {
            let mut all = ByteSet::EMPTY;
            for part in parts {
                let (set, empty) = first(part);
                all = all.union(&set);
                if !empty {
                    return (all, false);
                }
            }
            (all, true)
        }
        HirKind::Alternation(parts) => {
            let parts = parts.iter().map(first);
            parts.fold((ByteSet::EMPTY, false), |(all, any), (set, empty)| (all.union(&set), any || empty))
        }
    }
}

/// The bytes of a class; `None` if it has characters beyond ASCII.
pub(super) fn of_class(class: &Class) -> Option<ByteSet> {
    let bytes = match class {
        Class::Bytes(class) => class.clone(),
        // So are classes that the parser makes of branches: `a|b`.
        Class::Unicode(class) => class.to_byte_class()?,
    };
    Some(bytes.ranges().iter().fold(ByteSet::EMPTY, |set, range| set.and(range.start(), range.end())))
}

#[cfg(test)]
mod tests {
    use super::super::LazyPattern;

    #[test]
    fn no_match_begins_with_another_byte() {
        let cases: &[(&str, &[u8])] = &[
            ("^(?:abc|x)", b"ax"),
            ("(?i)ab", b"aA"),
            ("[0-2]{3}b", b"012"),
            ("a?b", b"ab"),
            ("\\b(?:a|)c", b"ac"),
            ("(a*)(b+)c", b"ab"),
            ("(?:a|b)c", b"ab"),
            ("[^\\x00-\\xfd]", &[0xFE, 0xFF]),
        ];
        for (pattern, expected) in cases {
            let set = LazyPattern::new(pattern).unwrap().first_bytes();
            let found: Vec<u8> = (0..=255).filter(|byte| set.has(*byte)).collect();
            let mut expected = expected.to_vec();
            expected.sort_unstable();
            assert_eq!(found, expected, "{pattern}");
        }
        for pattern in ["", "a*", "(?=a)b", "a|"] {
            assert!((0..=255).all(|byte| LazyPattern::new(pattern).unwrap().first_bytes().has(byte)));
        }
    }
}
