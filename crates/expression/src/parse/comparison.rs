//! The right side of a comparison: an operator, and literals or a named list.

use memchr::memmem::Finder;

use super::{ORDERS, Parsed, Parser, unknown};
use crate::cursor::Cursor;
use crate::literals::{addresses, number_range, wildcard};
use crate::named_set::NamedSets;
use crate::test::{Order, Test};
use crate::value::Scalar;
use model::ListKind;
use pattern::Pattern;

impl<'t> Parser<'t> {
    /// An operator and what it compares with; nothing says that a condition holds.
    pub(super) fn test(&mut self, scalar: Scalar) -> Parsed<Test> {
        let cursor = &mut self.cursor;
        let order = ORDERS.iter().find(|(word, sign, _)| cursor.take_word(word) || cursor.take(sign));
        let order = order.map(|(_, _, order)| *order);
        match (scalar, order) {
            (Scalar::Bool, None) => Ok(Test::Flag(true)),
            (Scalar::Bool, Some(order @ (Order::Eq | Order::Ne))) => {
                let is = match cursor.peek_word() {
                    word @ ("true" | "false") => cursor.take_word(word) && word == "true",
                    _ => return Err(cursor.expected("`true` or `false`")),
                };
                Ok(Test::Flag(is == (order == Order::Eq)))
            }
            (Scalar::Int, Some(order)) => Ok(Test::Int(order, cursor.number()?)),
            (Scalar::Int, None) if cursor.take_word("in") => match cursor.take("$") {
                true => self.named(NamedSets::numbers, ListKind::Asn).map(Test::InNumberSet),
                false => self.set(number_range).map(Test::InNumbers),
            },
            (Scalar::Int, None) => Err(cursor.expected("one of `eq ne lt le gt ge in`")),
            (Scalar::Ip, Some(order @ (Order::Eq | Order::Ne))) => {
                Ok(Test::Ip(order, cursor.address()?.to_canonical()))
            }
            (Scalar::Ip, None) if cursor.take_word("in") => match cursor.take("$") {
                true => self.named(NamedSets::addresses, ListKind::Ip).map(Test::InAddressSet),
                false => self.set(addresses).map(Test::InNetworks),
            },
            (Scalar::Bool | Scalar::Ip, Some(_)) => Err(cursor.mistake(format!("{scalar} has no order"))),
            (Scalar::Ip, None) => Err(cursor.expected("one of `eq ne in`")),
            (Scalar::Text, Some(order)) => Ok(Test::Text(order, cursor.text()?)),
            (Scalar::Text, None) => self.text_test(),
        }
    }

    fn text_test(&mut self) -> Parsed<Test> {
        let cursor = &mut self.cursor;
        if cursor.take_word("in") {
            return match cursor.take("$") {
                true => self.named(NamedSets::hosts, ListKind::Hostname).map(Test::InHostSet),
                false => self.set(Cursor::text).map(Test::InTexts),
            };
        }
        if cursor.take_word("contains") {
            return Ok(Test::Contains(Box::new(Finder::new(&cursor.text()?).into_owned())));
        }
        if cursor.take_word("matches") || cursor.take("~") {
            cursor.skip_space();
            let start = *cursor;
            let source = String::from_utf8(cursor.text()?);
            let source = source.map_err(|_| start.mistake("a pattern is written in UTF-8"))?;
            return Pattern::new(&source).map(Box::new).map(Test::Matches).map_err(|why| start.mistake(why));
        }
        let is_strict = cursor.take_word("strict");
        if cursor.take_word("wildcard") {
            cursor.skip_space();
            let start = *cursor;
            let source = wildcard(&cursor.text()?, is_strict);
            return Pattern::new(&source).map(Box::new).map(Test::Matches).map_err(|why| start.mistake(why));
        }
        Err(cursor.expected("one of `eq ne lt le gt ge contains matches wildcard in`"))
    }

    /// A set by its name.
    fn named<T>(
        &mut self,
        find: fn(&NamedSets, &str) -> Option<Result<T, ListKind>>,
        wanted: ListKind,
    ) -> Parsed<T> {
        let start = self.cursor;
        let name = self.cursor.peek_word();
        self.cursor.take_word(name);
        match find(self.sets, name) {
            Some(Ok(set)) => Ok(set),
            Some(Err(kind)) => {
                let (kind, wanted) = (kind.word(), wanted.word());
                Err(start.mistake(format!(
                    "the list `${name}` is of the kind `{kind}`; expected one of `{wanted}`"
                )))
            }
            None => Err(unknown(start, "list", name, self.sets.names())),
        }
    }

    /// Literals in braces, with space between them.
    fn set<T>(&mut self, literal: fn(&mut Cursor<'t>) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.close("{")?;
        let mut values = vec![literal(&mut self.cursor)?];
        while !self.cursor.take("}") {
            if self.cursor.take(",") {
                return Err(self.cursor.mistake("values of a set stand beside each other without commas"));
            }
            values.push(literal(&mut self.cursor)?);
        }
        Ok(values)
    }
}
