//! One request under one plan: what the proxy, `explain` and the tests drive.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;

use super::facts::{BodyLimits, Facts};
use super::literals;
use super::moment::Moment;
use super::plan::Plan;
use super::report::{Hit, Match};
use super::spare;
use super::summary::{Known, Seen, Summary, SummaryId};
use super::text::{Buffers, Text};
use crate::Phase;
use crate::ir::{CollectionKind, EngineMode};
use crate::variables;
use body::head::{RequestHead, ResponseHead};
use pattern::Span;

/// Rules refused the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// 0 where a limit of the rule files did.
    pub rule: u64,
    pub status: u16,
    pub phase: Phase,
    /// Where a redirect leads.
    pub location: Option<String>,
}

/// The run of a plan over one request. Its buffers only grow.
pub struct Transaction {
    pub(super) plan: Arc<Plan>,
    pub(super) limits: BodyLimits,
    pub(super) buffers: Buffers,
    pub(crate) facts: Facts,
    /// What the rule that runs has matched so far.
    pub(crate) matched: Vec<Matched>,
    /// What the rules that matched in full had matched.
    pub(super) evidence: Vec<Matched>,
    pub(super) tx: Vec<Option<Text>>,
    /// The names of `tx`, for rules that look at all of TX or at a pattern of names.
    pub(super) tx_names: Vec<Text>,
    /// TX entries whose names were made at run time.
    pub(super) tx_dynamic: Vec<(Text, Text)>,
    /// For each target of the program: its values, as a range of `values`.
    pub(super) found: Vec<Option<(u32, u32)>>,
    pub(super) values: Vec<Value>,
    /// The index in `seen` of each text that is a value, however many targets it is a value of.
    pub(super) texts: HashMap<Text, usize, foldhash::fast::FixedState>,
    pub(super) seen: Vec<Seen>,
    /// For each entry of `seen` and transformation: 1 + the index in `seen`, or 0.
    pub(super) steps: Vec<u32>,
    /// What is known of values together.
    pub(super) summaries: Vec<Summary>,
    /// For each cell of the program what is known of its values.
    pub(super) cells: Vec<Option<SummaryId>>,
    /// The same for each group.
    pub(super) groups: Vec<Option<Known>>,
    /// The literals that values and summaries hold: pieces of as many words as the program needs.
    pub(super) literals: Vec<literals::Words>,
    pub(super) hits: Vec<Hit>,
    pub(super) engine: EngineMode,
    pub(super) controls: Controls,
    pub(super) scores: [i64; 4],
    pub(super) allowed: Option<Phase>,
    /// The status with which a body is refused that is longer than a limit of the rule files.
    pub(super) too_long: Option<u16>,
    /// Persistent collections that are open, by their keys.
    pub(super) open: Vec<(CollectionKind, Text)>,
    /// What those collections held when they were opened, with this transaction's changes.
    pub(super) entries: Vec<(CollectionKind, Text, Text)>,
    pub(crate) env: Vec<(Text, Text)>,
    /// The entries of `RULE`, where rules ask for them.
    pub(crate) rule: Vec<(Text, Text)>,
    pub(super) now: Duration,
    pub(super) response_body_access: bool,
    pub(super) scratch: Vec<u8>,
    /// Names and values on their way into `values`; empty between uses.
    pub(super) entries_found: Vec<(Text, Text)>,
}

/// What `ctl` changed.
#[derive(Debug, Default)]
pub(super) struct Controls {
    /// Places of `ruleRemoveBy…` in the program: root, link, control.
    pub(super) removed: Vec<(usize, usize, usize)>,
    /// The same of `ruleRemoveTargetBy…`.
    pub(super) removed_targets: Vec<(usize, usize, usize)>,
    pub(super) body_processor: Option<String>,
    pub(super) force_body_variable: bool,
}

impl Controls {
    fn clear(&mut self) {
        self.removed.clear();
        self.removed_targets.clear();
        self.body_processor = None;
        self.force_body_variable = false;
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Matched {
    pub(crate) name: Text,
    pub(crate) value: Text,
    /// Where in the value; `None` for what a negated operator did not find.
    pub(super) span: Option<Span>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) variable: &'static variables::Definition,
    pub(super) key: Text,
    /// Index in `seen` of what it is.
    pub(super) seen: usize,
}

/// The plan of no rules.
fn no_rules() -> Arc<Plan> {
    static PLAN: LazyLock<Arc<Plan>> = LazyLock::new(|| {
        let program = crate::optimize::optimize(&crate::RuleSetIr::default());
        Arc::new(Plan::new(Arc::new(program), &super::PlanSettings::default()))
    });
    Arc::clone(&PLAN)
}

/// So many times nothing, in the memory that is there.
fn refill<T: Clone>(list: &mut Vec<Option<T>>, length: usize) {
    list.clear();
    list.resize(length, None);
}

impl Default for Transaction {
    /// One without memory; it is of no use before it begins.
    fn default() -> Self {
        Self {
            plan: no_rules(),
            limits: BodyLimits::default(),
            buffers: Buffers::default(),
            facts: Facts::default(),
            matched: Vec::new(),
            evidence: Vec::new(),
            tx: Vec::new(),
            tx_names: Vec::new(),
            tx_dynamic: Vec::new(),
            found: Vec::new(),
            values: Vec::new(),
            texts: HashMap::default(),
            seen: Vec::new(),
            steps: Vec::new(),
            summaries: Vec::new(),
            cells: Vec::new(),
            groups: Vec::new(),
            literals: Vec::new(),
            hits: Vec::new(),
            engine: EngineMode::default(),
            controls: Controls::default(),
            scores: [0; 4],
            allowed: None,
            too_long: None,
            open: Vec::new(),
            entries: Vec::new(),
            env: Vec::new(),
            rule: Vec::new(),
            now: Duration::ZERO,
            response_body_access: false,
            scratch: Vec::new(),
            entries_found: Vec::new(),
        }
    }
}

impl Transaction {
    pub fn new(plan: Arc<Plan>, limits: BodyLimits) -> Self {
        let mut transaction = spare::take();
        transaction.begin(plan, limits);
        transaction
    }

    /// Starts over, in the memory of what was before.
    fn begin(&mut self, plan: Arc<Plan>, limits: BodyLimits) {
        self.limits = limits;
        self.buffers.begin(&plan.arena);
        self.facts.clear();
        self.matched.clear();
        self.evidence.clear();
        self.tx.clone_from(&plan.entries);
        self.tx_names.clone_from(&plan.name_texts);
        self.tx_dynamic.clear();
        refill(&mut self.found, plan.program.targets.len());
        self.values.clear();
        self.texts.clear();
        self.seen.clear();
        self.steps.clear();
        self.begin_summaries(plan.program.cells.len(), plan.program.groups.len());
        self.hits.clear();
        self.engine = plan.engine;
        self.controls.clear();
        self.scores = [0; 4];
        self.allowed = None;
        self.too_long = None;
        let own_limit = plan.program.limits.arguments.unwrap_or(usize::MAX);
        self.limits.arguments = self.limits.arguments.min(own_limit);
        self.open.clear();
        self.entries.clear();
        self.env.clear();
        self.rule.clear();
        self.now = Duration::ZERO;
        self.response_body_access = plan.program.response_body.access;
        self.plan = plan;
    }

    /// Lets go of everything that is not its own memory: rules and bodies.
    pub(super) fn rest(&mut self) {
        self.plan = no_rules();
        self.buffers.begin(&[]);
    }

    /// The memory of what grows with a request.
    pub(super) fn capacity_bytes(&self) -> usize {
        fn bytes<T>(list: &Vec<T>) -> usize {
            list.capacity() * size_of::<T>()
        }
        self.buffers.capacity_bytes()
            + bytes(&self.values)
            + bytes(&self.seen)
            + bytes(&self.steps)
            + bytes(&self.summaries)
            + bytes(&self.literals)
            + bytes(&self.evidence)
    }

    /// A transaction of no rules, for definitions to be tried on.
    pub fn detached() -> Self {
        Self::new(no_rules(), BodyLimits::default())
    }

    /// Takes the request's head; then phase 1 can run.
    pub fn request_head(&mut self, head: &RequestHead<'_>) {
        self.now = head.received;
        if self.plan.program.moment {
            self.facts.moment = Moment::of(head.received, &mut self.buffers);
        }
        self.facts.read_head(head, self.limits, &mut self.buffers);
        self.facts.web_app_id = self.buffers.add(self.plan.program.web_app_id.as_bytes());
        self.forget_values();
    }

    /// Takes the body, read by its media type; then phase 2 can run. `cut` says that more followed.
    pub fn request_body(&mut self, body: Bytes, cut: bool) {
        let forced = self.controls.body_processor.take();
        let force_variable = self.controls.force_body_variable;
        if body.is_empty() && !cut && !self.plan.program.full_request {
            // Nothing follows that was not so before.
            return;
        }
        if self.buffers.has_body() {
            self.forget_texts();
        }
        let limits = self.plan.program.limits;
        let is_in_part = limits.reads_requests_in_part || self.engine == EngineMode::DetectionOnly;
        let (body, is_past) = match limits.request_bytes.filter(|limit| body.len() > *limit) {
            Some(limit) => (body.slice(..limit), true),
            None => (body, false),
        };
        let cut = cut || is_past;
        let error = (self.facts.body_error, self.facts.body_error_msg);
        let bytes = body.len();
        self.facts.read_body(body, forced.as_deref(), force_variable, self.limits, &mut self.buffers);
        if !self.plan.program.xml_paths.is_empty() {
            self.facts.find_xml_paths(&self.plan.program.xml_paths, self.limits, &mut self.buffers);
        }
        let without_files = bytes.saturating_sub(self.facts.files_bytes);
        let is_past =
            is_past || limits.request_bytes_without_files.is_some_and(|limit| without_files > limit);
        if is_past {
            self.facts.inbound_data_error = self.facts.one;
            self.too_long = (!is_in_part).then_some(413);
        }
        if self.plan.program.full_request {
            self.facts.compose_request(&mut self.buffers);
        }
        if cut {
            // That it does not end well is known; whether it does so in itself is not.
            self.facts.inbound_data_error = self.facts.one;
            (self.facts.body_error, self.facts.body_error_msg) = error;
        }
        self.forget_message();
    }

    /// Takes the response's head; then phase 3 can run.
    pub fn response_head(&mut self, head: &ResponseHead<'_>) {
        self.facts.read_response_head(head, &mut self.buffers);
        self.forget_message();
    }

    /// Whether rules want to see the response body: its media type is one of those inspected.
    pub fn wants_response_body(&self) -> bool {
        let content_type = self.bytes(self.response_content_type());
        let media_type = body::media_type(content_type);
        let types = &self.plan.program.response_body.media_types;
        self.response_body_access
            && types.iter().any(|wanted| wanted.as_bytes().eq_ignore_ascii_case(media_type))
    }

    /// Takes the response body; then phase 4 can run. `cut` says that more followed.
    pub fn response_body(&mut self, body: Bytes, cut: bool) {
        if self.buffers.has_response() {
            self.forget_texts();
        }
        let limits = self.plan.program.limits;
        let (body, is_past) = match limits.response_bytes.filter(|limit| body.len() > *limit) {
            Some(limit) => (body.slice(..limit), true),
            None => (body, false),
        };
        let is_in_part = limits.reads_responses_in_part || self.engine == EngineMode::DetectionOnly;
        self.too_long = (is_past && !is_in_part).then_some(500);
        self.facts.read_response_body(body, cut || is_past, &mut self.buffers);
        if self.plan.program.response_args {
            self.facts.read_response_args(self.limits, &mut self.buffers);
        }
        self.forget_message();
    }

    pub(crate) fn response_content_type(&self) -> Text {
        self.facts.response_header(b"content-type", &self.buffers)
    }

    /// Calls with each entry of an open collection.
    pub(crate) fn visit_collection(&self, kind: CollectionKind, visit: &mut dyn FnMut(Text, Text)) {
        let entries = self.entries.iter().filter(|(of, ..)| *of == kind);
        entries.for_each(|(_, name, value)| visit(*name, *value));
    }

    /// Forgets what is known of texts before a body takes the place of another: handles into the one
    /// would be handles into the other.
    fn forget_texts(&mut self) {
        self.texts.clear();
        self.values.clear();
        self.forget_values();
    }

    fn forget_values(&mut self) {
        self.found.iter_mut().for_each(|found| *found = None);
        self.cells.iter_mut().for_each(|known| *known = None);
        self.groups.iter_mut().for_each(|known| *known = None);
    }

    /// Whether there were more arguments than the limit; such a request was not wholly seen.
    pub fn has_too_many_arguments(&self) -> bool {
        self.facts.too_many_arguments
    }

    /// The anomaly score that rules added, by paranoia level from 1.
    pub fn scores(&self) -> [i64; 4] {
        self.scores
    }

    /// The anomaly score of all levels together.
    pub fn score(&self) -> i64 {
        self.scores.iter().sum()
    }

    /// Whether any rule that reports has matched.
    pub fn has_matches(&self) -> bool {
        self.logged().next().is_some()
    }

    /// What matched, in order, formatted.
    pub fn matches(&self) -> Vec<Match> {
        self.logged().filter_map(|hit| hit.report(self)).collect()
    }

    /// The matches of rules with `log`.
    fn logged(&self) -> impl Iterator<Item = &Hit> {
        let roots = &self.plan.program.roots;
        self.hits.iter().filter(|hit| roots.get(hit.root).is_some_and(|root| root.log))
    }

    /// The bytes of a handle.
    #[inline]
    pub(crate) fn bytes(&self, text: Text) -> &[u8] {
        self.buffers.get(text)
    }

    pub(super) fn tx_value(&self, index: usize) -> &[u8] {
        self.tx_entry(index).unwrap_or(&[])
    }

    pub(super) fn tx_entry(&self, index: usize) -> Option<&[u8]> {
        Some(self.buffers.get(self.tx.get(index).copied().flatten()?))
    }

    pub(super) fn set_tx(&mut self, index: usize, value: Option<Text>) {
        if let Some(slot) = self.tx.get_mut(index) {
            *slot = value;
        }
    }

    /// Calls with each TX entry.
    pub(crate) fn visit_tx(&self, visit: &mut dyn FnMut(Text, Text)) {
        for (name, value) in self.tx_names.iter().zip(&self.tx) {
            if let Some(value) = value {
                visit(*name, *value);
            }
        }
        self.tx_dynamic.iter().for_each(|(name, value)| visit(*name, *value));
    }

    /// The same with the entries of these indexes, and those of names made at run time that are taken.
    pub(super) fn visit_tx_of(
        &self,
        indexes: &[usize],
        is_taken: impl Fn(Text) -> bool,
        visit: &mut dyn FnMut(Text, Text),
    ) {
        for index in indexes {
            let entry = self.tx_names.get(*index).zip(self.tx.get(*index).copied().flatten());
            entry.into_iter().for_each(|(name, value)| visit(*name, value));
        }
        let dynamic = self.tx_dynamic.iter().filter(|(name, _)| is_taken(*name));
        dynamic.for_each(|(name, value)| visit(*name, *value));
    }

    /// Runs `fill` on an empty buffer and keeps what it wrote.
    pub(super) fn compose(&mut self, fill: impl FnOnce(&Self, &mut Vec<u8>)) -> Text {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        fill(self, &mut scratch);
        let text = self.buffers.add(&scratch);
        self.scratch = scratch;
        text
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Transaction({:?}, score {})", self.plan, self.score())
    }
}
