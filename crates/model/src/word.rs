//! Reading and writing values that the API names by words.

/// Makes an enum with `ALL` and `word` readable from its words, and readable and writable by serde. `$what` names it in errors, such as "phase".
macro_rules! serde_by_word {
    ($type:ty, $what:literal) => {
        impl $type {
            /// Reads the word of the API; `None` for any other.
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.word() == word)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).ok_or_else(|| {
                    let words = Self::ALL.map(Self::word).join("`, `");
                    serde::de::Error::custom(format!("unknown {} `{text}`; expected one of `{words}`", $what))
                })
            }
        }
    };
}

pub(crate) use serde_by_word;

#[cfg(test)]
mod tests {
    use crate::{Action, Phase, RulesetKind};

    #[test]
    fn words_are_read_back_and_others_are_refused_with_the_list() {
        fn check<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(all: &[T]) {
            for one in all {
                let written = serde_json::to_string(one).unwrap();
                assert_eq!(&serde_json::from_str::<T>(&written).unwrap(), one, "{written}");
            }
        }
        check(&Action::ALL);
        check(&Phase::ALL);
        check(&RulesetKind::ALL);
        let refused = serde_json::from_str::<RulesetKind>("\"zones\"").unwrap_err().to_string();
        assert!(
            refused.starts_with(
                "unknown kind of ruleset `zones`; expected one of `custom`, `managed`, `root`, `zone`"
            ),
            "{refused}"
        );
        assert!(serde_json::from_str::<Action>("\"Block\"").is_err(), "words are lower case");
    }
}
