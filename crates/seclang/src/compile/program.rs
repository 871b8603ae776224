//! The compiled rules: arrays and indexes only.

use std::sync::Arc;
use std::time::Duration;

use crate::audit::{AuditFiles, AuditIr};
use crate::collections::Collections;
use crate::data::NameBit;
use crate::expansion::{Expansion, TxNames};
use crate::ir::{Change, CollectionKind, Disruptive, EngineMode, LimitsIr, ResponseBodyIr};
use crate::prefilter::Prefilter;
use crate::prefilter::literals::LiteralIndex;
use crate::variables::Changes;
use crate::{Phase, operators, variables};
use body::xml_path::XmlPath;
use pattern::ByteSet;
use pattern::Pattern;

/// A rule set, compiled. Shared by every zone that runs it.
pub struct Program {
    pub(crate) roots: Vec<Root>,
    /// Root indexes of each phase in order, with the markers between them resolved.
    pub(crate) phases: [Vec<usize>; 5],
    pub(crate) targets: Vec<Target>,
    pub(crate) pipelines: Vec<Pipeline>,
    /// How many transformations its pipelines are made of.
    pub(crate) steps: usize,
    pub(crate) transformed_targets: Vec<TransformedTarget>,
    pub(crate) groups: Vec<Group>,
    /// For each root the prefilter of its first link.
    pub(crate) prefilters: Vec<Prefilter>,
    pub(crate) literals: LiteralIndex,
    pub(crate) names: TxNames,
    pub(crate) engine: EngineMode,
    pub(crate) response_body: ResponseBodyIr,
    /// Whether a rule looks at `FULL_REQUEST` or its length: to put it together costs a copy.
    pub(crate) full_request: bool,
    /// Whether a rule looks at the `TIME` variables, which would cost every request.
    pub(crate) received_time: bool,
    /// What rules remember from one request to the next.
    pub(crate) collections: Arc<Collections>,
    /// How long a record of them lives after its last change.
    pub(crate) record_lifetime: Duration,
    pub(crate) limits: LimitsIr,
    pub(crate) web_app_id: String,
    /// Whether rules look at `RESPONSE_ARGS`.
    pub(crate) response_args: bool,
    /// Paths that rules take of XML bodies, as they are written.
    pub(crate) xml_paths: Vec<(String, XmlPath)>,
    /// `SecComponentSignature`
    pub(crate) components: Vec<String>,
    /// `None` if there are no records, or no file for them.
    pub(crate) audit: Option<Audit>,
}

/// A rule that starts a chain or stands alone.
pub struct Root {
    pub id: u64,
    pub phase: Phase,
    pub meta: Meta,
    pub(crate) disruptive: Option<Disruptive>,
    pub(crate) status: u16,
    /// Where a refusal leads.
    pub(crate) redirect: Option<Expansion>,
    pub(crate) log: bool,
    /// `auditlog`, if there is an audit log.
    pub(crate) audit: bool,
    /// Whether anyone will ask for the name and place of what matched.
    pub(crate) told: bool,
    /// Whether it looks at `RULE`, which would cost every rule.
    pub(crate) own_rule: bool,
    /// The first root of the phase, by position in the program, that runs after this one matched.
    pub(crate) skip_to: Option<usize>,
    /// What its message and log data read.
    pub(crate) told_reads: Reads,
    /// The rule's own test first, then those of its chain.
    pub(crate) links: Vec<Link>,
}

/// What a rule is called.
#[derive(Debug, Default)]
pub struct Meta {
    pub msg: Expansion,
    /// The message as written, macros and all.
    pub msg_text: String,
    pub logdata: Expansion,
    pub tags: Vec<String>,
    pub severity: Option<u8>,
    pub version: String,
    /// `file:line:column`
    pub place: String,
}

/// One test of a rule.
pub struct Link {
    /// Indexes in the program's transformed targets, one for each target; none for a rule that matches without
    /// looking.
    pub(crate) transformed_targets: Vec<usize>,
    /// The same as one, index in the program's groups; `None` if values change as rules run.
    pub(crate) group: Option<usize>,
    pub(crate) test: Option<Box<dyn operators::Test>>,
    pub(crate) negated: bool,
    pub(crate) precondition: Precondition,
    /// Index in the program's pipelines.
    pub(crate) pipeline: usize,
    pub(crate) multi_match: bool,
    pub(crate) capture: bool,
    pub(crate) collections: Vec<CollectionAction>,
    pub(crate) controls: Vec<Control>,
    pub(crate) logdata: Expansion,
    /// What its targets and its operator read.
    pub(crate) asks: Reads,
    /// What goes into the variables that it sets.
    pub(crate) sets: Reads,
}

/// What a part of a rule reads.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// Indexes of entries of `TX`.
    pub(crate) entries: Vec<usize>,
    /// Entries of `TX` that are not named.
    pub(crate) all: bool,
    /// Anything but `TX`.
    pub(crate) others: bool,
}

/// What must be so of a value for an operator to hold of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Precondition {
    /// The set of literals it must hold one of, if there is such a set.
    pub(crate) literals: Option<u32>,
    pub(crate) prefilter: Prefilter,
}

/// The values of a target under a pipeline. Many links look at the same transformed target; most of them are answered
/// by what is known of all its values together.
#[derive(Clone, Copy, Debug)]
pub struct TransformedTarget {
    pub(crate) target: usize,
    pub(crate) pipeline: usize,
    /// `multiMatch`: the values under every step on the way to this pipeline, too.
    pub(crate) each: bool,
    /// The transformed target of the same values as they came.
    pub(crate) plain: usize,
    pub(crate) changes: Changes,
}

/// The transformed targets that a link looks at, as one.
#[derive(Clone, Debug)]
pub struct Group {
    pub(crate) transformed_targets: Vec<usize>,
    /// The group of the same values as they came.
    pub(crate) plain: usize,
    /// As in the pipeline.
    pub(crate) touches: Option<ByteSet>,
    pub(crate) changes: Changes,
}

/// A variable with its selector; equal ones are shared, so that their values are found once.
#[derive(Debug)]
pub struct Target {
    pub(crate) variable: &'static variables::Definition,
    /// For `TX` with a selector, the indexes of the entries that it takes, of those with a name known
    /// beforehand.
    pub(crate) tx_taken: Option<Vec<usize>>,
    /// The index of the one `TX` entry that it is, or counts, if it is that.
    pub(crate) tx: Option<usize>,
    pub(crate) selector: Option<Selector>,
    /// The name of the request's header field that it is, or counts, if it is that.
    pub(crate) header: Option<NameBit>,
    pub(crate) count: bool,
    pub(crate) exclusions: Vec<Selector>,
}

#[derive(Debug)]
pub enum Selector {
    Name(Box<[u8]>),
    Pattern(Pattern),
}

impl Selector {
    #[inline]
    pub fn takes(&self, key: &[u8]) -> bool {
        match self {
            Self::Name(name) => name.eq_ignore_ascii_case(key),
            Self::Pattern(pattern) => pattern.is_match(key),
        }
    }
}

impl Target {
    /// Whether the entry of this name is one of its values, or counts as one.
    #[inline]
    pub(crate) fn takes(&self, key: &[u8]) -> bool {
        self.selector.as_ref().is_none_or(|selector| selector.takes(key))
            && !self.exclusions.iter().any(|selector| selector.takes(key))
    }
}

/// A chain of transformations.
#[derive(Clone, Debug)]
pub struct Pipeline {
    pub(crate) steps: Vec<Step>,
    /// Bytes that can cause a change: a value with none of them stays as it is. `None` if any value may change.
    pub(crate) touches: Option<ByteSet>,
}

/// A transformation, with its number among those of the program.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub(crate) number: usize,
    pub(crate) apply: fn(&[u8], &mut Vec<u8>) -> bool,
    pub(crate) touches: Option<ByteSet>,
}

/// `setvar`, compiled.
#[derive(Debug)]
pub struct SetVariable {
    pub(crate) collection: CollectionKind,
    pub(crate) name: Expansion,
    /// The name's index, if it has no macros.
    pub(crate) index: Option<usize>,
    pub(crate) change: Change,
    pub(crate) value: Expansion,
    /// The paranoia level whose anomaly score this adds to.
    pub(crate) scores_level: Option<u8>,
}

/// `ctl`, compiled.
#[derive(Debug)]
pub enum Control {
    RuleEngine(EngineMode),
    RemoveRules(ChosenRules),
    RemoveTargets { rules: ChosenRules, variable: &'static variables::Definition, selector: Option<Selector> },
    BodyProcessor(String),
    ForceBodyVariable(bool),
    ResponseBodyAccess(bool),
}

/// The rules that a `ctl` is about: for each root of the program whether it is one.
#[derive(Debug)]
pub struct ChosenRules(pub(crate) Vec<bool>);

impl ChosenRules {
    pub(crate) fn has(&self, root: usize) -> bool {
        self.0.get(root).copied().unwrap_or(false)
    }
}

/// What a rule does to `TX`, persistent collections and `ENV`, compiled.
#[derive(Debug)]
pub enum CollectionAction {
    Set(SetVariable),
    Open { kind: CollectionKind, key: Expansion },
    Expire { kind: CollectionKind, name: Expansion, seconds: Expansion },
    SetEnvironment { name: Expansion, value: Expansion },
}

impl Program {
    /// The rules in order.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// The persistent collections, to be shared with a program that takes this one's place.
    pub fn collections(&self) -> &Arc<Collections> {
        &self.collections
    }

    /// Remembers what was remembered elsewhere.
    #[must_use]
    pub fn with_collections(self, collections: Arc<Collections>) -> Self {
        Self { collections, ..self }
    }

    /// Empties the persistent collections.
    pub fn forget_collections(&self) {
        self.collections.clear();
    }

    /// The rule that acts on the sum of the scores: the last one that refuses requests in phase 2.
    pub fn threshold_rule(&self) -> Option<&Root> {
        self.roots.iter().rev().find(|root| root.phase == Phase::RequestBody && root.is_disruptive())
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Program of {} rules, {} targets, {} pipelines",
            self.roots.len(),
            self.targets.len(),
            self.pipelines.len()
        )
    }
}

impl Root {
    /// Whether a match refuses the request, if no override says otherwise.
    pub fn is_disruptive(&self) -> bool {
        match self.disruptive {
            Some(Disruptive::Deny | Disruptive::Drop) => true,
            Some(Disruptive::Allow(_) | Disruptive::Block | Disruptive::Pass) | None => false,
        }
    }
}

/// The audit log of a program.
#[derive(Debug)]
pub(crate) struct Audit {
    pub(crate) settings: AuditIr,
    pub(crate) files: Arc<AuditFiles>,
}
