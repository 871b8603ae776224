//! IR to program: names to indexes, equal targets and transformation chains shared, patterns and
//! prefilters built.

pub mod program;

use std::collections::HashMap;
use std::sync::Arc;

use crate::data::NameBit;
use crate::expansion::{Expansion, TxNames};
use crate::ir::{
    ActionsIr, Change, CollectionActionIr, CollectionKind, ControlIr, Disruptive, ItemIr, RuleIr, RuleSetIr,
    RulesIr, SelectorIr, SetVariableIr, TargetIr,
};
use crate::macros::{Macro, Part};
use crate::operators::{Argument, Patterns};
use crate::prefilter::Prefilter;
use crate::prefilter::literals::LiteralIndex;
use crate::transformations;
use crate::variables::Changes;
use body::xml_path::XmlPath;
use pattern::ByteSet;
use pattern::Pattern;
use program::{Audit, Meta, Pipeline, Precondition, Selector, SetVariable, Step, Target};
pub use program::{
    ChosenRules, CollectionAction, Control, Group, Link, Program, Reads, Root, TransformedTarget,
};

/// What `deny` answers with where the rule has no `status`.
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

struct Builder<'i> {
    patterns: &'i Patterns,
    roots: &'i [&'i RuleIr],
    /// Whether there is an audit log.
    audits: bool,
    names: TxNames,
    targets: Vec<Target>,
    target_keys: HashMap<String, usize>,
    pipelines: Vec<Pipeline>,
    steps: Vec<&'static transformations::Definition>,
    transformed_targets: Vec<TransformedTarget>,
    cell_keys: HashMap<(usize, usize, bool), usize>,
    groups: Vec<Group>,
    group_keys: HashMap<Vec<usize>, usize>,
    literal_sets: Vec<Vec<Vec<u8>>>,
    literal_keys: HashMap<Vec<Vec<u8>>, u32>,
}

impl<'i> Builder<'i> {
    fn new(patterns: &'i Patterns, roots: &'i [&'i RuleIr], audits: bool) -> Self {
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

    fn root(&mut self, rule: &RuleIr, skip_to: Option<usize>) -> Root {
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

    /// The index of the group of these transformed targets; `None` where values change as rules run.
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
