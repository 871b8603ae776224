//! Reading and writing values that the API names by words.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Reads one of `all`, known by its word.
///
/// # Errors
/// The text is none of the words: the error lists them. `what` names what is read, such as "phase".
pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: Copy>(
    deserializer: D,
    what: &str,
    all: &[T],
    word: fn(T) -> &'static str,
) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    all.iter().copied().find(|one| word(*one) == text).ok_or_else(|| {
        let words: Vec<String> = all.iter().map(|one| format!("`{}`", word(*one))).collect();
        D::Error::custom(format!("unknown {what} `{text}`; expected one of {}", words.join(", ")))
    })
}

/// Makes an enum with `ALL` and `word` readable and writable by serde.
macro_rules! serde_by_word {
    ($type:ty, $what:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::word::deserialize(deserializer, $what, &Self::ALL, Self::word)
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
            refused.starts_with("unknown kind of ruleset `zones`; expected one of `managed`, `zone`"),
            "{refused}"
        );
        assert!(serde_json::from_str::<Action>("\"Block\"").is_err(), "words are lower case");
    }
}
