//! Whether a text is random enough to be a secret.

/// Words that stand where a secret is to be put.
const PLACEHOLDERS: &[&str] = &[
    "changeme",
    "change_me",
    "change-me",
    "example",
    "placeholder",
    "redacted",
    "filtered",
    "your-",
    "your_",
    "yourapi",
    "yourtoken",
    "replace",
    "insert",
    "xxxx",
    "****",
    "dummy",
    "sample_",
    "<",
    "{{",
    "${",
    "...",
    "…",
];

/// Shannon's entropy of the bytes of a text, in bits a byte.
#[expect(clippy::cast_precision_loss, reason = "a value has far fewer than 2^52 bytes")]
pub fn bits_per_byte(text: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let total = text.len() as f64;
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / total);
    shares.map(|share| -share * share.log2()).sum()
}

/// Whether a text says that something is to be put in its place.
pub fn is_placeholder(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text).to_lowercase();
    PLACEHOLDERS.iter().any(|word| text.contains(word))
}

/// Words that are put where a password goes, in manuals and forms.
const WORDS: &[&str] = &[
    "pass",
    "passw",
    "passwd",
    "password",
    "secret",
    "pwd",
    "user",
    "username",
    "root",
    "admin",
    "test",
    "none",
    "null",
    "true",
    "false",
    "string",
    "undefined",
    "required",
    "hidden",
    "text",
    "host",
    "token",
    "foo",
    "bar",
    "xxx",
];

/// Whether a text is a word for a password, or stands for one that is put in later.
pub fn is_word_for_secret(text: &[u8]) -> bool {
    let uniform = text.iter().all(|byte| Some(byte) == text.first());
    let variable =
        text.iter().any(|byte| b"<>{}".contains(byte)) || text.starts_with(b"%") && text.ends_with(b"%");
    let word = WORDS.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()));
    uniform || variable || word || is_placeholder(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_bits() {
        assert!(bits_per_byte(b"aaaaaaaa") < 0.01);
        assert!((bits_per_byte(b"abcdabcd") - 2.0).abs() < 0.01);
        assert!(bits_per_byte(b"9f86d081884c7d659a2feaa0c55ad015") > 3.0);
        assert!(bits_per_byte(b"") < 0.01);
    }

    #[test]
    fn knows_placeholders() {
        for text in
            ["your-token-here", "CHANGEME", "<REDACTED>", "xxxxxxxxxxxx", "${TOKEN}", "AKIAIOSFODNN7EXAMPLE"]
        {
            assert!(is_placeholder(text.as_bytes()), "{text}");
        }
        assert!(!is_placeholder(b"9f86d081884c7d659a2feaa0c55ad015"));
    }
}
