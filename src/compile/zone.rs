//! One zone: its short form lowered to entry point rulesets, these compiled to plans.

use std::sync::Arc;

use super::Compiling;
use crate::ruleset::execute::Execution;
use crate::ruleset::{EntryPoint, ManagedRuleset, overrides};
use crate::snapshot::{CompiledZone, ScanRule, Site};
use crate::upstream::{Origin, OriginKey, Pool};
use diagnostic::{Code, Diagnostic, Diagnostics, Place};
use expression::Expression;
use model::Phase;
use model::ruleset::{ActionParameters, Overrides, Rule, Ruleset};
use model::{Declared, OriginProtocol, RuleId, RulesetId, SensitiveDataSettings, Zone};

impl Compiling<'_> {
    /// Compiles a zone, or takes it over from the previous snapshot if nothing that it is made of has changed.
    pub(super) fn zone(&mut self, zone: &Arc<Declared<Zone>>) -> Arc<CompiledZone> {
        if let Some(known) = self.unchanged(zone) {
            return known;
        }
        let place = zone.place();
        let mut rulesets = zone.rulesets.clone();
        self.short_form(zone, &mut rulesets);
        self.name_rulesets(zone, &mut rulesets, place);
        let mut executions = Vec::new();
        let mut scans = Vec::new();
        for ruleset in &rulesets {
            for rule in ruleset.rules.iter().filter(|rule| rule.enabled) {
                self.execute(ruleset, rule, place, &mut executions, &mut scans);
            }
        }
        let SensitiveDataSettings { payload_key, sample_every, .. } = zone.sensitive_data;
        scans
            .iter_mut()
            .for_each(|scan| scan.plan.settings = detection::plan::Settings { payload_key, sample_every });
        let entry_point = EntryPoint { executions };
        Arc::new(CompiledZone {
            id: zone.id.clone(),
            name: zone.name.clone(),
            pool: Arc::new(self.pool(zone, place)),
            entry_point: (!entry_point.is_empty()).then_some(entry_point),
            scans,
            response_rules: zone.waf.as_ref().is_some_and(|waf| waf.response_rules),
            rulesets,
            source: Arc::clone(zone),
        })
    }

    /// The zone as the previous snapshot has it, if its declaration and all rules are the same.
    fn unchanged(&self, zone: &Arc<Declared<Zone>>) -> Option<Arc<CompiledZone>> {
        let previous = self.inputs.previous?;
        let rules = [&self.inputs.rules.owasp, &self.inputs.rules.sensitive_data];
        let has_same_rules = previous.managed.len() == rules.len()
            && previous.managed.iter().zip(rules).all(|(before, now)| Arc::ptr_eq(before, now));
        let Some(Site::Zone(known)) = previous.sites.get(&zone.name).filter(|_| has_same_rules) else {
            return None;
        };
        let is_same = Arc::ptr_eq(&known.source, zone) || known.source.value == zone.value;
        is_same.then(|| Arc::clone(known))
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

    /// The short forms of a zone as the rulesets the API would hold.
    fn short_form(&self, zone: &Zone, rulesets: &mut Vec<Ruleset>) {
        let (owasp, sensitive_data) = (&self.inputs.rules.owasp, &self.inputs.rules.sensitive_data);
        if let Some(waf) = &zone.waf {
            let mut overrides = overrides::short_form(owasp, waf.paranoia_level, waf.score_threshold);
            let action = waf.action.word();
            overrides.rules.iter_mut().for_each(|last| last.action = Some(action.to_owned()));
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
            if phases.contains(&ruleset.phase) {
                self.refuse(
                    Code::ConfConflict,
                    format!("the zone `{}` has two rulesets for phase `{}`", zone.name, ruleset.phase),
                    place,
                );
            }
            phases.push(ruleset.phase.clone());
            let key = format!("{}/{}", zone.name, ruleset.phase);
            if ruleset.id.is_empty() {
                ruleset.id = RulesetId::derived("zone ruleset", &key).to_string();
            }
            if ruleset.name.is_empty() {
                ruleset.name = "default".to_owned();
            }
            for (index, rule) in ruleset.rules.iter_mut().enumerate().filter(|(_, rule)| rule.id.is_empty()) {
                rule.id = RuleId::derived("zone rule", &format!("{key}/{index}")).to_string();
            }
        }
    }

    fn execute(
        &mut self,
        ruleset: &Ruleset,
        rule: &Rule,
        place: Option<&Place>,
        executions: &mut Vec<Execution>,
        scans: &mut Vec<ScanRule>,
    ) {
        let Some(phase) = Phase::parse(&ruleset.phase) else {
            let message = format!(
                "unknown phase `{}`; expected one of `{}`",
                ruleset.phase,
                Phase::ALL.map(Phase::word).join("`, `")
            );
            return self.refuse(Code::RulesetBadAction, message, place);
        };
        let expression = Expression::parse(&rule.expression, phase).unwrap_or_else(|mistake| {
            self.refuse(Code::RulesetExpression, mistake.to_string(), place);
            Expression::everything()
        });
        let Some(parameters) = rule.action_parameters.as_ref().filter(|_| rule.action == "execute") else {
            let message = format!(
                "a rule of a zone's ruleset must `execute` a managed ruleset, found `{}`",
                rule.action
            );
            return self.refuse(Code::RulesetBadAction, message, place);
        };
        let rules = self.inputs.rules;
        let managed = [&rules.owasp, &rules.sensitive_data]
            .into_iter()
            .find(|m| m.id.as_str() == parameters.id && m.phase == phase);
        let Some(managed) = managed else {
            let message = format!("phase `{}` has no managed ruleset `{}`", ruleset.phase, parameters.id);
            return self.refuse(Code::RulesetUnknownRuleset, message, place);
        };
        let overrides = parameters.overrides.clone().unwrap_or_default();
        let mut found = Diagnostics::default();
        let effective = overrides::apply(managed, &overrides, &mut found);
        for diagnostic in found.iter() {
            self.refuse(diagnostic.code, diagnostic.message.clone(), place);
        }
        match phase {
            Phase::HttpRequestFirewallManaged => {
                let execution = self.plans.execution(&rules.program, managed, &effective);
                executions.push(Execution { expression, ..execution });
            }
            Phase::HttpResponseFirewallManaged => {
                let enabled: Vec<bool> = rules
                    .detector
                    .rules()
                    .iter()
                    .map(|rule| !effective.disabled.contains(&rule.id))
                    .collect();
                if enabled.contains(&true) {
                    let detector = Arc::clone(&rules.detector);
                    let settings = detection::plan::Settings::default();
                    let plan = detection::ScanPlan { detector, enabled: enabled.into(), settings };
                    scans.push(ScanRule { expression, plan });
                }
            }
        }
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
        action: "execute".to_owned(),
        expression: expression.to_owned(),
        description: format!("Execute {}", managed.name),
        version: "1".to_owned(),
        enabled: true,
        action_parameters: Some(ActionParameters {
            id: managed.id.to_string(),
            version: "latest".to_owned(),
            overrides,
        }),
        ..Rule::default()
    };
    Ruleset {
        kind: "zone".to_owned(),
        version: "1".to_owned(),
        phase: phase.word().to_owned(),
        rules: vec![rule],
        ..Ruleset::default()
    }
}
