//! A request that is split anywhere is judged as if it came at once.

use super::support::{Client, Edge};

#[test]
fn a_request_split_anywhere_means_the_same() {
    let origin = super::origins::start();
    let edge = Edge::start(&format!(
        "[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n",
        origin.url()
    ));
    let attack = "a=1&q=1'%20UNION%20SELECT%20password%20FROM%20users--";
    let plain = "a=1&q=plain";
    let mut ran = 0;
    for (body, status) in [(attack, 403), (plain, 200)] {
        let head =
            "POST /Length HTTP/1.1\r\nHost: a.example\r\nContent-Type: application/x-www-form-urlencoded\r\n";
        let half = body.len() / 2;
        let (first, second) = body.split_at(half);
        for whole in [
            format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()),
            format!(
                "{head}Transfer-Encoding: chunked\r\n\r\n{half:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n",
                second.len()
            ),
        ] {
            // Every place, and at each of them a pause long enough for the first part to be read alone.
            for at in 1..whole.len() {
                let (before, after) = whole.as_bytes().split_at(at);
                let mut client = Client::connect(edge.proxy[0]);
                client.send(before);
                Client::connect(edge.proxy[0]).send("G");
                let response =
                    client.send(after).receive().unwrap_or_else(|| panic!("no answer, split at {at}"));
                assert_eq!(response.status, status, "split at {at} of {whole:?}");
                if status == 200 {
                    assert_eq!(response.text(), super::origins::receipt(body.as_bytes()), "split at {at}");
                }
                ran += 1;
            }
            // Byte by byte.
            let mut client = Client::connect(edge.proxy[0]);
            for byte in whole.as_bytes() {
                client.send([*byte]);
            }
            assert_eq!(client.receive().unwrap().status, status, "{whole:?}");
        }
    }
    assert!(ran > 600, "{ran}");
    assert!(origin.begun().len() <= ran, "what is refused reached the origin");
}
