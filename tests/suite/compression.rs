//! Responses that are compressed on their way.

use std::io::{Read as _, Write as _};

use body::decompress::{self, Coding};
use serde_json::{Value, json};

use crate::listener::tls_listener;
use crate::support::{Client, Edge, Origin, Response, certificate, curl_output, gzip, refused_by_check};

fn text() -> String {
    (0..20_000).map(|nth| format!("<li>{}</li>\n", nth * 7 % 1000)).collect()
}

/// An origin whose answer is as its path says.
fn origin() -> Origin {
    Origin::start(|request, stream| {
        let body = text();
        let (whole, kind) = (body.len(), "content-type: text/html\r\n");
        let head = |fields: &str| {
            format!("HTTP/1.1 200 OK\r\n{kind}etag: \"a\"\r\naccept-ranges: bytes\r\n{fields}\r\n")
        };
        let answer: Vec<u8> = match request.path() {
            "/length" => {
                [head(&format!("content-length: {whole}\r\n")).into_bytes(), body.into_bytes()].concat()
            }
            "/chunks" => {
                let mut answer = head("transfer-encoding: chunked\r\n").into_bytes();
                for chunk in body.as_bytes().chunks(7_000) {
                    answer.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                    answer.extend([chunk, b"\r\n"].concat());
                }
                answer.extend(b"0\r\n\r\n");
                answer
            }
            "/close" => {
                let _ =
                    stream.write_all(&[head("connection: close\r\n").as_bytes(), body.as_bytes()].concat());
                return false;
            }
            "/cut" => {
                let _ = stream.write_all(
                    &[head(&format!("content-length: {}\r\n", whole + 1)).as_bytes(), body.as_bytes()]
                        .concat(),
                );
                return false;
            }
            "/gzip" => {
                let body = gzip(&body);
                [
                    head(&format!("content-encoding: gzip\r\ncontent-length: {}\r\n", body.len()))
                        .into_bytes(),
                    body,
                ]
                .concat()
            }
            "/fixed" => [
                head(&format!("cache-control: no-transform\r\ncontent-length: {whole}\r\n")).into_bytes(),
                body.into_bytes(),
            ]
            .concat(),
            "/short" => head("content-length: 2\r\n").into_bytes().into_iter().chain(*b"ab").collect(),
            "/none" => {
                b"HTTP/1.1 304 Not Modified\r\ncontent-type: text/html\r\netag: \"a\"\r\n\r\n".to_vec()
            }
            "/slow" => {
                let _ = stream.write_all(head("transfer-encoding: chunked\r\n").as_bytes());
                let _ = stream.write_all(b"5\r\nfirst\r\n");
                // The rest comes when the client has the first piece.
                let _ = stream.read(&mut [0]);
                let _ = stream.write_all(b"6\r\nsecond\r\n0\r\n\r\n");
                return true;
            }
            _ => b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n".to_vec(),
        };
        stream.write_all(&answer).is_ok()
    })
}

fn conf(origin: &Origin, settings: &str) -> String {
    format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n{settings}\n",
        origin.url()
    )
}

fn ask(edge: &Edge, target: &str, accepts: &str) -> Response {
    let head = format!(
        "GET {target} HTTP/1.1\r\nHost: a.example\r\nAccept-Encoding: {accepts}\r\nConnection: close\r\n\r\n"
    );
    Client::once(edge.proxy[0], head)
}

fn decoded(answer: &Response) -> String {
    let coding = Coding::of(answer.header("content-encoding").unwrap_or("").as_bytes()).unwrap();
    let limits = decompress::Limits { output_bytes: 1 << 24, ratio: 1 << 20 };
    let decoded = decompress::decode(coding, &answer.body, limits);
    assert_eq!(decoded.end, decompress::End::Complete);
    String::from_utf8(decoded.bytes).unwrap()
}

#[test]
fn every_byte_arrives_by_the_best_coding_that_the_client_takes() {
    let origin = origin();
    let response_rules = "[zones.waf]\nresponse_rules = true\n[zones.sensitive_data]\n";
    for settings in ["compression = [\"auto\"]\n", &format!("compression = [\"auto\"]\n{response_rules}")] {
        let edge = Edge::start(&conf(&origin, settings));
        for target in ["/length", "/chunks", "/close"] {
            for (accepts, coding) in [
                ("gzip, deflate, br, zstd", Some("zstd")),
                ("gzip, br", Some("br")),
                ("gzip;q=1, br;q=0.5", Some("gzip")),
                ("deflate", None),
                ("", None),
                ("identity", None),
            ] {
                let answer = ask(&edge, target, accepts);
                assert_eq!(
                    (answer.status, answer.header("content-encoding")),
                    (200, coding),
                    "{target} {accepts}"
                );
                assert!(decoded(&answer) == text(), "{target} {accepts}");
                assert_eq!(answer.header("vary"), Some("accept-encoding"));
                let (tag, ranges) =
                    if coding.is_some() { ("W/\"a\"", None) } else { ("\"a\"", Some("bytes")) };
                assert_eq!((answer.header("etag"), answer.header("accept-ranges")), (Some(tag), ranges));
                assert!(coding.is_none() || answer.body.len() * 4 < text().len(), "{}", answer.body.len());
            }
        }
        for (target, coding) in [("/gzip", Some("gzip")), ("/fixed", None), ("/short", None), ("/none", None)]
        {
            let answer = ask(&edge, target, "zstd");
            assert_eq!(
                (answer.header("content-encoding"), answer.header("etag")),
                (coding, Some("\"a\"")),
                "{target}"
            );
        }
        // A range is of the body as it is.
        let mut client = Client::connect(edge.proxy[0]);
        client.send("HEAD /length HTTP/1.1\r\nHost: a.example\r\nAccept-Encoding: gzip\r\n\r\n");
        let head = client.head().unwrap();
        assert_eq!(
            (head.status, head.header("content-encoding"), head.header("vary")),
            (200, None, Some("accept-encoding"))
        );
        let old = Client::once(
            edge.proxy[0],
            "GET /chunks HTTP/1.0\r\nHost: a.example\r\nAccept-Encoding: gzip\r\n\r\n",
        );
        assert_eq!(old.header("content-encoding"), None);
        assert!(old.body.ends_with(b"</li>\n") || old.body.is_empty(), "its end is that of the connection");
    }
}

#[test]
fn a_piece_is_sent_when_it_comes_and_an_answer_that_breaks_off_is_not_a_whole_one() {
    let origin = origin();
    let edge = Edge::start(&conf(&origin, "compression = [\"gzip\"]\n"));
    let mut client = Client::connect(edge.proxy[0]);
    client.send("GET /slow HTTP/1.1\r\nHost: a.example\r\nAccept-Encoding: gzip\r\n\r\n");
    assert_eq!(client.head().unwrap().header("content-encoding"), Some("gzip"));
    let length = usize::from_str_radix(client.line().unwrap().trim(), 16).unwrap();
    assert!(length > 5, "the first piece is here while the origin waits: {length}");
    let cut = Client::connect(edge.proxy[0])
        .send("GET /cut HTTP/1.1\r\nHost: a.example\r\nAccept-Encoding: gzip\r\n\r\n")
        .receive_all();
    assert!(!cut.ends_with(b"0\r\n\r\n"), "the last chunk would say that this is all");
}

#[test]
fn rules_choose_what_is_compressed_and_how() {
    let origin = origin();
    let rule = |expression: &str, names: &[&str]| {
        let algorithms: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        json!({"action": "compress_response", "expression": expression, "action_parameters": {"algorithms": algorithms}})
    };
    let conf_of = |rules: &[Value]| {
        let zone = json!({"zones": [{"name": "a.example", "origins": [origin.url()],
            "rulesets": [{"phase": "http_response_compression", "rules": rules}]}]});
        format!("[[listeners]]\naddress = \"127.0.0.1:0\"\n{}", toml::to_string(&zone).unwrap())
    };
    let edge = Edge::start(&conf_of(&[
        rule("http.response.code eq 200", &["gzip"]),
        rule("http.request.uri.path eq \"/chunks\"", &["brotli", "gzip"]),
        rule("http.request.uri.path eq \"/close\"", &["none"]),
    ]));
    for (target, coding) in [("/length", Some("gzip")), ("/chunks", Some("br")), ("/close", None)] {
        let answer = ask(&edge, target, "gzip, br, zstd");
        assert_eq!(answer.header("content-encoding"), coding, "{target}");
        assert!(decoded(&answer) == text());
    }
    for (rules, expected) in [
        (rule("true", &[]), "needs 1 to 8 `algorithms`"),
        (rule("true", &["lzma"]), "unknown algorithm `lzma`; expected one of `zstd`, `brotli`, `gzip`"),
    ] {
        let refused = refused_by_check(&conf_of(&[rules]));
        assert!(refused.contains(expected), "{refused}");
    }
    let both = conf(
        &origin,
        "compression = [\"gzip\"]\nrulesets = [{ phase = \"http_response_compression\", rules = [] }]\n",
    );
    assert!(refused_by_check(&both).contains("both by `rulesets` and by its short form"));
}

#[test]
fn browsers_of_http2_get_compressed_answers_of_which_copies_are_scanned() {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "c", &["a.example"]);
    let card = format!("{}card: 4111 1111 1111 1111 \n", "text ".repeat(200));
    let origin = Origin::fixed("text/html", card.clone());
    let zone = format!(
        "[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\ncompression = [\"zstd\", \"gzip\"]\n[zones.sensitive_data]\n",
        origin.url()
    );
    let mut edge = Edge::start_in(folder, &format!("{}{zone}", tls_listener(&["c"])), &[]);
    let port = edge.proxy[0].port();
    let (resolve, url) = (format!("a.example:{port}:127.0.0.1"), format!("https://a.example:{port}/"));
    let output = curl_output(&[
        "-k",
        "--http2",
        "--resolve",
        &resolve,
        "-H",
        "accept-encoding: gzip",
        "-D",
        "-",
        &url,
    ]);
    let end = output.stdout.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8_lossy(&output.stdout[..end]).to_ascii_lowercase();
    assert!(head.starts_with("http/2 200") && head.contains("content-encoding: gzip"), "{head}");
    let limits = decompress::Limits { output_bytes: 1 << 24, ratio: 1 << 20 };
    assert_eq!(decompress::decode(Coding::Gzip, &output.stdout[end..], limits).bytes, card.as_bytes());
    edge.wait_for_event("sensitive_data", |_| true);
}
