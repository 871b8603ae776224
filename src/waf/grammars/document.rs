//! Fields and documents.
//!
//! An injection continues a sentence of another language that stands before it: the value is a field.
//! A post, a prompt, a mail or a program stands by itself. The two need different proof: `or 1=1` in a
//! field is an attack, in a tutorial on attacks it is the subject.

/// Lines are shorter on average where line breaks only stand for spaces.
const MIN_LINE_BYTES: usize = 12;
/// Values shorter than this are fields.
const MIN_DOCUMENT_BYTES: usize = 40;
/// Lines that make a document.
const MIN_LINES: usize = 3;
/// Words that make a sentence, and how many of them only a language has that people speak.
const MIN_WORDS: usize = 8;
const MIN_FUNCTION_WORDS: usize = 3;
/// As much of a value is looked at as tells the two apart.
const LOOKED_AT_BYTES: usize = 4096;

/// The most frequent words of ten languages, but for those that are words of SQL, shells or script too.
/// Sorted.
const FUNCTION_WORDS: &[&str] = &[
    "a", "about", "al", "also", "are", "att", "auf", "aus", "avec", "be", "been", "bir", "but", "can", "che",
    "com", "como", "con", "could", "da", "dans", "das", "de", "dei", "del", "dem", "den", "der", "des",
    "det", "di", "die", "do", "does", "een", "ein", "eine", "el", "en", "er", "es", "est", "et", "explain",
    "gli", "had", "has", "have", "het", "how", "i", "ich", "il", "ist", "it", "its", "je", "jest", "la",
    "las", "le", "les", "los", "me", "met", "mit", "my", "na", "nicht", "nie", "niet", "och", "of", "on",
    "os", "our", "para", "per", "please", "por", "pour", "que", "qui", "se", "she", "should", "sich", "sie",
    "son", "sur", "that", "the", "their", "them", "there", "they", "this", "to", "um", "uma", "un", "una",
    "und", "une", "van", "ve", "von", "voor", "vous", "was", "we", "were", "what", "which", "why", "wir",
    "would", "you", "your", "zu", "zum",
];

/// Whether a value is a text or a program by itself: several lines, or sentences.
pub(in crate::waf) fn is_document(value: &[u8]) -> bool {
    let value = value.get(..LOOKED_AT_BYTES).unwrap_or(value);
    if value.len() < MIN_DOCUMENT_BYTES {
        return false;
    }
    let lines = lines(value);
    (lines >= MIN_LINES && value.len() >= lines * MIN_LINE_BYTES) || is_prose(value)
}

/// Lines with a word on them.
fn lines(value: &[u8]) -> usize {
    value.split(|byte| *byte == b'\n').filter(|line| has_word(line)).count()
}

fn has_word(line: &[u8]) -> bool {
    line.windows(2).any(|pair| pair.iter().all(u8::is_ascii_alphabetic))
        || line.iter().any(|byte| *byte >= 0x80)
}

fn is_prose(value: &[u8]) -> bool {
    // Scripts that do not put the words of Latin ones between spaces.
    let foreign = value.iter().filter(|byte| **byte >= 0x80).count();
    if foreign * 3 > value.len() {
        return true;
    }
    let (mut words, mut function_words) = (0, 0);
    for word in value.split(|byte| !byte.is_ascii_alphanumeric() && *byte < 0x80 && *byte != b'_') {
        if word.is_empty() || !word.iter().all(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80) {
            continue;
        }
        words += 1;
        function_words += usize::from(function_words < MIN_FUNCTION_WORDS && is_function_word(word));
        if words >= MIN_WORDS && function_words >= MIN_FUNCTION_WORDS {
            return true;
        }
    }
    false
}

fn is_function_word(word: &[u8]) -> bool {
    let mut lower = [0; 8];
    let Some(lower) = lower.get_mut(..word.len()) else { return false };
    lower.copy_from_slice(word);
    lower.make_ascii_lowercase();
    std::str::from_utf8(lower).is_ok_and(|word| FUNCTION_WORDS.binary_search(&word).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_can_be_looked_up() {
        assert!(FUNCTION_WORDS.is_sorted() && FUNCTION_WORDS.iter().all(|word| word.len() <= 8));
    }

    #[test]
    fn fields_and_documents() {
        for document in [
            "How do I explain to my team that `1' OR '1'='1` is an attack on the database?",
            "SELECT id, name\nFROM users\nWHERE id = 5\nORDER BY name;",
            "Bitte erkläre mir, wie ich eine Liste mit Python sortieren kann und was das kostet.",
            "どうすればPythonでリストを並べ替えることができますか？教えてください。",
        ] {
            assert!(is_document(document.as_bytes()), "{document}");
        }
        for field in [
            "",
            "1' OR '1'='1",
            "1 AND (SELECT 6810 FROM(SELECT COUNT(*),CONCAT(0x71,(SELECT (ELT(1=1,1))),FLOOR(RAND(0)*2))x FROM a GROUP BY x)a)",
            "; cat /etc/passwd\n",
            "<img src=x onerror=alert(document.domain)><svg onload=alert(1)><script>alert(1)</script>",
        ] {
            assert!(!is_document(field.as_bytes()), "{field}");
        }
    }
}
