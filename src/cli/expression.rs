//! `portcullis expression test`: whether an expression matches a request, or what it gives.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};

use super::{Failure, deployment, print, printable};
use crate::geo::GeoDatabases;
use crate::regression::RawRequest;
use expression::{Expression, Facts, Mistake, NamedSet, NamedSets, ReadBody, ValueExpression};
use model::{Account, Phase};

/// Work with filter expressions without a server.
#[derive(Debug, Subcommand)]
pub(super) enum ExpressionCommand {
    Test(Test),
}

/// Say whether an expression matches a raw HTTP request, or which value it gives.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  printf 'GET /admin HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n' | portcullis expression test 'http.request.uri.path eq \"/admin\"' --request -"
)]
pub(super) struct Test {
    /// Such as `http.host eq "shop.example"`, or one that gives a value such as `lower(http.host)`.
    expression: String,
    /// The request: head and body as they go over the wire. `-` is standard input.
    #[arg(long, value_name = "FILE")]
    request: PathBuf,
    /// The phase whose rule it is for.
    #[arg(long, value_name = "PHASE", default_value = "http_request_firewall_custom")]
    phase: String,
    /// The address that the request comes from.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    client: IpAddr,
    /// A configuration, whose lists and databases of addresses can be named.
    #[arg(long, value_name = "FILE")]
    conf: Option<PathBuf>,
}

impl Test {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let words = || Phase::ALL.map(Phase::word).join("`, `");
        let phase = Phase::parse(&self.phase)
            .ok_or_else(|| format!("unknown phase `{}`; expected one of `{}`", self.phase, words()))?;
        let (sets, places) = self.sets()?;
        let raw = super::waf_explain::read_request(&self.request)?;
        let raw = RawRequest::split(&raw)?;
        let (method, target, protocol) = raw.parts()?;
        let mut head = deployment::head(method, target, protocol, &raw.headers);
        head.client = self.client;
        let content_type = raw.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(b"content-type"));
        let content_type = content_type.map_or(&b""[..], |(_, value)| value);
        let body = ReadBody::new(raw.body, false, content_type);
        let facts = Facts::of_request(&head).with_body(Some(&body)).with_places(Some(&*places));
        let text = &self.expression;
        let mistake = match Expression::parse_with(text, phase, &sets) {
            Ok(expression) if expression.matches(&facts) => return print("it matches\n"),
            Ok(_) => return print("it does not match\n"),
            Err(mistake) => mistake,
        };
        // What is no condition may be a value.
        match ValueExpression::text(text, phase, &sets) {
            Ok(value) => match value.give(&facts) {
                Some(given) => {
                    print(&format!("it gives `{}`\n", printable(&String::from_utf8_lossy(&given))))
                }
                None => print("it gives nothing: a part that it names is missing\n"),
            },
            Err(_) => Err(Failure::Input(shown(&mistake, text))),
        }
    }

    fn sets(&self) -> Result<(NamedSets, Arc<GeoDatabases>), Failure> {
        let mut sets = NamedSets::default();
        let Some(path) = &self.conf else { return Ok((sets, Arc::default())) };
        let (conf, _) = crate::conf::load(path)?;
        let lists = conf.resources.lists.values().filter(|list| list.account.as_str() == Account::DEFAULT);
        for list in lists {
            let set = NamedSet::of(list.kind, list.items.iter().map(|item| item.value.as_str()));
            sets.insert(list.name.clone(), set);
        }
        Ok((sets.with_places(conf.geo.kinds()), conf.geo))
    }
}

fn shown(mistake: &Mistake, text: &str) -> String {
    format!("{}\n{mistake}", mistake.excerpt(text))
}
