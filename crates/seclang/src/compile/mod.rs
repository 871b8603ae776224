//! IR to program: names to indexes, equal targets and transformation chains shared, patterns and
//! prefilters built.

mod builder;
pub mod program;

use std::collections::HashMap;
use std::sync::Arc;

use crate::ir::{ActionsIr, CollectionActionIr, ItemIr, RuleIr, RuleSetIr, SelectorIr};
use crate::macros::{Macro, Part};
use crate::prefilter::Prefilter;
use crate::prefilter::literals::LiteralIndex;
use body::xml_path::XmlPath;
use builder::Builder;
use program::Audit;
pub use program::{
    ChosenRules, CollectionAction, Control, Group, Link, Program, Reads, Root, TransformedTarget,
};

/// What `deny` answers with if the rule has no `status`.
const DEFAULT_STATUS: u16 = 403;

/// Compiles rules that lowering found sound. What lowering refused is not in the IR, so nothing
/// here can fail; an operator that does not compile matches nothing.
pub fn optimize(ir: &RuleSetIr) -> Program {
    let mut roots = Vec::new();
    let mut markers: HashMap<&str, Vec<usize>> = HashMap::new();
    for item in &ir.items {
        match item {
            ItemIr::Rule(rule) => roots.push(rule.as_ref()),
            ItemIr::Marker(name) => markers.entry(name).or_default().push(roots.len()),
        }
    }
    let audit = ir.audit.files().map(|files| Audit { settings: ir.audit.clone(), files: Arc::new(files) });
    let mut builder = Builder::new(&ir.patterns, &roots, audit.is_some());
    let compiled: Vec<Root> = roots
        .iter()
        .enumerate()
        .map(|(index, rule)| {
            let skip_to = rule.actions.skip_after.as_deref().and_then(|name| {
                markers.get(name).and_then(|places| places.iter().copied().find(|place| *place > index))
            });
            let skip_to = skip_to.or_else(|| skipped(&roots, index));
            builder.root(rule, skip_to)
        })
        .collect();
    let phases = std::array::from_fn(|phase| {
        compiled
            .iter()
            .enumerate()
            .filter(|(_, root)| root.phase.index() == phase)
            .map(|(index, _)| index)
            .collect()
    });
    let any = |names: fn(&str) -> bool| roots.iter().any(|root| mentions(root, names));
    // Now that every name is known.
    for target in &mut builder.targets {
        if target.variable.name == "TX" && target.tx.is_none() && target.selector.is_some() {
            let names = &builder.names;
            let is_taken = |index: &usize| target.takes(names.name(*index).as_bytes());
            target.tx_taken = Some((0..names.len()).filter(is_taken).collect());
        }
    }
    Program {
        full_request: any(|name| name.starts_with("FULL_REQUEST")),
        received_time: any(|name| name.starts_with("TIME")),
        phases,
        targets: builder.targets,
        pipelines: builder.pipelines,
        steps: builder.steps.len(),
        transformed_targets: builder.transformed_targets,
        groups: builder.groups,
        prefilters: compiled
            .iter()
            .map(|root| {
                root.links.first().map_or_else(Prefilter::default, |link| link.precondition.prefilter)
            })
            .collect(),
        literals: LiteralIndex::of(&builder.literal_sets),
        names: builder.names,
        roots: compiled,
        engine: ir.engine,
        response_body: ir.response_body.clone(),
        collections: Arc::default(),
        record_lifetime: ir.record_lifetime,
        limits: ir.limits,
        web_app_id: ir.web_app_id.clone(),
        response_args: any(|name| name == "RESPONSE_ARGS"),
        xml_paths: xml_paths(&roots),
        components: ir.components.clone(),
        audit,
    }
}

/// The paths of XML that rules take.
fn xml_paths(roots: &[&RuleIr]) -> Vec<(String, XmlPath)> {
    let mut paths = Vec::new();
    for link in roots.iter().flat_map(|root| std::iter::once(*root).chain(&root.chain)) {
        for target in &link.targets {
            let path = target.xml_path(|prefix| link.actions.namespace(prefix));
            let Some((SelectorIr::Name(text), Ok(path))) = target.selector.as_ref().zip(path) else {
                continue;
            };
            if !paths.contains(&(text.clone(), path.clone())) {
                paths.push((text.clone(), path));
            }
        }
    }
    paths
}

/// The status that a rule refuses with.
fn status(actions: &ActionsIr) -> u16 {
    match (actions.status, &actions.redirect) {
        (Some(status @ (301 | 302 | 303 | 307 | 308)), Some(_)) => status,
        (_, Some(_)) => 302,
        (status, None) => status.unwrap_or(DEFAULT_STATUS),
    }
}

/// Whether a root or a link of it names such a variable, in a target or in a macro.
fn mentions(root: &RuleIr, names: fn(&str) -> bool) -> bool {
    let named = |text: &Macro| {
        text.0.iter().any(|part| matches!(part, Part::Variable { variable, .. } if names(variable.name)))
    };
    std::iter::once(root).chain(&root.chain).any(|rule| {
        let actions = &rule.actions;
        let argument = rule.operator.as_ref().and_then(|operator| Macro::parse(&operator.argument).ok());
        rule.targets.iter().any(|target| names(target.variable.name))
            || argument.is_some_and(|argument| named(&argument))
            || actions.collections.iter().flat_map(texts).any(named)
            || named(&actions.msg)
            || named(&actions.logdata)
            || actions.redirect.as_ref().is_some_and(named)
    })
}

/// The texts of an action.
fn texts(action: &CollectionActionIr) -> impl Iterator<Item = &Macro> {
    let (first, second) = match action {
        CollectionActionIr::Set(set) => (&set.name, Some(&set.value)),
        CollectionActionIr::Open { key, .. } => (key, None),
        CollectionActionIr::Expire { name, seconds, .. } => (name, Some(seconds)),
        CollectionActionIr::SetEnvironment { name, value } => (name, Some(value)),
    };
    std::iter::once(first).chain(second)
}

/// The rule after those that `skip` leaves out.
fn skipped(roots: &[&RuleIr], index: usize) -> Option<usize> {
    let rule = roots.get(index)?;
    let count = rule.actions.skip;
    let mut later = roots.iter().enumerate().skip(index + 1).filter(|(_, other)| other.phase == rule.phase);
    (count > 0).then(|| later.nth(count).map_or(roots.len(), |(at, _)| at))
}
