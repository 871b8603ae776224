//! `literals`: texts of three bytes and more, ignoring case.

use super::Family;
use crate::rule::Rule;
use crate::scanner::find::literals::{Literal, Literals};
use crate::scanner::judge::Judge;

#[derive(Debug, Default)]
pub(crate) struct LiteralRules {
    entered: Vec<Literal>,
    literals: Literals,
}

impl Family for LiteralRules {
    fn enter(&mut self, index: usize, rule: &Rule) -> Result<(), String> {
        self.entered.extend(rule.begins.literals.iter().map(|text| Literal::new(text, index)));
        Ok(())
    }

    fn build(&mut self) {
        self.literals = Literals::new(std::mem::take(&mut self.entered));
    }
}

impl LiteralRules {
    pub(crate) fn literals(&self) -> &Literals {
        &self.literals
    }

    /// At places where a gram of a long text stands.
    #[inline]
    pub(in crate::scanner) fn at_grams(&self, judge: &mut Judge<'_>, body: &[u8], places: &[usize]) {
        for place in places {
            for (start, literal) in self.literals.at_gram(body, *place) {
                judge.pattern(literal.rule, body, start, None);
            }
        }
    }

    /// At places where the rarest three bytes of a short text stand.
    #[inline]
    pub(in crate::scanner) fn at_shorts(&self, judge: &mut Judge<'_>, body: &[u8], places: &[usize]) {
        for place in places {
            for (start, literal) in self.literals.at_short(body, *place) {
                judge.pattern(literal.rule, body, start, None);
            }
        }
    }
}
