//! Portcullis: a self-hosted edge in one binary.
//!
//! The modules stand in the order in which a request passes them, then the control plane that makes
//! what requests are judged by. Two planes meet at one type, [`snapshot::Snapshot`]: the control
//! plane makes it, the data plane loads it once for each request.
//!
//! 1. [`listener`] accepts, finishes TLS with a certificate from [`certificates`], notes the client.
//! 2. [`proxy`] loads the snapshot and calls each step below; no step calls the next.
//! 3. [`admission`] refuses what is malformed, ambiguous or too large; heads of HTTP/1 as the listener reads them.
//! 4. [`routing`] finds the zone or gateway of the host.
//! 5. [`ruleset`] runs the zone's entry point: managed rulesets under overrides, which [`waf`]
//!    matches; bodies are read by [`body`] under limits.
//! 6. [`ai`] decides on gateway requests, reads what they used and keeps count; [`upstream`] chooses
//!    the origin.
//! 7. [`scanning`] has a copy of the response scanned by [`detection`], on threads of its own.
//! 8. [`events`] records what happened, once; [`records`] writes a row for each AI call.
//!
//! Beside the way of a request: [`regression`] runs tests of rule sets on [`waf`].
//!
//! Pure, without sockets, clock, files, Pingora or tokio: [`admission`], [`routing`], [`ruleset`],
//! [`waf`], [`body`], [`ai`] and [`detection`]. `tests/architecture.rs` keeps it
//! so.
//!
//! Words that mean one thing everywhere: a *zone* is a name and what stands behind it; an *origin* is
//! one server of a zone; a *ruleset* is a list of rules in the API's sense; a *program* is a compiled
//! rule set and a *plan* is a program under one zone's settings; a *ray* is the id of a request.

// Start-up.
pub mod cli;
pub mod server;
pub mod watchdog;

// What every part uses.
pub mod clock;
pub mod conf;
pub mod diagnostic;
pub mod memory;
pub mod named_file;
pub mod pattern;

// The data plane, in request order.
pub mod listener;
pub mod proxy;
// `admission` to `upstream`: one step each.
pub mod admission;
pub mod routing;
pub mod ruleset;
pub mod waf;
// Tests of rule sets, for `waf test`.
pub mod regression;
// Bodies, both ways.
pub mod body;
pub mod detection;
pub mod scanning;
// Where requests go.
pub mod ai;
pub mod upstream;
// What happened.
pub mod events;
pub mod records;

// Where the planes meet.
pub mod snapshot;

// The control plane.
pub mod api;
pub mod compile;
pub mod control;
pub mod model;
pub mod rules;
pub mod store;

// Keys, for both planes.
pub mod certificates;
