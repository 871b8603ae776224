//! The tools that a server says it has, without those that its client may not use.

use serde_json::Value;

use crate::sse;

/// An answer without hidden tools; nothing if it has none, or is not read as a list of tools. Events of a stream that
/// have none stay as they are, byte for byte.
pub fn without_hidden_tools(
    content_type: &[u8],
    body: &[u8],
    is_shown: impl Fn(&str) -> bool,
) -> Option<Vec<u8>> {
    let media_type = body::media_type(content_type);
    if body::is_json(media_type) {
        return reduced(body, &is_shown);
    }
    if !body::is_event_stream(media_type) {
        return None;
    }
    let (mut made, mut rest, mut has_changed) = (Vec::with_capacity(body.len()), body, false);
    while let Some((event, after)) = sse::event_bytes(rest).and_then(|end| rest.split_at_checked(end)) {
        match reduced_event(event, &is_shown) {
            Some(event) => {
                has_changed = true;
                made.extend_from_slice(&event);
            }
            None => made.extend_from_slice(event),
        }
        rest = after;
    }
    made.extend_from_slice(rest);
    has_changed.then_some(made)
}

/// An event whose data is a list of tools, without the hidden ones.
fn reduced_event(event: &[u8], is_shown: &impl Fn(&str) -> bool) -> Option<Vec<u8>> {
    let lines = || event.split(|byte| matches!(byte, b'\n' | b'\r')).filter(|line| !line.is_empty());
    let data: Vec<&[u8]> = lines().filter_map(sse::data).collect();
    let data = reduced(&data.join(&b'\n'), is_shown)?;
    let mut made = Vec::with_capacity(event.len());
    for line in lines().filter(|line| sse::data(line).is_none()) {
        made.extend_from_slice(line);
        made.push(b'\n');
    }
    made.extend_from_slice(b"data: ");
    // INVARIANT: compact JSON has no line breaks.
    made.extend_from_slice(&data);
    made.extend_from_slice(b"\n\n");
    Some(made)
}

fn reduced(text: &[u8], is_shown: &impl Fn(&str) -> bool) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(text).ok()?;
    let responses = match &mut value {
        Value::Array(responses) => responses.as_mut_slice(),
        response => std::slice::from_mut(response),
    };
    let mut has_changed = false;
    for response in responses {
        let Some(Value::Array(tools)) = response.pointer_mut("/result/tools") else { continue };
        let before = tools.len();
        tools.retain(|tool| tool.get("name").and_then(Value::as_str).is_some_and(is_shown));
        has_changed |= tools.len() != before;
    }
    if !has_changed {
        return None;
    }
    serde_json::to_vec(&value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"get","inputSchema":{"type":"object"}},{"name":"delete"}]}}"#;

    fn shown(content_type: &str, body: &str) -> Option<String> {
        let made = without_hidden_tools(content_type.as_bytes(), body.as_bytes(), |tool| tool == "get");
        made.map(|made| String::from_utf8(made).unwrap())
    }

    #[test]
    fn hidden_tools_are_left_out() {
        let made = shown("application/json", LIST).unwrap();
        assert!(
            made.contains(r#""name":"get""#) && made.contains("inputSchema") && !made.contains("delete"),
            "{made}"
        );
        let made = shown("application/json", &format!("[{LIST}]")).unwrap();
        assert!(!made.contains("delete"), "{made}");
        for body in ["{}", "x", r#"{"result":{"tools":[{"name":"get"}]}}"#, r#"{"result":{"tools":5}}"#] {
            assert_eq!(shown("application/json", body), None, "{body}");
        }
        assert_eq!(shown("text/html", LIST), None);
    }

    #[test]
    fn events_keep_what_is_no_list() {
        let (first, last) = (": alive\n\ndata: {\"a\":1}\r\n\r\n", "data: {\"b\": 2}\n\n");
        let stream = format!("{first}id: 4\nevent: message\ndata: {LIST}\n\n{last}");
        let made = shown("text/event-stream; charset=utf-8", &stream).unwrap();
        assert!(made.starts_with(first) && made.ends_with(last), "{made}");
        assert!(made.contains("id: 4\nevent: message\ndata: {") && !made.contains("delete"), "{made}");
        // Data over several lines.
        let split = LIST.replace("},{", "},\ndata: {");
        let made = shown("text/event-stream", &format!("data: {split}\n\n")).unwrap();
        assert!(made.contains("\"get\"") && !made.contains("delete"), "{made}");
        assert_eq!(shown("text/event-stream", first), None);
    }
}
