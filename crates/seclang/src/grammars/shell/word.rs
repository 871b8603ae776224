//! Words of a command line, without what hides them.

use smallvec::SmallVec;

/// Bytes of a word that are kept; no program's name is as long.
const MAX_WORD_BYTES: usize = 64;
/// Arguments behind the first that are looked at.
const MAX_ARGUMENTS: usize = 4;
/// Bytes of a command that are looked through for them.
const MAX_COMMAND_BYTES: usize = 4096;
/// Bytes that one word is read from: no system takes a longer path.
const MAX_READ_BYTES: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The POSIX shell and its descendants.
    Unix,
    /// `cmd.exe`.
    Windows,
}

/// One word.
#[derive(Debug, Default)]
pub(super) struct Word {
    text: SmallVec<[u8; MAX_WORD_BYTES]>,
    /// It holds quotes, escapes or expansions that change nothing.
    pub is_disguised: bool,
    /// `$IFS` stands where a space would.
    pub has_separator_expansion: bool,
    /// More stands before it or in it than anyone writes who does not hide it.
    pub is_buried: bool,
    /// It is longer than what is kept of it, and leads through such a folder.
    is_below_bin: bool,
}

impl Word {
    /// One that was not reached.
    pub(super) fn buried() -> Self {
        Self { is_buried: true, ..Self::default() }
    }

    /// The name of the program: the last part of its path, without `.exe`.
    pub(super) fn name(&self) -> &[u8] {
        let name = self.text.rsplit(|byte| matches!(byte, b'/' | b'\\')).next().unwrap_or_default();
        match name.len().checked_sub(4).and_then(|at| name.split_at_checked(at)) {
            Some((stem, extension)) if extension.eq_ignore_ascii_case(b".exe") => stem,
            _ => name,
        }
    }

    /// `calc.exe`
    pub(super) fn is_executable(&self) -> bool {
        self.text
            .len()
            .checked_sub(4)
            .and_then(|at| self.text.get(at..))
            .is_some_and(|end| end.eq_ignore_ascii_case(b".exe"))
    }

    /// `/bin/ls`
    pub(super) fn is_in_bin(&self) -> bool {
        self.is_below_bin
            || self.text.starts_with(b"/") && memchr::memmem::find(&self.text, b"bin/").is_some()
    }

    /// Makes room by what stands before the last part of a path; without one it is no name of a program.
    fn shorten(&mut self) -> Option<()> {
        let last = self.text.iter().rposition(|byte| *byte == b'/').filter(|at| *at > 0)?;
        self.is_below_bin = self.is_in_bin();
        self.text.drain(..last);
        Some(())
    }

    /// `/???/c?t`: a pattern that stands for a program.
    pub(super) fn is_glob_path(&self) -> bool {
        let count = |byte: u8| self.text.iter().filter(|found| **found == byte).count();
        self.text.starts_with(b"/")
            && count(b'/') >= 2
            && count(b'?') + count(b'*') >= 2
            && self.text.len() <= 32
    }
}

/// The first word of a text and what follows it.
pub(super) fn raw_word(text: &[u8], dialect: Dialect) -> Option<(Word, &[u8])> {
    let begin = text.iter().take_while(is_lead).count();
    let is_in_braces = begin > 0 && text.get(begin - 1) == Some(&b'{');
    let text = text.get(begin..)?;
    let mut word = Word::default();
    let mut at = 0;
    while let Some(&byte) = text.get(at)
        && at < MAX_READ_BYTES
    {
        let after = text.get(at + 1).copied();
        match (byte, dialect) {
            (b'\\', Dialect::Unix) if after.is_some_and(|next| next.is_ascii_alphanumeric()) => {
                // At the beginning it only keeps an alias from being taken, and begins commands of other programs.
                word.is_disguised |= at > 0;
            }
            (b'^', Dialect::Windows) => word.is_disguised = true,
            (b'\'' | b'"', _) => word.is_disguised |= at > 0 && is_within_word(text, at),
            // The quotes of two kinds of strings of shells.
            (b'$', Dialect::Unix) if matches!(after, Some(b'\'' | b'"')) => {
                word.is_disguised |= after == Some(b'\'');
            }
            // The shell itself.
            (b'$', Dialect::Unix) if at == 0 && text.starts_with(b"$0") => {
                word.is_disguised = true;
                word.text.extend_from_slice(b"sh");
                at += 1;
            }
            (b'$', Dialect::Unix) => match expansion(text.get(at..)?) {
                Expansion::Separator(length) => {
                    word.has_separator_expansion = true;
                    return Some((word, text.get(at + length..)?));
                }
                Expansion::Nothing(length) => {
                    word.is_disguised = true;
                    at += length;
                    continue;
                }
                Expansion::Other => break,
            },
            (b',', _) if is_in_braces => {
                word.has_separator_expansion = true;
                return Some((word, text.get(at + 1..)?));
            }
            _ if ends_word(byte) => break,
            _ => {
                if word.text.len() == MAX_WORD_BYTES {
                    word.shorten()?;
                }
                word.text.push(byte);
            }
        }
        at += 1;
    }
    // Quotes and expansions of nothing are what is left of it then.
    word.is_buried = at >= MAX_READ_BYTES && word.is_disguised;
    (!word.text.is_empty()).then(|| (word, text.get(at..).unwrap_or_default()))
}

/// What may stand before the first word of a command.
pub(super) fn is_lead(byte: &&u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'(' | b'{' | b'@' | b'!' | b'\n' | b'\r')
}

/// A quote that does not just stand around the word: one with letters of it on both sides.
fn is_within_word(text: &[u8], at: usize) -> bool {
    let is_letter = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let is_quote = |byte: Option<&u8>| matches!(byte, Some(b'\'' | b'"'));
    let (before, after) = (text.get(at - 1), text.get(at + 1));
    (is_letter(before) && (is_letter(after) || is_quote(after)))
        && text.first().is_some_and(|byte| !matches!(byte, b'\'' | b'"'))
}

fn ends_word(byte: u8) -> bool {
    matches!(byte, 0..=b' ' | b';' | b'|' | b'&' | b'<' | b'>' | b'(' | b')' | b'`' | b'#' | b'}')
}

enum Expansion {
    /// `$IFS`, `${IFS}`, `$IFS$9`
    Separator(usize),
    /// `$@`, `$*`, `$1`, `${x}`, `$x`: nothing, if nothing has set them.
    Nothing(usize),
    Other,
}

fn expansion(text: &[u8]) -> Expansion {
    for form in [&b"${IFS"[..], b"$IFS"] {
        if text.get(..form.len()).is_some_and(|head| head.eq_ignore_ascii_case(form)) {
            let braces = text.iter().take(24).position(|byte| *byte == b'}').filter(|_| form.len() == 5);
            let mut length = braces.map_or(form.len(), |at| at + 1);
            if matches!(text.get(length..), Some([b'$', b'0'..=b'9', ..])) {
                length += 2;
            }
            return Expansion::Separator(length);
        }
    }
    match text {
        [b'$', b'@' | b'*' | b'0'..=b'9', ..] => Expansion::Nothing(2),
        [b'$', b'{', ..] => match text.iter().take(16).position(|byte| *byte == b'}') {
            Some(end) => Expansion::Nothing(end + 1),
            None => Expansion::Other,
        },
        [b'$', name @ ..] if name.first().is_some_and(u8::is_ascii_alphabetic) => {
            let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
            Expansion::Nothing(1 + name.iter().take_while(is_name).count())
        }
        _ => Expansion::Other,
    }
}

/// What follows the name of a program.
#[derive(Debug, Default)]
pub(super) struct Argument {
    /// The command ends.
    pub is_end: bool,
    /// An option, a path, an address, a variable, a redirection.
    is_technical: bool,
    /// Whether one of the arguments is a path from the root.
    pub has_path: bool,
    /// Whether one is a path of the system or of its users.
    pub has_private_path: bool,
    pub is_number: bool,
    pub has_separator_expansion: bool,
    /// The word, in lower case.
    pub text: SmallVec<[u8; MAX_WORD_BYTES]>,
}

impl Argument {
    /// Whether it is one that only programs are given.
    pub(super) fn is_given(&self) -> bool {
        self.is_technical
    }

    /// Whether it is a word or an option, and no path from the root, redirection or expansion.
    pub(super) fn is_plain(&self) -> bool {
        let is_sign = |first: &u8| b"<>$('\"`".contains(first);
        !self.has_path && self.text.first().map_or(self.is_end, |first| !is_sign(first))
    }
}

pub(super) fn argument(rest: &[u8], dialect: Dialect) -> Argument {
    let spaces = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'+')).count();
    let text = rest.get(spaces..).unwrap_or_default();
    let mut argument = Argument::default();
    let Some((&first, after)) = text.split_first() else {
        argument.is_end = true;
        return argument;
    };
    if let (b'$', Dialect::Unix) = (first, dialect)
        && matches!(expansion(text), Expansion::Separator(_))
    {
        argument.has_separator_expansion = true;
        return argument;
    }
    if matches!(first, b';' | b'|' | b'&' | b')' | b'`' | b'#' | b'\n' | b'\r' | b'}' | 0) {
        argument.is_end = true;
        return argument;
    }
    if (first == b'"' || first == b'\'') && spaces == 0 {
        // A quote right behind the name ends the string around the value.
        argument.is_end = after.is_empty();
        return argument;
    }
    argument.text = lower_word(text);
    argument.is_number =
        !argument.text.is_empty() && argument.text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    argument.is_technical = is_technical(text, spaces > 0, dialect);
    for (nth, word) in arguments(text).take(1 + MAX_ARGUMENTS).enumerate() {
        argument.has_path |= is_path(word, dialect);
        argument.has_private_path |= is_private_path(word, dialect);
        argument.is_technical |= nth > 0 && is_option_or_path(word, dialect);
    }
    argument
}

/// What stands between spaces up to the end of a command.
fn arguments(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let ends = move |byte: &u8| is_space(byte) || matches!(byte, b';' | b'|' | b'&' | b'\n' | b'`' | b')');
    let mut rest = text.get(..MAX_COMMAND_BYTES).unwrap_or(text);
    std::iter::from_fn(move || {
        rest = rest.get(rest.iter().take_while(|byte| is_space(byte)).count()..)?;
        let (word, after) = rest.split_at(rest.iter().position(ends).unwrap_or(rest.len()));
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

fn lower_word(text: &[u8]) -> SmallVec<[u8; MAX_WORD_BYTES]> {
    text.iter()
        .take(MAX_WORD_BYTES)
        .take_while(|byte| !ends_word(**byte))
        .map(u8::to_ascii_lowercase)
        .collect()
}

/// `/etc/hosts`, `c:\\boot.ini`
fn is_path(word: &[u8], dialect: Dialect) -> bool {
    let word = word.trim_ascii_start();
    let word = word.strip_prefix(b"<").unwrap_or(word);
    match dialect {
        Dialect::Unix => matches!(word, [b'/' | b'~', ..]) || word.starts_with(b".."),
        Dialect::Windows => matches!(word, [_, b':', b'\\' | b'/', ..] | [b'\\', ..]),
    }
}

/// `/etc/hosts`, `~/.ssh`: what a program for something else has no business with.
fn is_private_path(word: &[u8], dialect: Dialect) -> bool {
    const PRIVATE: &[&str] = &["/etc", "/proc", "/root", "/home", "/sys", "/dev/tcp", "/var/www", "~", "../"];
    let word = word.trim_ascii_start();
    let word = word.strip_prefix(b"<").unwrap_or(word);
    is_path(word, dialect)
        && (dialect == Dialect::Windows || PRIVATE.iter().any(|path| word.starts_with(path.as_bytes())))
}

/// `-la`, `/etc/hosts`: what stands behind other words in a command line only.
fn is_option_or_path(word: &[u8], dialect: Dialect) -> bool {
    let is_letter = |at: usize| word.get(at).is_some_and(u8::is_ascii_alphabetic);
    match dialect {
        Dialect::Unix => {
            matches!(word.first(), Some(b'/' | b'-')) && is_letter(1)
                || word.starts_with(b"http://")
                || word.starts_with(b"https://")
        }
        Dialect::Windows => (word.first() == Some(&b'/') && is_letter(1)) || word.get(1..3) == Some(b":\\"),
    }
}

/// Whether a text begins with an argument that only programs are given.
fn is_technical(text: &[u8], has_space: bool, dialect: Dialect) -> bool {
    let Some((&first, after)) = text.split_first() else { return false };
    let second = after.first().copied().unwrap_or(b' ');
    let word = lower_word(text);
    let is_dotted = |word: &[u8]| {
        word.iter().filter(|byte| **byte == b'.').count() >= 1 && !word.ends_with(b".") && word.len() > 3
    };
    match (first, dialect) {
        (b'<' | b'>', _) => {
            matches!(second, b'/' | b'>' | b'.' | b'&' | b'(' | b'$') || (!has_space && second != b' ')
        }
        // `2>&1`
        (b'0'..=b'9', Dialect::Unix) if second == b'>' => has_space,
        (b'-', _) => has_space && (second.is_ascii_alphanumeric() || second == b'-'),
        (b'/', Dialect::Unix) => {
            has_space && (after.is_empty() || second.is_ascii_alphanumeric() || matches!(second, b'?' | b'*'))
        }
        (b'/', Dialect::Windows) => second.is_ascii_alphanumeric(),
        (b'~' | b'.', Dialect::Unix) => has_space && matches!(second, b'/' | b'.'),
        (b'$', Dialect::Unix) => {
            has_space && (second == b'(' || second == b'{' || second.is_ascii_alphabetic())
        }
        (b'*', Dialect::Unix) => has_space,
        (b'%', Dialect::Windows) => second.is_ascii_alphabetic(),
        (b'\\' | b'.', Dialect::Windows) => matches!(second, b'\\' | b'.'),
        _ => {
            word.starts_with(b"http:")
                || word.starts_with(b"https:")
                || matches!(word.as_slice(), b"aux" | b"auxf" | b"-ef")
                || matches!(word.get(1..3), Some([b':', b'\\' | b'/']))
                || (has_space
                    && (memchr::memchr(b'/', &word).is_some_and(|at| at > 0) || is_dotted(&word))
                    && !word.ends_with(b","))
        }
    }
}
