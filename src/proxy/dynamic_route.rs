//! Calls whose model is the name of a dynamic route: its graph is walked, its limits are taken, and the models that it
//! comes to are asked until one answers well.
//!
//! A caller's own key never goes out with such a call, because the caller does not know which provider would get it.

use std::slice;

use http::HeaderMap;
use pingora::Result;
use pingora::proxy::Session;
use serde_json::Value;

use super::call_estimate::{Asking, estimate};
use super::context::{Context, Route};
use super::gateway::{Rejected, reject};
use super::inspect::OFFLOADED_BYTES;
use super::refusal::Refusal;
use super::steps::{Kind, StepPlan, or_next};
use super::{Edge, refuse};
use ::gateway::answer::GatewayError;
use ::gateway::dynamic_route::{
    MAX_MODELS, PREFIX, RouteFacts, RouteGraph, RouteLimit, RouteModel, RouteStop,
};
use ::gateway::limit::{self, Amounts, Caller, Estimate, Exceeded, Reservation};
use ::gateway::metadata::Metadata;
use ::gateway::options::Options;
use ::gateway::step::{self, Step};
use ::gateway::unique_json;
use model::{Limit, Measure};

/// Where a step stands among those of its request.
pub(super) struct StepTurn<'r> {
    pub(super) nth: usize,
    pub(super) is_last: bool,
    /// Of a step that a route found.
    pub(super) charge: Option<&'r mut RouteCharge>,
}

/// What the calls of a route owe to the limits that it passed.
#[derive(Default)]
pub(super) struct RouteCharge {
    /// Requests: the first call that goes out carries them.
    pub(super) counted: Vec<Reservation>,
    /// Money: each call reserves what it may cost.
    pub(super) costs: Vec<PassedLimit>,
    /// The name of the route.
    pub(super) route: String,
    /// The model that is asked, by its name at the provider and in the graph.
    pub(super) model: String,
    model_id: String,
}

/// A limit of money that a route passed.
#[derive(Debug)]
pub(super) struct PassedLimit {
    pub(super) limit: Limit,
    /// What its counters are called.
    pub(super) counter: String,
    /// The value that it is counted by.
    pub(super) value: Metadata,
    /// What was reserved for the model that was ahead, and its id. If another one is asked, it is given back.
    held: Option<(String, Reservation)>,
}

impl PassedLimit {
    /// What was reserved for the call that is about to go out.
    pub(super) fn take_held(&mut self) -> Option<Reservation> {
        self.held.take().map(|(_, reservation)| reservation)
    }
}

impl RouteCharge {
    /// The limits of money that a call to a model is to meet, with what was reserved for it.
    pub(super) fn hand_over_costs(&mut self) -> Vec<PassedLimit> {
        let hand_over = |passed: &mut PassedLimit| {
            let held = passed.held.take().filter(|(model, _)| *model == self.model_id);
            let PassedLimit { limit, counter, value, .. } = &*passed;
            PassedLimit { limit: limit.clone(), counter: counter.clone(), value: value.clone(), held }
        };
        self.costs.iter_mut().map(hand_over).collect()
    }
}

/// A call on its way through a route.
struct RouteWalk<'w> {
    plan: &'w StepPlan,
    graph: &'w RouteGraph,
    name: &'w str,
    step: &'w Step,
    facts: RouteFacts<'w>,
    seed: u64,
}

impl Edge {
    /// Asks the models that a route comes to; true if the client was answered.
    pub(super) async fn take_route(
        &self,
        plan: &StepPlan,
        name: &str,
        step: Step,
        turn: StepTurn<'_>,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<bool> {
        let is_last = turn.is_last;
        ctx.route = Route::without_call(Some(&plan.gateway), "unknown");
        let Some(graph) = plan.gateway.routes.get(name).cloned() else {
            ctx.reason = Some(format!("the gateway has no route `{name}`"));
            return or_next(is_last, || refuse(ctx, Refusal::Gateway(GatewayError::ModelNotFound)));
        };
        let body = match graph.reads_body() {
            true => self.read_body(&step).await,
            false => Ok(Value::Null),
        };
        let body = match body {
            Ok(body) => body,
            Err(error) => {
                ctx.reason = Some(format!("the route `{name}` reads the body: {error}"));
                return or_next(is_last, || refuse(ctx, Refusal::Gateway(GatewayError::BadRequest)));
            }
        };
        let headers: HeaderMap = match plan.kind {
            Kind::Universal => step.headers.clone(),
            _ => session.req_header().headers.clone(),
        };
        let token = plan.token.as_ref().map(model::TokenId::as_str);
        let facts = RouteFacts { metadata: &step.options.metadata, headers: &headers, body: &body, token };
        let walk = RouteWalk { plan, graph: &graph, name, step: &step, facts, seed: self.rays.unique() };
        self.walk(walk, turn, session, ctx).await
    }

    /// Parses the body of a step. A long body is parsed on another thread, so that other requests do not wait.
    async fn read_body(&self, step: &Step) -> std::result::Result<Value, String> {
        let read = |body: &[u8]| unique_json(body).map_err(|error| error.to_string());
        if step.body.len() <= OFFLOADED_BYTES {
            return read(&step.body);
        }
        let body = step.body.clone();
        let read = self.offload.run(body.len(), move || read(&body)).await;
        read.unwrap_or_else(|| Err("the body cannot be read".to_owned()))
    }

    async fn walk(
        &self,
        walk: RouteWalk<'_>,
        turn: StepTurn<'_>,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<bool> {
        let RouteWalk { plan, graph, facts, seed, .. } = walk;
        let StepTurn { nth, is_last, .. } = turn;
        let mut at = graph.start();
        let mut charge = RouteCharge { route: walk.name.to_owned(), ..RouteCharge::default() };
        loop {
            match graph.follow(at, &facts, seed) {
                RouteStop::End => {
                    ctx.reason = Some(format!("the route `{}` leads to no model for this call", walk.name));
                    return or_next(is_last, || refuse(ctx, Refusal::Gateway(GatewayError::ModelNotFound)));
                }
                RouteStop::Limit(limit) => {
                    match (self.pass_limit(&walk, limit, &mut charge, ctx), limit.fallback) {
                        (Ok(()), _) => at = limit.success,
                        (Err(_), Some(fallback)) => at = fallback,
                        (Err(exceeded), None) => {
                            return or_next(is_last, || reject(ctx, Rejected::Exceeded(exceeded)));
                        }
                    }
                }
                // A list of calls may name many routes: one request must not become hundreds.
                RouteStop::Model(_) if ctx.routed_models == MAX_MODELS => {
                    ctx.reason = Some(format!("the routes of one request ask at most {MAX_MODELS} models"));
                    return or_next(is_last, || refuse(ctx, Refusal::Gateway(GatewayError::ProviderFailed)));
                }
                RouteStop::Model(model) => {
                    ctx.routed_models += 1;
                    let fallback = model
                        .fallback
                        .filter(|next| !matches!(graph.follow(*next, &facts, seed), RouteStop::End));
                    let is_last = is_last && fallback.is_none();
                    let made = match walk.step_to(model) {
                        Ok(made) => made,
                        Err(reason) => {
                            ctx.reason = Some(reason);
                            return or_next(is_last, || {
                                refuse(ctx, Refusal::Gateway(GatewayError::BadRequest))
                            });
                        }
                    };
                    charge.model.clone_from(&model.model);
                    charge.model_id.clone_from(&model.id);
                    let turn = StepTurn { nth, is_last, charge: Some(&mut charge) };
                    if Box::pin(self.take_step(plan, made, turn, session, ctx)).await? {
                        return Ok(true);
                    }
                    match fallback {
                        Some(next) => at = next,
                        None => return Ok(false),
                    }
                }
            }
        }
    }

    /// Takes what a call may use of a limit of its route.
    fn pass_limit(
        &self,
        walk: &RouteWalk<'_>,
        limit: &RouteLimit,
        charge: &mut RouteCharge,
        ctx: &Context,
    ) -> std::result::Result<(), Exceeded> {
        let mut passed = walk.counted_by(limit);
        let caller = Caller {
            gateway: &passed.counter,
            token: None,
            provider: "",
            model: None,
            priced_model: None,
            metadata: &passed.value,
        };
        let costs = passed.limit.measure == Measure::Cost;
        let ahead = walk.graph.model_ahead(limit, &walk.facts, walk.seed).filter(|_| costs);
        let needed = ahead.map_or_else(Estimate::default, |model| self.needed(walk, model, &passed, ctx));
        let (ledger, now) = (self.recorder.ledger(), self.clock.unix());
        let taken = limit::reserve(ledger, slice::from_ref(&passed.limit), caller, needed, now)?;
        if costs {
            passed.held = ahead.map(|model| (model.id.clone(), taken));
            charge.costs.push(passed);
        } else {
            charge.counted.push(taken);
        }
        Ok(())
    }

    /// What a model may cost. If nobody knows, something has to be left.
    fn needed(
        &self,
        walk: &RouteWalk<'_>,
        model: &RouteModel,
        passed: &PassedLimit,
        ctx: &Context,
    ) -> Estimate {
        let gateways = &ctx.snapshot.gateways;
        let known = walk.step_to(model).ok().and_then(|step| {
            let (provider, path) = gateways.provider(&step.slug, &step.path)?;
            let asking = Asking {
                limits: vec![&passed.limit],
                options: &step.options,
                settings: &walk.plan.gateway.settings,
                token: walk.plan.token.as_ref(),
                provider: &provider.slug,
                path: &path,
            };
            estimate(&asking, Some(&step.body), &http::Method::POST, &gateways.prices).ok()
        });
        let least = Estimate { least: Amounts::default(), most: Amounts { tokens: 0, cost_nanos: 1 } };
        known.map_or(least, |known| known.estimate)
    }
}

impl RouteWalk<'_> {
    /// The call as it goes to a model.
    fn step_to(&self, model: &RouteModel) -> std::result::Result<Step, String> {
        let timeout = Some(model.timeout).filter(|timeout| !timeout.is_zero());
        let options = Options {
            request_timeout: timeout.or(self.step.options.request_timeout),
            max_attempts: Some(model.attempts),
            ..self.step.options.clone()
        };
        let made = step::routed(&self.step.body, &model.provider, &model.model, &options)?;
        Ok(Step { headers: self.step.headers.clone(), ..made })
    }

    /// A limit with the counter of this call.
    fn counted_by(&self, limit: &RouteLimit) -> PassedLimit {
        let counter = format!("{} {PREFIX}/{} {}", self.plan.gateway.label, self.name, limit.id);
        PassedLimit { limit: limit.limit.clone(), counter, value: limit.value(&self.facts), held: None }
    }
}
