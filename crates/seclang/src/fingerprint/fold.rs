//! Tokens folded to the few that tell an injection: what means the same becomes the same.
//!
//! The last two or three tokens that are not settled are looked at; a rule takes some of them away, or
//! changes what one is, and often begins again at the first. What no rule is for is settled.

use smallvec::SmallVec;

use super::lexer::Lexer;
use super::token::{Kind, Text, Token, kind};
use super::words;

/// Most tokens of a fingerprint.
pub(super) const MAX_TOKENS: usize = 5;

/// To begin again at the first token, however many are settled.
const ALL: usize = usize::MAX;

/// What is left of a value.
#[derive(Debug)]
pub(super) struct Folded {
    pub(super) tokens: SmallVec<[Token; MAX_TOKENS]>,
    /// How many tokens were read.
    pub(super) read: usize,
    /// Whether there was a comment that the dialects read in different ways.
    pub(super) has_mysql_comment: bool,
}

struct Fold<'v> {
    lexer: Lexer<'v>,
    /// One more than a fingerprint has may be needed to know what its last one is.
    tokens: [Token; MAX_TOKENS + 2],
    /// How many of them there are.
    filled: usize,
    /// How many of those no rule is for.
    settled: usize,
    read: usize,
    is_at_end: bool,
    /// The comment that the last token was.
    comment: Option<Token>,
}

/// What rules for two tokens came to.
enum Pair {
    /// Look again.
    Folded,
    /// See what a third one changes.
    Unfolded,
    /// Nothing more needs to be known.
    Evil,
}

/// Folds the tokens of a value.
pub(super) fn fold(lexer: Lexer<'_>) -> Folded {
    let tokens = [Token::default(); MAX_TOKENS + 2];
    let (filled, settled, read) = (0, 0, 0);
    let mut fold = Fold { lexer, tokens, filled, settled, read, is_at_end: false, comment: None };
    fold.run();
    let mut tokens: SmallVec<[Token; MAX_TOKENS]> =
        fold.tokens.into_iter().take(fold.filled.min(MAX_TOKENS)).collect();
    if let (3.., Some(last)) = (tokens.len(), tokens.last_mut()) {
        // A backquote that nothing follows is how PHP's client begins a comment.
        let is_open = last.open == b'`' && last.close == 0 && last.value.is_empty();
        if last.kind == kind::BAREWORD && is_open {
            last.kind = kind::COMMENT;
        }
    }
    if let Some(comment) = fold.comment.filter(|_| tokens.len() < MAX_TOKENS) {
        tokens.push(comment);
    }
    Folded { tokens, read: fold.read, has_mysql_comment: fold.lexer.has_mysql_comment }
}

impl Fold<'_> {
    fn next(&mut self) -> Option<Token> {
        let token = self.lexer.next();
        self.read += usize::from(token.is_some());
        self.is_at_end |= token.is_none();
        token
    }

    fn at(&self, index: usize) -> Token {
        self.tokens.get(index).copied().unwrap_or_default()
    }

    fn put(&mut self, index: usize, token: Token) {
        if let Some(slot) = self.tokens.get_mut(index) {
            *slot = token;
        }
    }

    fn turn(&mut self, index: usize, kind: Kind) {
        if let Some(token) = self.tokens.get_mut(index) {
            token.kind = kind;
        }
    }

    /// Takes the last tokens away and begins again `back` tokens before what is settled.
    fn drop_last(&mut self, count: usize, back: usize) {
        self.filled = self.filled.saturating_sub(count);
        self.settled = self.settled.saturating_sub(back);
    }

    /// Reads until so many tokens are not settled; comments are not among them.
    fn fill(&mut self, wanted: usize) {
        while !self.is_at_end
            && self.filled <= MAX_TOKENS
            && self.filled.saturating_sub(self.settled) < wanted
        {
            match self.next() {
                Some(token) if token.kind == kind::COMMENT => self.comment = Some(token),
                Some(token) => {
                    self.comment = None;
                    self.put(self.filled, token);
                    self.filled += 1;
                }
                None => {}
            }
        }
    }

    fn run(&mut self) {
        // What a statement may have before its first value says nothing.
        let says_nothing = |token: &Token| {
            matches!(token.kind, kind::COMMENT | kind::LEFT_PARENTHESIS | kind::SQL_TYPE) || token.is_unary()
        };
        loop {
            match self.next() {
                Some(token) if says_nothing(&token) => {}
                Some(token) => break self.put(0, token),
                None => return,
            }
        }
        self.filled = 1;
        loop {
            self.shorten();
            if self.is_at_end || self.settled >= MAX_TOKENS {
                return;
            }
            self.fill(2);
            if self.filled.saturating_sub(self.settled) < 2 {
                self.settled = self.filled;
                continue;
            }
            match self.fold_two() {
                Pair::Folded => continue,
                Pair::Evil => return,
                Pair::Unfolded => self.fill(3),
            }
            if self.filled.saturating_sub(self.settled) < 3 {
                self.settled = self.filled;
            } else if !self.fold_three() {
                self.settled += 1;
            }
        }
    }

    /// Expressions that take five tokens and are worth one.
    fn shorten(&mut self) {
        if self.filled < MAX_TOKENS {
            return;
        }
        let kinds = [0, 1, 2, 3, 4].map(|index| self.at(index).kind);
        let is_one = matches!(
            &kinds,
            [b'1', b'o' | b',', b'(', b'1', b')']
                | [b'n', b'o', b'(', b'n' | b'1', b')']
                | [b'1', b')', b',', b'(', b'1']
                | [b'n', b')', b'o', b'(', b'n']
        );
        if is_one {
            if self.filled > MAX_TOKENS {
                self.put(1, self.at(MAX_TOKENS));
                self.filled = 2;
            } else {
                self.filled = 1;
            }
            self.settled = 0;
        }
    }

    fn fold_two(&mut self) -> Pair {
        let here = self.settled;
        let (left, right) = (self.at(here), self.at(here + 1));
        match (left.kind, right.kind) {
            (kind::STRING, kind::STRING) | (kind::SEMICOLON, kind::SEMICOLON) => self.drop_last(1, 0),
            (kind::OPERATOR | kind::LOGIC, _) if right.is_unary() || right.kind == kind::SQL_TYPE => {
                self.drop_last(1, ALL);
            }
            (kind::LEFT_PARENTHESIS, _) if right.is_unary() => self.drop_last(1, 1),
            _ if self.merge(here, &left, &right) => self.drop_last(1, 1),
            _ => return self.fold_two_more(here, &left, &right),
        }
        Pair::Folded
    }

    /// The rules for two tokens that are asked if the two make no word.
    fn fold_two_more(&mut self, here: usize, left: &Token, right: &Token) -> Pair {
        match (left.kind, right.kind) {
            // A function elsewhere, but a statement of Transact-SQL.
            (kind::SEMICOLON, kind::FUNCTION) if starts_with_if(&right.value) => {
                self.turn(here + 1, kind::TSQL)
            }
            (kind::BAREWORD | kind::VARIABLE, kind::LEFT_PARENTHESIS) if left.is_one_of(CALLABLE) => {
                self.turn(here, kind::FUNCTION);
            }
            (kind::KEYWORD, _) if left.is_one_of(&[b"IN", b"NOT IN"]) => {
                let opens = right.kind == kind::LEFT_PARENTHESIS;
                self.turn(here, if opens { kind::OPERATOR } else { kind::BAREWORD });
            }
            (kind::OPERATOR, _) if left.is_one_of(&[b"LIKE", b"NOT LIKE"]) => {
                if right.kind == kind::LEFT_PARENTHESIS {
                    self.turn(here, kind::FUNCTION);
                }
                return Pair::Unfolded;
            }
            (kind::SQL_TYPE, b'n' | b'1' | b't' | b'(' | b'f' | b'v' | b's') => {
                self.put(here, *right);
                self.drop_last(1, ALL);
            }
            (kind::COLLATE, kind::BAREWORD) => {
                // There are too many collations to know their names.
                if std::str::from_utf8(&right.value).is_ok_and(|name| name.contains('_')) {
                    self.turn(here + 1, kind::SQL_TYPE);
                    self.settled = 0;
                }
                return Pair::Unfolded;
            }
            (kind::BACKSLASH, _) => {
                if right.is_arithmetic() {
                    // `\%1` is `0 % 1` in Transact-SQL.
                    self.turn(here, kind::NUMBER);
                } else {
                    self.put(here, *right);
                    self.drop_last(1, 0);
                }
                self.settled = 0;
            }
            (kind::LEFT_PARENTHESIS, kind::LEFT_PARENTHESIS)
            | (kind::RIGHT_PARENTHESIS, kind::RIGHT_PARENTHESIS)
            | (_, kind::RIGHT_BRACE) => self.drop_last(1, ALL),
            (kind::LEFT_BRACE, kind::BAREWORD) if right.value.is_empty() => {
                // MySQL takes a name without letters in braces, and nobody else writes one.
                self.put(0, Token::new(kind::EVIL, &[]));
                self.filled = 1;
                self.comment = None;
                return Pair::Evil;
            }
            // `{name expression}` is the expression.
            (kind::LEFT_BRACE, kind::BAREWORD) => self.drop_last(2, ALL),
            _ => return Pair::Unfolded,
        }
        Pair::Folded
    }

    /// Makes one of two words that mean something together.
    fn merge(&mut self, here: usize, left: &Token, right: &Token) -> bool {
        let joins = |kind| matches!(kind, b'k' | b'n' | b'o' | b'U' | b'f' | b'E' | b'T' | b't');
        let may_join = joins(left.kind) && (joins(right.kind) || right.kind == kind::LOGIC);
        if !may_join || !words::may_begin_several(&left.value) {
            return false;
        }
        let Some(value) = Text::joined(&left.value, &right.value) else { return false };
        let Some(kind) = words::kind_of(&value).filter(|kind| *kind != kind::BAREWORD) else { return false };
        self.put(here, Token { kind, value, ..*left });
        true
    }

    /// Whether a rule for three tokens was.
    fn fold_three(&mut self) -> bool {
        let here = self.settled;
        let (left, middle, right) = (self.at(here), self.at(here + 1), self.at(here + 2));
        let is_unary = middle.is_unary();
        match (left.kind, middle.kind, right.kind) {
            (b'1', b'o', b'1')
            | (b'&', _, b'&')
            | (b'v', b'o', b'v' | b'1' | b'n')
            | (b'n' | b'1', b'o', b'1' | b'n')
            | (b'n' | b'1' | b's' | b'v', b',', b'1' | b'n' | b's' | b'v')
            | (b'n', b'.', b'n') => self.drop_last(2, ALL),
            (b'o', between, b'o') if between != b'(' => self.drop_last(2, ALL),
            (b'n' | b'1' | b'v' | b's', b'o', b't') if &*middle.value == b"::" => self.drop_last(2, ALL),
            (b'E' | b'B' | b',', _, b'(') | (b'k' | b'E' | b'B', _, b'1' | b'n' | b'v' | b's' | b'f')
                if is_unary =>
            {
                self.put(here + 1, right);
                self.drop_last(1, ALL);
            }
            (b',', _, b'1' | b'n' | b'v' | b's') if is_unary => {
                // `, -1` is `, 1`, which may fold with what stands before it.
                self.put(here + 1, right);
                self.drop_last(3, ALL);
            }
            (b',', _, b'f') if is_unary => {
                self.put(here + 1, right);
                self.drop_last(1, ALL);
            }
            (b'E', b'.', b'n') => {
                self.put(here + 1, right);
                self.drop_last(1, ALL);
            }
            (b'f', b'(', closing) if closing != b')' => {
                // With an argument it is not the function of this name.
                if left.is_one_of(&[b"USER"]) {
                    self.turn(here, kind::BAREWORD);
                }
                return false;
            }
            _ => return false,
        }
        true
    }
}

/// Names of functions that columns have too.
const CALLABLE: &[&[u8]] = &[
    b"CURRENT_DATE",
    b"CURRENT_TIME",
    b"CURRENT_TIMESTAMP",
    b"CURRENT_USER",
    b"DATABASE",
    b"LOCALTIME",
    b"LOCALTIMESTAMP",
    b"PASSWORD",
    b"USER",
    b"USER_ID",
    b"USER_NAME",
];

fn starts_with_if(word: &[u8]) -> bool {
    word.get(..2).is_some_and(|start| start.eq_ignore_ascii_case(b"IF"))
}
