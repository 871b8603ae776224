//! `tokens`: beginnings of tokens, `ghp_`, `xoxb-`, `SG.`, in the case that they are written in.

use super::Family;
use crate::rule::Rule;
use crate::scanner::find::classes::is_token;
use crate::scanner::find::index::{Index, key_of_3};
use crate::scanner::judge::Judge;
use pattern::ByteSet;

#[derive(Debug, Default)]
pub(crate) struct TokenBeginningRules {
    entered: Vec<(String, usize)>,
    beginnings: Beginnings,
}

impl Family for TokenBeginningRules {
    fn enter(&mut self, index: usize, rule: &Rule) -> Result<(), String> {
        let texts = rule.begins.tokens.iter().flat_map(|text| expand_sets(text));
        self.entered.extend(texts.map(|text| (text, index)));
        Ok(())
    }

    fn build(&mut self) {
        self.beginnings = Beginnings::new(&std::mem::take(&mut self.entered));
    }
}

impl TokenBeginningRules {
    /// At the beginning of a token.
    #[inline]
    pub(in crate::scanner) fn at(&self, judge: &mut Judge<'_>, body: &[u8], start: usize) {
        self.beginnings.at(body, start, |from, rule| judge.pattern(rule, body, from, None));
    }
}

/// Beginnings of tokens, by three of their bytes.
#[derive(Debug, Default)]
struct Beginnings {
    /// By how many bytes of the text stand before the token itself, 3 for more: `SG.` has three, for a
    /// point is no part of a token.
    by_lead: [Index<Beginning>; 4],
    /// What stands right before a token that has bytes of its text before it.
    ends_of_leads: ByteSet,
}

#[derive(Debug)]
struct Beginning {
    text: Box<[u8]>,
    lead: usize,
    rule: usize,
}

impl Beginnings {
    fn new(texts: &[(String, usize)]) -> Self {
        let mut by_lead: [Vec<(u32, Beginning)>; 4] = Default::default();
        let mut ends_of_leads = ByteSet::EMPTY;
        for (text, rule) in texts {
            let text = text.as_bytes();
            let lead = text.iter().rposition(|byte| !is_token(*byte)).map_or(0, |at| at + 1);
            if let Some(end) = lead.checked_sub(1).and_then(|end| text.get(end)) {
                ends_of_leads = ends_of_leads.and(*end, *end);
            }
            let key = text.get(lead.saturating_sub(3)..).and_then(|rest| rest.first_chunk());
            if let (Some(key), Some(entries)) = (key, by_lead.get_mut(lead.min(3))) {
                entries.push((key_of_3(*key), Beginning { text: text.into(), lead, rule: *rule }));
            }
        }
        Self { by_lead: by_lead.map(Index::new), ends_of_leads }
    }

    /// Where each text begins that the token at `start` has, and its rule.
    #[inline]
    fn at(&self, body: &[u8], start: usize, mut each: impl FnMut(usize, usize)) {
        let before = start.checked_sub(1).and_then(|before| body.get(before));
        // Most tokens stand behind what is in no text.
        let leads =
            if before.is_some_and(|byte| self.ends_of_leads.has(*byte)) { self.by_lead.len() } else { 1 };
        for (lead, index) in self.by_lead.iter().enumerate().take(leads) {
            let key =
                start.checked_sub(lead).and_then(|at| body.get(at..)).and_then(|rest| rest.first_chunk());
            let Some(key) = key.map(|key| key_of_3(*key)) else { continue };
            for beginning in index.get(key) {
                let from = start.checked_sub(beginning.lead);
                if let Some(from) =
                    from.filter(|from| body.get(*from..).is_some_and(|b| b.starts_with(&beginning.text)))
                {
                    each(from, beginning.rule);
                }
            }
        }
    }
}

/// `[ab]c` as `ac` and `bc`.
pub fn expand_sets(text: &str) -> Vec<String> {
    let parts = text.split_once('[').and_then(|(head, rest)| Some((head, rest.split_once(']')?)));
    let Some((head, (set, tail))) = parts else { return vec![text.to_owned()] };
    set.chars().flat_map(|member| expand_sets(&format!("{head}{member}{tail}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_written_out() {
        assert_eq!(expand_sets("a[bc]d[ef]"), ["abde", "abdf", "acde", "acdf"]);
        assert_eq!(expand_sets("SG."), ["SG."]);
    }

    #[test]
    fn a_beginning_may_stand_before_its_token() {
        let texts = ["ghp_", "SG.", ":AA", "1//0"];
        let tokens = Beginnings::new(
            &texts.iter().enumerate().map(|(rule, text)| ((*text).to_owned(), rule)).collect::<Vec<_>>(),
        );
        for (rule, text) in texts.iter().enumerate() {
            let body = format!("x {text}abcdefghijklmnopq");
            let start = body.len() - body.bytes().rev().take_while(|byte| is_token(*byte)).count();
            let mut found = Vec::new();
            tokens.at(body.as_bytes(), start, |from, rule| found.push((from, rule)));
            assert_eq!(found, [(2, rule)], "{text}");
        }
    }
}
