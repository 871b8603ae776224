//! A new process takes every socket over; no connection is refused meanwhile.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::dns_server::{ask_udp, query};
use crate::protocols::free_port;
use crate::support::{Client, Edge, Origin, http_get, wait_for};

/// Asks the name server again and again, each time from another port, until it is told to stop.
fn resolver(names: SocketAddr, stop: &Arc<AtomicBool>) -> (Arc<AtomicUsize>, JoinHandle<usize>) {
    let (answered, stop) = (Arc::new(AtomicUsize::new(0)), Arc::clone(stop));
    let count = Arc::clone(&answered);
    let asking = std::thread::spawn(move || {
        let mut lost = 0;
        while !stop.load(Ordering::Relaxed) {
            match ask_udp(names, &query("a.example"), Duration::from_secs(5)) {
                Some(_) => drop(count.fetch_add(1, Ordering::Relaxed)),
                None => lost += 1,
            }
        }
        lost
    });
    (answered, asking)
}

#[test]
fn every_socket_is_handed_over() {
    let origin = Origin::fixed("text/plain", "fine");
    let (port, admin, names) = (free_port(), free_port(), free_port());
    let conf = format!(
        "graceful_stop = \"1s\"\n[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[[listeners]]\naddress = \"127.0.0.1:{port}\"\n[admin]\naddress = \"127.0.0.1:{admin}\"\n[dns]\nlisteners = [\"127.0.0.1:{names}\"]\n",
        origin.url()
    );
    let mut old = Edge::start(&conf);
    let folder = tempfile::tempdir_in(old.folder.path()).unwrap();
    // The same state folder is what the two processes meet by.
    let state = old.folder.path().join("state");
    std::os::unix::fs::symlink(&state, folder.path().join("state")).unwrap();
    let (stop, failed, served) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let client = {
        let (stop, failed, served, address) =
            (Arc::clone(&stop), Arc::clone(&failed), Arc::clone(&served), old.proxy[0]);
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let response = Client::connect(address)
                    .send("GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
                    .receive();
                match response {
                    Some(response) if response.status == 200 => served.fetch_add(1, Ordering::Relaxed),
                    _ => failed.fetch_add(1, Ordering::Relaxed),
                };
            }
        })
    };
    let (answered, asking) = resolver(SocketAddr::from(([127, 0, 0, 1], names)), &stop);
    wait_for("requests", || (served.load(Ordering::Relaxed) > 10).then_some(()));
    let pid = old.pid();
    let quit = std::thread::spawn({
        let socket = state.join("run/upgrade.sock");
        move || {
            // The new process listens on the upgrade socket before the old one is told.
            wait_for("the new process", || socket.exists().then_some(()));
            // Queries are not given to a process that does not read them yet.
            let before = answered.load(Ordering::Relaxed);
            wait_for("queries", || (answered.load(Ordering::Relaxed) > before + 200).then_some(()));
            assert!(
                std::process::Command::new("kill")
                    .args(["-QUIT", &pid.to_string()])
                    .status()
                    .unwrap()
                    .success()
            );
        }
    });
    let mut new = Edge::start_in(folder, &conf, &["--upgrade"]);
    quit.join().unwrap();
    assert_eq!((new.proxy[0], new.admin), (old.proxy[0], old.admin));
    assert!(old.wait_for_exit().success());
    let before = served.load(Ordering::Relaxed);
    wait_for("requests at the new process", || (served.load(Ordering::Relaxed) > before + 10).then_some(()));
    stop.store(true, Ordering::Relaxed);
    client.join().unwrap();
    assert_eq!(asking.join().unwrap(), 0, "queries without an answer");
    assert_eq!(failed.load(Ordering::Relaxed), 0);
    assert_eq!(http_get(new.admin, "/health/ready").status, 200);
    new.wait_for_event("server_started", |_| true);
    assert!(!new.log_text().contains("service_failed"));
}
