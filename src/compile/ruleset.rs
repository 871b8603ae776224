//! Compiles the rules of entry points, both those of accounts and those of zones.

use std::sync::Arc;

use super::Compiling;
use crate::ruleset::actions::{self, Sources};
use crate::ruleset::{CompiledRule, RuleSource};
use diagnostic::{Code, Diagnostic, Diagnostics, Place};
use expression::Expression;
use model::ruleset::{Rule, Ruleset, RulesetOwner};
use model::{Declared, Phase, SensitiveDataSettings, Zone};

impl Compiling<'_> {
    /// Compiles the entry points of all accounts, once, whatever number of zones they run for.
    pub(super) fn account_rulesets(&mut self) {
        let settings = SensitiveDataSettings::default();
        for ((owner, phase), ruleset) in &self.inputs.resources.rulesets {
            // INVARIANT: owners are in order, accounts first.
            let RulesetOwner::Account(account) = owner else { return };
            let rules = self.rules(ruleset, &settings, ruleset.place());
            let of_account = self.of_accounts.entry(account.clone()).or_default();
            of_account.extend(rules.into_iter().map(|rule| (*phase, rule)));
        }
    }

    /// The rules that a zone has from its account.
    pub(super) fn inherited(&self, zone: &Zone) -> impl Iterator<Item = (Phase, CompiledRule)> {
        let rules = self.of_accounts.get(&zone.account).into_iter().flatten();
        rules.map(|(phase, rule)| (*phase, rule.with_settings(&zone.sensitive_data)))
    }

    /// The entry points of an owner that are not written with it, in the order of phases.
    pub(super) fn rulesets_of(&self, owner: &RulesetOwner) -> Vec<Arc<Declared<Ruleset>>> {
        let of_phase = |phase| self.inputs.resources.rulesets.get(&(owner.clone(), phase));
        Phase::ALL.into_iter().filter_map(of_phase).map(Arc::clone).collect()
    }

    /// Compiles the rules of an entry point that are enabled. Those that have errors are left out, and reported.
    pub(super) fn rules(
        &mut self,
        ruleset: &Ruleset,
        sensitive_data: &SensitiveDataSettings,
        place: Option<&Place>,
    ) -> Vec<CompiledRule> {
        let rules = ruleset.rules.iter().enumerate().filter(|(_, rule)| rule.enabled);
        rules.filter_map(|(nth, rule)| self.rule(ruleset, nth, rule, sensitive_data, place)).collect()
    }

    fn rule(
        &mut self,
        ruleset: &Ruleset,
        nth: usize,
        rule: &Rule,
        sensitive_data: &SensitiveDataSettings,
        place: Option<&Place>,
    ) -> Option<CompiledRule> {
        let phase = ruleset.phase;
        let expression = Expression::parse(&rule.expression, phase).unwrap_or_else(|mistake| {
            self.refuse_rule(nth, Code::RulesetExpression, mistake.to_string(), place);
            Expression::everything()
        });
        let known = || actions::ALL.iter().filter(|known| known.phases.contains(&phase));
        let Some(definition) = known().find(|known| known.action == rule.action) else {
            let message = format!(
                "phase `{}` has no action `{}`; expected one of `{}`",
                phase.word(),
                rule.action.word(),
                known().map(|known| known.action.word()).collect::<Vec<_>>().join("`, `")
            );
            self.refuse_rule(nth, Code::RulesetBadAction, message, place);
            return None;
        };
        let mut found = Diagnostics::default();
        let rules = self.inputs.rules;
        let mut sources = Sources {
            sensitive_data,
            managed: [&rules.owasp, &rules.sensitive_data],
            program: &rules.program,
            detector: &rules.detector,
            plans: &mut self.plans,
            diagnostics: &mut found,
        };
        let action = (definition.compile)(rule, phase, &mut sources);
        for diagnostic in found.iter() {
            self.refuse_rule(nth, diagnostic.code, diagnostic.message.clone(), place);
        }
        Some(CompiledRule { expression, action: action?, source: Arc::new(RuleSource::new(ruleset, rule)) })
    }

    /// Refuses a rule by its number in its ruleset.
    fn refuse_rule(&mut self, nth: usize, code: Code, message: String, place: Option<&Place>) {
        let field = match code {
            Code::RulesetExpression => "expression",
            Code::RulesetUnknownRuleset => "action_parameters/id",
            Code::RulesetUnknownVersion => "action_parameters/version",
            Code::RulesetUnknownRule | Code::RulesetUnknownCategory | Code::RulesetBadOverride => {
                "action_parameters/overrides"
            }
            Code::RulesetBadParameters => "action_parameters",
            _ => "action",
        };
        let diagnostic = Diagnostic::error(code, message).pointing(format!("/rules/{nth}/{field}"));
        self.diagnostics.push(match place {
            Some(place) => diagnostic.at(place.clone()),
            None => diagnostic,
        });
    }
}
