//! Names by which an expression reaches the program around it.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::Anchored;
use aho_corasick::automaton::Automaton;
use aho_corasick::dfa::DFA;

/// How far ahead of an expression names are searched for, as a multiple of its length.
const AHEAD: usize = 4;

/// Names that lead from an expression to the program around it; nobody's data is called so.
const WALKS: &[&str] = &[
    "__class__",
    "__mro__",
    "__subclasses__",
    "__globals__",
    "__builtins__",
    "__import__",
    "__init__",
    "__base__",
    "__bases__",
    "__getitem__",
    "getclass(",
    ".class.",
    "forname(",
    "getruntime",
    "processbuilder",
    "java.lang",
    "java.io",
    "java.util",
    "javax.",
    "t(java",
    "new java",
    "?new()",
    "?api",
    "freemarker.",
    "springframework",
    "constructor.constructor",
    "constructor(",
    "child_process",
    "pagecontext",
    "getresource(",
    "getownpropertydescriptor",
    "getprototypeof",
    "\"constructor\"",
    "'constructor'",
    "file_excerpt",
    "$smarty",
    ".system.env",
    "printf\"",
    "root.process",
    "assembly",
    "process.mainmodule",
    "process.env",
    "mainmodule",
    "require(",
    "global.process",
    "popen(",
    "subprocess",
    "os.system",
    "system(",
    "exec(",
    "passthru(",
    "shell_exec(",
    "file_get_contents(",
    "phpinfo(",
    "file.open",
    "file.read",
    "io.popen",
    "`id`",
    "self.env",
    "getfilter",
    "registerundefinedfiltercallback",
    "|attr(",
    "lipsum.",
    "cycler.",
    "joiner.",
    "namespace.",
    "request.application",
    "config.items",
    "config.from",
    "request.environ",
    "url_for.",
    "get_flashed_messages.",
    "self._templatereference",
    "settings.secret",
    "range.constructor",
    "tostring.constructor",
    "#ctx",
    "#context",
    "#request",
    "#_memberaccess",
    "#application",
    "@java.",
    "@org.",
    "getenginebyname",
    "scriptengine",
    "classloader",
    "|map('",
    "|map(\"",
    "|filter('",
    "|filter(\"",
    "|sort('",
    "|reduce('",
    "debug()",
    "__proto__",
    "smarty",
    "getstaticclass",
    "ex(\"",
    "objectspace",
    "kernel.",
    "dir.entries",
    "erb.new",
    "server_variables",
    "response.write",
    "settings()",
    "dump(app",
    "app.request",
    "include('/",
    "include(\"/",
    "include \"/",
    "import os",
    "import(",
    "_self",
    "self.module",
    "self.__",
    "config.__",
    "request.__",
    "request[",
    "request|",
    "config[",
    "session|",
    "urlencode(system",
    ".exec",
    "jndi:",
    "getwriter",
    "t (java",
    "class.inspect",
    "runtime.",
    "elprocessor",
    "\"\".get",
    "''.get",
    "\"\"[",
    "''[",
    "[].",
    "().",
    "\"\".class",
    "''.class",
];

/// The places of a text that name one of [`WALKS`], in any case and with spaces between its letters.
///
/// Expressions overlap, so the text is searched ahead of the expression that asks, and again only for one that ends
/// behind what was searched: each byte is read a few times at most.
pub(super) struct Walks<'v> {
    text: &'v [u8],
    searched: Range<usize>,
    /// By place: where a name begins, and the first end of it and of those behind it.
    names: Vec<(usize, usize)>,
}

impl<'v> Walks<'v> {
    pub(super) fn new(text: &'v [u8]) -> Self {
        Self { text, searched: 0..0, names: Vec::new() }
    }

    /// Whether a name stands in a part of the text; parts are asked for in the order of their beginnings.
    pub(super) fn any_in(&mut self, part: Range<usize>) -> bool {
        if part.end > self.searched.end || part.start < self.searched.start {
            self.search(&part);
        }
        let first = self.names.partition_point(|(from, _)| *from < part.start);
        self.names.get(first).is_some_and(|(_, end)| *end <= part.end)
    }

    fn search(&mut self, part: &Range<usize>) {
        static WORDS: LazyLock<Option<DFA>> = LazyLock::new(|| {
            let words = WALKS.iter().map(|word| word.replace(' ', ""));
            DFA::builder().ascii_case_insensitive(true).build(words).ok()
        });
        let end = (part.start + AHEAD * part.len()).min(self.text.len());
        self.searched = part.start..end;
        self.names.clear();
        let words = WORDS.as_ref().map(|words| (words, words.start_state(Anchored::No)));
        let Some((words, Ok(mut state))) = words else {
            // Without the automaton every expression counts as one with a name.
            self.names.push((usize::MAX, 0));
            return;
        };
        let text = self.text.get(part.start..end).unwrap_or_default();
        for (at, byte) in text.iter().enumerate().filter(|(_, byte)| **byte > b' ') {
            state = words.next_state(Anchored::No, state, *byte);
            if !words.is_special(state) || !words.is_match(state) {
                continue;
            }
            for nth in 0..words.match_len(state) {
                let letters = words.pattern_len(words.match_pattern(state, nth));
                let from = begin(text, at, letters);
                self.names.push((part.start + from, part.start + at + 1));
            }
        }
        self.names.sort_unstable();
        let mut first_end = usize::MAX;
        for (_, end) in self.names.iter_mut().rev() {
            first_end = first_end.min(*end);
            *end = first_end;
        }
    }
}

/// Goes back from the letter at `end` until it has passed `letters` letters, and returns the place of the last one it
/// passed. Spaces are not counted.
fn begin(text: &[u8], end: usize, letters: usize) -> usize {
    let behind = text.iter().enumerate().take(end + 1).rev().filter(|(_, byte)| **byte > b' ');
    behind.take(letters).last().map_or(end, |(at, _)| at)
}
