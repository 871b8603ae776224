//! One zone: its short form lowered to entry point rulesets, these compiled to plans.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use http::HeaderName;

use super::Compiling;
use super::ruleset::RuleOwner;
use crate::ruleset::{EntryPoints, ManagedRuleset, RuleList, overrides};
use crate::snapshot::{AuthService, CompiledZone, PasswordGuard, Site};
use crate::upstream::{Origin, OriginKey, Pool};
use diagnostic::{Code, Diagnostic, Place};
use expression::{Expression, NamedSets};
use model::compression::{CompressionAlgorithm, CompressionParameters};
use model::origin_url::place_and_target;
use model::ruleset::{
    ActionParameters, ExecuteParameters, Overrides, Rule, Ruleset, RulesetKind, RulesetOwner, RulesetSlot,
};
use model::{
    Action, BasicAuth, Declared, ForwardAuth, HealthCheck, OriginProtocol, Phase, SecurityLevel, Zone,
};

impl Compiling<'_> {
    /// Compiles a zone, or takes it over from the previous snapshot if nothing that it is made of has changed.
    pub(super) fn zone(&mut self, zone: &Arc<Declared<Zone>>) -> Arc<CompiledZone> {
        let own = self.rulesets_of(&RulesetOwner::Zone(zone.id.clone()));
        let mut stored = self.rulesets_of(&RulesetOwner::Account(zone.account.clone()));
        stored.extend(own.iter().map(Arc::clone));
        if let Some(known) = self.unchanged(zone, &stored) {
            return known;
        }
        let place = zone.place();
        let mut rulesets = zone.rulesets.clone();
        self.short_form(zone, &mut rulesets);
        rulesets.extend(own.iter().map(|ruleset| ruleset.value.clone()));
        self.name_rulesets(zone, &mut rulesets, place);
        let mut entry_points = EntryPoints::default();
        for (phase, rules) in self.inherited(zone) {
            entry_points.push(phase, RulesetKind::Root, rules);
        }
        let previous = self.inputs.previous.and_then(|previous| previous.sites.get(&zone.name));
        let known = match previous {
            Some(Site::Zone(known)) if known.id == zone.id => known.entry_points.of(Phase::HttpRatelimit),
            _ => None,
        };
        let sets = self.sets_of(&zone.account);
        let mut custom =
            self.of_accounts.get(&zone.account).map(|rules| rules.custom.clone()).unwrap_or_default();
        let none = BTreeMap::new();
        let owner =
            RuleOwner { sensitive_data: &zone.sensitive_data, sets: &sets, custom: &none, place, known };
        for ruleset in rulesets.iter().filter(|ruleset| ruleset.kind == RulesetKind::Custom) {
            custom.insert(ruleset.id.clone(), self.custom_ruleset(ruleset, &owner));
        }
        let owner = RuleOwner { custom: &custom, ..owner };
        for ruleset in rulesets.iter().filter(|ruleset| ruleset.kind != RulesetKind::Custom) {
            let rules = Arc::new(RuleList::new(self.rules(ruleset, &owner)));
            entry_points.push(ruleset.phase, RulesetKind::Zone, rules);
        }
        Arc::new(CompiledZone {
            id: zone.id.clone(),
            name: zone.name.clone(),
            pool: Arc::new(self.pool(zone, zone.origins.clone(), zone.health_check.clone(), place)),
            routes: self.routes(zone, &entry_points, place),
            challenges: entry_points.challenges()
                || zone.traffic.security_level == Some(SecurityLevel::UnderAttack),
            block_lists: entry_points.block_lists(),
            password_guards: self.password_guards(zone, &sets),
            auth_services: self.auth_services(zone, &sets),
            entry_points,
            response_rules: zone.waf.as_ref().is_some_and(|waf| waf.response_rules),
            rulesets,
            source: Arc::clone(zone),
            stored,
        })
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
        let has_same_lists = !self.accounts_with_other_lists.contains(&zone.account);
        let has_same_places = previous.geo.kinds() == self.inputs.conf.geo.kinds();
        (is_same && has_same_rulesets && has_same_lists && has_same_places).then(|| Arc::clone(known))
    }

    /// The pool of these URLs of origins, which are asked as the zone's are.
    pub(super) fn pool(
        &mut self,
        zone: &Zone,
        urls: Vec<String>,
        health_check: Option<HealthCheck>,
        place: Option<&Place>,
    ) -> Pool {
        let mut origins: Vec<Arc<Origin>> = Vec::new();
        for url in urls {
            let http2 = zone.origin_protocol == OriginProtocol::Http2;
            let key = OriginKey { zone: zone.name.clone(), url, http2, ca: zone.origin_ca.clone() };
            // One that is listed twice is one origin, with twice the share.
            let listed = origins.iter().find(|origin| origin.key == key).cloned();
            match listed.map_or_else(|| self.origin(key), Ok) {
                Ok(origin) => origins.push(origin),
                Err(message) => self.refuse(Code::ConfBadValue, message, place),
            }
        }
        Pool::new(origins, zone.balance, health_check).with_proxy_protocol(zone.origin_proxy_protocol)
    }

    /// Who is asked for a password.
    fn password_guards(&mut self, zone: &Declared<Zone>, sets: &NamedSets) -> Vec<PasswordGuard> {
        let mut guards = Vec::new();
        for BasicAuth { expression, realm, users } in &zone.basic_auth {
            if let Some(expression) = self.guard_expression(expression, "basic_auth", zone, sets) {
                let (realm, users) = (realm.clone(), users.clone());
                guards.push(PasswordGuard { expression, realm, users });
            }
        }
        guards
    }

    /// Who is asked about requests.
    fn auth_services(&mut self, zone: &Declared<Zone>, sets: &NamedSets) -> Vec<AuthService> {
        let mut services = Vec::new();
        for ForwardAuth { expression, url, copy_headers, timeout } in &zone.forward_auth {
            let made = place_and_target(url).and_then(|(url, target)| {
                let key = OriginKey { zone: zone.name.clone(), url, http2: false, ca: None };
                Ok((self.origin(key)?, target))
            });
            let expression = self.guard_expression(expression, "forward_auth", zone, sets);
            match (made, expression) {
                (Ok((origin, target)), Some(expression)) => {
                    let names = copy_headers.iter().filter_map(|name| HeaderName::from_str(name).ok());
                    let (copy_headers, timeout) = (names.collect(), *timeout);
                    services.push(AuthService { expression, origin, target, copy_headers, timeout });
                }
                (Err(message), _) => self.refuse(Code::ConfBadValue, message, zone.place()),
                (Ok(_), None) => {}
            }
        }
        services
    }

    /// The requests that `zones.KEY` is for.
    fn guard_expression(
        &mut self,
        expression: &str,
        key: &str,
        zone: &Declared<Zone>,
        sets: &NamedSets,
    ) -> Option<Expression> {
        let message = match Expression::parse_with(expression, Phase::HttpRequestFirewallCustom, sets) {
            Ok(expression) if !expression.reads_body() => return Some(expression),
            Ok(_) => format!("expressions of `zones.{key}` cannot ask for the body"),
            Err(mistake) => mistake.to_string(),
        };
        self.refuse(Code::RulesetExpression, message, zone.place());
        None
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
            let action = waf.action;
            overrides.rules.iter_mut().for_each(|last| last.action = Some(action));
            let phase = Phase::HttpRequestFirewallManaged;
            rulesets.push(entry_point(phase, owasp, Some(overrides), &waf.expression));
        }
        if zone.sensitive_data.enabled {
            let phase = Phase::HttpResponseFirewallManaged;
            rulesets.push(entry_point(phase, sensitive_data, None, &zone.sensitive_data.expression));
        }
        if !zone.compression.is_empty() {
            let algorithms =
                zone.compression.iter().map(|name| CompressionAlgorithm { name: *name }).collect();
            let rule = Rule {
                expression: "true".to_owned(),
                action_parameters: Some(ActionParameters::CompressResponse(CompressionParameters {
                    algorithms,
                })),
                ..Rule::new(Action::CompressResponse)
            };
            let ruleset = Ruleset::new(RulesetKind::Zone, Phase::HttpResponseCompression);
            rulesets.push(Ruleset { rules: vec![rule], ..ruleset });
        }
    }

    /// Gives rulesets and rules without an id one that is the same on every start.
    fn name_rulesets(&mut self, zone: &Zone, rulesets: &mut [Ruleset], place: Option<&Place>) {
        let mut slots = Vec::new();
        for ruleset in rulesets {
            let (slot, phase) = (ruleset.slot(), ruleset.phase.word());
            if slots.contains(&slot) {
                let what = match &slot {
                    RulesetSlot::EntryPoint(phase) => format!("for phase `{}`", phase.word()),
                    RulesetSlot::Custom { custom } => format!("of the id `{custom}`"),
                };
                let message = format!("the zone `{}` has two rulesets {what}", zone.name);
                self.refuse(Code::ConfConflict, message, place);
            }
            slots.push(slot);
            ruleset.complete(ruleset.kind, &format!("{}/{phase}", zone.name), &self.inputs.conf.modified);
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
        expression: expression.to_owned(),
        description: format!("Execute {}", managed.name),
        action_parameters: Some(ActionParameters::Execute(ExecuteParameters {
            id: managed.id.to_string(),
            version: "latest".to_owned(),
            overrides,
        })),
        ..Rule::new(Action::Execute)
    };
    Ruleset { rules: vec![rule], ..Ruleset::new(RulesetKind::Zone, phase) }
}
