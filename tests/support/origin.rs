//! An origin that does exactly what a test tells it, over plain sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What an origin received.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// `GET /path HTTP/1.1`
    pub line: String,
    /// Names as sent.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or("")
    }
}

/// A running origin.
pub struct Origin {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    begun: Arc<Mutex<Vec<String>>>,
}

impl Origin {
    /// Answers each request with what `answer` writes; the connection is kept while it returns true.
    pub fn start(answer: impl Fn(&Request, &mut TcpStream) -> bool + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), answer)
    }

    pub fn on(
        listener: TcpListener,
        answer: impl Fn(&Request, &mut TcpStream) -> bool + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&requests), Arc::new(answer));
        let begun = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&begun);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (seen, answer, lines) = (Arc::clone(&seen), Arc::clone(&answer), Arc::clone(&lines));
                std::thread::spawn(move || serve(stream, &seen, &lines, answer.as_ref()));
            }
        });
        Self { address, requests, begun }
    }

    /// Answers every request with 200 and this body.
    pub fn fixed(content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self::start(move |_, stream| {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).is_ok()
        })
    }

    /// Answers every request with the bytes of its body.
    pub fn echo() -> Self {
        Self::start(|request, stream| {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ncontent-length: {}\r\n\r\n",
                request.body.len()
            );
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&request.body)).is_ok()
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Forgets what came.
    pub fn forget(&self) {
        self.requests.lock().unwrap().clear();
        self.begun.lock().unwrap().clear();
    }

    /// The request lines that came, whether or not the request was ever complete.
    pub fn begun(&self) -> Vec<String> {
        self.begun.lock().unwrap().clone()
    }

    /// The last request.
    pub fn last(&self) -> Request {
        self.requests().pop().expect("the origin got a request")
    }
}

fn serve(
    stream: TcpStream,
    seen: &Mutex<Vec<Request>>,
    begun: &Mutex<Vec<String>>,
    answer: &(dyn Fn(&Request, &mut TcpStream) -> bool + Send + Sync),
) {
    let mut writer = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader, &mut writer, begun) {
        seen.lock().unwrap().push(request.clone());
        if !answer(&request, &mut writer) {
            return;
        }
    }
}

fn read(
    reader: &mut BufReader<TcpStream>,
    writer: &mut TcpStream,
    begun: &Mutex<Vec<String>>,
) -> Option<Request> {
    let line = |reader: &mut BufReader<TcpStream>| {
        let mut text = String::new();
        reader.read_line(&mut text).ok().filter(|read| *read > 0)?;
        Some(text.trim_end_matches(['\r', '\n']).to_owned())
    };
    let mut request = Request { line: line(reader)?, ..Request::default() };
    begun.lock().unwrap().push(request.line.clone());
    loop {
        let text = line(reader)?;
        let Some((name, value)) = text.split_once(':') else { break };
        request.headers.push((name.to_owned(), value.trim().to_owned()));
    }
    if request.header("expect").is_some() {
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    if let Some(length) = request.header("content-length").and_then(|length| length.parse::<usize>().ok()) {
        request.body.resize(length, 0);
        reader.read_exact(&mut request.body).ok()?;
    } else if request.header("transfer-encoding").is_some() {
        loop {
            let size = usize::from_str_radix(line(reader)?.split(';').next()?, 16).ok()?;
            let start = request.body.len();
            request.body.resize(start + size, 0);
            reader.read_exact(&mut request.body[start..]).ok()?;
            line(reader)?;
            if size == 0 {
                break;
            }
        }
    }
    Some(request)
}
