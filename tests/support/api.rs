//! A client of the management API.

use std::net::SocketAddr;

use serde_json::Value;

use super::{Client, Edge, Response};

/// The management API, as one bearer of a token uses it.
#[derive(Clone)]
pub struct Api {
    address: SocketAddr,
    token: String,
}

impl Api {
    pub fn new(edge: &Edge, token: impl Into<String>) -> Self {
        Self { address: edge.admin, token: token.into() }
    }

    /// The same API for the bearer of another token.
    pub fn with(&self, token: impl Into<String>) -> Self {
        Self { address: self.address, token: token.into() }
    }

    /// A request with further header lines, each with its line end.
    pub fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Response {
        let token = match self.token.as_str() {
            "" => String::new(),
            token => format!("Authorization: Bearer {token}\r\n"),
        };
        let request = format!(
            "{method} /client/v4{path} HTTP/1.1\r\nHost: api.example\r\n{token}{headers}\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        Client::once(self.address, request)
    }

    /// Status and body of an answer.
    pub fn call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.ask(method, path, "", &body);
        (answer.status, serde_json::from_slice(&answer.body).unwrap_or(Value::Null))
    }

    /// The result of a request that succeeds.
    pub fn result(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.call(method, path, body);
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer["result"].clone()
    }

    pub fn get(&self, path: &str) -> Value {
        self.result("GET", path, &Value::Null)
    }

    pub fn post(&self, path: &str, body: &Value) -> Value {
        self.result("POST", path, body)
    }

    /// Status and codes of a request that is refused.
    pub fn refused(&self, method: &str, path: &str, body: &Value) -> (u16, Vec<u64>) {
        let (status, answer) = self.call(method, path, body);
        assert_eq!((answer["success"].as_bool(), &answer["result"]), (Some(false), &Value::Null), "{answer}");
        let errors = answer["errors"].as_array().unwrap();
        (status, errors.iter().map(|error| error["code"].as_u64().unwrap()).collect())
    }
}
