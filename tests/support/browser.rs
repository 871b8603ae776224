//! Chromium without a window, driven over its debugging protocol.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

/// A browser with one page.
pub struct Browser {
    process: Child,
    socket: WebSocket<TcpStream>,
    calls: u64,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts Debian's Chromium; every host is this machine. It has no sandbox, because tests may run as root.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// With more arguments.
    pub fn start_with(arguments: &[&str]) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut process = Command::new("chromium")
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .args([
                "--remote-debugging-port=0",
                "--ignore-certificate-errors",
                "--host-resolver-rules=MAP * 127.0.0.1",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(arguments)
            .arg("about:blank")
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("chromium, which `make packages` installs");
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let address = lines
            .map_while(Result::ok)
            .find_map(|line| {
                Some(line.split_once("DevTools listening on ws://")?.1.split_once('/')?.0.to_owned())
            })
            .expect("chromium listens");
        let pages: Value = super::wait_for("the page of chromium", || {
            let (status, text) = super::curl(&["-s", &format!("http://{address}/json/list")]);
            let pages: Value = serde_json::from_str(&text).ok()?;
            (status == 200 && pages[0]["type"] == "page").then_some(pages)
        });
        let url = pages[0]["webSocketDebuggerUrl"].as_str().unwrap().to_owned();
        let stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(super::PATIENCE)).unwrap();
        let (socket, _) = tungstenite::client(url, stream).unwrap();
        let mut browser = Self { process, socket, calls: 0, _profile: profile };
        browser.call("Page.enable", &json!({}));
        browser
    }

    /// Calls a method of the protocol.
    pub fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.ask(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Result<Value, Value> {
        self.calls += 1;
        let id = self.calls;
        let call = json!({"id": id, "method": method, "params": parameters}).to_string();
        self.socket.send(Message::text(call)).unwrap();
        loop {
            let message = self.socket.read().unwrap();
            let answer: Value = serde_json::from_str(message.to_text().unwrap_or("null")).unwrap_or_default();
            if answer["id"] == id {
                return answer
                    .get("error")
                    .map_or_else(|| Ok(answer["result"].clone()), |error| Err(error.clone()));
            }
        }
    }

    pub fn open(&mut self, url: &str) {
        self.call("Page.navigate", &json!({"url": url}));
    }

    /// What an expression of the page comes to; null while one page gives way to another.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "userGesture": true});
        self.ask("Runtime.evaluate", &asked).unwrap_or_default()["result"]["value"].clone()
    }

    /// Waits until the text of the page has some words.
    #[expect(clippy::disallowed_methods, reason = "tests wait in real time")]
    pub fn wait_for_text(&mut self, words: &str) -> String {
        let until = Instant::now() + super::PATIENCE;
        loop {
            let text = self.value("document.body ? document.body.innerText : ''");
            let text = text.as_str().unwrap_or("");
            if text.contains(words) {
                return text.to_owned();
            }
            assert!(Instant::now() < until, "waited in vain for `{words}`; the page says `{text}`");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Presses a key on what has the focus.
    pub fn press(&mut self, key: &str, code: u32) {
        for kind in ["keyDown", "keyUp"] {
            let event =
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": "\r"});
            self.call("Input.dispatchKeyEvent", &event);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
