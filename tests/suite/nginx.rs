//! nginx from Debian as the origin: kept connections, large bodies, chunks, slowness.

use std::net::TcpStream;
use std::process::{Command, Stdio};

use crate::protocols::{Killed, free_port};
use crate::support::{Client, Edge, wait_for};

#[test]
fn nginx_behind_the_edge() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let root = folder.path().display().to_string();
    std::fs::write(folder.path().join("small.txt"), "small").unwrap();
    let large: Vec<u8> = (0..300_000).map(|at| b"0123456789"[at % 10]).collect();
    std::fs::write(folder.path().join("large.txt"), &large).unwrap();
    let conf = format!(
        "daemon off; master_process off; pid {root}/nginx.pid; error_log stderr crit;\n\
         events {{ worker_connections 256; }}\n\
         http {{ access_log {root}/access.log; client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f; uwsgi_temp_path {root}/u; scgi_temp_path {root}/s;\n\
           gzip on; gzip_types text/plain; gzip_min_length 1;\n\
           log_format c '$connection'; access_log {root}/connections.log c;\n\
           server {{ listen 127.0.0.1:{port}; root {root}; client_max_body_size 10m; default_type text/plain;\n\
             location /slow/ {{ alias {root}/; limit_rate 400k; }}\n\
             location /upload {{ proxy_pass http://127.0.0.1:{port}/length; }}\n\
             location /length {{ return 200 \"got $content_length\"; }} }} }}\n"
    );
    std::fs::write(folder.path().join("nginx.conf"), conf).unwrap();
    let nginx = ["/usr/sbin/nginx", "nginx"].iter().find_map(|name| {
        Command::new(name).arg("-c").arg(folder.path().join("nginx.conf")).stderr(Stdio::null()).spawn().ok()
    });
    let _nginx = Killed(nginx.expect("nginx is installed"));
    wait_for("nginx", || TcpStream::connect(("127.0.0.1", port)).ok());
    let edge = Edge::start(&format!(
        "[[zones]]\nname = \"a.example\"\norigins = [\"http://127.0.0.1:{port}\"]\n[zones.waf]\n[zones.sensitive_data]\n"
    ));
    let mut client = Client::connect(edge.proxy[0]);
    for _ in 0..20 {
        let response = client.send("GET /small.txt HTTP/1.1\r\nHost: a.example\r\n\r\n").receive().unwrap();
        assert_eq!((response.status, response.text()), (200, "small".to_owned()));
    }
    let connections = || {
        let log = std::fs::read_to_string(folder.path().join("connections.log")).unwrap();
        let mut ids: Vec<String> = log.lines().map(str::to_owned).collect();
        ids.dedup();
        (log.lines().count(), ids.len())
    };
    wait_for("nginx to log", || (connections().0 >= 20).then_some(()));
    assert_eq!(connections().1, 1, "one connection to the origin is kept");
    assert_eq!(Client::get(edge.proxy[0], "a.example", "/large.txt").body, large);
    assert_eq!(Client::get(edge.proxy[0], "a.example", "/slow/large.txt").body, large);
    assert_eq!(Client::get(edge.proxy[0], "a.example", "/missing").status, 404);
    let coded = Client::once(
        edge.proxy[0],
        "GET /large.txt HTTP/1.1\r\nHost: a.example\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n",
    );
    assert_eq!((coded.status, coded.header("content-encoding")), (200, Some("gzip")));
    assert!(coded.body.len() < 10_000);
    for size in [0, 100, 65_536, 300_000] {
        let body: Vec<u8> = large.iter().copied().take(size).collect();
        let response = Client::post(edge.proxy[0], "a.example", "/upload", "text/plain", &body);
        assert_eq!((response.status, response.text()), (200, format!("got {size}")), "{size}");
    }
}
