//! Changes the engine for this transaction.

use super::{Definition, Lowered, Refusal, bad, engine_mode, id_range, required, variables};
use crate::waf::ir::{ActionsIr, ControlIr, SelectorIr};

pub(super) const DEFINITION: Definition =
    Definition { name: "ctl", summary: "Changes the engine for this transaction.", lower };

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    let text = required(value, "ctl:ruleRemoveById=942100")?;
    let Some((option, argument)) = text.split_once('=') else {
        return bad(format!("expected `option=value`, found `{text}`"));
    };
    let argument = argument.trim();
    let control = match option.trim().to_ascii_lowercase().as_str() {
        "ruleengine" => match engine_mode(argument) {
            Some(mode) => ControlIr::RuleEngine(mode),
            None => return bad(format!("expected `On`, `Off` or `DetectionOnly`, found `{argument}`")),
        },
        "ruleremovebyid" => {
            let (first, last) = ids(argument)?;
            ControlIr::RemoveById { first, last }
        }
        "ruleremovebytag" => ControlIr::RemoveByTag(argument.to_owned()),
        "ruleremovetargetbyid" => remove_target(argument)?,
        "requestbodyprocessor" => ControlIr::BodyProcessor(argument.to_ascii_uppercase()),
        other => return Err(Refusal::NoEffect(format!("`ctl:{other}` has no effect here"))),
    };
    actions.controls.push(control);
    Ok(())
}

/// `942100;ARGS:password`
fn remove_target(argument: &str) -> Result<ControlIr, Refusal> {
    let Some((range, target)) = argument.split_once(';') else {
        return Err(Refusal::Bad(format!("expected `id;VARIABLE`, found `{argument}`")));
    };
    let (first, last) = ids(range)?;
    let (name, selector) =
        target.split_once(':').map_or((target, None), |(name, selector)| (name, Some(selector)));
    let Some(variable) = variables::find(name.trim()) else {
        return Err(Refusal::Bad(format!("unknown variable `{name}`")));
    };
    let selector = selector.map(|text| match text.strip_prefix('/').and_then(|t| t.strip_suffix('/')) {
        Some(pattern) => SelectorIr::Pattern(pattern.to_owned()),
        None => SelectorIr::Name(text.to_ascii_lowercase()),
    });
    if let Some(SelectorIr::Pattern(pattern)) = &selector {
        crate::pattern::Pattern::new(pattern).map_err(Refusal::Bad)?;
    }
    Ok(ControlIr::RemoveTargetById { first, last, variable, selector })
}

fn ids(text: &str) -> Result<(u64, u64), Refusal> {
    id_range(text)
        .ok_or_else(|| Refusal::Bad(format!("expected a rule id or a range of ids, found `{text}`")))
}
