//! The parts of a program while rules are added one by one: equal names, targets and groups are found again.

use crate::compile::mentions;
use crate::compile::texts;
use std::collections::HashMap;

use super::program::{ChosenRules, CollectionAction, Control, Group, Link, Reads, Root, TransformedTarget};
use super::program::{Meta, Pipeline, Precondition, Selector, SetVariable, Step, Target};
use crate::data::NameBit;
use crate::expansion::{Expansion, TxNames};
use crate::ir::{
    Change, CollectionActionIr, CollectionKind, ControlIr, Disruptive, RuleIr, RulesIr, SelectorIr,
    SetVariableIr, TargetIr,
};
use crate::macros::{Macro, Part};
use crate::operators::{Argument, Patterns};
use crate::transformations;
use crate::variables::Changes;
use pattern::ByteSet;
use pattern::Pattern;

use super::status;

pub(super) struct Builder<'i> {
    patterns: &'i Patterns,
    roots: &'i [&'i RuleIr],
    /// Whether there is an audit log.
    audits: bool,
    pub(super) names: TxNames,
    pub(super) targets: Vec<Target>,
    target_keys: HashMap<String, usize>,
    pub(super) pipelines: Vec<Pipeline>,
    pub(super) steps: Vec<&'static transformations::Definition>,
    pub(super) transformed_targets: Vec<TransformedTarget>,
    cell_keys: HashMap<(usize, usize, bool), usize>,
    pub(super) groups: Vec<Group>,
    group_keys: HashMap<Vec<usize>, usize>,
    pub(super) literal_sets: Vec<Vec<Vec<u8>>>,
    literal_keys: HashMap<Vec<Vec<u8>>, u32>,
}

impl<'i> Builder<'i> {
    pub(super) fn new(patterns: &'i Patterns, roots: &'i [&'i RuleIr], audits: bool) -> Self {
        Self {
            patterns,
            roots,
            audits,
            names: TxNames::default(),
            targets: Vec::new(),
            target_keys: HashMap::new(),
            // The first is that of values as they came.
            pipelines: vec![Pipeline { steps: Vec::new(), touches: Some(ByteSet::EMPTY) }],
            steps: Vec::new(),
            transformed_targets: Vec::new(),
            cell_keys: HashMap::new(),
            groups: Vec::new(),
            group_keys: HashMap::new(),
            literal_sets: Vec::new(),
            literal_keys: HashMap::new(),
        }
    }

    pub(super) fn root(&mut self, rule: &RuleIr, skip_to: Option<usize>) -> Root {
        let actions = &rule.actions;
        let meta = Meta {
            msg: Expansion::of(&actions.msg, &mut self.names),
            msg_text: actions.msg.to_string(),
            logdata: Expansion::of(&actions.logdata, &mut self.names),
            tags: actions.tags.clone(),
            severity: actions.severity,
            version: actions.version.clone(),
            place: rule.place.label(),
        };
        let links = std::iter::once(rule).chain(&rule.chain).map(|link| self.link(link)).collect();
        let log = actions.log.unwrap_or(true);
        let audit = self.audits && actions.audit_log.unwrap_or(log);
        Root {
            id: rule.id,
            phase: rule.phase,
            meta,
            disruptive: actions.disruptive.filter(|d| *d != Disruptive::Block),
            status: status(actions),
            redirect: actions.redirect.as_ref().map(|address| Expansion::of(address, &mut self.names)),
            log,
            audit,
            told: log || audit || mentions(rule, |name| name.starts_with("MATCHED_VAR")),
            own_rule: mentions(rule, |name| name == "RULE"),
            skip_to,
            told_reads: self.reads_of_texts(
                [&actions.msg, &actions.logdata].into_iter().chain(actions.redirect.as_ref()),
            ),
            links,
        }
    }

    fn link(&mut self, rule: &RuleIr) -> Link {
        let test = rule.operator.as_ref().and_then(|operator| {
            let mut argument = Argument {
                text: &operator.argument,
                lines: &operator.lines,
                names: &mut self.names,
                patterns: self.patterns,
                geo: operator.geo.as_ref(),
            };
            (operator.definition.compile)(&mut argument).ok()
        });
        let pipeline = self.pipeline(&rule.transformations);
        let each = rule.actions.multi_match;
        let targets: Vec<usize> = rule.targets.iter().map(|target| self.target(target)).collect();
        let transformed_targets: Vec<usize> =
            targets.into_iter().map(|target| self.transformed_target(target, pipeline, each)).collect();
        let precondition = Precondition {
            literals: test.as_ref().and_then(|test| test.literals()).map(|set| self.literals(set)),
            prefilter: test.as_ref().and_then(|test| test.prefilter()).copied().unwrap_or_default(),
        };
        Link {
            group: self.group(&transformed_targets).filter(|_| test.is_some()),
            transformed_targets,
            test,
            negated: rule.operator.as_ref().is_some_and(|operator| operator.negated),
            precondition,
            pipeline,
            multi_match: rule.actions.multi_match,
            capture: rule.actions.capture,
            collections: rule.actions.collections.iter().map(|a| self.collection_action(a)).collect(),
            controls: rule.actions.controls.iter().filter_map(|ir| control(ir, self.roots)).collect(),
            logdata: Expansion::of(&rule.actions.logdata, &mut self.names),
            asks: self.asks(rule),
            sets: self.sets(&rule.actions.collections),
        }
    }

    /// What the targets of a link read, and its operator.
    fn asks(&mut self, rule: &RuleIr) -> Reads {
        let argument = rule.operator.as_ref().and_then(|operator| Macro::parse(&operator.argument).ok());
        let mut reads = self.reads_of_texts(&argument);
        for target in &rule.targets {
            match &target.selector {
                _ if target.variable.name != "TX" => reads.others = true,
                Some(SelectorIr::Name(name)) if target.exclusions.is_empty() => {
                    reads.entries.push(self.names.intern(name));
                }
                _ => reads.all = true,
            }
        }
        reads
    }

    /// What goes into the variables that a link sets.
    fn sets(&mut self, actions: &[CollectionActionIr]) -> Reads {
        let mut reads = self.reads_of_texts(actions.iter().flat_map(texts));
        for action in actions {
            match action {
                CollectionActionIr::Set(set) if set.collection == CollectionKind::Tx => {
                    // What is added to is read.
                    let changed =
                        set.name.literal().filter(|_| matches!(set.change, Change::Add | Change::Subtract));
                    reads.entries.extend(changed.map(|name| self.names.intern(name)));
                }
                _ => reads.others = true,
            }
        }
        reads
    }

    fn reads_of_texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t Macro>) -> Reads {
        let mut reads = Reads::default();
        for part in texts.into_iter().flat_map(|text| &text.0) {
            match part {
                Part::Literal(_) => {}
                Part::Variable { variable, .. } if variable.name != "TX" => reads.others = true,
                Part::Variable { selector: Some(name), .. } => reads.entries.push(self.names.intern(name)),
                Part::Variable { selector: None, .. } => reads.all = true,
            }
        }
        reads
    }

    /// The number of an equal set of literals, or of a new one.
    fn literals(&mut self, set: &[Vec<u8>]) -> u32 {
        if let Some(known) = self.literal_keys.get(set) {
            return *known;
        }
        let number = u32::try_from(self.literal_sets.len()).unwrap_or(u32::MAX);
        self.literal_sets.push(set.to_vec());
        self.literal_keys.insert(set.to_vec(), number);
        number
    }

    /// The index of an equal transformed target, or of a new one.
    fn transformed_target(&mut self, target: usize, pipeline: usize, each: bool) -> usize {
        // `multiMatch` without transformations is no different.
        let each = each && pipeline > 0;
        if let Some(known) = self.cell_keys.get(&(target, pipeline, each)) {
            return *known;
        }
        let plain = (pipeline > 0).then(|| self.transformed_target(target, 0, false));
        let index = self.transformed_targets.len();
        let changes = self.targets.get(target).map_or(Changes::WithRules, |target| target.variable.changes);
        self.transformed_targets.push(TransformedTarget {
            target,
            pipeline,
            each,
            plain: plain.unwrap_or(index),
            changes,
        });
        self.cell_keys.insert((target, pipeline, each), index);
        index
    }

    /// The index of the group of these transformed targets; `None` if values change as rules run.
    fn group(&mut self, transformed_targets: &[usize]) -> Option<usize> {
        if let Some(known) = self.group_keys.get(transformed_targets) {
            return Some(*known);
        }
        let of: Vec<TransformedTarget> = transformed_targets
            .iter()
            .filter_map(|transformed_target| self.transformed_targets.get(*transformed_target).copied())
            .collect();
        let changes = of
            .iter()
            .map(|transformed_target| transformed_target.changes)
            .max()
            .filter(|most| *most < Changes::WithRules)?;
        let plain: Vec<usize> = of.iter().map(|transformed_target| transformed_target.plain).collect();
        let plain = if plain == transformed_targets { None } else { self.group(&plain) };
        let pipeline =
            of.first().and_then(|transformed_target| self.pipelines.get(transformed_target.pipeline));
        let touches = pipeline.map_or(Some(ByteSet::EMPTY), |pipeline| pipeline.touches);
        let index = self.groups.len();
        self.groups.push(Group {
            transformed_targets: transformed_targets.to_vec(),
            plain: plain.unwrap_or(index),
            touches,
            changes,
        });
        self.group_keys.insert(transformed_targets.to_vec(), index);
        Some(index)
    }

    /// The index of an equal target, or of a new one.
    fn target(&mut self, ir: &TargetIr) -> usize {
        let key = format!("{ir}");
        if let Some(index) = self.target_keys.get(&key) {
            return *index;
        }
        let tx = match &ir.selector {
            Some(SelectorIr::Name(name)) if ir.variable.name == "TX" => Some(self.names.intern(name)),
            _ => None,
        };
        let target = Target {
            variable: ir.variable,
            tx: tx.filter(|_| ir.exclusions.is_empty()),
            tx_taken: None,
            selector: ir.selector.as_ref().and_then(selector),
            header: match &ir.selector {
                Some(SelectorIr::Name(name)) if ir.variable.name == "REQUEST_HEADERS" => {
                    Some(NameBit::of(name.as_bytes()))
                }
                _ => None,
            },
            count: ir.count,
            exclusions: ir.exclusions.iter().filter_map(selector).collect(),
        };
        self.targets.push(target);
        self.target_keys.insert(key, self.targets.len() - 1);
        self.targets.len() - 1
    }

    /// The index of an equal chain of transformations, or of a new one.
    fn pipeline(&mut self, chain: &[&'static transformations::Definition]) -> usize {
        let chain = chain.iter().filter(|transformation| transformation.name != "none");
        let steps: Vec<Step> = chain.map(|transformation| self.step(transformation)).collect();
        let numbers = |steps: &[Step]| steps.iter().map(|step| step.number).collect::<Vec<_>>();
        let wanted = numbers(&steps);
        let known = self.pipelines.iter().position(|pipeline| numbers(&pipeline.steps) == wanted);
        known.unwrap_or_else(|| {
            let touches = steps
                .iter()
                .map(|step| step.touches)
                .reduce(|one, other| Some(one?.union(&other?)))
                .unwrap_or(Some(ByteSet::EMPTY));
            self.pipelines.push(Pipeline { steps, touches });
            self.pipelines.len() - 1
        })
    }

    fn step(&mut self, transformation: &'static transformations::Definition) -> Step {
        let known = self.steps.iter().position(|step| *step == transformation);
        let number = known.unwrap_or_else(|| {
            self.steps.push(transformation);
            self.steps.len() - 1
        });
        Step { number, apply: transformation.apply, touches: transformation.touches }
    }

    fn set_variable(&mut self, ir: &SetVariableIr) -> SetVariable {
        let index = ir
            .name
            .literal()
            .filter(|_| ir.collection == CollectionKind::Tx)
            .map(|name| self.names.intern(name));
        let scores = ir.collection == CollectionKind::Tx && ir.change == Change::Add;
        SetVariable {
            collection: ir.collection,
            name: Expansion::of(&ir.name, &mut self.names),
            index,
            change: ir.change,
            value: Expansion::of(&ir.value, &mut self.names),
            scores_level: ir.name.literal().filter(|_| scores).and_then(scored_level),
        }
    }

    fn collection_action(&mut self, ir: &CollectionActionIr) -> CollectionAction {
        let mut of = |text| Expansion::of(text, &mut self.names);
        match ir {
            CollectionActionIr::Set(set) => CollectionAction::Set(self.set_variable(set)),
            CollectionActionIr::Open { kind, key } => CollectionAction::Open { kind: *kind, key: of(key) },
            CollectionActionIr::Expire { kind, name, seconds } => {
                CollectionAction::Expire { kind: *kind, name: of(name), seconds: of(seconds) }
            }
            CollectionActionIr::SetEnvironment { name, value } => {
                CollectionAction::SetEnvironment { name: of(name), value: of(value) }
            }
        }
    }
}

/// `inbound_anomaly_score_pl2` counts for level 2.
fn scored_level(name: &str) -> Option<u8> {
    let name = name.to_ascii_lowercase();
    let level =
        name.strip_prefix("inbound_anomaly_score_pl").or_else(|| name.strip_prefix("anomaly_score_pl"))?;
    level.parse().ok().filter(|level| (1..=4).contains(level))
}

fn selector(ir: &SelectorIr) -> Option<Selector> {
    match ir {
        SelectorIr::Name(name) => Some(Selector::Name(name.as_bytes().into())),
        // INVARIANT: lowering compiled the same pattern once.
        SelectorIr::Pattern(pattern) => Pattern::new(&format!("(?i){pattern}")).ok().map(Selector::Pattern),
    }
}

fn control(ir: &ControlIr, roots: &[&RuleIr]) -> Option<Control> {
    Some(match ir {
        ControlIr::RuleEngine(mode) => Control::RuleEngine(*mode),
        ControlIr::RemoveRules(rules) => Control::RemoveRules(chosen(rules, roots)?),
        ControlIr::RemoveTargets { rules, variable, selector: chosen_values } => Control::RemoveTargets {
            rules: chosen(rules, roots)?,
            variable,
            selector: match chosen_values {
                Some(ir) => Some(selector(ir)?),
                None => None,
            },
        },
        ControlIr::BodyProcessor(name) => Control::BodyProcessor(name.clone()),
        ControlIr::ForceBodyVariable(on) => Control::ForceBodyVariable(*on),
        ControlIr::ResponseBodyAccess(on) => Control::ResponseBodyAccess(*on),
    })
}

/// For each root whether it is one of these rules.
fn chosen(rules: &RulesIr, roots: &[&RuleIr]) -> Option<ChosenRules> {
    let is_meant = rules.test().ok()?;
    Some(ChosenRules(roots.iter().map(|root| is_meant(root)).collect()))
}
