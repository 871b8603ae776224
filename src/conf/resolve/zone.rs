//! `[[zones]]` resolved.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::Resolving;
use crate::conf::table::Located;
use crate::conf::zone_file::{SensitiveDataFile, WafFile, ZoneFile, ZoneTlsFile};
use crate::named_file::read_text;
use crate::zone_settings;
use diagnostic::{Code, Diagnostic, Place};
use expression::{Expression, NamedSets};
use model::origin_url::OriginUrl;
use model::{
    Account, AccountId, Action, Declared, Phase, Resources, Ruleset, RulesetKind, RulesetOwner,
    SensitiveDataSettings, WafSettings, Zone, ZoneId, ZoneTls,
};

impl Resolving<'_> {
    pub(super) fn zone(&mut self, file: ZoneFile, resources: &mut Resources) {
        let Some(name) = self.host(&file.name.value, &file.name.place) else { return };
        let id = ZoneId::derived("zone", name.as_str());
        if file.origins.value.is_empty() {
            self.bad(&file.origins.place, "`origins` needs at least one URL such as `http://127.0.0.1:9000`");
        }
        let mut origins = file.origins.value;
        origins.retain(|origin| {
            let parsed = OriginUrl::parse(origin).and_then(OriginUrl::without_path);
            parsed.map_err(|message| self.bad(&file.origins.place, message)).is_ok()
        });
        if let Some(Located { value: check, place }) = &file.health_check {
            if !check.path.starts_with('/') {
                self.bad(place, "`zones.health_check.path` begins with `/`");
            }
            if check.interval.is_zero() || check.timeout.is_zero() {
                self.bad(place, "`interval` and `timeout` of `zones.health_check` must be above 0");
            }
        }
        if file.waf.is_none() && file.rulesets.is_none() {
            let message = format!("the zone `{name}` has no `[zones.waf]`: its requests are not judged");
            let warning = Diagnostic::warning(Code::ConfUnprotected, message).at(file.name.place.clone());
            self.diagnostics.push(warning);
        }
        let ca =
            file.origin_ca.as_ref().map(|file| self.existing(file)).and_then(|path| read_text(&path).ok());
        let pages = self.error_pages(file.error_pages);
        let cache = file.cache.map(|cache| self.cache(cache));
        let (has_pages, has_cache) = (pages.is_some(), cache.is_some());
        let mut zone = Zone {
            tls: ZoneTls { is_automatic: file.tls == ZoneTlsFile::Auto, ..ZoneTls::default() },
            origins,
            balance: file.balance,
            origin_protocol: file.origin_protocol,
            origin_proxy_protocol: file.origin_proxy_protocol,
            origin_ca: ca,
            health_check: file.health_check.map(|located| located.value),
            waf: file.waf.and_then(|waf| self.waf(waf)),
            sensitive_data: self.sensitive_data(file.sensitive_data),
            rulesets: file.rulesets.map_or_else(Vec::new, |located| self.own_rulesets(located)),
            compression: file.compression,
            basic_auth: file
                .basic_auth
                .into_iter()
                .map(|auth| self.basic_auth(auth, name.as_str()))
                .collect(),
            forward_auth: file.forward_auth.into_iter().map(|auth| self.forward_auth(auth)).collect(),
            ..Zone::new(id.clone(), AccountId::new(Account::DEFAULT), name.as_str())
        };
        if let Some(settings) = file.settings {
            self.set(&mut zone, settings);
        }
        let place = file.name.place;
        self.one_form_of_each_phase(&zone, (has_pages, has_cache), &place);
        zone.rulesets.extend(pages.into_iter().chain(cache));
        let zone = Arc::new(Declared::in_file(zone, place.clone()));
        if resources.zones.insert(id, zone).is_some() {
            self.conflict(&place, format!("the zone `{name}` is declared twice"));
        }
    }

    /// `[zones.settings]`: settings by the names that the management API has for them.
    fn set(&mut self, zone: &mut Zone, file: Located<BTreeMap<String, Value>>) {
        let Located { value: settings, place } = file;
        for (id, value) in settings {
            let Some(setting) = zone_settings::all().find(|setting| setting.id == id) else {
                let known: Vec<&str> = zone_settings::all().map(|setting| setting.id).collect();
                let message =
                    format!("`zones.settings` has no `{id}`; expected one of `{}`", known.join("`, `"));
                self.bad(&place, message);
                continue;
            };
            if (setting.set)(zone, &value).is_none() {
                let message =
                    format!("`zones.settings.{id}`: expected {}, found `{value}`", setting.expected);
                self.bad(&place, message);
            }
        }
        if let Err(message) = zone_settings::check(zone) {
            self.bad(&place, message);
        }
    }

    /// `[[zones.rulesets]]`: entry points of a zone, and rulesets that these can run.
    fn own_rulesets(&mut self, file: Located<Vec<Ruleset>>) -> Vec<Ruleset> {
        let Located { value: mut rulesets, place } = file;
        for ruleset in &mut rulesets {
            ruleset.kind = entry_point_or_custom(ruleset.kind, RulesetKind::Zone);
            if ruleset.kind == RulesetKind::Custom && ruleset.id.is_empty() {
                self.bad(&place, NEEDS_ID);
            }
        }
        rulesets
    }

    /// `[[rulesets]]`: those of the account that zones of files belong to.
    pub(super) fn rulesets(&mut self, file: Located<Vec<Ruleset>>, resources: &mut Resources) {
        let account = AccountId::new(Account::DEFAULT);
        for mut ruleset in file.value {
            let phase = ruleset.phase;
            if ruleset.kind == RulesetKind::Custom && ruleset.id.is_empty() {
                self.bad(&file.place, NEEDS_ID);
                continue;
            }
            let kind = entry_point_or_custom(ruleset.kind, RulesetKind::Root);
            ruleset.complete(kind, &format!("{account}/{}", phase.word()), "");
            let message = match kind {
                RulesetKind::Custom => {
                    format!("there are two `rulesets` of the id `{}`; keep one", ruleset.id)
                }
                _ => format!("there are two `rulesets` for phase `{}`; keep one", phase.word()),
            };
            let key = (RulesetOwner::Account(account.clone()), ruleset.slot());
            let declared = Arc::new(Declared::in_file(ruleset, file.place.clone()));
            if resources.rulesets.insert(key, declared).is_some() {
                self.conflict(&file.place, message);
            }
        }
    }

    /// `[zones.waf]`; nothing if one of its settings is invalid.
    fn waf(&mut self, file: WafFile) -> Option<WafSettings> {
        let level = u8::try_from(file.paranoia_level.value).ok().filter(|level| (1..=4).contains(level));
        if level.is_none() {
            self.bad(&file.paranoia_level.place, "`zones.waf.paranoia_level` takes 1 to 4");
        }
        if file.score_threshold.value < 1 {
            self.bad(&file.score_threshold.place, "`zones.waf.score_threshold` must be above 0");
        }
        let action = Action::for_threshold(&file.action.value).map_err(|message| {
            let diagnostic = Diagnostic::error(Code::RulesetBadAction, message);
            self.diagnostics.push(diagnostic.at(file.action.place.clone()));
        });
        Some(WafSettings {
            expression: self.expression(file.expression, Phase::HttpRequestFirewallManaged),
            paranoia_level: level?,
            score_threshold: file.score_threshold.value,
            action: action.ok()?,
            response_rules: file.response_rules,
        })
    }

    fn sensitive_data(&mut self, file: SensitiveDataFile) -> SensitiveDataSettings {
        SensitiveDataSettings {
            enabled: file.enabled,
            expression: self.expression(file.expression, Phase::HttpResponseFirewallManaged),
            payload_key: file.settings.payload_key,
            sample_every: file.settings.sample_every,
        }
    }

    /// A filter expression of a phase; the one for everything if none is given.
    pub(super) fn expression(&mut self, written: Option<Located<String>>, phase: Phase) -> String {
        let Some(Located { value, place }) = written else { return "true".to_owned() };
        // Which lists there are is known when all resources are.
        match Expression::parse_with(&value, phase, &NamedSets::open()) {
            Ok(_) => value,
            Err(mistake) => {
                let diagnostic = Diagnostic::error(Code::RulesetExpression, mistake.to_string());
                self.diagnostics.push(diagnostic.at(place));
                "true".to_owned()
            }
        }
    }

    /// A phase is set by `rulesets` or by its short form.
    fn one_form_of_each_phase(&mut self, zone: &Zone, (has_pages, has_cache): (bool, bool), place: &Place) {
        let short_forms = [
            (Phase::HttpRequestFirewallManaged, zone.waf.is_some()),
            (Phase::HttpResponseFirewallManaged, zone.sensitive_data.enabled),
            (Phase::HttpResponseCompression, !zone.compression.is_empty()),
            (Phase::HttpCustomErrors, has_pages),
            (Phase::HttpRequestCacheSettings, has_cache),
        ];
        for (phase, _) in short_forms.into_iter().filter(|(_, is_set)| *is_set) {
            if zone.rulesets.iter().any(|ruleset| ruleset.slot() == phase.into()) {
                let message = format!(
                    "the zone `{}` sets phase `{}` both by `rulesets` and by its short form; keep one",
                    zone.name,
                    phase.word()
                );
                self.conflict(place, message);
            }
        }
    }
}

/// Why a ruleset of a file is not taken.
const NEEDS_ID: &str =
    "a ruleset of the kind `custom` needs an `id`, by which rules with the action `execute` name it";

/// What a file can say of the kind of a ruleset: that it is none of the entry points that it would be otherwise.
fn entry_point_or_custom(written: RulesetKind, otherwise: RulesetKind) -> RulesetKind {
    if written == RulesetKind::Custom { written } else { otherwise }
}
