//! A provider that answers at once, and a client that measures streams: both ends of the gateway's bench.
//!
//! ```text
//! gateway_mock serve 127.0.0.1:PORT
//! gateway_mock streams 127.0.0.1:PORT PATH TOKEN STREAMS EVENTS
//! gateway_mock soak 127.0.0.1:PORT PATH TOKEN REQUESTS_PER_SECOND SECONDS
//! ```
//! A request whose body holds `"stream":true` gets an event every 20 ms; each carries the moment it was
//! sent, by the machine's clock. `streams` prints the delays from there to the client, in microseconds.
//! `soak` sends at a steady rate over 20 connections, with 16 streams beside, and prints what was answered.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench that cannot go on ends")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const INTERVAL: Duration = Duration::from_millis(20);
const EVENTS: usize = 100;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match arguments.as_slice() {
        ["serve", address] => runtime.block_on(serve(address)),
        ["streams", address, path, token, streams, events] => {
            runtime.block_on(streams_of(
                address,
                path,
                token,
                streams.parse().unwrap(),
                events.parse().unwrap(),
            ));
        }
        ["soak", address, path, token, rate, seconds] => {
            runtime.block_on(soak(address, path, token, rate.parse().unwrap(), seconds.parse().unwrap()));
        }
        _ => println!("usage: gateway_mock serve ADDRESS | streams ADDRESS PATH TOKEN STREAMS EVENTS"),
    }
}

fn micros() -> u128 {
    #[expect(clippy::disallowed_methods, reason = "both ends of the bench read the machine's clock")]
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()
}

async fn serve(address: &str) {
    let listener = TcpListener::bind(address).await.unwrap();
    let content = "x".repeat(700);
    let body = format!(
        r#"{{"id":"c","object":"chat.completion","model":"gpt-4o","choices":[{{"index":0,"message":{{"role":"assistant","content":"{content}"}}}}],"usage":{{"prompt_tokens":200,"completion_tokens":175,"total_tokens":375}}}}"#
    );
    let answer: &'static str = Box::leak(
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_boxed_str(),
    );
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        tokio::spawn(connection(stream, answer));
    }
}

async fn connection(stream: TcpStream, answer: &'static str) {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::with_capacity(64 << 10, read);
    let mut body = Vec::new();
    loop {
        let (mut length, mut line) = (0, String::new());
        loop {
            line.clear();
            if read.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        body.resize(length, 0);
        if read.read_exact(&mut body).await.is_err() {
            return;
        }
        let is_stream = memchr::memmem::find(&body, b"\"stream\":true").is_some();
        let sent =
            if is_stream { events(&mut write).await } else { write.write_all(answer.as_bytes()).await };
        if sent.is_err() {
            return;
        }
    }
}

async fn events(write: &mut (impl AsyncWriteExt + Unpin)) -> std::io::Result<()> {
    write
        .write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        )
        .await?;
    for nth in 0..EVENTS {
        let event = format!(
            "data: {{\"at\":{},\"model\":\"gpt-4o\",\"choices\":[{{\"delta\":{{\"content\":\"word {nth}\"}}}}]}}\n\n",
            micros()
        );
        write.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await?;
        tokio::time::sleep(INTERVAL).await;
    }
    let last = "data: {\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":100,\"total_tokens\":110}}\n\ndata: [DONE]\n\n";
    write.write_all(format!("{:x}\r\n{last}\r\n0\r\n\r\n", last.len()).as_bytes()).await
}

fn request(path: &str, token: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nsvc-aig-authorization: Bearer {token}\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Reads one answer; false where it is not a good one.
async fn answered(read: &mut (impl AsyncBufReadExt + Unpin)) -> bool {
    let (mut line, mut length, mut is_good) = (String::new(), None, false);
    loop {
        line.clear();
        if read.read_line(&mut line).await.unwrap_or(0) == 0 {
            return false;
        }
        is_good |= line.starts_with("HTTP/1.1 200");
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse::<usize>().ok();
        }
        if line == "\r\n" {
            break;
        }
    }
    match length {
        Some(length) => read.read_exact(&mut vec![0; length]).await.is_ok() && is_good,
        None => loop {
            line.clear();
            if read.read_line(&mut line).await.unwrap_or(0) == 0 {
                return false;
            }
            if line == "0\r\n" {
                return read.read_line(&mut line).await.is_ok() && is_good;
            }
        },
    }
}

async fn soak(address: &str, path: &str, token: &str, rate: u32, seconds: u64) {
    const CONNECTIONS: u32 = 20;
    let plain =
        request(path, token, &format!("{{\"model\":\"gpt-4o\",\"messages\":[\"{}\"]}}", "word ".repeat(190)));
    let stream = request(path, token, "{\"model\":\"gpt-4o\",\"stream\":true,\"messages\":[]}");
    let tasks: Vec<_> = (0..CONNECTIONS + 16)
        .map(|nth| {
            let is_plain = nth < CONNECTIONS;
            let (address, text) = (address.to_owned(), if is_plain { plain.clone() } else { stream.clone() });
            tokio::spawn(async move {
                let until = tokio::time::Instant::now() + Duration::from_secs(seconds);
                let mut pace = tokio::time::interval(Duration::from_secs(1) * CONNECTIONS / rate);
                let (mut good, mut bad) = (0_u64, 0_u64);
                while tokio::time::Instant::now() < until {
                    let connection = TcpStream::connect(&address).await.unwrap();
                    connection.set_nodelay(true).unwrap();
                    let (read, mut write) = connection.into_split();
                    let mut read = BufReader::new(read);
                    while tokio::time::Instant::now() < until {
                        if is_plain {
                            pace.tick().await;
                        }
                        if write.write_all(text.as_bytes()).await.is_ok() && answered(&mut read).await {
                            good += 1;
                        } else {
                            bad += 1;
                            break;
                        }
                    }
                }
                (good, bad)
            })
        })
        .collect();
    let (mut good, mut bad) = (0, 0);
    for task in tasks {
        let (more_good, more_bad) = task.await.unwrap();
        good += more_good;
        bad += more_bad;
    }
    println!("{good} good answers, {bad} others");
}

async fn streams_of(address: &str, path: &str, token: &str, streams: usize, events: usize) {
    let body = "{\"model\":\"gpt-4o\",\"stream\":true,\"messages\":[]}";
    let request = request(path, token, body);
    let tasks: Vec<_> = (0..streams)
        .map(|nth| {
            let (address, request) = (address.to_owned(), request.clone());
            tokio::spawn(async move {
                // Callers come one after another; all streams run side by side after a second.
                tokio::time::sleep(Duration::from_millis(1000 * nth as u64 / streams as u64)).await;
                let stream = TcpStream::connect(address).await.unwrap();
                stream.set_nodelay(true).unwrap();
                let (read, mut write) = stream.into_split();
                let mut read = BufReader::new(read);
                write.write_all(request.as_bytes()).await.unwrap();
                let (mut delays, mut line) = (Vec::new(), String::new());
                while delays.len() < events {
                    line.clear();
                    if read.read_line(&mut line).await.unwrap_or(0) == 0 {
                        break;
                    }
                    let sent = line.strip_prefix("data: {\"at\":").and_then(|rest| rest.split(',').next());
                    if let Some(sent) = sent.and_then(|text| text.parse::<u128>().ok()) {
                        delays.push(micros().saturating_sub(sent));
                    }
                }
                delays
            })
        })
        .collect();
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for task in tasks {
        let delays = task.await.unwrap();
        first.extend(delays.first());
        later.extend(delays.iter().skip(1));
    }
    for (name, mut delays) in [("first", first), ("later", later)] {
        delays.sort_unstable();
        let at =
            |share: usize| delays.get(delays.len() * share / 100).or(delays.last()).copied().unwrap_or(0);
        println!(
            "{name} {} p50 {} p99 {} max {}",
            delays.len(),
            at(50),
            at(99),
            delays.last().copied().unwrap_or(0)
        );
    }
}
