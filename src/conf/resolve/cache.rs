//! `[zones.cache]` resolved: a rule that has responses kept.

use super::Resolving;
use crate::conf::table::Located;
use crate::conf::zone_file::CacheFile;
use model::cache_settings::{CacheParameters, EdgeTtl, EdgeTtlMode};
use model::ruleset::{ActionParameters, Rule, Ruleset, RulesetKind};
use model::{Action, Phase};

impl Resolving<'_> {
    /// The entry point of a zone with this rule.
    pub(super) fn cache(&mut self, file: CacheFile) -> Ruleset {
        let edge_ttl = file.ttl.map(|Located { value: ttl, place }| {
            let seconds = u32::try_from(ttl.as_secs()).ok();
            let seconds = seconds.filter(|seconds| EdgeTtl::SECONDS.contains(seconds));
            if seconds.is_none() || ttl.subsec_nanos() != 0 {
                self.bad(&place, "`zones.cache.ttl` takes whole seconds, up to a year (`8760h`)");
            }
            EdgeTtl { mode: EdgeTtlMode::RespectOrigin, default: seconds, status_code_ttl: Vec::new() }
        });
        let parameters = CacheParameters { cache: Some(true), edge_ttl, ..CacheParameters::default() };
        let phase = Phase::HttpRequestCacheSettings;
        let rule = Rule {
            expression: self.expression(file.expression, phase),
            action_parameters: Some(ActionParameters::SetCacheSettings(parameters)),
            ..Rule::new(Action::SetCacheSettings)
        };
        Ruleset { rules: vec![rule], ..Ruleset::new(RulesetKind::Zone, phase) }
    }
}
