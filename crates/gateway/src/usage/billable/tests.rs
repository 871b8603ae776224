use super::*;

fn of(body: &str) -> Billable {
    billable("/v1/chat/completions", body.as_bytes()).unwrap()
}

#[test]
fn what_bounds_an_answer() {
    for (body, tokens) in [
        (r#"{"model":"m"}"#, None),
        (r#"{"model":"m","max_tokens":5}"#, Some(5)),
        (r#"{"model":"m","max_tokens":5,"max_completion_tokens":9}"#, Some(9)),
        (r#"{"model":"m","max_tokens":5,"n":100}"#, Some(500)),
        (r#"{"model":"m","max_tokens":18446744073709551615}"#, Some(u64::MAX)),
        (r#"{"model":"m","max_tokens":18446744073709551615,"n":2}"#, Some(u64::MAX)),
        (r#"{"model":"m","max_tokens":1e30}"#, Some(u64::MAX)),
        (r#"{"model":"m","max_tokens":5.0}"#, Some(5)),
        (r#"{"model":"m","max_tokens":null}"#, None),
        (r#"{"generationConfig":{"maxOutputTokens":9,"candidateCount":3}}"#, Some(27)),
        (r#"{"inferenceConfig":{"maxTokens":8}}"#, Some(8)),
        (r#"{"parameters":{"max_new_tokens":7}}"#, Some(7)),
        (r#"{"options":{"num_predict":-1}}"#, None),
        (r#"{"requests":[{"params":{"max_tokens":5}},{"params":{"max_tokens":6}}]}"#, Some(11)),
        (r#"{"requests":[{"params":{"max_tokens":5}},{"params":{}}]}"#, None),
        (r#"{"model":"m","messages":[{"content":"\"max_tokens\":1"}]}"#, None),
        (r#"{"response_format":{"schema":{"properties":{"n":{},"model":{}}}},"max_tokens":3}"#, Some(3)),
    ] {
        let found = of(body);
        assert_eq!((found.output_tokens, found.is_read), (tokens, true), "{body}");
    }
}

#[test]
fn what_is_ambiguous_is_refused() {
    for body in [
        r#"{"model":"cheap","model":"dear"}"#,
        r#"{"model":"cheap","Model":"dear"}"#,
        r#"{"model":"cheap","mod\u0065l":"dear"}"#,
        r#"{"model":5}"#,
        r#"{"model":["m"]}"#,
        r#"{"max_tokens":1,"max_tokens":9}"#,
        r#"{"max_tokens":1,"maxTokens":9}"#,
        r#"{"max_tokens":"9"}"#,
        r#"{"max_tokens":-1}"#,
        r#"{"max_tokens":1.5}"#,
        r#"{"max_tokens":[9]}"#,
        r#"{"n":"100"}"#,
        r#"{"n":1,"n":100}"#,
        r#"{"generationConfig":{"maxOutputTokens":1},"generation_config":{"maxOutputTokens":9}}"#,
        r#"{"generationConfig":{"maxOutputTokens":1,"maxOutputTokens":9}}"#,
        r#"{"requests":[{"params":{"max_tokens":1,"max_tokens":9}}]}"#,
    ] {
        assert!(billable("/v1/chat/completions", body.as_bytes()).is_err(), "{body}");
    }
}

#[test]
fn what_cannot_be_read_has_no_price() {
    for body in ["", "[]", "{", "\u{feff}{\"model\":\"m\"}", "--boundary", "{\"model\":\"m\"} {}", "\"m\""] {
        let found = of(body);
        assert_eq!((found.is_read, found.model, found.output_tokens), (false, None, None), "{body}");
    }
    let several = r#"{"requests":[{"params":{"model":"a"}},{"params":{"model":"b"}}]}"#;
    assert_eq!(of(several).model, None);
    let other = billable("/v1beta/models/cheap:generateContent", br#"{"model":"dear"}"#).unwrap();
    assert_eq!(other.model, None);
    let path = billable("/v1beta/models/m:generateContent", br#"{"contents":[]}"#).unwrap();
    assert_eq!(path.model.as_deref(), Some("m"));
}

#[test]
fn input_elsewhere_counts() {
    let body =
        r#"{"messages":[{"content":[{"type":"image_url","image_url":{"url":"https://x.example/a"}}]}]}"#;
    // Once as a name and once as a value.
    assert_eq!(of(body).input_elsewhere_tokens, 8_000);
    assert_eq!(of(r#"{"previous_response_id":"r"}"#).input_elsewhere_tokens, 200_000);
}
