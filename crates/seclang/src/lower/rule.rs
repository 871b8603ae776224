//! One rule: actions applied over the phase's defaults, operator checked, chain joined.

use super::{FIRST_OWN_ID, Lowering, operator_names, unknown};
use crate::expansion::TxNames;
use crate::ir::{ActionsIr, ItemIr, OperatorIr, RuleIr, TargetIr};
use crate::syntax::Loader;
use crate::syntax::ast::{ActionAst, OperatorAst};
use crate::{Phase, actions, operators, transformations};
use diagnostic::{Code, Diagnostic, Place};

/// `SecRule` without `phase` runs here, as in other engines.
const DEFAULT_PHASE: Phase = Phase::RequestBody;

impl Lowering<'_> {
    /// Adds a rule. `targets` or `operator` are `None` if they were refused: the rest is still
    /// checked, so that all errors are reported at once.
    pub(super) fn rule(
        &mut self,
        targets: Option<Vec<TargetIr>>,
        operator: Option<Option<OperatorIr>>,
        list: &[ActionAst],
        place: Place,
    ) {
        let actions = self.actions(list);
        let link = self.open.is_some();
        self.check_rule(&actions, link, &place);
        let id = match actions.id {
            _ if link => 0,
            Some(id) => id,
            None => {
                self.without_id += 1;
                let id = FIRST_OWN_ID + self.without_id - 1;
                let message = format!(
                    "the rule has no `id`, so it is called {id}; give it a number that no other rule has"
                );
                self.warn(Code::SecLangBadId, place.clone(), message);
                id
            }
        };
        let phase = match (&self.open, actions.phase) {
            (Some(root), _) => root.phase,
            (None, phase) => phase.unwrap_or(DEFAULT_PHASE),
        };
        let more = actions.chain;
        for target in targets.iter().flatten() {
            // What is no path at all was said where it stands.
            let is_path = target.xml_path(|_| Some(String::new())).is_some_and(|path| path.is_ok());
            if let Some(Err(reason)) = target.xml_path(|prefix| actions.namespace(prefix)).filter(|_| is_path)
            {
                self.error(Code::SecLangBadArgument, place.clone(), format!("`{target}`: {reason}"));
            }
        }
        let rule = RuleIr {
            id,
            phase,
            transformations: self.transformations(&actions, phase),
            targets: targets.unwrap_or_default(),
            operator: operator.flatten(),
            actions: if link { actions } else { self.with_defaults(actions, phase) },
            chain: Vec::new(),
            place,
        };
        let root = match self.open.take() {
            Some(mut root) => {
                root.chain.push(rule);
                root
            }
            None => Box::new(rule),
        };
        if more {
            self.open = Some(root);
        } else {
            self.set.items.push(ItemIr::Rule(root));
        }
    }

    fn check_rule(&mut self, actions: &ActionsIr, link: bool, place: &Place) {
        if link && (actions.id.is_some() || actions.phase.is_some()) {
            self.warn(Code::SecLangBadChain, place.clone(), "a chain link takes its `id` and `phase` from the rule that starts the chain; those here have no effect");
        }
        let disruptive = actions.disruptive.is_some() || actions.skip_after.is_some();
        if link && disruptive {
            self.error(Code::SecLangBadChain, place.clone(), "a chain link cannot decide what happens; move `deny`, `pass`, `block` or `skipAfter` to the rule that starts the chain");
        }
    }

    pub(super) fn default_action(&mut self, list: &[ActionAst], place: &Place) {
        let actions = self.actions(list);
        let mistake = match actions.phase {
            None => "`SecDefaultAction` needs a `phase`",
            Some(_) if actions.id.is_some() => "`SecDefaultAction` cannot have an `id`; remove it",
            Some(_) if actions.chain => "`SecDefaultAction` cannot be part of a chain; remove `chain`",
            Some(_) if actions.disruptive.is_none() => {
                "`SecDefaultAction` needs a disruptive action, such as `pass` or `deny`"
            }
            Some(phase) => {
                self.defaults.insert(phase, actions);
                return;
            }
        };
        self.error(Code::SecLangBadArgument, place.clone(), mistake);
    }

    pub(super) fn actions(&mut self, list: &[ActionAst]) -> ActionsIr {
        let mut lowered = ActionsIr::default();
        for ast in list {
            let Some(definition) = actions::find(&ast.name) else {
                let diagnostic = unknown(
                    Code::SecLangUnknownAction,
                    "action",
                    &ast.name,
                    &ast.place,
                    actions::ALL.iter().map(|d| d.name),
                );
                self.diagnostics.push(*diagnostic);
                continue;
            };
            match (definition.lower)(ast.value.as_deref(), &mut lowered) {
                Ok(()) => {}
                Err(actions::Refusal::Bad(message)) => {
                    let code = if definition.name == "t" {
                        Code::SecLangUnknownTransformation
                    } else {
                        Code::SecLangBadArgument
                    };
                    self.error(code, ast.value_place.clone(), message);
                }
                Err(actions::Refusal::NoEffect(message)) => self
                    .diagnostics
                    .push(Diagnostic::warning(Code::SecLangUnsupported, message).at(ast.place.clone())),
            }
        }
        lowered
    }

    fn with_defaults(&self, mut actions: ActionsIr, phase: Phase) -> ActionsIr {
        use crate::ir::Disruptive;
        let Some(defaults) = self.defaults.get(&phase) else {
            if actions.disruptive == Some(Disruptive::Block) {
                actions.disruptive = Some(Disruptive::Pass);
            }
            return actions;
        };
        // `block` asks for the default, as does saying nothing.
        if matches!(actions.disruptive, None | Some(Disruptive::Block)) {
            actions.disruptive = defaults.disruptive.filter(|d| *d != Disruptive::Block);
            actions.status = actions.status.or(defaults.status);
            actions.redirect = actions.redirect.or_else(|| defaults.redirect.clone());
        }
        actions.log = actions.log.or(defaults.log);
        actions.audit_log = actions.audit_log.or(defaults.audit_log);
        actions.tags.splice(0..0, defaults.tags.iter().cloned());
        actions
    }

    fn transformations(
        &self,
        actions: &ActionsIr,
        phase: Phase,
    ) -> Vec<&'static transformations::Definition> {
        let inherited = self.defaults.get(&phase).map_or(&[][..], |d| d.transformations.as_slice());
        let mut chain = Vec::new();
        for step in inherited.iter().chain(&actions.transformations) {
            match step {
                Some(transformation) => chain.push(*transformation),
                None => chain.clear(),
            }
        }
        chain
    }

    /// The operator, resolved and compiled once to find its errors; `None` if it is refused.
    pub(super) fn operator(&mut self, ast: OperatorAst) -> Option<Option<OperatorIr>> {
        let Some(definition) = operators::find(&ast.name) else {
            let diagnostic = unknown(
                Code::SecLangUnknownOperator,
                "operator",
                &format!("@{}", ast.name),
                &ast.place,
                operator_names(),
            );
            self.diagnostics.push(*diagnostic);
            return None;
        };
        if let Some((name, reason)) =
            operators::WITHOUT_EFFECT.iter().find(|(name, _)| *name == definition.name)
        {
            let message = format!("`@{name}` never matches: {reason}");
            self.diagnostics
                .push(Diagnostic::warning(Code::SecLangUnsupported, message).at(ast.place.clone()));
        }
        if definition.name == "geoLookup" && self.set.geo.is_none() {
            let message =
                "`@geoLookup` never matches: no `SecGeoLookupDb` stands before this line".to_owned();
            self.warn(Code::SecLangUnsupported, ast.place.clone(), message);
        }
        if operators::COMPARISONS.contains(&definition.name) && is_no_number(&ast.argument) {
            let message = format!("`{}` is no number, so it counts as 0", ast.argument);
            self.warn(Code::SecLangBadArgument, ast.argument_place.clone(), message);
        }
        let lines = || match definition.name.ends_with("FromDataset") {
            true => self.datasets.get(&ast.argument).cloned().ok_or_else(|| {
                let message = format!("there is no `SecDataset {}` before this line", ast.argument);
                Diagnostic::error(Code::SecLangBadArgument, message).at(ast.argument_place.clone())
            }),
            false => lines(self.loader, &ast),
        };
        let lines = match definition.reads_file.then(lines).transpose() {
            Ok(lines) => lines.unwrap_or_default(),
            Err(diagnostic) => {
                self.diagnostics.push(diagnostic);
                return None;
            }
        };
        let operator = OperatorIr {
            definition,
            negated: ast.negated,
            argument: ast.argument,
            place: ast.argument_place,
            lines,
            geo: self.set.geo.clone().filter(|_| definition.name == "geoLookup"),
        };
        if let Err(message) = (definition.compile)(&mut operators::Argument {
            text: &operator.argument,
            lines: &operator.lines,
            names: &mut TxNames::default(),
            patterns: &self.set.patterns,
            geo: operator.geo.as_ref(),
        }) {
            let code =
                if definition.name == "rx" { Code::SecLangBadPattern } else { Code::SecLangBadArgument };
            self.error(code, operator.place, message);
            return None;
        }
        Some(Some(operator))
    }
}

/// Whether the argument of a comparison is neither a number nor a macro that may be one.
fn is_no_number(argument: &str) -> bool {
    let digits = argument.trim().trim_start_matches(['-', '+']);
    !argument.contains("%{") && !digits.starts_with(|first: char| first.is_ascii_digit())
}

/// The lines of the files an operator names, without comments and blank lines.
pub(super) fn lines(loader: &dyn Loader, ast: &OperatorAst) -> Result<Vec<String>, Diagnostic> {
    let mut lines = Vec::new();
    for name in ast.argument.split_whitespace() {
        let texts = loader
            .resolve(&ast.place.source.name, name)
            .and_then(|names| names.iter().map(|name| loader.read(name)).collect::<Result<Vec<_>, _>>());
        let texts = texts.map_err(|reason| {
            Diagnostic::error(Code::RulesUnreadable, format!("cannot read `{name}`: {reason}"))
                .at(ast.argument_place.clone())
        })?;
        let all = texts.iter().flat_map(|text| text.lines()).map(str::trim);
        lines.extend(all.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned));
    }
    Ok(lines)
}
