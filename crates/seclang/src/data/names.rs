//! Sets of names, for the question that most targets with a name are answered by: there is none.

/// The names of a message's header fields.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NameSet(u64);

/// A name as a set keeps it: one of 64, without regard to case. Names may share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameBit(u64);

impl NameBit {
    pub fn of(name: &[u8]) -> Self {
        let lower = |byte: Option<&u8>| byte.map_or(0, |byte| usize::from(byte.to_ascii_lowercase()));
        let mixed = name.len() * 5 + lower(name.first()) * 3 + lower(name.last());
        Self(1 << (mixed % 64))
    }
}

impl NameSet {
    pub(crate) fn add(&mut self, name: &[u8]) {
        self.0 |= NameBit::of(name).0;
    }

    /// Whether the name may be in it.
    #[inline]
    pub(crate) fn may_have(self, name: NameBit) -> bool {
        self.0 & name.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_was_added_may_be_there_and_most_others_not() {
        let mut names = NameSet::default();
        assert!(!names.may_have(NameBit::of(b"")));
        for name in ["Host", "User-Agent", "Accept", ""] {
            names.add(name.as_bytes());
        }
        for name in ["host", "HOST", "user-agent", "aCCEPT", ""] {
            assert!(names.may_have(NameBit::of(name.as_bytes())), "{name}");
        }
        let others =
            ["Cookie", "Content-Length", "Content-Type", "Range", "X-Real-IP", "Referer", "Forwarded"];
        let told = others.iter().filter(|name| !names.may_have(NameBit::of(name.as_bytes())));
        assert!(told.count() > 5);
    }
}
