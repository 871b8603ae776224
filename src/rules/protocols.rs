//! Whether rules know the protocols that listeners speak.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use diagnostic::{Code, Diagnostic};
use seclang::{BodyLimits, Phase, Plan, PlanSettings, Program, RequestHead, Transaction};

/// A warning if a plain request is found by a rule when it comes by HTTP/3, and by none when it comes by HTTP/2: rules
/// older than the protocol refuse all that it carries.
pub fn without_http3(program: &Arc<Program>) -> Option<Diagnostic> {
    let plan = Arc::new(Plan::new(Arc::clone(program), &PlanSettings::default()));
    let found = |protocol| -> Vec<u64> {
        let mut transaction = Transaction::new(Arc::clone(&plan), BodyLimits::default());
        transaction.request_head(&RequestHead {
            method: b"GET",
            target: b"/",
            protocol,
            headers: &[(b"Host", b"www.example.com"), (b"User-Agent", b"Mozilla/5.0"), (b"Accept", b"*/*")],
            client: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
            server: None,
            request_id: "protocols",
            received: Duration::ZERO,
        });
        if transaction.run(Phase::RequestHeaders).is_none() {
            transaction.run(Phase::RequestBody);
        }
        transaction.matches().iter().map(|found| found.rule).collect()
    };
    let before = found("HTTP/2.0");
    let rule = found("HTTP/3.0").into_iter().find(|rule| !before.contains(rule))?;
    let message = format!("rule {rule} finds every request by HTTP/3, which a listener speaks");
    let help =
        "in the set-up of the Core Rule Set, add `HTTP/3 HTTP/3.0` to `tx.allowed_http_versions` (900230)";
    Some(Diagnostic::warning(Code::RulesWithoutHttp3, message).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(rules: &str) -> Option<String> {
        let (ir, found) = crate::rules::in_memory(&[("a.conf", rules)]);
        assert!(!found.has_errors(), "{found:?}");
        without_http3(&Arc::new(seclang::optimize(&ir))).map(|warning| warning.message)
    }

    #[test]
    fn rules_that_are_older_than_http3_are_told_of() {
        let rule = |versions: &str| {
            format!(
                "SecRule REQUEST_PROTOCOL \"!@within {versions}\" \"id:920430,phase:1,block,setvar:'tx.anomaly_score_pl1=+5'\""
            )
        };
        assert!(
            warning(&rule("HTTP/1.1 HTTP/2.0"))
                .unwrap()
                .contains("rule 920430 finds every request by HTTP/3")
        );
        assert_eq!(warning(&rule("HTTP/1.1 HTTP/2.0 HTTP/3.0")), None);
        // What finds both is no matter of the protocol.
        assert_eq!(warning(&rule("HTTP/1.1")), None);
    }
}
