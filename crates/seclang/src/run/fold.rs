//! Constant folding: what is so before any request. Rules that look at nothing but `TX` entries that settings and other
//! such rules have set.
//!
//! Rule sets begin by giving each setting its default, and stand their rules behind preconditions that ask
//! for the paranoia level. For one plan all of this comes out the same for every request, so it is
//! run once, here: what it sets is where each transaction begins, and the rules behind a closed precondition
//! are not in the plan.
//!
//! A rule is left out only if it cannot be observed: it reports nothing, no rule that stays has read or
//! written an entry before this one sets it, and nothing before it may jump over it or end the run.

use std::sync::Arc;

use super::plan::Plan;
use super::report::Hit;
use super::transaction::Transaction;
use crate::Phase;
use crate::compile::program::{ChosenRules, CollectionAction, Control, Link, Reads, Root, SetVariable};
use crate::data::BodyLimits;
use crate::ir::{CollectionKind, Disruptive};

/// The groups of a capture are the first entries of `TX`.
const GROUPS: std::ops::Range<usize> = 0..10;

/// What is left of a plan.
pub(super) struct Folded {
    /// The roots that run, by phase.
    pub(super) phases: [Vec<usize>; 5],
    /// The entries of `TX` that each transaction begins with.
    pub(super) entries: Vec<Option<Box<[u8]>>>,
}

/// Runs what can be run of a plan.
pub(super) fn fold(plan: &Arc<Plan>) -> Folded {
    let program = &plan.program;
    let machine = Transaction::new(Arc::clone(plan), BodyLimits::default());
    let entries = (0..program.names.len()).map(|at| machine.data.tx_entry(at).map(Into::into)).collect();
    let mut fold = Fold {
        plan,
        machine,
        unknown: vec![false; program.names.len()],
        used: vec![false; program.names.len()],
        removers: Vec::new(),
        blinders: Vec::new(),
        entries,
        uncertain_until: 0,
        may_have_ended: false,
    };
    let phases = Phase::ALL.map(|phase| fold.phase(phase));
    Folded { phases, entries: fold.entries }
}

struct Fold<'p> {
    plan: &'p Plan,
    /// Holds the entries that are known.
    machine: Transaction,
    /// Entries whose value depends on the request.
    unknown: Vec<bool>,
    /// Entries that a rule that stays has read or written.
    used: Vec<bool>,
    /// The rules that a `ctl` may have taken out, each as one.
    removers: Vec<&'p ChosenRules>,
    /// The rules that a `ctl` may have stopped from looking at an entry.
    blinders: Vec<&'p ChosenRules>,
    entries: Vec<Option<Box<[u8]>>>,
    /// Rules before this one may have been jumped over.
    uncertain_until: usize,
    /// Whether a rule may have ended the run.
    may_have_ended: bool,
}

/// What becomes of a rule.
#[derive(PartialEq, Eq)]
enum Outcome {
    /// It does not match, and does nothing.
    Nothing,
    Matches,
    /// Only a request can tell.
    Open,
}

impl<'p> Fold<'p> {
    fn phase(&mut self, phase: Phase) -> Vec<usize> {
        self.uncertain_until = 0;
        let plan = self.plan;
        let roots = plan.phases.get(phase.index()).map_or(&[][..], Vec::as_slice);
        let mut left = Vec::with_capacity(roots.len());
        let mut resume = 0;
        for index in roots.iter().map(|turn| turn.root) {
            let Some(root) = plan.program.roots.get(index).filter(|_| index >= resume) else { continue };
            match self.outcome(index, root) {
                Outcome::Nothing => {}
                Outcome::Matches if self.is_foldable(index, root) => {
                    for at in writes(root).flatten() {
                        let set = self.machine.data.tx_entry(at).map(Into::into);
                        if let Some(entry) = self.entries.get_mut(at) {
                            *entry = set;
                        }
                    }
                    resume = root.skip_to.unwrap_or(resume);
                }
                outcome => {
                    self.keep(index, root, outcome == Outcome::Matches);
                    left.push(index);
                }
            }
        }
        left
    }

    /// Runs a rule as far as it depends on what is known.
    fn outcome(&mut self, index: usize, root: &Root) -> Outcome {
        let mut hit = Hit::of(index);
        self.machine.data.matched.clear();
        let program = Arc::clone(&self.plan.program);
        for (position, link) in root.links.iter().enumerate() {
            if !self.is_known(&link.asks) {
                return Outcome::Open;
            }
            if !self.machine.link(&program, (index, position), root, link, &mut hit) {
                let acted = root.links.iter().take(position).any(acts);
                return if acted { Outcome::Open } else { Outcome::Nothing };
            }
            if !self.is_known(&link.sets) {
                return Outcome::Open;
            }
        }
        Outcome::Matches
    }

    fn is_known(&self, reads: &Reads) -> bool {
        let known = |index: &usize| self.unknown.get(*index) == Some(&false);
        !reads.others && !reads.all && reads.entries.iter().all(known)
    }

    /// Whether a rule that matches does nothing but set entries and jump, and it cannot be observed that it
    /// did so before the request came.
    fn is_foldable(&self, index: usize, root: &Root) -> bool {
        let only_sets = |link: &Link| {
            link.controls.is_empty()
                && !link.capture
                && link.collections.iter().all(|action| match action {
                    CollectionAction::Set(set) => set.index.is_some() && set.scores_level.is_none(),
                    _ => false,
                })
        };
        let is_uncertain = self.may_have_ended || index < self.uncertain_until;
        let jumps_too_far =
            index < self.uncertain_until && root.skip_to.is_some_and(|to| to > self.uncertain_until);
        let sets = root.links.iter().any(|link| !link.collections.is_empty());
        let is_unused = |at: Option<usize>| at.is_some_and(|at| self.used.get(at) == Some(&false));
        !root.log
            && root.meta.severity.is_none()
            && !self.may_end(index, root)
            && root.links.iter().all(only_sets)
            && !(sets && (is_uncertain || self.may_be_removed(index)))
            && !self.may_be_removed_alone(index, root)
            && !jumps_too_far
            && writes(root).all(is_unused)
    }

    fn may_be_removed(&self, index: usize) -> bool {
        self.removers.iter().chain(&self.blinders).any(|rules| rules.has(index))
    }

    /// Whether a rule may be taken out, or blinded, without all that it jumps over, which would then run.
    fn may_be_removed_alone(&self, index: usize, root: &Root) -> bool {
        let Some(to) = root.skip_to else { return false };
        let is_jumped_over = |at: &usize| *at > index && *at < to;
        let jumped_over = || {
            let phase = self.plan.phases.get(root.phase.index()).map_or(&[][..], Vec::as_slice);
            phase.iter().map(|turn| turn.root).filter(is_jumped_over)
        };
        let mut taking = self.removers.iter().filter(|rules| rules.has(index));
        self.blinders.iter().any(|rules| rules.has(index))
            || taking.any(|rules| jumped_over().any(|at| !rules.has(at)))
    }

    /// Whether a match may end the phase or the run.
    fn may_end(&self, index: usize, root: &Root) -> bool {
        self.plan.refuses(index) || matches!(root.disruptive, Some(Disruptive::Allow(_)))
    }

    /// Notes what a rule that stays may read, write and jump over. `certain` says that it matches.
    fn keep(&mut self, index: usize, root: &'p Root, certain: bool) {
        let is_sure =
            certain && !self.may_have_ended && index >= self.uncertain_until && !self.may_be_removed(index);
        for reads in root.links.iter().flat_map(|link| [&link.asks, &link.sets]).chain([&root.told_reads]) {
            if reads.all {
                self.used.fill(true);
            }
            reads.entries.iter().for_each(|at| mark(&mut self.used, *at));
        }
        for link in &root.links {
            if link.capture {
                GROUPS.for_each(|group| self.forget(group));
            }
            for action in &link.collections {
                let CollectionAction::Set(set) = action else { continue };
                if set.collection == CollectionKind::Tx {
                    self.written(set, is_sure);
                }
            }
            for control in &link.controls {
                match control {
                    Control::RemoveRules(rules) => self.removers.push(rules),
                    Control::RemoveTargets { rules, variable, .. } if variable.name == "TX" => {
                        self.blinders.push(rules);
                    }
                    _ => {}
                }
            }
        }
        self.uncertain_until = self.uncertain_until.max(root.skip_to.unwrap_or(0));
        self.may_have_ended |= self.may_end(index, root);
    }

    /// Notes a `setvar` of a rule that stays.
    fn written(&mut self, set: &SetVariable, is_sure: bool) {
        if let Some(at) = set.index {
            mark(&mut self.used, at);
            if !is_sure {
                mark(&mut self.unknown, at);
            }
            return;
        }
        // A name that the request makes: any that begins as it is written.
        let program = Arc::clone(&self.plan.program);
        let begins = set.name.prefix();
        for at in 0..program.names.len() {
            let name = program.names.name(at).as_bytes();
            if name.get(..begins.len()).is_some_and(|start| start.eq_ignore_ascii_case(begins)) {
                self.forget(at);
            }
        }
    }

    /// The entry is whatever the request makes it.
    fn forget(&mut self, at: usize) {
        mark(&mut self.used, at);
        mark(&mut self.unknown, at);
    }
}

fn mark(flags: &mut [bool], at: usize) {
    if let Some(flag) = flags.get_mut(at) {
        *flag = true;
    }
}

/// Whether a match of a link changes anything.
fn acts(link: &Link) -> bool {
    link.capture || !link.collections.is_empty() || !link.controls.is_empty()
}

/// The entries of `TX` that a rule sets; `None` for one whose name is not known, or that is no entry of
/// `TX`.
fn writes(root: &Root) -> impl Iterator<Item = Option<usize>> {
    root.links.iter().flat_map(|link| &link.collections).map(|action| match action {
        CollectionAction::Set(set) if set.collection == CollectionKind::Tx => set.index,
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::PlanSettings;
    use super::*;
    use crate::RequestHead;
    use crate::syntax::MemoryLoader;

    /// The rules of all phases that are left, and the entries that transactions begin with.
    fn left(rules: &str, settings: &[(&str, &str)]) -> (Vec<u64>, Vec<(String, String)>) {
        let loader = MemoryLoader(vec![("r.conf".to_owned(), rules.to_owned())]);
        let (ir, diagnostics) = crate::load(&["r.conf".to_owned()], &loader);
        assert!(!diagnostics.has_errors(), "{diagnostics}");
        let program = Arc::new(crate::compile::optimize(&ir));
        let variables = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let settings = PlanSettings { variables: variables.collect(), ..PlanSettings::default() };
        let plan = Arc::new(Plan::new(Arc::clone(&program), &settings));
        let ids =
            plan.phases.iter().flatten().filter_map(|turn| program.roots.get(turn.root)).map(|root| root.id);
        let transaction = Transaction::new(Arc::clone(&plan), BodyLimits::default());
        let entries = (0..program.names.len()).filter_map(|at| {
            let value = transaction.data.tx_entry(at)?;
            Some((program.names.name(at).to_owned(), String::from_utf8_lossy(value).into_owned()))
        });
        (ids.collect(), entries.collect())
    }

    fn pairs(entries: &[(&str, &str)]) -> Vec<(String, String)> {
        entries.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn defaults_and_gates_are_gone() {
        let rules = r#"
            SecRule &TX:level "@eq 0" "id:1,phase:1,pass,nolog,setvar:tx.level=1"
            SecRule &TX:twice "@eq 0" "id:2,phase:1,pass,nolog,setvar:tx.twice=%{tx.level},setvar:tx.twice=+%{tx.level}"
            SecRule TX:level "@lt 2" "id:3,phase:1,pass,nolog,skipAfter:END"
            SecRule ARGS "@rx a" "id:4,phase:1,block"
            SecMarker END
            SecRule TX:level "@lt 1" "id:5,phase:2,pass,nolog,skipAfter:END2"
            SecRule ARGS "@rx b" "id:6,phase:2,block"
            SecMarker END2
        "#;
        assert_eq!(left(rules, &[]), (vec![6], pairs(&[("level", "1"), ("twice", "2")])));
        assert_eq!(left(rules, &[("level", "2")]), (vec![4, 6], pairs(&[("level", "2"), ("twice", "4")])));
        assert_eq!(left(rules, &[("level", "0")]).0, Vec::<u64>::new());
    }

    #[test]
    fn what_someone_can_tell_stays() {
        for (rules, expected) in [
            // It reports.
            (r#"SecAction "id:1,phase:1,pass,log""#, &[1][..]),
            (r#"SecAction "id:1,phase:1,pass,nolog,severity:CRITICAL""#, &[1]),
            // It ends the run.
            (r#"SecAction "id:1,phase:1,deny,nolog""#, &[1]),
            // It scores.
            (r#"SecAction "id:1,phase:1,pass,nolog,setvar:tx.inbound_anomaly_score_pl1=+5""#, &[1]),
            // It sets what a rule before it reads, and what that sets is not known.
            (
                r#"SecRule ARGS "@streq %{tx.a}" "id:1,phase:1,pass,nolog,setvar:tx.b=1"
                   SecAction "id:2,phase:1,pass,nolog,setvar:tx.a=1"
                   SecRule TX:b "@eq 1" "id:3,phase:1,pass,nolog,setvar:tx.c=1"
                   SecRule TX:a "@eq 1" "id:4,phase:1,pass,nolog,setvar:tx.d=1""#,
                &[1, 2, 3],
            ),
            // It may be jumped over.
            (
                r#"SecRule ARGS "@rx x" "id:1,phase:1,pass,nolog,skipAfter:A"
                   SecAction "id:2,phase:1,pass,nolog,setvar:tx.a=1"
                   SecMarker A
                   SecRule TX:a "@eq 1" "id:3,phase:1,pass,nolog"
                   SecAction "id:4,phase:1,pass,nolog,setvar:tx.b=1""#,
                &[1, 2, 3],
            ),
            // The run may have ended before it.
            (
                r#"SecRule ARGS "@rx x" "id:1,phase:1,deny"
                   SecAction "id:2,phase:2,pass,nolog,setvar:tx.a=1"
                   SecRule TX:a "@eq 0" "id:3,phase:2,pass,nolog,setvar:tx.b=1""#,
                &[1, 2, 3],
            ),
            // It may be taken out without what it jumps over; with all of it, it cannot be observed.
            (
                r#"SecRule ARGS "@rx x" "id:1,phase:1,pass,nolog,ctl:ruleRemoveById=2"
                   SecAction "id:2,phase:1,pass,nolog,skipAfter:A"
                   SecRule ARGS "@rx y" "id:3,phase:1,pass"
                   SecMarker A"#,
                &[1, 2, 3],
            ),
            (
                r#"SecRule ARGS "@rx x" "id:1,phase:1,pass,nolog,ctl:ruleRemoveById=2-9"
                   SecAction "id:2,phase:1,pass,nolog,skipAfter:A"
                   SecRule ARGS "@rx y" "id:3,phase:1,pass"
                   SecMarker A"#,
                &[1],
            ),
            (
                r#"SecRule ARGS "@rx x" "id:1,phase:1,pass,nolog,ctl:ruleRemoveTargetById=2-9;TX:a"
                   SecRule &TX:a "@eq 0" "id:2,phase:1,pass,nolog,skipAfter:A"
                   SecRule ARGS "@rx y" "id:3,phase:1,pass"
                   SecMarker A"#,
                &[1, 2, 3],
            ),
            // A capture, or a name that the request makes, may have set it.
            (
                r#"SecRule ARGS "@rx (x)" "id:1,phase:1,pass,nolog,capture,setvar:tx.a_%{tx.1}=1"
                   SecRule &TX:a_x "@eq 0" "id:2,phase:1,pass,nolog"
                   SecRule TX:1 "@eq 0" "id:3,phase:1,pass,nolog"
                   SecRule &TX:b "@eq 0" "id:4,phase:1,pass,nolog""#,
                &[1, 2, 3],
            ),
            // The first link acts, though the rule does not match.
            (
                r#"SecRule &TX:a "@eq 0" "id:1,phase:1,pass,nolog,setvar:tx.a=1,chain"
                     SecRule &TX:a "@eq 0" ""
                   SecRule TX:a "@eq 1" "id:2,phase:1,pass,nolog""#,
                &[1, 2],
            ),
        ] {
            assert_eq!(left(rules, &[]).0, expected, "{rules}");
        }
    }

    #[test]
    fn a_rule_that_stays_begins_with_what_was_set() {
        let rules = r#"
            SecAction "id:1,phase:1,pass,nolog,setvar:tx.a=7"
            SecRule REQUEST_URI "@streq /%{tx.a}" "id:2,phase:1,pass,msg:'%{tx.a}'"
        "#;
        let loader = MemoryLoader(vec![("r.conf".to_owned(), rules.to_owned())]);
        let (ir, _) = crate::load(&["r.conf".to_owned()], &loader);
        let program = Arc::new(crate::compile::optimize(&ir));
        let plan = Arc::new(Plan::new(program, &PlanSettings::default()));
        let mut transaction = Transaction::new(plan, BodyLimits::default());
        transaction.request_head(&RequestHead {
            method: b"GET",
            target: b"/7",
            protocol: "HTTP/1.1",
            headers: &[],
            client: std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
            server: None,
            request_id: "1",
            received: std::time::Duration::ZERO,
        });
        transaction.run(Phase::RequestHeaders);
        let messages: Vec<String> = transaction.matches().into_iter().map(|m| m.message).collect();
        assert_eq!(messages, ["7"]);
    }
}
