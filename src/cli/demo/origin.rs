//! The demo's origin and mock AI provider: three routes on one loopback port.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use http::header;
use tokio_stream::StreamExt;

/// Starts the origin on a thread of its own and says where it listens.
pub(super) fn start() -> std::io::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            let router = Router::new()
                .route(
                    "/",
                    get(async || {
                        Html("<!doctype html><title>Demo shop</title><h1>Welcome to the demo shop</h1>\n")
                    }),
                )
                .route("/account", get(account))
                .route("/v1/chat/completions", post(chat))
                .fallback(async || (http::StatusCode::NOT_FOUND, "not here\n"));
            // Ends with the process.
            if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                let _ = axum::serve(listener, router).await;
            }
        });
    });
    Ok(address)
}

/// A page that leaks a published test card number.
async fn account() -> Html<String> {
    let card = ["4111", "1111", "1111", "1111"].join(" ");
    Html(format!("<!doctype html><title>Your account</title><p>Paid with card {card}</p>\n"))
}

/// A chat completion in the OpenAI shape, streamed when asked for.
async fn chat(body: Bytes) -> Response {
    let request: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let words = ["Hello", " from", " the", " demo", " model."];
    if !request.get("stream").and_then(serde_json::Value::as_bool).unwrap_or(false) {
        let answer = serde_json::json!({
            "id": "chatcmpl-demo", "object": "chat.completion", "created": 0, "model": "demo",
            "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": words.concat() } }],
            "usage": { "prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10 },
        });
        return ([(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response();
    }
    let chunk = |delta: serde_json::Value, finish: Option<&str>| {
        let chunk = serde_json::json!({
            "id": "chatcmpl-demo", "object": "chat.completion.chunk", "created": 0, "model": "demo",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        });
        format!("data: {chunk}\n\n")
    };
    let mut events: Vec<String> =
        words.iter().map(|word| chunk(serde_json::json!({ "content": word }), None)).collect();
    events.push(chunk(serde_json::json!({}), Some("stop")));
    events.push("data: [DONE]\n\n".to_owned());
    let paced = tokio_stream::iter(events)
        .throttle(Duration::from_millis(150))
        .map(Ok::<_, std::convert::Infallible>);
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(paced)).into_response()
}
