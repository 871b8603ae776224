//! Rules as a zone would run them, for commands that judge without a server.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bytes::Bytes;

use crate::ruleset::{EntryPoint, ManagedRuleset, ScoredRuleset, Verdict};
use expression::Facts;
use seclang::BodyLimits;
use seclang::{Program, RequestHead, Watch};

/// What a zone sets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deployment {
    pub(super) paranoia_level: u8,
    pub(super) score_threshold: i64,
}

impl Deployment {
    pub(super) fn scored_ruleset(self, program: &Arc<Program>) -> ScoredRuleset {
        let managed = ManagedRuleset::owasp(program, String::new());
        ScoredRuleset::short_form(program, &managed, self.paranoia_level, self.score_threshold)
    }

    pub(super) fn entry_point(self, program: &Arc<Program>) -> EntryPoint {
        EntryPoint::scoring(self.scored_ruleset(program))
    }
}

/// A request's head, as if it came from this machine.
pub(super) fn head<'r>(
    method: &'r [u8],
    target: &'r [u8],
    protocol: &'r str,
    headers: &'r [(&'r [u8], &'r [u8])],
) -> RequestHead<'r> {
    RequestHead {
        method,
        target,
        protocol,
        headers,
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        server: None,
        request_id: "0",
        received: crate::clock::Clock::real().unix(),
    }
}

pub(super) fn judge(
    entry_point: &EntryPoint,
    head: &RequestHead<'_>,
    body: &[u8],
    watch: &mut impl Watch,
) -> Verdict {
    let mut run = entry_point.start(&Facts::of_request(head), BodyLimits::default(), watch);
    run.body(&Bytes::copy_from_slice(body), false, watch);
    run.verdict()
}
