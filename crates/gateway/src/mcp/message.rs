//! What a client posts to a server: one JSON-RPC message, or a list of them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};

use super::ToolFilter;
use crate::unique_json;

/// Longest method and name that are taken, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// Members that decide what a message asks for.
const MEMBERS: &[&str] = &["id", "jsonrpc", "method", "params"];
/// Members that decide which tool is called.
const PARAMETERS: &[&str] = &["name"];
/// The error of a call of a tool that the client may not use, as servers answer for one that they do not have.
const INVALID_PARAMS: i64 = -32602;

/// A posted body.
#[derive(Clone, Debug, PartialEq)]
pub struct McpBody {
    pub messages: Vec<McpMessage>,
    /// Whether they came as a list (revision 2025-03-26 alone).
    pub is_batch: bool,
}

/// A message: a request or notification if it has a method, else a response.
#[derive(Clone, Debug, PartialEq)]
pub struct McpMessage {
    /// Of a request.
    pub id: Option<Value>,
    pub method: Option<String>,
    /// Of `tools/call`.
    pub tool: Option<String>,
    /// What the field `Mcp-Name` repeats.
    name: Option<String>,
}

impl McpBody {
    /// Reads a body and the fields that repeat parts of it, so that whatever reads one of them later, in whichever way,
    /// reads the same.
    ///
    /// # Errors
    /// One sentence if the body is no message, or two programs may take it for different ones.
    pub fn read(body: &[u8], headers: &HeaderMap) -> Result<Self, String> {
        check_content_type(headers)?;
        let value = unique_json(body).map_err(|error| format!("the body is no JSON-RPC message: {error}"))?;
        let (values, is_batch) = match value {
            Value::Array(values) => (values, true),
            value => (vec![value], false),
        };
        if values.is_empty() {
            return Err("the body is a list without a message".to_owned());
        }
        let messages = values.into_iter().map(McpMessage::of).collect::<Result<Vec<_>, _>>()?;
        // A limit counts a body as one call, and its row names one tool.
        if messages.iter().filter(|message| message.tool.is_some()).count() > 1 {
            return Err("the body calls several tools; call each for itself".to_owned());
        }
        let body = Self { messages, is_batch };
        body.check_fields(headers)?;
        Ok(body)
    }

    /// Fields that name a method and what it is about (SEP-2243) say what the body says, because a server may go by either.
    fn check_fields(&self, headers: &HeaderMap) -> Result<(), String> {
        for (field, of) in [
            ("mcp-method", (|message| message.method.as_deref()) as fn(&McpMessage) -> Option<&str>),
            ("mcp-name", |message| message.name.as_deref()),
        ] {
            for value in headers.get_all(field) {
                let is_same = match self.messages.as_slice() {
                    [message] => of(message) == sent_name(value.as_bytes()).as_deref(),
                    _ => false,
                };
                if !is_same {
                    return Err(format!("the field `{field}` does not say what the body says"));
                }
            }
        }
        Ok(())
    }

    /// The tool that is called, if one is.
    pub fn tool(&self) -> Option<&str> {
        self.messages.iter().find_map(|message| message.tool.as_deref())
    }

    /// Whether tools are asked for.
    pub fn lists_tools(&self) -> bool {
        self.messages.iter().any(|message| message.method.as_deref() == Some("tools/list"))
    }

    /// Whether the answer is a stream that goes on for as long as the client likes.
    pub fn listens(&self) -> bool {
        self.messages.iter().any(|message| message.method.as_deref() == Some("subscriptions/listen"))
    }

    /// What a client may not ask under filters, in a sentence.
    pub fn forbidden(&self, server: &str, filters: &[&ToolFilter]) -> Option<String> {
        if filters.is_empty() {
            return None;
        }
        self.messages.iter().find_map(|message| match (message.method.as_deref()?, &message.tool) {
            (_, Some(tool)) if filters.iter().any(|filter| !filter.allows(server, tool)) => {
                Some(format!("the tool `{tool}` may not be used here"))
            }
            // A server may have more ways to call a tool.
            ("tools/call" | "tools/list", _) => None,
            (method, _) if folded(method).starts_with("tools") => {
                Some(format!("the method `{method}` may not be used here"))
            }
            _ => None,
        })
    }

    /// The answer to a body that asks for what it may not: an error for each request.
    pub fn refusal(&self, message: &str) -> Value {
        let error = |id: &Value| json!({"jsonrpc": "2.0", "id": id, "error": {"code": INVALID_PARAMS, "message": message}});
        let errors = self.messages.iter().filter_map(|message| message.id.as_ref()).map(error);
        let mut errors: Vec<Value> = errors.collect();
        match errors.len() {
            0 => error(&Value::Null),
            1 if !self.is_batch => errors.remove(0),
            _ => Value::Array(errors),
        }
    }
}

impl McpMessage {
    fn of(value: Value) -> Result<Self, String> {
        let Value::Object(members) = value else {
            return Err("a JSON-RPC message is an object".to_owned());
        };
        check_members(&members, MEMBERS)?;
        let method = match members.get("method") {
            None => None,
            Some(Value::String(method)) if is_method(method) => Some(method.clone()),
            Some(_) => {
                let expected = "`method` is a word of letters, digits and `/._$-`";
                return Err(format!("{expected}, at most {MAX_NAME_BYTES} bytes long"));
            }
        };
        let id = members.get("id").filter(|_| method.is_some()).cloned();
        let name_member = match method.as_deref() {
            Some("tools/call" | "prompts/get") => "name",
            Some("resources/read" | "resources/subscribe" | "resources/unsubscribe") => "uri",
            _ => return Ok(Self { id, method, tool: None, name: None }),
        };
        let no_params = Map::new();
        let parameters = members.get("params").and_then(Value::as_object).unwrap_or(&no_params);
        let is_call = method.as_deref() == Some("tools/call");
        if is_call {
            check_members(parameters, PARAMETERS)?;
        }
        let name = parameters.get(name_member).and_then(Value::as_str).map(str::to_owned);
        let tool = name.clone().filter(|_| is_call);
        if is_call && tool.as_ref().is_none_or(|tool| tool.is_empty() || tool.len() > MAX_NAME_BYTES) {
            return Err(format!("`tools/call` takes the tool's `name`, 1 to {MAX_NAME_BYTES} bytes long"));
        }
        Ok(Self { id, method, tool, name })
    }
}

/// Whether a text is a method as the protocol has them.
fn is_method(text: &str) -> bool {
    let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || b"/._$-".contains(&byte);
    (1..=MAX_NAME_BYTES).contains(&text.len()) && text.bytes().all(is_sound)
}

/// Refuses members that a reader without regard to case takes for one of `names`, as Go's and .NET's are.
fn check_members(members: &Map<String, Value>, names: &[&str]) -> Result<(), String> {
    let twin = members.keys().find(|member| {
        let folded = folded(member);
        names.iter().any(|name| folded == *name && *name != member.as_str())
    });
    twin.map_or(Ok(()), |member| Err(format!("the member `{member}` could be taken for another")))
}

/// A text without differences of case, also of letters beyond ASCII that have an ASCII letter as another case.
fn folded(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// Refuses bodies that a server may read as something else than UTF-8: of no type, of two, or in another charset.
fn check_content_type(headers: &HeaderMap) -> Result<(), String> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let first = types.next().map_or(&b""[..], |value| value.as_bytes());
    let mut parts = first.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    let is_json = parts.next().is_some_and(|media_type| media_type.eq_ignore_ascii_case(b"application/json"));
    let is_utf8 = parts.all(|parameter| {
        let known: [&[u8]; 4] = [b"", b"charset=utf-8", b"charset=\"utf-8\"", b"charset=utf8"];
        known.iter().any(|known| parameter.eq_ignore_ascii_case(known))
    });
    let is_sound = is_json && is_utf8 && types.next().is_none();
    is_sound.then_some(()).ok_or_else(|| "expected `Content-Type: application/json`, in UTF-8".to_owned())
}

/// A name as a field carries it: as it is, or as `=?base64?…?=` if it is not printable ASCII.
fn sent_name(value: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(value).ok()?;
    match text.strip_prefix("=?base64?").and_then(|coded| coded.strip_suffix("?=")) {
        Some(coded) => String::from_utf8(STANDARD.decode(coded).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, "application/json".parse().unwrap());
        for (name, value) in fields {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn read(body: &str) -> Result<McpBody, String> {
        McpBody::read(body.as_bytes(), &headers(&[]))
    }

    const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_issue","arguments":{"Name":1}}}"#;

    #[test]
    fn messages_are_read() {
        let call = read(CALL).unwrap();
        assert_eq!((call.tool(), call.lists_tools(), call.is_batch), (Some("get_issue"), false, false));
        assert_eq!(call.messages[0].id, Some(json!(7)));
        let list = read(
            r#"[{"jsonrpc":"2.0","id":"a","method":"tools/list"},{"jsonrpc":"2.0","method":"notifications/initialized"}]"#,
        );
        let list = list.unwrap();
        assert_eq!((list.tool(), list.lists_tools(), list.messages.len()), (None, true, 2));
        let response =
            read(r#"{"jsonrpc":"2.0","id":1,"result":{"method":"tools/call","name":"x"}}"#).unwrap();
        assert_eq!((response.tool(), response.messages[0].id.clone()), (None, None));
    }

    #[test]
    fn what_two_programs_read_differently_is_refused() {
        for body in [
            "",
            "{",
            "5",
            "[]",
            "[5]",
            "null",
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
            r#"{"id":1,"method":"ping","method":"tools/call","params":{"name":"x"}}"#,
            r#"{"id":1,"method":"ping","Method":"tools/call","params":{"name":"x"}}"#,
            r#"{"id":1,"method":"ping","\u004dethod":"tools/call"}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"a"},"PARAMS":{"name":"b"}}"#,
            // The long s has a capital of its own: S.
            r#"{"id":1,"method":"tools/call","params":{"name":"a"},"param\u017f":{"name":"b"}}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"a","NAME":"b"}}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
            r#"{"id":1,"method":"tools/call","params":["a"]}"#,
            r#"{"id":1,"method":"tools/call"}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":["a"]}}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":""}}"#,
            r#"{"id":1,"method":"tools/call\u0000","params":{"name":"a"}}"#,
            r#"{"id":1,"method":"tools/call ","params":{"name":"a"}}"#,
            r#"{"id":1,"method":["tools/call"],"params":{"name":"a"}}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"\ud800"}}"#,
            r#"[{"id":1,"method":"tools/call","params":{"name":"a"}},{"id":2,"method":"tools/call","params":{"name":"a"}}]"#,
        ] {
            assert!(read(body).is_err(), "{body}");
        }
        let body = CALL.as_bytes();
        for content_type in [
            "",
            "text/plain",
            "application/json;charset=utf-7",
            "application/json; charset=utf-16",
            "application/json, text/plain",
            "application/json; charset=utf-8; charset=utf-7",
            "multipart/form-data",
        ] {
            let mut fields = HeaderMap::new();
            fields.insert(CONTENT_TYPE, content_type.parse().unwrap());
            assert!(McpBody::read(body, &fields).is_err(), "{content_type}");
        }
        assert!(McpBody::read(body, &headers(&[("content-type", "application/json")])).is_err(), "two types");
        let mut fields = HeaderMap::new();
        fields.insert(CONTENT_TYPE, "Application/JSON; charset=\"UTF-8\"".parse().unwrap());
        assert!(McpBody::read(body, &fields).is_ok());
    }

    #[test]
    fn fields_say_what_the_body_says() {
        let read = |fields: &[(&'static str, &str)]| McpBody::read(CALL.as_bytes(), &headers(fields));
        assert!(read(&[("mcp-method", "tools/call"), ("mcp-name", "get_issue")]).is_ok());
        assert!(read(&[("mcp-name", "=?base64?Z2V0X2lzc3Vl?=")]).is_ok());
        for fields in [
            &[("mcp-method", "ping")][..],
            &[("mcp-method", "tools/call"), ("mcp-method", "ping")],
            &[("mcp-name", "delete")],
            &[("mcp-name", "=?base64?ZGVsZXRl?=")],
            &[("mcp-name", "=?base64?*?=")],
        ] {
            assert!(read(fields).is_err(), "{fields:?}");
        }
    }

    #[test]
    fn tools_that_may_not_be_used_are_refused() {
        let filter = ToolFilter::of_server(&["get_*".to_owned()]).unwrap();
        let forbidden = |body: &str| read(body).unwrap().forbidden("tickets", &[&filter]);
        assert_eq!(forbidden(CALL), None);
        assert_eq!(forbidden(r#"{"id":1,"method":"tools/list"}"#), None);
        assert_eq!(forbidden(r#"{"id":1,"method":"resources/list"}"#), None);
        for body in [
            r#"{"id":1,"method":"tools/call","params":{"name":"delete"}}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"GET_issue"}}"#,
            r#"[{"id":1,"method":"ping"},{"id":2,"method":"tools/call","params":{"name":"delete"}}]"#,
            r#"{"id":1,"method":"Tools/Call","params":{"name":"get_issue"}}"#,
            r#"{"id":1,"method":"tools/callMany","params":{"names":["delete"]}}"#,
            r#"{"id":1,"method":"tools.call","params":{"name":"delete"}}"#,
        ] {
            assert!(forbidden(body).is_some(), "{body}");
            assert_eq!(read(body).unwrap().forbidden("tickets", &[]), None, "without a filter all goes");
        }
    }

    #[test]
    fn refusals_name_the_requests() {
        let refusal = |body: &str| read(body).unwrap().refusal("no");
        assert_eq!(
            refusal(CALL),
            json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32602, "message": "no"}})
        );
        let batch = format!("[{CALL},{{\"method\":\"notifications/x\"}}]");
        assert_eq!(refusal(&batch).as_array().map(Vec::len), Some(1));
        assert_eq!(refusal(r#"{"method":"tools/call","params":{"name":"a"}}"#)["id"], Value::Null);
    }
}
