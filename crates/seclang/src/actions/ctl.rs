//! Changes the engine for this transaction.

use super::{Definition, Lowered, Refusal, bad, engine_mode, id_range, required, switch, variables};
use crate::ir::{ActionsIr, ControlIr, RulesIr, SelectorIr};

pub(super) const DEFINITION: Definition =
    Definition { name: "ctl", summary: "Changes the engine for this transaction.", lower };

/// What `ctl:requestBodyProcessor` may name.
const PROCESSORS: [&str; 4] = ["JSON", "MULTIPART", "URLENCODED", "XML"];

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
            let rules = ids(argument)?.into_iter().map(ControlIr::RemoveRules);
            actions.controls.extend(rules);
            return Ok(());
        }
        "ruleremovebytag" => ControlIr::RemoveRules(RulesIr::Tag(pattern(argument)?)),
        "ruleremovebymsg" => ControlIr::RemoveRules(RulesIr::Msg(pattern(argument)?)),
        "ruleremovetargetbyid" => return remove_target(argument, actions, ids),
        "ruleremovetargetbytag" => {
            return remove_target(argument, actions, |text| Ok(vec![RulesIr::Tag(pattern(text)?)]));
        }
        "ruleremovetargetbymsg" => {
            return remove_target(argument, actions, |text| Ok(vec![RulesIr::Msg(pattern(text)?)]));
        }
        "requestbodyprocessor" => match argument.to_ascii_uppercase() {
            name if PROCESSORS.contains(&name.as_str()) => ControlIr::BodyProcessor(name),
            name => return bad(format!("expected one of {}, found `{name}`", PROCESSORS.join(", "))),
        },
        "forcerequestbodyvariable" => ControlIr::ForceBodyVariable(on_or_off(argument)?),
        "responsebodyaccess" => ControlIr::ResponseBodyAccess(on_or_off(argument)?),
        "requestbodyaccess" => {
            return Err(Refusal::NoEffect(
                "`ctl:requestBodyAccess` has no effect: bodies are always inspected".to_owned(),
            ));
        }
        "auditengine" | "auditlogparts" | "debugloglevel" => {
            return Err(Refusal::NoEffect(format!(
                "`ctl:{option}` has no effect: it is set for all requests alike"
            )));
        }
        other => return Err(Refusal::NoEffect(format!("`ctl:{other}` has no effect here"))),
    };
    actions.controls.push(control);
    Ok(())
}

/// `942100;ARGS:password`
fn remove_target(
    argument: &str,
    actions: &mut ActionsIr,
    rules: impl Fn(&str) -> Result<Vec<RulesIr>, Refusal>,
) -> Lowered {
    let Some((which, target)) = argument.split_once(';') else {
        return Err(Refusal::Bad(format!("expected `rules;VARIABLE`, found `{argument}`")));
    };
    let rules = rules(which)?;
    let (name, selector) =
        target.split_once(':').map_or((target, None), |(name, selector)| (name, Some(selector)));
    let Some(variable) = variables::find(name.trim()) else {
        return Err(Refusal::Bad(format!("unknown variable `{name}`")));
    };
    let selector = selector.map(|text| match text.strip_prefix('/').and_then(|t| t.strip_suffix('/')) {
        Some(pattern) => SelectorIr::Pattern(pattern.to_owned()),
        None => SelectorIr::Name(text.to_ascii_lowercase()),
    });
    if let Some(SelectorIr::Pattern(text)) = &selector {
        pattern(text)?;
    }
    let controls = rules.into_iter().map(|rules| ControlIr::RemoveTargets {
        rules,
        variable,
        selector: selector.clone(),
    });
    actions.controls.extend(controls);
    Ok(())
}

/// `942100`, `942000-942999`, or several of both.
fn ids(text: &str) -> Result<Vec<RulesIr>, Refusal> {
    let words = text.split([' ', ',']).filter(|word| !word.is_empty());
    let ids: Option<Vec<_>> =
        words.map(|word| id_range(word).map(|(first, last)| RulesIr::Ids { first, last })).collect();
    ids.filter(|ids| !ids.is_empty())
        .ok_or_else(|| Refusal::Bad(format!("expected rule ids or ranges of ids, found `{text}`")))
}

fn pattern(text: &str) -> Result<String, Refusal> {
    let text = text.trim();
    pattern::Pattern::new(text).map_err(Refusal::Bad)?;
    Ok(text.to_owned())
}

fn on_or_off(text: &str) -> Result<bool, Refusal> {
    switch(text).ok_or_else(|| Refusal::Bad(format!("expected `On` or `Off`, found `{text}`")))
}
