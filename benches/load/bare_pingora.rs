//! A bare Pingora proxy: one thread, one origin, nothing else. `bare_pingora LISTEN ORIGIN`

use async_trait::async_trait;
use pingora::proxy::{ProxyHttp, Session, http_proxy_service};
use pingora::server::Server;
use pingora::server::configuration::ServerConf;
use pingora::upstreams::peer::HttpPeer;

struct Bare(std::net::SocketAddr);

#[async_trait]
impl ProxyHttp for Bare {
    type CTX = ();

    fn new_ctx(&self) {}

    async fn upstream_peer(&self, _: &mut Session, (): &mut ()) -> pingora::Result<Box<HttpPeer>> {
        Ok(Box::new(HttpPeer::new(self.0, false, String::new())))
    }
}

#[expect(clippy::expect_used, reason = "a tool of the load test")]
pub fn main() {
    let mut arguments = std::env::args().skip(1);
    let listen = arguments.next().expect("the address to listen on");
    let origin = arguments.next().and_then(|text| text.parse().ok()).expect("the origin's address");
    let conf = ServerConf { threads: 1, ..ServerConf::default() };
    let mut server = Server::new_with_opt_and_conf(None, conf);
    server.bootstrap();
    let mut service = http_proxy_service(&server.configuration, Bare(origin));
    service.add_tcp(&listen);
    server.add_service(service);
    server.run_forever();
}
