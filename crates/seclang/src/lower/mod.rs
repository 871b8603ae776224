//! AST to IR: names, defaults, chains and ids resolved; every error collected.

mod directive;
mod rule;
mod update;

use std::collections::{HashMap, HashSet};

use super::Phase;
use super::ir::{ActionsIr, ItemIr, OperatorIr, RuleIr, RuleSetIr, RulesIr, SelectorIr, TargetIr, exclude};
use super::syntax::Loader;
use super::syntax::ast::{ItemAst, SelectorAst, UpdateBy, VariableAst};
use super::{operators, transformations, variables};
use diagnostic::{Code, Diagnostic, Diagnostics, Place, nearest};

pub(crate) use directive::{engine_mode, switch};

/// Lowers the items of a rule set.
pub fn lower(items: Vec<ItemAst>, loader: &dyn Loader, diagnostics: &mut Diagnostics) -> RuleSetIr {
    let patterns = operators::Patterns::compile(items.iter().filter_map(|item| needle_of(item, loader)));
    let set = RuleSetIr { patterns, ..RuleSetIr::default() };
    let mut lowering = Lowering {
        loader,
        diagnostics,
        set,
        defaults: HashMap::new(),
        open: None,
        datasets: HashMap::new(),
        updates: Vec::new(),
        without_id: 0,
        audit_engine: None,
    };
    for item in items {
        lowering.item(item);
    }
    lowering.close_chain();
    lowering.finish_updates();
    lowering.check_ids();
    lowering.check_markers();
    lowering.check_audit();
    lowering.set
}

/// What a rule searches with. What cannot be read is reported where the rule is lowered.
fn needle_of(item: &ItemAst, loader: &dyn Loader) -> Option<operators::Needle> {
    let ItemAst::Rule { operator, .. } = item else { return None };
    let lines = || rule::lines(loader, operator).unwrap_or_default();
    operators::find(&operator.name)?.needle(&operator.argument, lines)
}

struct Lowering<'a> {
    loader: &'a dyn Loader,
    diagnostics: &'a mut Diagnostics,
    set: RuleSetIr,
    defaults: HashMap<Phase, ActionsIr>,
    /// The root of a chain whose last link asks for one more.
    open: Option<Box<RuleIr>>,
    /// `SecDataset`: names and lines.
    datasets: HashMap<String, Vec<String>>,
    /// Changes to rules, with the ids of those that they have reached.
    updates: Vec<(update::Update, HashSet<u64>)>,
    /// How many rules had no id.
    without_id: u64,
    /// Where the last `SecAuditEngine` stands.
    audit_engine: Option<Place>,
}

/// Rules without an id of their own are numbered from here on.
const FIRST_OWN_ID: u64 = 9_000_000_001;

impl Lowering<'_> {
    fn item(&mut self, item: ItemAst) {
        match item {
            ItemAst::Rule { variables, operator, actions, place } => {
                let targets = targets(&variables, self.diagnostics);
                let operator = self.operator(operator);
                self.warn_of_block_list(targets.as_deref(), operator.as_ref(), &place);
                self.rule(targets, operator, &actions, place);
            }
            ItemAst::Action { actions, place } => self.rule(Some(Vec::new()), Some(None), &actions, place),
            ItemAst::DefaultAction { actions, place } => self.default_action(&actions, &place),
            ItemAst::Marker { name } => {
                self.close_chain();
                self.set.items.push(ItemIr::Marker(name));
            }
            ItemAst::UpdateTarget { by, key, variables, replaced } => {
                self.update_target(by, key, &variables, &replaced);
            }
            ItemAst::Directive { name, arguments } => self.directive(&name, &arguments),
        }
    }

    fn error(&mut self, code: Code, place: Place, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(code, message).at(place));
    }

    fn warn(&mut self, code: Code, place: Place, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::warning(code, message).at(place));
    }

    /// What a client says is looked up nowhere.
    fn warn_of_block_list(
        &mut self,
        targets: Option<&[TargetIr]>,
        operator: Option<&Option<OperatorIr>>,
        place: &Place,
    ) {
        let is_block_list = matches!(operator, Some(Some(operator)) if operator.definition.name == "rbl");
        let others =
            targets.unwrap_or_default().iter().filter(|target| target.variable.name != "REMOTE_ADDR");
        for target in others.filter(|_| is_block_list) {
            let message =
                format!("`@rbl` finds nothing in `{target}`: only `REMOTE_ADDR` is looked up in block lists");
            self.diagnostics.push(Diagnostic::warning(Code::SecLangUnsupported, message).at(place.clone()));
        }
    }

    fn close_chain(&mut self) {
        if let Some(root) = self.open.take() {
            let message = format!(
                "the chain of rule {} ends with a link that asks for one more; remove its `chain` or add the next rule",
                root.id
            );
            self.warn(Code::SecLangBadChain, root.place.clone(), message);
            self.set.items.push(ItemIr::Rule(root));
        }
    }

    fn roots_mut(&mut self) -> impl Iterator<Item = &mut RuleIr> {
        self.set.items.iter_mut().filter_map(|item| match item {
            ItemIr::Rule(rule) => Some(rule.as_mut()),
            ItemIr::Marker(_) => None,
        })
    }

    fn check_ids(&mut self) {
        let mut seen: HashMap<u64, Place> = HashMap::new();
        let mut duplicates = Vec::new();
        for rule in self.set.roots() {
            if let Some(first) = seen.insert(rule.id, rule.place.clone()) {
                duplicates.push((rule.id, rule.place.clone(), first));
            }
        }
        for (id, place, first) in duplicates.into_iter().filter(|(id, ..)| *id != 0) {
            self.error(
                Code::SecLangDuplicateId,
                place,
                format!("the id {id} is already used at {}", first.label()),
            );
        }
    }

    fn check_markers(&mut self) {
        let mut ahead: Vec<&str> = Vec::new();
        let mut missing = Vec::new();
        for item in self.set.items.iter().rev() {
            match item {
                ItemIr::Marker(name) => ahead.push(name),
                ItemIr::Rule(rule) => {
                    let wanted = rule.actions.skip_after.as_deref().filter(|name| !ahead.contains(name));
                    missing.extend(wanted.map(|name| (rule.place.clone(), name.to_owned())));
                }
            }
        }
        for (place, name) in missing {
            self.error(
                Code::SecLangMissingMarker,
                place,
                format!("no `SecMarker {name}` follows this rule; add it after the rules to skip"),
            );
        }
    }
}

/// The rules that an id list, a tag's pattern or a message's pattern means.
fn rules(by: UpdateBy, key: &str) -> Result<Vec<RulesIr>, String> {
    let ids = |text: &str| {
        let range = id_range(text).map(|(first, last)| RulesIr::Ids { first, last });
        range.ok_or_else(|| format!("expected rule ids such as `942100` or `942000-942999`, found `{key}`"))
    };
    match by {
        UpdateBy::Id => key.split([' ', ',']).filter(|text| !text.is_empty()).map(ids).collect(),
        UpdateBy::Tag => Ok(vec![RulesIr::Tag(key.to_owned())]),
        UpdateBy::Msg => Ok(vec![RulesIr::Msg(key.to_owned())]),
    }
}

/// `942100` or `942000-942999`
pub(crate) fn id_range(text: &str) -> Option<(u64, u64)> {
    let text = text.trim().trim_matches('"');
    match text.split_once('-') {
        Some((first, last)) => Some((first.trim().parse().ok()?, last.trim().parse().ok()?)),
        None => text.parse().ok().map(|id| (id, id)),
    }
}

/// A rule's variables; `None` if one of them is unknown.
fn targets(list: &[VariableAst], diagnostics: &mut Diagnostics) -> Option<Vec<TargetIr>> {
    let (mut found, mut exclusions, mut sound) = (Vec::new(), Vec::new(), true);
    for ast in list {
        match target(ast) {
            Ok(target) if ast.exclude => exclusions.push(target),
            Ok(target) => {
                warn_of_xpath(&target, &ast.place, diagnostics);
                found.push(target);
            }
            Err(diagnostic) => {
                sound = false;
                diagnostics.push(*diagnostic);
            }
        }
    }
    exclude(&mut found, &exclusions);
    sound.then_some(found)
}

/// Of XPath location paths of names are known.
fn warn_of_xpath(target: &TargetIr, place: &Place, diagnostics: &mut Diagnostics) {
    let Some(Err(reason)) = target.xml_path(|_| Some(String::new())) else { return };
    let message = format!("`{target}` finds nothing: {reason}");
    diagnostics.push(Diagnostic::warning(Code::SecLangUnsupported, message).at(place.clone()));
}

fn target(ast: &VariableAst) -> Result<TargetIr, Box<Diagnostic>> {
    let variable = variables::find(&ast.name).ok_or_else(|| {
        unknown(
            Code::SecLangUnknownVariable,
            "variable",
            &ast.name,
            &ast.place,
            variables::ALL.iter().map(|d| d.name),
        )
    })?;
    let selector = ast.selector.as_ref().map(|ast| selector(ast, variable));
    if let Some(SelectorIr::Pattern(pattern)) = &selector {
        pattern::Pattern::new(pattern).map_err(|reason| {
            let message = format!("the selector `/{pattern}/` cannot be compiled: {reason}");
            Box::new(Diagnostic::error(Code::SecLangBadPattern, message).at(ast.place.clone()))
        })?;
    }
    Ok(TargetIr { variable, selector, count: ast.count, exclusions: Vec::new() })
}

fn selector(ast: &SelectorAst, variable: &variables::Definition) -> SelectorIr {
    match ast {
        // Names of XML have case.
        SelectorAst::Name(path) if variable.name == "XML" => SelectorIr::Name(path.clone()),
        SelectorAst::Name(name) => SelectorIr::Name(name.to_ascii_lowercase()),
        SelectorAst::Pattern(pattern) => SelectorIr::Pattern(pattern.clone()),
    }
}

/// A name that is in none of the lists, with the nearest one that is.
fn unknown<'a>(
    code: Code,
    kind: &str,
    name: &str,
    place: &Place,
    known: impl IntoIterator<Item = &'a str>,
) -> Box<Diagnostic> {
    let diagnostic = Diagnostic::error(code, format!("unknown {kind} `{name}`")).at(place.clone());
    Box::new(match nearest(name, known) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic,
    })
}

/// The transformation of a name.
pub(crate) fn transformation(name: &str) -> Result<&'static transformations::Definition, String> {
    transformations::find(name).ok_or_else(|| {
        let near = nearest(name, transformations::ALL.iter().map(|d| d.name));
        let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        format!("unknown transformation `{name}`{hint}")
    })
}

pub(super) fn operator_names() -> impl Iterator<Item = &'static str> {
    operators::ALL.iter().map(|d| d.name)
}
