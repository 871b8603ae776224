//! Sockets of the service manager: connections wait in them until the process is there.

use std::net::{TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{BINARY, Client, Http3, Origin, certificate, get, http_get, wait_for};

/// Starts the edge of a folder with these sockets, as a service manager does.
fn start(folder: &Path, sockets: Vec<OwnedFd>) -> Child {
    let count = sockets.len();
    let script = format!(
        "exec 3<&0 4<&1 </dev/null >/dev/null; LISTEN_PID=$$ LISTEN_FDS={count} exec \"$0\" run --conf p.toml"
    );
    let mut sockets = sockets.into_iter().map(Stdio::from);
    let next = sockets.next().unwrap_or_else(Stdio::null);
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, BINARY]).current_dir(folder).stdin(next);
    shell.stdout(sockets.next().unwrap_or_else(Stdio::null)).stderr(Stdio::piped());
    shell.spawn().unwrap()
}

fn ended(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

fn conf(address: &str, more: &str) -> String {
    format!("[admin]\naddress = \"127.0.0.1:0\"\n[[listeners]]\naddress = \"{address}\"\n{more}")
}

#[test]
fn connections_wait_for_the_process() {
    let origin = Origin::fixed("text/plain", "hello");
    let folder = tempfile::tempdir().unwrap();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let zone = format!("[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n", origin.url());
    std::fs::write(folder.path().join("p.toml"), conf(&address.to_string(), &zone)).unwrap();
    for _ in 0..2 {
        // Asked before there is a process, and after one was killed.
        let mut client = Client::connect(address);
        client.send("GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
        let mut child = start(folder.path(), vec![socket.try_clone().unwrap().into()]);
        assert_eq!(client.receive().unwrap().text(), "hello");
        assert_eq!(Client::get(address, "a.example", "/").status, 200);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn datagrams_come_to_the_passed_socket() {
    let origin = Origin::fixed("text/plain", "hello");
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let (tcp, udp) = loop {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()) {
            break (tcp, udp);
        }
    };
    let address = tcp.local_addr().unwrap();
    let more = format!(
        "http3 = true\n[[listeners.certificates]]\nchain = \"a.pem\"\nkey = \"a.key\"\n[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n",
        origin.url()
    );
    std::fs::write(folder.path().join("p.toml"), conf(&address.to_string(), &more)).unwrap();
    let mut child = start(folder.path(), vec![tcp.into(), udp.into()]);
    let mut client = wait_for("HTTP/3", || Http3::connect(address, "a.example").ok());
    assert_eq!(client.ask(get("a.example", "/"), b"").unwrap().text(), "hello");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn sockets_that_nothing_answers_end_the_start() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.toml"), conf("127.0.0.1:0", "")).unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    let said = ended(start(folder.path(), vec![other.into()]));
    assert!(said.contains(&format!("`ListenStream={address}`")) && said.contains("no listener"), "{said}");
    let both = TcpListener::bind("[::]:0").unwrap();
    let said = ended(start(folder.path(), vec![both.into()]));
    assert!(said.contains("BindIPv6Only=ipv6-only"), "{said}");
    let file = std::fs::File::open(folder.path().join("p.toml")).unwrap();
    let said = ended(start(folder.path(), vec![file.into()]));
    assert!(said.contains("the socket 0 of the service manager is for neither"), "{said}");
    // Variables that name another process are ignored: this one binds its own sockets.
    let mut child = Command::new(BINARY)
        .args(["run", "--conf", "p.toml"])
        .envs([("LISTEN_PID", "1"), ("LISTEN_FDS", "1")])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut log = std::io::BufReader::new(child.stdout.take().unwrap());
    let admin = loop {
        let mut line = String::new();
        assert!(std::io::BufRead::read_line(&mut log, &mut line).unwrap() > 0, "it goes on");
        let event: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        if event["event"] == "server_started" {
            break event["admin"].as_str().unwrap().parse().unwrap();
        }
    };
    assert_eq!(http_get(admin, "/metrics").status, 200);
    child.kill().unwrap();
    child.wait().unwrap();
}
