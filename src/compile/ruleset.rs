//! Compiles the rules of rulesets, both those of accounts and those of zones.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{AccountRules, Compiling};
use crate::ruleset::actions::{self, Sources};
use crate::ruleset::{
    CompiledRule, CustomRuleset, CustomRulesets, EntryPoint, RateLimiter, RuleList, RuleSource,
};
use diagnostic::{Code, Diagnostic, Diagnostics, Place};
use expression::{Expression, NamedSets};
use model::ruleset::{Rule, Ruleset, RulesetKind, RulesetOwner};
use model::{AccountId, Action, Declared, Phase, SensitiveDataSettings, Zone};

/// What rules are compiled for, besides themselves.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuleOwner<'a> {
    pub(super) sensitive_data: &'a SensitiveDataSettings,
    /// What their expressions can name.
    pub(super) sets: &'a NamedSets,
    /// What `execute` rules can run besides managed rulesets.
    pub(super) custom: &'a CustomRulesets,
    /// Where they are declared.
    pub(super) place: Option<&'a Place>,
    /// The rules of the previous snapshot that count requests.
    pub(super) known: Option<&'a EntryPoint>,
}

impl Compiling<'_> {
    /// Compiles the rulesets of all accounts, once, whatever number of zones they run for.
    pub(super) fn account_rulesets(&mut self) {
        let mut accounts: Vec<&AccountId> = Vec::new();
        for (owner, _) in self.inputs.resources.rulesets.keys() {
            // INVARIANT: owners are in order, accounts first.
            let RulesetOwner::Account(account) = owner else { break };
            if accounts.last() != Some(&account) {
                accounts.push(account);
            }
        }
        for account in accounts {
            let rules = self.rules_of_account(account);
            self.of_accounts.insert(account.clone(), rules);
        }
    }

    fn rules_of_account(&mut self, account: &AccountId) -> AccountRules {
        // All zones of an account share what its rules count.
        let zone = self
            .inputs
            .previous
            .and_then(|previous| previous.zones().find(|zone| zone.source.account == *account));
        let known = zone.and_then(|zone| zone.entry_points.of(Phase::HttpRatelimit));
        let (settings, sets, none) =
            (SensitiveDataSettings::default(), self.sets_of(account), BTreeMap::new());
        let rulesets = self.rulesets_of(&RulesetOwner::Account(account.clone()));
        let (custom, entry_points): (Vec<_>, Vec<_>) =
            rulesets.iter().partition(|ruleset| ruleset.kind == RulesetKind::Custom);
        let owner = RuleOwner { sensitive_data: &settings, sets: &sets, custom: &none, place: None, known };
        let mut rules = AccountRules::default();
        for ruleset in custom {
            let owner = RuleOwner { place: ruleset.place(), ..owner };
            rules.custom.insert(ruleset.id.clone(), self.custom_ruleset(ruleset, &owner));
        }
        for ruleset in entry_points {
            let owner = RuleOwner { place: ruleset.place(), custom: &rules.custom, ..owner };
            let list = Arc::new(RuleList::new(self.rules(ruleset, &owner)));
            rules.entry_points.push((ruleset.phase, list));
        }
        rules
    }

    /// Compiles a ruleset that entry points can run.
    pub(super) fn custom_ruleset(&mut self, ruleset: &Ruleset, owner: &RuleOwner<'_>) -> CustomRuleset {
        let list = Arc::new(RuleList::new(self.rules(ruleset, owner)));
        let (id, version) = (ruleset.id.as_str().into(), ruleset.version.as_str().into());
        let rules = ruleset.rules.iter().map(|rule| rule.id.clone()).collect();
        CustomRuleset { id, version, phase: ruleset.phase, rules, list }
    }

    /// The rules that a zone has from its account.
    pub(super) fn inherited(&self, zone: &Zone) -> impl Iterator<Item = (Phase, Arc<RuleList>)> {
        let rules = self.of_accounts.get(&zone.account);
        rules.into_iter().flat_map(|rules| &rules.entry_points).map(|(phase, list)| {
            if *phase != Phase::HttpResponseFirewallManaged {
                return (*phase, Arc::clone(list));
            }
            let rules = list.rules().iter().map(|rule| rule.with_settings(&zone.sensitive_data));
            (*phase, Arc::new(RuleList::new(rules.collect())))
        })
    }

    /// The rulesets of an owner that are not written with it.
    pub(super) fn rulesets_of(&self, owner: &RulesetOwner) -> Vec<Arc<Declared<Ruleset>>> {
        self.inputs.resources.rulesets_of(owner).map(Arc::clone).collect()
    }

    /// Compiles the rules of a ruleset that are enabled. Those that have errors are left out, and reported.
    pub(super) fn rules(&mut self, ruleset: &Ruleset, owner: &RuleOwner<'_>) -> Vec<CompiledRule> {
        let rules = ruleset.rules.iter().enumerate().filter(|(_, rule)| rule.enabled);
        rules.filter_map(|(nth, rule)| self.rule(ruleset, nth, rule, owner)).collect()
    }

    fn rule(
        &mut self,
        ruleset: &Ruleset,
        nth: usize,
        rule: &Rule,
        owner: &RuleOwner<'_>,
    ) -> Option<CompiledRule> {
        let RuleOwner { sensitive_data, place, .. } = *owner;
        let phase = ruleset.phase;
        let expression =
            Expression::parse_with(&rule.expression, phase, owner.sets).unwrap_or_else(|mistake| {
                self.refuse_rule(nth, Code::RulesetExpression, mistake.to_string(), place);
                Expression::everything()
            });
        let known = || actions::ALL.iter().filter(|known| known.phases.contains(&phase));
        let Some(definition) = known().find(|known| known.actions.contains(&rule.action)) else {
            let message = format!(
                "phase `{}` has no action `{}`; expected one of `{}`",
                phase.word(),
                rule.action.word(),
                known()
                    .flat_map(|known| known.actions)
                    .map(|action| action.word())
                    .collect::<Vec<_>>()
                    .join("`, `")
            );
            self.refuse_rule(nth, Code::RulesetBadAction, message, place);
            return None;
        };
        let mut found = Diagnostics::default();
        let rules = self.inputs.rules;
        let mut sources = Sources {
            sensitive_data,
            managed: [&rules.owasp, &rules.sensitive_data],
            sets: owner.sets,
            custom: (ruleset.kind != RulesetKind::Custom).then_some(owner.custom),
            program: &rules.program,
            detector: &rules.detector,
            plans: &mut self.plans,
            diagnostics: &mut found,
        };
        let action = (definition.compile)(rule, phase, &mut sources);
        for Diagnostic { code, message, pointer, .. } in found.iter() {
            match pointer {
                Some(pointer) => {
                    self.refuse_field(&format!("/rules/{nth}/{pointer}"), *code, message.clone(), place);
                }
                None => self.refuse_rule(nth, *code, message.clone(), place),
            }
        }
        let rate = self.rate(ruleset, nth, rule, owner)?;
        Some(CompiledRule {
            expression,
            action: action?,
            source: Arc::new(RuleSource::new(ruleset, rule)),
            rate,
        })
    }

    /// The rate that a rule limits, if it is of the phase for that; `None` if it has errors, which are then reported.
    #[expect(clippy::option_option, reason = "a rule without a rate is not a rule with errors")]
    fn rate(
        &mut self,
        ruleset: &Ruleset,
        nth: usize,
        rule: &Rule,
        owner: &RuleOwner<'_>,
    ) -> Option<Option<Arc<RateLimiter>>> {
        let place = owner.place;
        let is_of_phase = ruleset.phase == Phase::HttpRatelimit;
        // What passes over or runs others is for all requests.
        let counts_nothing = matches!(rule.action, Action::Skip | Action::Execute);
        let source = match &rule.ratelimit {
            None if !is_of_phase || counts_nothing => return Some(None),
            Some(source) if is_of_phase && !counts_nothing => source,
            None => {
                let message = format!("a rule of phase `{}` needs `ratelimit`", ruleset.phase.word());
                self.refuse_rule(nth, Code::RulesetRateLimit, message, place);
                return None;
            }
            Some(_) => {
                let message = format!(
                    "`ratelimit` is for rules of phase `{}` other than `skip` and `execute`; leave it out",
                    Phase::HttpRatelimit.word()
                );
                self.refuse_rule(nth, Code::RulesetRateLimit, message, place);
                return None;
            }
        };
        let is_it = |known: &&CompiledRule| known.source.ruleset == ruleset.id && known.source.id == rule.id;
        let known = owner.known.and_then(|known| known.all_rules().find(is_it)?.rate.as_deref());
        match RateLimiter::compile(source, owner.sets, known) {
            Ok(limiter) => Some(Some(Arc::new(limiter))),
            Err(mistakes) => {
                for (field, message) in mistakes {
                    self.refuse_field(
                        &format!("/rules/{nth}/ratelimit/{field}"),
                        Code::RulesetRateLimit,
                        message,
                        place,
                    );
                }
                None
            }
        }
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
            Code::RulesetRateLimit => "ratelimit",
            _ => "action",
        };
        self.refuse_field(&format!("/rules/{nth}/{field}"), code, message, place);
    }

    fn refuse_field(&mut self, pointer: &str, code: Code, message: String, place: Option<&Place>) {
        let diagnostic = Diagnostic::error(code, message).pointing(pointer.to_owned());
        self.diagnostics.push(match place {
            Some(place) => diagnostic.at(place.clone()),
            None => diagnostic,
        });
    }
}
