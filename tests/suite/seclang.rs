//! Configurations that other engines load: each form with its meaning from the reference manual, and each leniency with
//! its warning.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bytes::Bytes;
use portcullis::rules;
use seclang::BodyLimits;
use seclang::optimize;
use seclang::{Phase, Plan, PlanSettings, RequestHead, ResponseHead, Transaction};

/// A request, and the response to it.
#[derive(Clone, Copy)]
pub(crate) struct Exchange {
    target: &'static str,
    fields: &'static [(&'static str, &'static str)],
    body: &'static [u8],
    response_type: &'static str,
    response: &'static [u8],
}

pub(crate) const GET: Exchange =
    Exchange { target: "/a/b?q=abc&n=5", fields: &[], body: b"", response_type: "text/plain", response: b"" };

const FORM: Exchange = Exchange {
    target: "/",
    fields: &[("Content-Type", "application/x-www-form-urlencoded")],
    body: b"q=abc&n=5",
    ..GET
};

const MULTIPART: Exchange = Exchange {
    fields: &[("Content-Type", "multipart/form-data; boundary=B")],
    body: b"--B\r\nContent-Disposition: form-data;\r\n name=\"user file\"; filename=\"x.txt\"\r\n\r\n--x\r\n--B--\r\n",
    ..FORM
};

/// What a request comes to: the ids of the rules that matched, in order, the status of a refusal, and where a redirect
/// leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) matched: Vec<u64>,
    pub(crate) status: Option<u16>,
    pub(crate) location: Option<String>,
}

/// Loads rules and runs an exchange through them; also what was said of the rules.
pub(crate) fn run(text: &str, exchange: Exchange) -> Result<(Outcome, String), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.conf");
    // None of them is about bodies that cannot be read.
    std::fs::write(&path, format!("SecRule REQBODY_ERROR \"@eq 2\" \"id:999,pass,nolog\"\n{text}")).unwrap();
    let (ir, diagnostics) = rules::seclang(Some(&[path.display().to_string()]));
    if diagnostics.has_errors() {
        return Err(diagnostics.to_string());
    }
    let plan = Arc::new(Plan::new(Arc::new(optimize(&ir)), &PlanSettings::default()));
    let mut transaction = Transaction::new(plan, BodyLimits::default());
    let length = exchange.body.len().to_string();
    let mut fields: Vec<(&[u8], &[u8])> = vec![(b"Host", b"app.example")];
    fields.extend(exchange.fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())));
    if !exchange.body.is_empty() {
        fields.push((b"Content-Length", length.as_bytes()));
    }
    transaction.request_head(&RequestHead {
        method: if exchange.body.is_empty() { b"GET" } else { b"POST" },
        target: exchange.target.as_bytes(),
        protocol: "HTTP/1.1",
        headers: &fields,
        client: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
        server: Some(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1))),
        request_id: "seclang",
        received: std::time::Duration::from_secs(1_750_000_000),
    });
    let mut refused = transaction.run(Phase::RequestHeaders);
    if refused.is_none() {
        transaction.request_body(Bytes::from_static(exchange.body), false);
        refused = transaction.run(Phase::RequestBody);
    }
    if refused.is_none() {
        let fields: &[(&[u8], &[u8])] = &[(b"Content-Type", exchange.response_type.as_bytes())];
        transaction.response_head(&ResponseHead { status: 200, protocol: "HTTP/1.1", headers: fields });
        refused = transaction.run(Phase::ResponseHeaders);
        if refused.is_none() && transaction.wants_response_body() {
            transaction.response_body(Bytes::from_static(exchange.response), false);
            refused = transaction.run(Phase::ResponseBody);
        }
    }
    let outcome = Outcome {
        matched: transaction.matches().iter().map(|found| found.rule).collect(),
        status: refused.as_ref().map(|refused| refused.status),
        location: refused.and_then(|refused| refused.location),
    };
    Ok((outcome, diagnostics.to_string()))
}

struct Case {
    what: &'static str,
    rules: &'static str,
    exchange: Exchange,
    matched: &'static [u64],
    status: Option<u16>,
    /// What the diagnostics say; empty where they say nothing.
    says: &'static str,
}

const LENIENT: &[Case] = &[
    Case {
        what: "a last link that asks for one more",
        rules: "SecRule ARGS:q \"@rx a\" \"id:1,deny,chain\"\nSecRule ARGS:n \"@eq 5\" \"chain\"",
        exchange: GET,
        matched: &[1],
        status: Some(403),
        says: "ends with a link that asks for one more",
    },
    Case {
        what: "a comparison with what is no number",
        rules: "SecRule ARGS:n \"@gt five\" \"id:1,deny\"",
        exchange: GET,
        matched: &[1],
        status: Some(403),
        says: "`five` is no number, so it counts as 0",
    },
    Case {
        what: "names in any case",
        rules: "secrule args:Q \"@STREQ ABC\" \"ID:1,PHASE:2,T:UPPERCASE,DENY\"",
        exchange: GET,
        matched: &[1],
        status: Some(403),
        says: "",
    },
    Case {
        what: "no id",
        rules: "SecRule ARGS:q \"@rx a\" \"deny\"\nSecAction \"pass\"\nSecRule ARGS:q \"@rx z\" \"deny\"",
        exchange: GET,
        matched: &[9_000_000_001],
        status: Some(403),
        says: "the rule has no `id`",
    },
    Case {
        what: "an id and a phase in a link",
        rules: "SecRule ARGS:q \"@rx a\" \"id:1,deny,chain\"\nSecRule ARGS:n \"@eq 5\" \"id:2,phase:1\"",
        exchange: GET,
        matched: &[1],
        status: Some(403),
        says: "a chain link takes its `id` and `phase`",
    },
];

const FORMS: &[Case] = &[
    Case {
        what: "phpArgsNames",
        rules: "SecRule ARGS_NAMES \"@streq user_id\" \"id:1,deny,t:phpArgsNames\"",
        exchange: Exchange { target: "/?user.id=1", ..GET },
        matched: &[1],
        status: Some(403),
        says: "",
    },
    Case {
        what: "MULTIPART_NAME, a folded header as one line, a line like a boundary",
        rules: "SecRule MULTIPART_NAME \"@streq user file\" \"id:1,pass\"\n\
            SecRule MULTIPART_PART_HEADERS \"@rx form-data; name=\" \"id:2,pass\"\n\
            SecRule MULTIPART_UNMATCHED_BOUNDARY \"@eq 1\" \"id:3,deny,status:400\"",
        exchange: MULTIPART,
        matched: &[1, 2, 3],
        status: Some(400),
        says: "",
    },
    Case {
        what: "RESPONSE_ARGS",
        rules: "SecResponseBodyMimeType application/json\nSecRule RESPONSE_ARGS:json.user.name \"@streq ann\" \"id:1,phase:4,deny\"",
        exchange: Exchange {
            response_type: "application/json",
            response: b"{\"user\":{\"name\":\"ann\"}}",
            ..GET
        },
        matched: &[1],
        status: Some(403),
        says: "",
    },
    Case {
        what: "REMOTE_USER, SERVER_ADDR and WEBAPPID",
        rules: "SecWebAppId shop\nSecRule REMOTE_USER \"@streq ann\" \"id:1,phase:1,pass\"\n\
            SecRule SERVER_ADDR \"@ipMatch 198.51.100.0/24\" \"id:2,phase:1,pass\"\nSecRule WEBAPPID \"@streq shop\" \"id:3,phase:1,deny\"",
        // `ann:secret`
        exchange: Exchange { fields: &[("Authorization", "Basic YW5uOnNlY3JldA==")], ..GET },
        matched: &[1, 2, 3],
        status: Some(403),
        says: "",
    },
    Case {
        what: "a data set",
        rules: "SecDataset words `\nfirst one\n\nABC\n`\nSecRule ARGS:q \"@pmFromDataset words\" \"id:1,deny\"",
        exchange: GET,
        matched: &[1],
        status: Some(403),
        says: "",
    },
    Case {
        what: "targets of lists and ranges of rules",
        rules: "SecRule ARGS:q \"@rx a\" \"id:1,pass\"\nSecRule ARGS \"@rx a\" \"id:5,pass\"\nSecRule ARGS \"@rx a\" \"id:7,pass\"\n\
            SecRuleUpdateTargetById \"1 4-6\" \"!ARGS:q\"",
        exchange: GET,
        matched: &[7],
        status: None,
        says: "",
    },
    Case {
        what: "targets by tag and message, with a pattern",
        rules: "SecRule ARGS \"@rx a\" \"id:1,pass,tag:t1\"\nSecRule ARGS \"@rx a\" \"id:2,pass,msg:'m 2'\"\n\
            SecRuleUpdateTargetByTag t1 \"!ARGS:/^q/\"\nSecRuleUpdateTargetByMsg \"m 2\" \"!ARGS:q,REQUEST_URI\"",
        exchange: GET,
        matched: &[2],
        status: None,
        says: "",
    },
    Case {
        what: "a target instead of another",
        rules: "SecRule ARGS:z \"@rx a\" \"id:1,deny\"\nSecRuleUpdateTargetById 1 ARGS:q ARGS:z",
        exchange: GET,
        matched: &[1],
        status: Some(403),
        says: "",
    },
    Case {
        what: "an update before its rule",
        rules: "SecRuleUpdateTargetById 1 \"!ARGS:q\"\nSecRuleUpdateActionById 2 \"deny,status:451\"\nSecRuleRemoveById 3\n\
            SecRule ARGS \"@rx a\" \"id:1,pass\"\nSecRule ARGS \"@rx a\" \"id:3,pass\"\nSecRule ARGS \"@rx a\" \"id:2,pass\"",
        exchange: GET,
        matched: &[2],
        status: Some(451),
        says: "",
    },
    Case {
        what: "actions of rules, disruptive ones, status and transformations",
        rules: "SecRule ARGS:q \"@streq ABC\" \"id:1,pass,t:lowercase\"\nSecRuleUpdateActionById \"1,9\" \"t:none,t:uppercase,deny,status:410\"",
        exchange: GET,
        matched: &[1],
        status: Some(410),
        says: "",
    },
    Case {
        what: "controls of lists and ranges",
        rules: "SecAction \"id:9,phase:1,pass,nolog,ctl:ruleRemoveById=1-3,ctl:'ruleRemoveTargetById=4-5 7;ARGS:q'\"\n\
            SecRule ARGS \"@rx a\" \"id:2,pass\"\nSecRule ARGS \"@rx a\" \"id:5,pass\"\nSecRule ARGS \"@rx a\" \"id:6,pass\"\nSecRule ARGS \"@rx a\" \"id:7,pass\"",
        exchange: GET,
        matched: &[6],
        status: None,
        says: "",
    },
    Case {
        what: "a body past the limit is refused",
        rules: "SecRequestBodyLimit 8\nSecRequestBodyLimitAction Reject\nSecRule ARGS:q \"@rx a\" \"id:1,pass\"",
        exchange: FORM,
        matched: &[],
        status: Some(413),
        says: "",
    },
    Case {
        what: "a body past the limit is read in part",
        rules: "SecRequestBodyLimit 5\nSecRequestBodyLimitAction ProcessPartial\nSecRule ARGS:q \"@streq abc\" \"id:1,pass\"\n\
            SecRule ARGS:n \"@eq 5\" \"id:2,pass\"\nSecRule INBOUND_DATA_ERROR \"@eq 1\" \"id:3,pass\"",
        exchange: FORM,
        matched: &[1, 3],
        status: None,
        says: "",
    },
    Case {
        what: "a body without files past its limit",
        rules: "SecRequestBodyNoFilesLimit 8\nSecRule ARGS:q \"@rx a\" \"id:1,pass\"",
        exchange: FORM,
        matched: &[],
        status: Some(413),
        says: "",
    },
    Case {
        what: "more arguments than the limit",
        rules: "SecArgumentsLimit 1\nSecRule ARGUMENTS_LIMIT_REACHED \"@eq 1\" \"id:1,deny,status:400\"",
        exchange: FORM,
        matched: &[1],
        status: Some(400),
        says: "",
    },
    Case {
        what: "a response past the limit is refused",
        rules: "SecResponseBodyLimit 4\nSecResponseBodyLimitAction Reject",
        exchange: Exchange { response: b"12345", ..GET },
        matched: &[],
        status: Some(500),
        says: "",
    },
    Case {
        what: "a response past the limit is read in part",
        rules: "SecResponseBodyLimit 4\nSecResponseBodyLimitAction ProcessPartial\nSecRule RESPONSE_BODY \"@streq 1234\" \"id:1,phase:4,pass\"\n\
            SecRule OUTBOUND_DATA_ERROR \"@eq 1\" \"id:2,phase:4,pass\"",
        exchange: Exchange { response: b"12345", ..GET },
        matched: &[1, 2],
        status: None,
        says: "",
    },
    Case {
        what: "deny with any status",
        rules: "SecRule ARGS:q \"@rx a\" \"id:1,deny,status:429\"",
        exchange: GET,
        matched: &[1],
        status: Some(429),
        says: "",
    },
    Case {
        what: "allow of a phase",
        rules: "SecRule ARGS:q \"@rx a\" \"id:1,phase:1,allow:phase\"\nSecAction \"id:2,phase:1,deny\"\nSecAction \"id:3,phase:2,deny,status:405\"",
        exchange: GET,
        matched: &[1, 3],
        status: Some(405),
        says: "",
    },
    Case {
        what: "allow of the request",
        rules: "SecRule ARGS:q \"@rx a\" \"id:1,phase:1,allow:request\"\nSecAction \"id:2,phase:2,deny\"\nSecAction \"id:3,phase:3,deny,status:405\"",
        exchange: GET,
        matched: &[1, 3],
        status: Some(405),
        says: "",
    },
    Case {
        what: "skip",
        rules: "SecRule ARGS:q \"@rx a\" \"id:1,pass,skip:2\"\nSecAction \"id:2,deny\"\nSecAction \"id:3,deny\"\nSecAction \"id:4,pass\"",
        exchange: GET,
        matched: &[1, 4],
        status: None,
        says: "",
    },
    Case {
        what: "expirevar",
        rules: "SecAction \"id:1,phase:1,pass,nolog,initcol:ip=%{REMOTE_ADDR},setvar:ip.seen=1,expirevar:ip.seen=60\"\n\
            SecRule IP:seen \"@eq 1\" \"id:2,deny\"",
        exchange: GET,
        matched: &[2],
        status: Some(403),
        says: "",
    },
    Case {
        what: "a comment at the end of the input",
        rules: "SecRule ARGS:q \"@rx ^a $\" \"id:1,deny,t:removeComments\"\nSecRule ARGS:p \"@streq a\" \"id:2,deny,t:removeComments\"",
        exchange: Exchange { target: "/?q=a/*b&p=a/*b*/", ..GET },
        matched: &[1],
        status: Some(403),
        says: "",
    },
    Case {
        what: "multiMatch in the order of the transformations",
        rules: "SecRule ARGS:q \"@rx ^(?:AB%20|AB |ab )$\" \"id:1,pass,multiMatch,t:urlDecode,t:lowercase,setvar:tx.seen=%{tx.seen}%{MATCHED_VAR}.\"\n\
            SecRule TX:seen \"@streq AB%20.AB .ab .\" \"id:2,deny\"",
        exchange: Exchange { target: "/?q=AB%2520", ..GET },
        matched: &[1, 2],
        status: Some(403),
        says: "",
    },
    Case {
        what: "paths of XML, with namespaces",
        rules: "SecRule XML:/s:Envelope/s:Body//user/text() \"@streq ann\" \"id:1,pass,xmlns:s=http://www.w3.org/2003/05/soap-envelope\"\n\
            SecRule XML://user/@id \"@eq 7\" \"id:2,pass\"\nSecRule XML:/Envelope/Body \"@rx .\" \"id:3,pass\"\n\
            SecRule XML:/* \"@streq ann\" \"id:4,deny\"",
        exchange: Exchange {
            fields: &[("Content-Type", "application/soap+xml")],
            body: b"<e:Envelope xmlns:e='http://www.w3.org/2003/05/soap-envelope'><e:Body><q><user id='7'>ann</user></q></e:Body></e:Envelope>",
            ..FORM
        },
        matched: &[1, 2, 4],
        status: Some(403),
        says: "",
    },
    Case {
        what: "predicates in paths of XML",
        rules: "SecRule XML://*[local-name()='user'][2]/@id \"@streq 8\" \"id:1,pass\"\n\
            SecRule XML:/q/user[@role='a|b']/text() \"@streq bob\" \"id:2,pass\"\n\
            SecRule \"XML:/q/user[not(@role) or starts-with(@role, 'x')]/text()\" \"@streq bob\" \"id:3,pass\"\n\
            SecRule XML:/* \"@contains bob\" \"id:4,deny\"",
        exchange: Exchange {
            fields: &[("Content-Type", "application/xml")],
            body: b"<q><user id='7'>ann</user><user id='8' role='a|b'>bob</user></q>",
            ..FORM
        },
        matched: &[1, 2, 4],
        status: Some(403),
        says: "",
    },
    Case {
        what: "verifySVNR",
        rules: "SecRule ARGS:q \"@verifySVNR [0-9]{4} ?[0-9]{6}\" \"id:1,deny\"",
        exchange: Exchange { target: "/?q=1237+010180", ..GET },
        matched: &[1],
        status: Some(403),
        says: "",
    },
    Case {
        what: "names of collections in any case",
        rules: "SecAction \"id:1,phase:1,pass,nolog,setvar:TX.Score=3\"\nSecRule tx:SCORE \"@eq 3\" \"id:2,pass\"\n\
            SecRule REQUEST_HEADERS:hOST \"@streq app.example\" \"id:3,pass\"\nSecRule ARGS:Q \"@streq abc\" \"id:4,deny\"",
        exchange: GET,
        matched: &[2, 3, 4],
        status: Some(403),
        says: "",
    },
    Case {
        what: "the whole request, and the size of its arguments",
        rules: "SecRule FULL_REQUEST \"@rx ^POST / HTTP/1.1[^~]*Host: app.example[^~]*q=abc&n=5$\" \"id:1,pass\"\n\
            SecRule FULL_REQUEST_LENGTH \"@gt 60\" \"id:2,pass\"\nSecRule ARGS_COMBINED_SIZE \"@eq 6\" \"id:3,deny\"",
        exchange: FORM,
        matched: &[1, 2, 3],
        status: Some(403),
        says: "",
    },
];

fn check(cases: &[Case]) {
    let mut wrong = Vec::new();
    for case in cases {
        match run(case.rules, case.exchange) {
            Ok((outcome, said)) => {
                let says = if case.says.is_empty() { said.is_empty() } else { said.contains(case.says) };
                if outcome.matched != case.matched || outcome.status != case.status || !says {
                    wrong.push(format!("{}: {outcome:?}\n{said}", case.what));
                }
            }
            Err(said) => wrong.push(format!("{}: not loaded\n{said}", case.what)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lenient_forms_load_with_a_warning() {
    check(LENIENT);
}

#[test]
fn forms_of_other_engines_mean_the_same() {
    check(FORMS);
}
