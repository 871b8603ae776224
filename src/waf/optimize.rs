//! IR to program: names to indexes, equal targets and transformation chains shared, patterns and
//! prefilters built.

use std::collections::HashMap;
use std::sync::Arc;

use super::ir::{
    Change, CollectionActionIr, CollectionKind, ControlIr, Disruptive, ItemIr, RuleIr, RuleSetIr, RulesIr,
    SelectorIr, SetVariableIr, TargetIr,
};
use super::macros::{Macro, Part};
use super::matcher::literals::LiteralIndex;
use super::matcher::{
    Cell, ChosenRules, CollectionAction, Control, Expansion, Link, Meta, Program, Root, Selector,
    SetVariable, Step, Target, TxNames, View,
};
use super::operators::{Argument, Patterns};
use super::transformations;
use crate::pattern::Pattern;

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
    let mut builder = Builder::new(&ir.patterns, &roots);
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
        moment: any(|name| name.starts_with("TIME")),
        roots: compiled,
        phases,
        targets: builder.targets,
        views: builder.views,
        steps: builder.steps.len(),
        cells: builder.cells,
        literals: LiteralIndex::of(&builder.literal_sets),
        names: builder.names,
        engine: ir.engine,
        response_body: ir.response_body.clone(),
        collections: Arc::default(),
        record_lifetime: ir.record_lifetime,
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
            || actions.collections.iter().any(|action| match action {
                CollectionActionIr::Set(set) => named(&set.value) || named(&set.name),
                CollectionActionIr::Open { key, .. } => named(key),
                CollectionActionIr::Expire { name, seconds, .. } => named(name) || named(seconds),
                CollectionActionIr::SetEnvironment { name, value } => named(name) || named(value),
            })
            || named(&actions.msg)
            || named(&actions.logdata)
    })
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
    names: TxNames,
    targets: Vec<Target>,
    target_keys: HashMap<String, usize>,
    views: Vec<View>,
    steps: Vec<&'static transformations::Definition>,
    cells: Vec<Cell>,
    cell_keys: HashMap<Cell, usize>,
    literal_sets: Vec<Vec<Vec<u8>>>,
    literal_keys: HashMap<Vec<Vec<u8>>, u32>,
}

impl<'i> Builder<'i> {
    fn new(patterns: &'i Patterns, roots: &'i [&'i RuleIr]) -> Self {
        Self {
            patterns,
            roots,
            names: TxNames::default(),
            targets: Vec::new(),
            target_keys: HashMap::new(),
            views: vec![View { parent: 0, step: None, chain: vec![0] }],
            steps: Vec::new(),
            cells: Vec::new(),
            cell_keys: HashMap::new(),
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
        Root {
            id: rule.id,
            phase: rule.phase,
            meta,
            disruptive: actions.disruptive.filter(|d| *d != Disruptive::Block),
            status: actions.status.unwrap_or(DEFAULT_STATUS),
            log: actions.log.unwrap_or(true),
            told: actions.log.unwrap_or(true) || mentions(rule, |name| name.starts_with("MATCHED_VAR")),
            own_rule: mentions(rule, |name| name == "RULE"),
            skip_to,
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
            };
            (operator.definition.compile)(&mut argument).ok()
        });
        let targets: Vec<usize> = rule.targets.iter().map(|target| self.target(target)).collect();
        let view = self.view(&rule.transformations);
        let negated = rule.operator.as_ref().is_some_and(|operator| operator.negated);
        // What a negated operator does not find is what it matches.
        let is_asked =
            !negated && test.as_ref().is_some_and(|t| t.literals().is_some() || t.prefilter().is_some());
        let each = rule.actions.multi_match;
        let cell = |target: &usize| self.cell(Cell { target: *target, view, each }).filter(|_| is_asked);
        let cells = targets.iter().map(cell).collect();
        let literals = test.as_ref().and_then(|test| test.literals()).map(|set| self.literals(set));
        Link {
            literals,
            cells,
            targets,
            test,
            negated,
            view,
            multi_match: rule.actions.multi_match,
            capture: rule.actions.capture,
            collections: rule.actions.collections.iter().map(|a| self.collection_action(a)).collect(),
            controls: rule.actions.controls.iter().filter_map(|ir| control(ir, self.roots)).collect(),
            logdata: Expansion::of(&rule.actions.logdata, &mut self.names),
        }
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

    /// The index of a cell, if its values stay as they are.
    fn cell(&mut self, cell: Cell) -> Option<usize> {
        self.targets.get(cell.target).filter(|target| !target.variable.volatile)?;
        Some(*self.cell_keys.entry(cell).or_insert_with(|| {
            self.cells.push(cell);
            self.cells.len() - 1
        }))
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
            count: ir.count,
            exclusions: ir.exclusions.iter().filter_map(selector).collect(),
        };
        self.targets.push(target);
        self.target_keys.insert(key, self.targets.len() - 1);
        self.targets.len() - 1
    }

    /// The node of a chain of transformations; chains share what they have in common.
    fn view(&mut self, chain: &[&'static transformations::Definition]) -> usize {
        let mut view = 0;
        for transformation in chain.iter().filter(|step| step.name != "none") {
            let known = self.steps.iter().position(|step| step == transformation);
            let number = known.unwrap_or_else(|| {
                self.steps.push(transformation);
                self.steps.len() - 1
            });
            let known = self
                .views
                .iter()
                .position(|other| other.parent == view && other.step.is_some_and(|s| s.number == number));
            view = known.unwrap_or_else(|| {
                let step = Some(Step { number, apply: transformation.apply });
                let mut chain = self.views.get(view).map_or_else(Vec::new, |parent| parent.chain.clone());
                chain.push(self.views.len());
                self.views.push(View { parent: view, step, chain });
                self.views.len() - 1
            });
        }
        view
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
