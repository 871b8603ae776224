//! One zone: its short form lowered to entry point rulesets, these compiled to plans.

use std::sync::Arc;

use super::Compiling;
use crate::ruleset::actions::{self, Sources};
use crate::ruleset::{CompiledRule, EntryPoints, ManagedRuleset, overrides};
use crate::snapshot::{CompiledZone, Site};
use crate::upstream::{Origin, OriginKey, Pool};
use diagnostic::{Code, Diagnostic, Diagnostics, Place};
use expression::Expression;
use model::ruleset::{ActionParameters, Overrides, Rule, Ruleset, RulesetKind};
use model::{Action, Declared, OriginProtocol, Phase, RuleId, RulesetId, Zone};

impl Compiling<'_> {
    /// Compiles a zone, or takes it over from the previous snapshot if nothing that it is made of has changed.
    pub(super) fn zone(&mut self, zone: &Arc<Declared<Zone>>) -> Arc<CompiledZone> {
        let stored = self.stored_rulesets(zone);
        if let Some(known) = self.unchanged(zone, &stored) {
            return known;
        }
        let place = zone.place();
        let mut rulesets = zone.rulesets.clone();
        self.short_form(zone, &mut rulesets);
        rulesets.extend(stored.iter().map(|ruleset| ruleset.value.clone()));
        self.name_rulesets(zone, &mut rulesets, place);
        let mut entry_points = EntryPoints::default();
        for ruleset in &rulesets {
            for (nth, rule) in ruleset.rules.iter().enumerate().filter(|(_, rule)| rule.enabled) {
                if let Some(rule) = self.rule(zone, ruleset.phase, rule, nth) {
                    entry_points.push(ruleset.phase, rule);
                }
            }
        }
        Arc::new(CompiledZone {
            id: zone.id.clone(),
            name: zone.name.clone(),
            pool: Arc::new(self.pool(zone, place)),
            entry_points,
            response_rules: zone.waf.as_ref().is_some_and(|waf| waf.response_rules),
            rulesets,
            source: Arc::clone(zone),
            stored,
        })
    }

    /// The entry points of a zone that were not written with it, in the order of phases.
    fn stored_rulesets(&self, zone: &Zone) -> Vec<Arc<Declared<Ruleset>>> {
        let of_phase = |phase| self.inputs.resources.rulesets.get(&(zone.id.clone(), phase));
        Phase::ALL.into_iter().filter_map(of_phase).map(Arc::clone).collect()
    }

    /// The zone as the previous snapshot has it, if its declaration and all rules are the same.
    fn unchanged(
        &self,
        zone: &Arc<Declared<Zone>>,
        stored: &[Arc<Declared<Ruleset>>],
    ) -> Option<Arc<CompiledZone>> {
        let previous = self.inputs.previous?;
        let rules = [&self.inputs.rules.owasp, &self.inputs.rules.sensitive_data];
        let has_same_rules = previous.managed.len() == rules.len()
            && previous.managed.iter().zip(rules).all(|(before, now)| Arc::ptr_eq(before, now));
        let Some(Site::Zone(known)) = previous.sites.get(&zone.name).filter(|_| has_same_rules) else {
            return None;
        };
        let is_same = Arc::ptr_eq(&known.source, zone) || known.source.value == zone.value;
        let has_same_rulesets = known.stored.len() == stored.len()
            && known.stored.iter().zip(stored).all(|(before, now)| Arc::ptr_eq(before, now) || before == now);
        (is_same && has_same_rulesets).then(|| Arc::clone(known))
    }

    fn pool(&mut self, zone: &Zone, place: Option<&Place>) -> Pool {
        let mut origins: Vec<Arc<Origin>> = Vec::new();
        for url in &zone.origins {
            let http2 = zone.origin_protocol == OriginProtocol::Http2;
            let key =
                OriginKey { zone: zone.name.clone(), url: url.clone(), http2, ca: zone.origin_ca.clone() };
            // One that is listed twice is one origin, with twice the share.
            let listed = origins.iter().find(|origin| origin.key == key).cloned();
            match listed.map_or_else(|| self.origin(key), Ok) {
                Ok(origin) => origins.push(origin),
                Err(message) => self.refuse(Code::ConfBadValue, message, place),
            }
        }
        Pool::new(origins, zone.balance, zone.health_check.clone())
    }

    fn refuse(&mut self, code: Code, message: String, place: Option<&Place>) {
        let diagnostic = Diagnostic::error(code, message);
        self.diagnostics.push(match place {
            Some(place) => diagnostic.at(place.clone()),
            None => diagnostic,
        });
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
            _ => "action",
        };
        let diagnostic = Diagnostic::error(code, message).pointing(format!("/rules/{nth}/{field}"));
        self.diagnostics.push(match place {
            Some(place) => diagnostic.at(place.clone()),
            None => diagnostic,
        });
    }

    /// The short forms of a zone as the rulesets the API would hold.
    fn short_form(&self, zone: &Zone, rulesets: &mut Vec<Ruleset>) {
        let (owasp, sensitive_data) = (&self.inputs.rules.owasp, &self.inputs.rules.sensitive_data);
        if let Some(waf) = &zone.waf {
            let mut overrides = overrides::short_form(owasp, waf.paranoia_level, waf.score_threshold);
            let action = waf.action;
            overrides.rules.iter_mut().for_each(|last| last.action = Some(action));
            let phase = Phase::HttpRequestFirewallManaged;
            rulesets.push(entry_point(phase, owasp, Some(overrides), &waf.expression));
        }
        if zone.sensitive_data.enabled {
            let phase = Phase::HttpResponseFirewallManaged;
            rulesets.push(entry_point(phase, sensitive_data, None, &zone.sensitive_data.expression));
        }
    }

    /// Gives rulesets and rules without an id one that is the same on every start.
    fn name_rulesets(&mut self, zone: &Zone, rulesets: &mut [Ruleset], place: Option<&Place>) {
        let mut phases = Vec::new();
        for ruleset in rulesets {
            let phase = ruleset.phase.word();
            if phases.contains(&phase) {
                let message = format!("the zone `{}` has two rulesets for phase `{phase}`", zone.name);
                self.refuse(Code::ConfConflict, message, place);
            }
            phases.push(phase);
            let key = format!("{}/{phase}", zone.name);
            if ruleset.id.is_empty() {
                ruleset.id = RulesetId::derived("zone ruleset", &key).to_string();
            }
            if ruleset.last_updated.is_empty() {
                ruleset.last_updated.clone_from(&self.inputs.conf.modified);
            }
            if ruleset.name.is_empty() {
                ruleset.name = "default".to_owned();
            }
            for rule in ruleset.rules.iter_mut().filter(|rule| rule.last_updated.is_empty()) {
                rule.last_updated.clone_from(&ruleset.last_updated);
            }
            for (index, rule) in ruleset.rules.iter_mut().enumerate().filter(|(_, rule)| rule.id.is_empty()) {
                rule.id = RuleId::derived("zone rule", &format!("{key}/{index}")).to_string();
            }
        }
    }

    /// Compiles a rule of a zone's entry point; `None` if it has errors, which are then reported.
    fn rule(
        &mut self,
        zone: &Arc<Declared<Zone>>,
        phase: Phase,
        rule: &Rule,
        nth: usize,
    ) -> Option<CompiledRule> {
        let place = zone.place();
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
            zone,
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
        Some(CompiledRule { id: RuleId::new(rule.id.as_str()), expression, action: action? })
    }
}

/// The ruleset of a zone that runs one managed ruleset.
fn entry_point(
    phase: Phase,
    managed: &ManagedRuleset,
    overrides: Option<Overrides>,
    expression: &str,
) -> Ruleset {
    let rule = Rule {
        expression: expression.to_owned(),
        description: format!("Execute {}", managed.name),
        action_parameters: Some(ActionParameters {
            id: managed.id.to_string(),
            version: "latest".to_owned(),
            overrides,
        }),
        ..Rule::new(Action::Execute)
    };
    Ruleset { rules: vec![rule], ..Ruleset::new(RulesetKind::Zone, phase) }
}
