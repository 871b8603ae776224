//! One zone: its short form lowered to entry point rulesets, these compiled to plans.

use std::sync::Arc;

use super::Compiling;
use crate::conf::{Deployment, Located};
use crate::ruleset::execute::Execution;
use crate::ruleset::{EntryPoint, ManagedRuleset, overrides};
use crate::snapshot::{CompiledZone, Scan};
use crate::upstream::{OriginKey, Pool};
use diagnostic::{Code, Diagnostic, Diagnostics, Place};
use expression::Expression;
use model::Phase;
use model::ruleset::{ActionParameters, Overrides, Rule, Ruleset};
use model::{OriginProtocol, RuleId, RulesetId, Zone};

impl Compiling<'_> {
    pub(super) fn zone(&mut self, zone: &Zone) -> CompiledZone {
        let deployment =
            self.inputs.conf.deployments.iter().find(|deployment| deployment.zone == zone.id).cloned();
        let place = deployment.as_ref().map(|deployment| deployment.place.clone());
        let mut rulesets = zone.rulesets.clone();
        if let Some(deployment) = &deployment {
            self.short_form(zone, deployment, &mut rulesets);
        }
        self.name_rulesets(zone, &mut rulesets, place.as_ref());
        let mut executions = Vec::new();
        let mut scans = Vec::new();
        for ruleset in &rulesets {
            for rule in ruleset.rules.iter().filter(|rule| rule.enabled) {
                self.execute(ruleset, rule, place.as_ref(), &mut executions, &mut scans);
            }
        }
        if let Some(deployment) = &deployment {
            scans.iter_mut().for_each(|scan| scan.plan.settings = deployment.sensitive_data.settings);
        }
        let entry_point = EntryPoint { executions };
        CompiledZone {
            id: zone.id.clone(),
            name: zone.name.clone(),
            pool: Arc::new(self.pool(zone, place.as_ref())),
            entry_point: (!entry_point.is_empty()).then_some(entry_point),
            scans,
            response_rules: deployment
                .as_ref()
                .and_then(|d| d.waf.as_ref())
                .is_some_and(|waf| waf.response_rules),
            rulesets,
        }
    }

    fn pool(&mut self, zone: &Zone, place: Option<&Place>) -> Pool {
        let mut origins = Vec::new();
        for url in &zone.origins {
            let http2 = zone.origin_protocol == OriginProtocol::Http2;
            let key =
                OriginKey { zone: zone.name.clone(), url: url.clone(), http2, ca: zone.origin_ca.clone() };
            match self.origin(key) {
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

    /// `[zones.waf]` and `[zones.sensitive_data]` as the rulesets the API would hold.
    fn short_form(&mut self, zone: &Zone, deployment: &Deployment, rulesets: &mut Vec<Ruleset>) {
        let (owasp, sensitive_data) = (&self.inputs.rules.owasp, &self.inputs.rules.sensitive_data);
        let mut refused = Vec::new();
        let mut add = |phase: Phase,
                       managed: &ManagedRuleset,
                       overrides,
                       filter: Option<&Located<String>>| {
            if rulesets.iter().any(|ruleset| ruleset.phase == phase.word()) {
                let message = format!(
                    "the zone `{}` sets phase `{}` both by `rulesets` and by its short form; keep one",
                    zone.name,
                    phase.word()
                );
                return refused.push((Code::ConfConflict, message, deployment.place.clone()));
            }
            let mut expression = "true";
            if let Some(filter) = filter {
                match Expression::parse(&filter.value, phase) {
                    Ok(_) => expression = &filter.value,
                    Err(mistake) => {
                        refused.push((Code::RulesetExpression, mistake.to_string(), filter.place.clone()));
                    }
                }
            }
            rulesets.push(entry_point(phase, managed, overrides, expression));
        };
        if let Some(waf) = &deployment.waf {
            // INVARIANT: the configuration takes levels from 1 to 4 only.
            let level = u8::try_from(waf.paranoia_level.value).unwrap_or(4);
            let mut overrides = overrides::short_form(owasp, level, waf.score_threshold.value);
            overrides.rules.iter_mut().for_each(|last| last.action = Some(waf.action.value.clone()));
            let phase = Phase::HttpRequestFirewallManaged;
            match crate::ruleset::Action::for_threshold(&waf.action.value) {
                Ok(_) => add(phase, owasp, Some(overrides), waf.expression.as_ref()),
                Err(message) => self.refuse(Code::RulesetBadAction, message, Some(&waf.action.place)),
            }
        }
        if deployment.sensitive_data.enabled {
            let filter = deployment.sensitive_data.expression.as_ref();
            add(Phase::HttpResponseFirewallManaged, sensitive_data, None, filter);
        }
        for (code, message, place) in refused {
            self.refuse(code, message, Some(&place));
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
        scans: &mut Vec<Scan>,
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
                let execution = Execution::new(&rules.program, managed, &effective);
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
                    let plan = detection::Plan { detector, enabled: enabled.into(), settings };
                    scans.push(Scan { expression, plan });
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
