//! Portcullis: a self-hosted edge in one binary.
//!
//! Two planes meet at one type, [`snapshot::Snapshot`]: the control plane makes it, the data plane loads it once
//! for each request. The modules of this crate stand in the order in which a request passes them, then the control
//! plane. The engines are crates of their own, in `crates/`, without sockets, clock, files or metrics.
//!
//! 1. [`listener`] accepts over TCP and QUIC, finishes TLS with a certificate from [`certificates`], notes the client.
//! 2. [`proxy`] loads the snapshot and calls each step below; no step calls the next.
//! 3. [`admission`] refuses what is malformed, ambiguous or too large; heads of HTTP/1 as the listener reads them.
//! 4. [`routing`] finds the zone or gateway of the host.
//! 5. [`ruleset`] walks the zone's entry point of a phase: each rule whose expression matches acts.
//! 6. [`ai`] decides on gateway requests; [`response_cache`] keeps responses; [`upstream`] chooses the origin.
//! 7. [`scanning`] has a copy of the response scanned, on threads of its own.
//! 8. [`events`] records what happened, once; [`records`] writes a row for each AI call.
//!
//! Beside the request flow: [`names`] answers queries of resolvers, [`jobs`] verifies custom hostnames and gets certificates.
//! [`api`] is the admin port: the management API, and the page that shows it in a browser. [`alerts`] tells webhooks of
//! spikes and of what ends soon, [`old_uses`] counts who still uses that. [`health_checks`] asks origins, [`otlp_export`] sends
//! spans and lines of the log to a collector. [`zone_settings`] lists the settings of zones, [`geo`] knows where addresses are, [`regression`]
//! runs tests of rule sets.
//!
//! The crates. Each depends only on crates above it in this table:
//!
//! | crate | what it is |
//! |---|---|
//! | [`diagnostic`] | located errors and warnings, and how they are shown |
//! | [`dns`] | the name server without sockets: names, records, zone files, zones, answers |
//! | [`pattern`] | the only room that compiles patterns |
//! | [`body`] | heads and bounded readers of bodies |
//! | [`http3`] | frames and field sections of HTTP/3 |
//! | [`model`] | resources, ids and the types that several rooms share |
//! | `counters` | counters of limits by key and window, reserved before and settled after; counters of request rates |
//! | `challenge` | puzzles and clearances for browsers, and the page |
//! | [`shipped_rules`] | the rules in the binary, as text |
//! | [`expression`] | filter expressions of rules |
//! | [`seclang`] | the SecLang rule engine: text in, verdict out |
//! | [`detection`] | the scanner for sensitive data: a text in, findings out |
//! | [`hostnames`] | custom hostnames and certificates: names, states, waits, CAA |
//! | [`gateway`] | calls of AI providers: options, prices, limits, usage, keys, tokens, dynamic routes; messages for servers of tools |
//! | [`deprecations`] | the calendar of what ends, and how it is served on a day |
//! | [`store`] | state on disk: changesets, and the log of AI calls |
//!
//! Words that mean one thing everywhere: a *zone* is a name and what stands behind it; an *origin* is
//! one server of a zone; a *ruleset* is a list of rules in the API's sense; a *program* is a compiled
//! rule set and a *plan* is a program under one zone's settings; a *ray* is the id of a request.

// Start-up.
pub mod alerts;
pub mod cli;
pub mod health_checks;
pub mod server;
pub mod watchdog;

// What every part uses.
pub mod clock;
pub mod conf;
pub mod geo;
pub mod memory;
pub mod named_file;
pub mod old_uses;

// The data plane, in request order.
pub mod listener;
pub mod proxy;
pub mod response_cache;
// `admission` to `upstream`: one step each.
pub mod admission;
pub mod routing;
pub mod ruleset;
// Tests of rule sets, for `waf test`.
pub mod regression;
// Where requests go.
pub mod ai;
pub mod upstream;
// What happened.
pub mod events;
pub mod otlp_export;
pub mod records;
pub mod scanning;

// Where the planes meet.
pub mod snapshot;
pub mod zone_settings;

// The control plane.
pub mod api;
pub mod compile;
pub mod control;
pub mod jobs;
pub mod rules;

// Queries of resolvers, from the same snapshot.
pub mod names;

// Keys, for both planes.
pub mod certificates;
