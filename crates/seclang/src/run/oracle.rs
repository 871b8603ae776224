//! A plain interpreter of the IR: rules in order, every value looked up, transformed and tested again,
//! no plan, no prefilter. Short enough to be seen to be right; the matcher must agree with it.
//!
//! What is kept from one request to the next ([`Memo`]) has only its own key as input: a pattern's
//! text, or a link of the rules with the bytes of a value.
//!
//! It shares the readers of requests and the definitions of transformations and operators with the
//! matcher, for those have tests of their own. Persistent collections are left out.

#![expect(clippy::unwrap_used, reason = "only tests run it, and a test that cannot go on fails")]

mod interpreter;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;

use super::{Match, Plan, PlanSettings, Transaction};
use crate::{BodyLimits, RequestHead, ResponseHead};

use crate::ir::{EngineMode, ItemIr, OperatorIr, RuleIr, RuleSetIr, RulesIr, SelectorIr};
use crate::macros::{Macro, Part};
use crate::operators::Test;
use crate::{Phase, variables};
use pattern::{Groups, Pattern};

/// What both sides say of a match.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    rule: u64,
    message: String,
    data: String,
    /// Names and values that it matched, the last of them.
    values: Vec<(String, Vec<u8>)>,
    score: i64,
}

impl From<&Match> for Seen {
    fn from(m: &Match) -> Self {
        Self {
            rule: m.rule,
            message: m.message.clone(),
            data: m.data.clone(),
            values: m.values.iter().map(|v| (v.variable.clone(), v.value.clone())).collect(),
            score: m.score,
        }
    }
}

/// A request with its response, owned.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    pub method: Vec<u8>,
    pub target: Vec<u8>,
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    pub body: Vec<u8>,
    pub response: Vec<u8>,
}

impl Exchange {
    fn drive(&self, mut step: impl FnMut(Step<'_>)) {
        let headers: Vec<(&[u8], &[u8])> =
            self.headers.iter().map(|(n, v)| (n.as_slice(), v.as_slice())).collect();
        let head = RequestHead {
            method: &self.method,
            target: &self.target,
            protocol: "HTTP/1.1",
            headers: &headers,
            client: std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
            server: None,
            request_id: "oracle",
            received: std::time::Duration::from_secs(1_750_000_000),
        };
        step(Step::Head(&head));
        step(Step::Run(Phase::RequestHeaders));
        step(Step::Body(&self.body));
        step(Step::Run(Phase::RequestBody));
        let fields: [(&[u8], &[u8]); 1] = [(b"Content-Type", b"text/html")];
        step(Step::ResponseHead(&ResponseHead { status: 200, protocol: "HTTP/1.1", headers: &fields }));
        step(Step::Run(Phase::ResponseHeaders));
        step(Step::ResponseBody(&self.response));
        step(Step::Run(Phase::ResponseBody));
        step(Step::Run(Phase::Logging));
    }
}

enum Step<'s> {
    Head(&'s RequestHead<'s>),
    Body(&'s [u8]),
    ResponseHead(&'s ResponseHead<'s>),
    ResponseBody(&'s [u8]),
    Run(Phase),
}

/// What the matcher says.
pub fn by_matcher(plan: &Arc<Plan>, exchange: &Exchange) -> (Vec<Seen>, [i64; 4]) {
    let mut transaction = Transaction::new(Arc::clone(plan), BodyLimits::default());
    exchange.drive(|step| match step {
        Step::Run(phase) => {
            transaction.run(phase);
        }
        step => feed(&mut transaction, &step),
    });
    (transaction.matches().iter().map(Seen::from).collect(), transaction.scores())
}

fn feed(transaction: &mut Transaction, step: &Step<'_>) {
    match step {
        Step::Head(head) => transaction.request_head(head),
        Step::Body(body) => transaction.request_body(Bytes::copy_from_slice(body), false),
        Step::ResponseHead(head) => transaction.response_head(head),
        Step::ResponseBody(body) => transaction.response_body(Bytes::copy_from_slice(body), false),
        Step::Run(_) => {}
    }
}

/// A value after its transformations, whether the operator holds, and where.
type Tested = (Vec<u8>, bool, Groups);
type Entries = Vec<(Vec<u8>, Vec<u8>)>;
type Targets = Vec<(RulesIr, &'static variables::Definition, Option<SelectorIr>)>;

/// Values are hashed again and again: what is safe from strangers would take most of the time.
type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// Answers that depend on nothing but the question.
#[derive(Default)]
pub struct Memo {
    patterns: RefCell<Map<String, Rc<Pattern>>>,
    /// By operator and expanded argument; operators are known by their address in the rules.
    tests: Map<(usize, String), Option<Box<dyn Test>>>,
    arguments: Map<usize, Arc<Macro>>,
    /// By link, then by value, for operators whose argument has no macros.
    tested: Map<usize, Map<Vec<u8>, Arc<[Tested]>>>,
    tested_bytes: usize,
}

impl Memo {
    fn pattern(&self, text: &str) -> Rc<Pattern> {
        if let Some(known) = self.patterns.borrow().get(text) {
            return Rc::clone(known);
        }
        let pattern = Rc::new(Pattern::new(text).unwrap());
        self.patterns.borrow_mut().insert(text.to_owned(), Rc::clone(&pattern));
        pattern
    }

    fn takes(&self, selector: &SelectorIr, key: &[u8]) -> bool {
        match selector {
            SelectorIr::Name(name) => key.eq_ignore_ascii_case(name.as_bytes()),
            SelectorIr::Pattern(pattern) => self.pattern(&format!("(?i){pattern}")).is_match(key),
        }
    }

    fn means(&self, rules: &RulesIr, rule: &RuleIr) -> bool {
        match rules {
            RulesIr::Ids { first, last } => (*first..=*last).contains(&rule.id),
            RulesIr::Tag(pattern) => {
                let pattern = self.pattern(pattern);
                rule.actions.tags.iter().any(|tag| pattern.is_match(tag.as_bytes()))
            }
            RulesIr::Msg(pattern) => self.pattern(pattern).is_match(rule.actions.msg.to_string().as_bytes()),
        }
    }

    fn argument(&mut self, operator: &OperatorIr) -> Arc<Macro> {
        let parse = || {
            let literal = |_| Macro(vec![Part::Literal(operator.argument.clone())]);
            Arc::new(Macro::parse(&operator.argument).unwrap_or_else(literal))
        };
        Arc::clone(self.arguments.entry(address(operator)).or_insert_with(parse))
    }

    /// Keeps memory within bounds: requests that are mutated never repeat in full.
    pub fn trim(&mut self) {
        if self.tested_bytes > 256 << 20 {
            (self.tested, self.tested_bytes) = (Map::default(), 0);
        }
        if self.tests.len() > 20_000 {
            self.tests.clear();
        }
    }
}

fn address<T>(value: &T) -> usize {
    std::ptr::from_ref(value).addr()
}

/// The rules of each phase, in order, with every marker.
pub struct Phases<'i>(EngineMode, HashMap<Phase, Vec<&'i ItemIr>>);

impl<'i> Phases<'i> {
    pub fn of(ir: &'i RuleSetIr) -> Self {
        let is_of = |item: &ItemIr, phase| match item {
            ItemIr::Marker(_) => true,
            ItemIr::Rule(rule) => rule.phase == phase,
        };
        let items = |phase| (phase, ir.items.iter().filter(|item| is_of(item, phase)).collect());
        Self(ir.engine, Phase::ALL.into_iter().map(items).collect())
    }
}

struct Oracle<'i> {
    phases: &'i Phases<'i>,
    memo: &'i mut Memo,
    transaction: Transaction,
    engine: EngineMode,
    tx: Vec<(String, Vec<u8>)>,
    matched: Vec<(Vec<u8>, Vec<u8>)>,
    removed: Vec<RulesIr>,
    removed_targets: Targets,
    allowed: Option<Phase>,
    seen: Vec<Seen>,
    scores: [i64; 4],
    severity: Vec<u8>,
}

/// What the plain interpreter says.
pub fn by_oracle(
    phases: &Phases<'_>,
    settings: &PlanSettings,
    memo: &mut Memo,
    exchange: &Exchange,
) -> (Vec<Seen>, [i64; 4]) {
    let entry = |(name, value): &(String, String)| (name.clone(), value.as_bytes().to_vec());
    let mut oracle = Oracle {
        phases,
        memo,
        transaction: Transaction::detached(),
        engine: phases.0,
        tx: settings.variables.iter().map(entry).collect(),
        matched: Vec::new(),
        removed: Vec::new(),
        removed_targets: Vec::new(),
        allowed: None,
        seen: Vec::new(),
        scores: [0; 4],
        severity: b"255".to_vec(),
    };
    exchange.drive(|step| match step {
        Step::Run(phase) => oracle.phase(phase),
        step => feed(&mut oracle.transaction, &step),
    });
    (oracle.seen, oracle.scores)
}
