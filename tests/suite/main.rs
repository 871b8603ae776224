//! The integration suite: the real binary, real sockets, real peers. One module for each part.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "../support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the matrix uses what the suite does not")]
mod support;

mod account_rulesets;
mod admission;
mod ai_calls;
mod ai_pains;
mod ai_rows;
mod ai_steps;
mod ai_streams;
mod ai_universal;
mod api;
mod api_alerts;
mod api_auth;
mod api_durability;
mod api_events;
mod api_reads;
mod audit;
mod bodies;
mod body_rules;
mod budgets;
mod challenge_pages;
mod challenges;
mod cli;
mod conf;
mod conf_effects;
mod connections;
mod crs;
mod crs_proxy;
mod custom_rules;
mod custom_rulesets;
mod detection;
mod detection_set;
mod differential;
mod dns_command_line;
mod dns_encrypted;
mod dns_many_records;
mod dns_proxied;
mod dns_records;
mod dns_server;
mod dns_settings;
mod dns_signed;
mod dns_transfers;
mod error_pages;
mod expressions;
mod filters;
mod frames;
mod gateway;
mod geo;
mod listener;
mod lists;
mod nginx;
mod operations;
mod origin_rules;
mod parsers;
mod phases_and_actions;
mod places;
mod protocols;
mod rate_limits;
mod reload;
mod request_tracer;
mod responses;
mod rules;
mod sdk;
mod seclang;
mod seclang_outside;
mod spec;
mod transforms;
mod upgrade;
mod upstream;
mod waf;
mod waf_served;
mod ways_around;
