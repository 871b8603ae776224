//! Debian's `pebble`: a CA that speaks ACME, and a name server that answers what a test wants.

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{certificate, wait_for};

/// A CA with its own name server; both end when it is dropped.
pub struct Pebble {
    children: Vec<Child>,
    pub folder: TempDir,
    log: Arc<Mutex<Vec<String>>>,
    port: u16,
    management: u16,
    names_management: u16,
    /// Where names are answered.
    pub names: u16,
    /// Where the CA looks: without TLS and with it.
    pub http: u16,
    pub tls: u16,
}

/// How a CA is to be.
#[derive(Clone, Debug, Default)]
pub struct PebbleSettings {
    /// Where names are answered, in place of a name server of its own.
    pub names: Option<u16>,
    /// Key id and key of the only accounts that are taken.
    pub external_account: Option<(String, String)>,
    /// Where the CA looks without TLS, if not at a free port.
    pub http: Option<u16>,
    /// How many of a hundred nonces, which it gave itself, the CA refuses; 5 if nothing is said.
    pub refused_nonces: Option<u8>,
}

/// A port that nobody has, over TCP and UDP, for those who must be told one before they listen. It is below those that the
/// system gives to who asks for port 0, and given once.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let begin = std::process::id() * 211 % 10_000;
        let port = 20_000 + u16::try_from((begin + u32::from(nth)) % 12_000).unwrap();
        let is_free =
            TcpListener::bind(("127.0.0.1", port)).is_ok() && UdpSocket::bind(("127.0.0.1", port)).is_ok();
        if is_free {
            return port;
        }
    }
}

impl Pebble {
    pub fn start(settings: &PebbleSettings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        certificate(folder.path(), "ca", &["localhost"]);
        let [port, management, names_management, http, tls] = std::array::from_fn(|_| free_port());
        let names = settings.names.unwrap_or_else(free_port);
        let http = settings.http.unwrap_or(http);
        let mut conf = json!({
            "listenAddress": format!("127.0.0.1:{port}"),
            "managementListenAddress": format!("127.0.0.1:{management}"),
            "certificate": folder.path().join("ca.pem"),
            "privateKey": folder.path().join("ca.key"),
            "httpPort": http,
            "tlsPort": tls,
        });
        if let Some((id, key)) = &settings.external_account {
            conf["externalAccountBindingRequired"] = json!(true);
            conf["externalAccountMACKeys"] = json!({id.as_str(): key});
        }
        std::fs::write(folder.path().join("pebble.json"), json!({"pebble": conf}).to_string()).unwrap();
        let mut pebble = Self {
            children: Vec::new(),
            folder,
            log: Arc::default(),
            port,
            management,
            names_management,
            names,
            http,
            tls,
        };
        let refused_nonces = settings.refused_nonces.unwrap_or(5).to_string();
        if settings.names.is_none() {
            pebble.spawn(
                "pebble-challtestsrv",
                &[
                    "-management",
                    &format!("127.0.0.1:{names_management}"),
                    "-dns01",
                    &format!("127.0.0.1:{names}"),
                    "-http01",
                    "",
                    "-https01",
                    "",
                    "-tlsalpn01",
                    "",
                    "-defaultIPv6",
                    "",
                    "-defaultIPv4",
                    "127.0.0.1",
                ],
                &[],
            );
            wait_for("the name server", || std::net::TcpStream::connect(("127.0.0.1", names)).ok());
        }
        let conf = pebble.folder.path().join("pebble.json").display().to_string();
        let arguments = ["-config", &conf, "-dnsserver", &format!("127.0.0.1:{names}")];
        pebble.spawn("pebble", &arguments, &[("PEBBLE_WFE_NONCEREJECT", &refused_nonces)]);
        wait_for("the CA", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        pebble
    }

    fn spawn(&mut self, program: &str, arguments: &[&str], environment: &[(&str, &str)]) {
        let mut child = Command::new(program)
            .args(arguments)
            .env("PEBBLE_VA_NOSLEEP", "1")
            .env("PEBBLE_AUTHZREUSE", "0")
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("Debian's package pebble has `{program}`: {error}"));
        self.keep_lines(child.stdout.take().unwrap());
        // Where it says what it ended of, if it did.
        self.keep_lines(child.stderr.take().unwrap());
        self.children.push(child);
    }

    fn keep_lines(&self, out: impl Read + Send + 'static) {
        let log = Arc::clone(&self.log);
        std::thread::spawn(move || {
            for line in BufReader::new(out).split(b'\n').map_while(Result::ok) {
                log.lock().unwrap().push(String::from_utf8_lossy(&line).into_owned());
            }
        });
    }

    /// `[[certificates.authorities]]` of it, without `eab_…`.
    pub fn conf(&self, name: &str) -> String {
        format!(
            "[[certificates.authorities]]\nname = \"{name}\"\ndirectory = \"https://localhost:{}/dir\"\n\
             root_file = \"{}\"\ncaa = [\"pebble.letsencrypt.org\"]\n",
            self.port,
            self.folder.path().join("ca.pem").display()
        )
    }

    /// Tells its name server what to answer: `set-txt`, `set-cname`, `add-a`, `add-caa` and what takes them away.
    pub fn tell(&self, what: &str, body: &Value) {
        let url = format!("http://127.0.0.1:{}/{what}", self.names_management);
        let sent = Command::new("curl").args(["-sf", "-d", &body.to_string(), &url]).status().unwrap();
        assert!(sent.success(), "{what} {body}");
    }

    /// The certificate that all of its certificates are signed by, in a file.
    pub fn root(&self) -> std::path::PathBuf {
        let path = self.folder.path().join("root.pem");
        let url = format!("https://127.0.0.1:{}/roots/0", self.management);
        let got = Command::new("curl").args(["-skf", "-o"]).arg(&path).arg(&url).status().unwrap();
        assert!(got.success());
        path
    }

    /// What the CA says of a certificate, by its number in decimal.
    pub fn certificate_status(&self, serial: &str) -> String {
        let hex = format!("{:x}", serial.parse::<u128>().unwrap());
        let url = format!("https://127.0.0.1:{}/cert-status-by-serial/{hex}", self.management);
        let output = Command::new("curl").args(["-sk", &url]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// How many lines of its log have a text.
    pub fn logged(&self, text: &str) -> usize {
        self.log.lock().unwrap().iter().filter(|line| line.contains(text)).count()
    }

    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// What a client sees over TLS: the status and the body of a page.
    pub fn https(&self, host: &str, port: u16, root: &Path) -> Result<String, String> {
        let output = Command::new("curl")
            .args(["-s", "--max-time", "5", "--resolve", &format!("{host}:{port}:127.0.0.1"), "--cacert"])
            .arg(root)
            .arg(format!("https://{host}:{port}/"))
            .output()
            .unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(format!("curl ends with {}", output.status)),
        }
    }
}

impl Drop for Pebble {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            let text = self.log().into_iter().rev().take(60).collect::<Vec<_>>();
            let text: String = text.into_iter().rev().map(|line| format!("{line}\n")).collect();
            let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
        }
    }
}
