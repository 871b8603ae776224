//! The real binary as a child process, with its log read as events.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tempfile::TempDir;

use super::{http_get, wait_for};

pub const BINARY: &str = env!("CARGO_BIN_EXE_portcullis");

/// A running edge; it is killed when dropped.
pub struct Edge {
    child: Child,
    pub folder: TempDir,
    log: Arc<Mutex<Vec<Value>>>,
    pub proxy: Vec<SocketAddr>,
    pub admin: SocketAddr,
}

impl Edge {
    /// Starts the edge with a configuration; `ORIGIN`-like names must be replaced before. Listeners
    /// and admin port are added where the text has none.
    pub fn start(conf: &str) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), conf, &[])
    }

    pub fn start_in(folder: TempDir, conf: &str, arguments: &[&str]) -> Self {
        std::fs::write(folder.path().join("p.toml"), complete(conf)).unwrap();
        let (child, log) = spawn(folder.path(), arguments);
        let mut edge =
            Self { child, folder, log, proxy: Vec::new(), admin: SocketAddr::from(([0, 0, 0, 0], 0)) };
        let started = edge.wait_for_event("server_started", |_| true);
        let address = |value: &Value| value.as_str().unwrap().parse().unwrap();
        edge.proxy = started["listeners"].as_array().unwrap().iter().map(address).collect();
        edge.admin = address(&started["admin"]);
        edge
    }

    /// Starts anew in the same folder, after the process ended.
    pub fn again(mut self) -> Self {
        let conf = std::fs::read_to_string(self.folder.path().join("p.toml")).unwrap();
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        Self::start_in(folder, &conf, &[])
    }

    /// Replaces the configuration file at once, as an editor does.
    pub fn rewrite(&self, conf: &str) {
        let path = self.folder.path().join("p.toml");
        let next = self.folder.path().join("p.toml.next");
        std::fs::write(&next, complete(conf)).unwrap();
        std::fs::rename(next, path).unwrap();
    }

    /// What the process said beside its log.
    pub fn stderr(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("stderr.txt")).unwrap_or_default()
    }

    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn wait_for_exit(&mut self) -> std::process::ExitStatus {
        wait_for("the edge to end", || self.child.try_wait().unwrap())
    }

    /// The events so far.
    pub fn events(&self) -> Vec<Value> {
        self.log.lock().unwrap().clone()
    }

    /// The whole log as text, to look for what must not be in it.
    pub fn log_text(&self) -> String {
        self.events().iter().map(|event| format!("{event}\n")).collect()
    }

    /// The first event of a name that is the one meant, now or later.
    pub fn wait_for_event(&mut self, name: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        wait_for(name, || {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!(
                    "the edge ended with {status} while `{name}` was awaited; its log:\n{}",
                    self.log_text()
                );
            }
            let log = self.log.lock().unwrap();
            log.iter().find(|event| event["event"] == name && is_it(event)).cloned()
        })
    }

    pub fn metrics(&self) -> String {
        http_get(self.admin, "/metrics").text()
    }

    /// The value of a series, 0 where it does not exist.
    pub fn metric(&self, series: &str) -> f64 {
        let metrics = self.metrics();
        let line = metrics.lines().find(|line| line.rsplit_once(' ').is_some_and(|(name, _)| name == series));
        line.and_then(|line| line.rsplit_once(' ')?.1.parse().ok()).unwrap_or(0.0)
    }

    /// Waits until a series has a value: some things are counted after the client has its answer.
    pub fn wait_for_metric(&self, series: &str, value: f64) {
        wait_for(&format!("{series} to be {value}"), || (self.metric(series) == value).then_some(()));
    }

    /// Memory in use, in KiB.
    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Beside what the test says.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), self.stderr().as_bytes());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Top-level keys first, then what every test needs.
fn complete(conf: &str) -> String {
    let mut text = conf.to_owned();
    if !text.contains("[admin]") {
        text.push_str("\n[admin]\naddress = \"127.0.0.1:0\"\n");
    }
    if !text.contains("[[listeners]]") {
        text.push_str("\n[[listeners]]\naddress = \"127.0.0.1:0\"\n");
    }
    text
}

fn spawn(folder: &Path, arguments: &[&str]) -> (Child, Arc<Mutex<Vec<Value>>>) {
    let mut child = Command::new(BINARY)
        .args(["run", "--conf", "p.toml"])
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(folder.join("stderr.txt")).unwrap())
        .spawn()
        .unwrap();
    let log = Arc::new(Mutex::new(Vec::new()));
    let (written, out) = (Arc::clone(&log), child.stdout.take().unwrap());
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            let event = serde_json::from_str(&line).unwrap_or(Value::String(line));
            written.lock().unwrap().push(event);
        }
    });
    (child, log)
}

/// What `check` says of a configuration that it refuses, without the folder the file stands in.
pub fn refused_by_check(conf: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    std::fs::write(&file, conf).unwrap();
    let output = run_cli(&["check", "--conf", &file.display().to_string()], b"");
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap().replace(&folder.path().display().to_string(), "")
}

/// Runs a command of the binary to its end.
pub fn run_cli(arguments: &[&str], input: &[u8]) -> Output {
    use std::io::Write;
    let mut child = Command::new(BINARY)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that fails early does not read.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// Runs a command such as `key add` for the gateway `main` of the account `acme`, with the configuration of a folder.
pub fn run_for_gateway(folder: &Path, command: &[&str], more: &[&str], input: &[u8]) -> Output {
    let conf = folder.join("p.toml").display().to_string();
    let gateway = ["--account", "acme", "--gateway", "main", "--conf", &conf];
    run_cli(&[command, &gateway, more].concat(), input)
}
