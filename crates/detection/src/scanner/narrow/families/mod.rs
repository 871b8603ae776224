//! The families of rules, one file each: by what a rule says a value begins with. A family holds its rules by what it
//! asks of a place, and tries those that fit.
//!
//! To add one: a file here, a field and a line in [`Families::all`], and a call where its places are walked. The plain
//! scanner, `scanner/oracle.rs`, finds the same in its own way, so it needs the family too.

pub(crate) mod address;
pub(crate) mod anchored;
pub(crate) mod country_number;
pub(crate) mod hardware_address;
pub(crate) mod keyword;
pub(crate) mod literal;
pub(crate) mod shaped_number;
pub(crate) mod signed_number;
pub(crate) mod token_beginning;
pub(crate) mod token_length;
pub(crate) mod user_information;

use crate::rule::{Anchor, Rule};
use crate::scanner::find::literals::Literals;
use anchored::AnchoredRules;

/// Rules that say in one way where a value begins.
pub(crate) trait Family {
    /// Enters a rule if it says so.
    ///
    /// # Errors
    /// One sentence: what the rule may not say.
    fn enter(&mut self, index: usize, rule: &Rule) -> Result<(), String>;

    /// Makes ready to scan, after the last rule.
    fn build(&mut self) {}
}

/// Every family. Rules that only a keyword names have no index of their own ([`keyword`]).
#[derive(Debug)]
pub(crate) struct Families {
    pub(crate) literal: literal::LiteralRules,
    pub(crate) token_beginning: token_beginning::TokenBeginningRules,
    pub(crate) token_length: token_length::TokenLengthRules,
    pub(crate) shaped_number: shaped_number::ShapedNumberRules,
    pub(crate) signed_number: signed_number::SignedNumberRules,
    pub(crate) country_number: AnchoredRules,
    pub(crate) address: AnchoredRules,
    pub(crate) user_information: AnchoredRules,
    pub(crate) hardware_address: AnchoredRules,
}

impl Default for Families {
    fn default() -> Self {
        Self {
            literal: literal::LiteralRules::default(),
            token_beginning: token_beginning::TokenBeginningRules::default(),
            token_length: token_length::TokenLengthRules::default(),
            shaped_number: shaped_number::ShapedNumberRules::default(),
            signed_number: signed_number::SignedNumberRules::default(),
            country_number: AnchoredRules::new(Anchor::CountryAndCheckDigits),
            address: AnchoredRules::new(Anchor::Address),
            user_information: AnchoredRules::new(Anchor::UserInformation),
            hardware_address: AnchoredRules::new(Anchor::HardwareAddress),
        }
    }
}

impl Families {
    pub(crate) fn all(&mut self) -> [&mut dyn Family; 9] {
        [
            &mut self.literal,
            &mut self.token_beginning,
            &mut self.token_length,
            &mut self.shaped_number,
            &mut self.signed_number,
            &mut self.country_number,
            &mut self.address,
            &mut self.user_information,
            &mut self.hardware_address,
        ]
    }

    /// What the pass over a body looks for.
    pub(crate) fn literals(&self) -> &Literals {
        self.literal.literals()
    }
}
