//! One request under one plan: what the proxy, `explain` and the tests drive.

use crate::data::Data;
use crate::data::Matched;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;

use super::plan::Plan;
use super::pool;
use super::report::{Hit, Match};
use super::summary::{CachedValue, GroupSummary, Summary, SummaryId};
use crate::Phase;
use crate::data::BodyLimits;
use crate::data::ReceivedTime;
use crate::data::Text;
use crate::ir::EngineMode;
use crate::prefilter::literals;
use crate::variables;
use body::head::{RequestHead, ResponseHead};

/// Rules refused the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// 0 if a limit of the rule files did.
    pub rule: u64,
    pub status: u16,
    pub phase: Phase,
    /// Where a redirect leads.
    pub location: Option<String>,
}

/// The run of a plan over one request.
pub struct Transaction {
    pub(super) plan: Arc<Plan>,
    pub(super) limits: BodyLimits,
    /// What rules look at.
    pub(super) data: Data,
    /// What was found out about values, so that each is looked up and transformed once.
    pub(super) cache: Cache,
    /// What rules decided.
    pub(super) verdict: Verdict,
    /// What rules changed about the rest of the run.
    pub(super) controls: Controls,
}

/// Values, what transformations make of them, and what is known of them.
#[derive(Default)]
pub(super) struct Cache {
    /// For each target of the program: its values, as a range of `values`.
    pub(super) found: Vec<Option<(u32, u32)>>,
    pub(super) values: Vec<Value>,
    /// The index in `seen` of each text that is a value, however many targets it is a value of.
    pub(super) texts: HashMap<Text, usize, foldhash::fast::FixedState>,
    pub(super) seen: Vec<CachedValue>,
    /// For each entry of `seen` and transformation: 1 + the index in `seen`, or 0.
    pub(super) steps: Vec<u32>,
    /// What is known of values together.
    pub(super) summaries: Vec<Summary>,
    /// For each cached target of the program what is known of its values.
    pub(super) transformed_targets: Vec<Option<SummaryId>>,
    /// The same for each group.
    pub(super) groups: Vec<Option<GroupSummary>>,
    /// The literals that values and summaries hold: pieces of as many words as the program needs.
    pub(super) literals: Vec<literals::Words>,
    /// Where in long values they stand.
    pub(super) places: Vec<literals::Words>,
    /// Names and values on their way into `values`; empty between uses.
    pub(super) entries_found: Vec<(Text, Text)>,
}

/// What rules decided.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) hits: Vec<Hit>,
    /// What the rules that matched in full had matched.
    pub(super) evidence: Vec<Matched>,
    /// The anomaly score by paranoia level.
    pub(super) scores: [i64; 4],
    /// The last phase that rules do not judge any more.
    pub(super) allowed: Option<Phase>,
    /// The status with which a body is refused that is longer than a limit of the rule files.
    pub(super) too_long: Option<u16>,
}

impl Verdict {
    fn clear(&mut self) {
        self.hits.clear();
        self.evidence.clear();
        (self.scores, self.allowed, self.too_long) = ([0; 4], None, None);
    }
}

/// What `ctl` changed.
#[derive(Debug, Default)]
pub(super) struct Controls {
    /// Places of `ruleRemoveBy…` in the program: root, link, control.
    pub(super) removed: Vec<(usize, usize, usize)>,
    /// The same of `ruleRemoveTargetBy…`.
    pub(super) removed_targets: Vec<(usize, usize, usize)>,
    /// Ids of rules that do not run for this request.
    pub(super) excluded: Vec<u64>,
    /// Ids of rules that report and refuse nothing for this request.
    pub(super) reporting: Vec<u64>,
    pub(super) body_processor: Option<String>,
    pub(super) force_body_variable: bool,
    pub(super) engine: EngineMode,
    pub(super) response_body_access: bool,
}

impl Controls {
    /// Starts over, with what a plan says.
    fn begin(&mut self, plan: &Plan) {
        self.removed.clear();
        self.removed_targets.clear();
        self.excluded.clear();
        self.reporting.clear();
        self.body_processor = None;
        self.force_body_variable = false;
        self.engine = plan.engine;
        self.response_body_access = plan.program.response_body.access;
    }
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
        let program = crate::compile::optimize(&crate::RuleSetIr::default());
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
            data: Data::default(),
            cache: Cache::default(),
            verdict: Verdict::default(),
            controls: Controls::default(),
        }
    }
}

impl Transaction {
    pub fn new(plan: Arc<Plan>, limits: BodyLimits) -> Self {
        let mut transaction = pool::take();
        transaction.begin(plan, limits);
        transaction
    }

    /// Has rules not run for this request, by their ids. Rules that set what is the same for every request are not among
    /// those that run for one.
    pub fn exclude(&mut self, rules: impl IntoIterator<Item = u64>) {
        self.controls.excluded.extend(rules);
    }

    /// Says which block lists name the client, of those that rules ask ([`Plan::block_lists`]).
    pub fn client_is_listed_in(&mut self, block_lists: &[Arc<str>]) {
        self.data.message.listed_in.extend_from_slice(block_lists);
    }

    /// Has a rule report, and not refuse, this request.
    pub fn only_report(&mut self, rule: u64) {
        self.controls.reporting.push(rule);
    }

    /// Starts over, in the memory of what was before.
    fn begin(&mut self, plan: Arc<Plan>, limits: BodyLimits) {
        self.limits = limits;
        let own_limit = plan.program.limits.arguments.unwrap_or(usize::MAX);
        self.limits.arguments = self.limits.arguments.min(own_limit);
        self.data.begin(&plan.arena, &plan.entries, &plan.name_texts);
        refill(&mut self.cache.found, plan.program.targets.len());
        self.cache.values.clear();
        self.cache.texts.clear();
        self.cache.seen.clear();
        self.cache.steps.clear();
        self.begin_summaries(plan.program.transformed_targets.len(), plan.program.groups.len());
        self.verdict.clear();
        self.controls.begin(&plan);
        self.plan = plan;
    }

    /// Lets go of everything that is not its own memory: rules and bodies.
    pub(super) fn rest(&mut self) {
        self.plan = no_rules();
        self.data.buffers.begin(&[]);
    }

    /// The memory of what grows with a request.
    pub(super) fn capacity_bytes(&self) -> usize {
        fn bytes<T>(list: &Vec<T>) -> usize {
            list.capacity() * size_of::<T>()
        }
        self.data.buffers.capacity_bytes()
            + bytes(&self.cache.values)
            + bytes(&self.cache.seen)
            + bytes(&self.cache.steps)
            + bytes(&self.cache.summaries)
            + bytes(&self.cache.literals)
            + bytes(&self.cache.places)
            + bytes(&self.verdict.evidence)
    }

    /// A transaction of no rules, for definitions to be tried on.
    pub fn detached() -> Self {
        Self::new(no_rules(), BodyLimits::default())
    }

    /// Takes the request's head; then phase 1 can run.
    pub fn request_head(&mut self, head: &RequestHead<'_>) {
        self.data.now = head.received;
        if self.plan.program.received_time {
            self.data.message.received_time = ReceivedTime::of(head.received, &mut self.data.buffers);
        }
        self.data.message.read_head(head, self.limits, &mut self.data.buffers);
        self.data.message.web_app_id = self.data.buffers.add(self.plan.program.web_app_id.as_bytes());
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
        if self.data.buffers.has_body() {
            self.forget_texts();
        }
        let limits = self.plan.program.limits;
        let is_in_part = limits.reads_requests_in_part || self.controls.engine == EngineMode::DetectionOnly;
        let (body, is_past) = match limits.request_bytes.filter(|limit| body.len() > *limit) {
            Some(limit) => (body.slice(..limit), true),
            None => (body, false),
        };
        let cut = cut || is_past;
        let error = (self.data.message.body_error, self.data.message.body_error_msg);
        let bytes = body.len();
        self.data.message.read_body(
            body,
            forced.as_deref(),
            force_variable,
            self.limits,
            &mut self.data.buffers,
        );
        if !self.plan.program.xml_paths.is_empty() {
            self.data.message.find_xml_paths(
                &self.plan.program.xml_paths,
                self.limits,
                &mut self.data.buffers,
            );
        }
        let without_files = bytes.saturating_sub(self.data.message.files_bytes);
        let is_past =
            is_past || limits.request_bytes_without_files.is_some_and(|limit| without_files > limit);
        if is_past {
            self.data.message.inbound_data_error = self.data.message.one;
            self.verdict.too_long = (!is_in_part).then_some(413);
        }
        if self.plan.program.full_request {
            self.data.message.compose_request(&mut self.data.buffers);
        }
        if cut {
            // That it does not end well is known; whether it does so in itself is not.
            self.data.message.inbound_data_error = self.data.message.one;
            (self.data.message.body_error, self.data.message.body_error_msg) = error;
        }
        self.forget_message();
    }

    /// Takes the response's head; then phase 3 can run.
    pub fn response_head(&mut self, head: &ResponseHead<'_>) {
        self.data.message.read_response_head(head, &mut self.data.buffers);
        self.forget_message();
    }

    /// Whether rules want to see the response body: its media type is one of those inspected.
    pub fn wants_response_body(&self) -> bool {
        let content_type = self.data.bytes(self.data.response_content_type());
        let media_type = body::media_type(content_type);
        let types = &self.plan.program.response_body.media_types;
        self.controls.response_body_access
            && types.iter().any(|wanted| wanted.as_bytes().eq_ignore_ascii_case(media_type))
    }

    /// Takes the response body; then phase 4 can run. `cut` says that more followed.
    pub fn response_body(&mut self, body: Bytes, cut: bool) {
        if self.data.buffers.has_response() {
            self.forget_texts();
        }
        let limits = self.plan.program.limits;
        let (body, is_past) = match limits.response_bytes.filter(|limit| body.len() > *limit) {
            Some(limit) => (body.slice(..limit), true),
            None => (body, false),
        };
        let is_in_part = limits.reads_responses_in_part || self.controls.engine == EngineMode::DetectionOnly;
        self.verdict.too_long = (is_past && !is_in_part).then_some(500);
        self.data.message.read_response_body(body, cut || is_past, &mut self.data.buffers);
        if self.plan.program.response_args {
            self.data.message.read_response_args(self.limits, &mut self.data.buffers);
        }
        self.forget_message();
    }

    /// Forgets what is known of texts before a body takes the place of another: handles into the one
    /// would be handles into the other.
    fn forget_texts(&mut self) {
        self.cache.texts.clear();
        self.cache.values.clear();
        self.forget_values();
    }

    fn forget_values(&mut self) {
        self.cache.found.iter_mut().for_each(|found| *found = None);
        self.cache.transformed_targets.iter_mut().for_each(|known| *known = None);
        self.cache.groups.iter_mut().for_each(|known| *known = None);
    }

    /// Whether there were more arguments than the limit; such a request was not wholly seen.
    pub fn has_too_many_arguments(&self) -> bool {
        self.data.message.too_many_arguments
    }

    /// The anomaly score that rules added, by paranoia level from 1.
    pub fn scores(&self) -> [i64; 4] {
        self.verdict.scores
    }

    /// The anomaly score of all levels together.
    pub fn score(&self) -> i64 {
        self.verdict.scores.iter().sum()
    }

    /// What of the anomaly score rules with a tag added.
    pub fn score_of(&self, tag: &str) -> i64 {
        let has_tag = |hit: &&Hit| {
            let root = self.plan.program.roots.get(hit.root);
            hit.score != 0 && root.is_some_and(|root| root.meta.tags.iter().any(|known| known == tag))
        };
        self.verdict.hits.iter().filter(has_tag).map(|hit| hit.score).sum()
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
        self.verdict.hits.iter().filter(|hit| roots.get(hit.root).is_some_and(|root| root.log))
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Transaction({:?}, score {})", self.plan, self.score())
    }
}
