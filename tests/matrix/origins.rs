//! How origins answer: each with the length of what it got and a hash of it, in one form or another.

use std::io::Write;

use memchr::memmem;
use sha2::{Digest, Sha256};

use crate::support::Origin;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Length,
    Chunks,
    /// With the end of the connection.
    Close,
    /// After hints (103).
    Hints,
    NoContent,
    /// Five megabytes.
    Long,
}

pub const ANSWERS: &[Answer] =
    &[Answer::Length, Answer::Chunks, Answer::Close, Answer::Hints, Answer::NoContent, Answer::Long];

pub const LONG_BYTES: usize = 5_000_000;

/// What an answer says of the body that the origin got.
pub fn receipt(body: &[u8]) -> String {
    let sum = uuid::Uuid::from_slice(&Sha256::digest(body)[..16]).unwrap();
    format!("{{\"model\":\"gpt-4o\",\"length\":{},\"sum\":\"{sum}\"}}", body.len())
}

/// An origin whose paths end in the name of the answer that is wanted.
pub fn start() -> Origin {
    Origin::start(|request, stream| {
        let text = receipt(&request.body);
        let is_head = request.line.starts_with("HEAD");
        let path = request.path().split('?').next().unwrap_or("").to_owned();
        // Of tools the query ends in it.
        let answer = ANSWERS.iter().find(|answer| {
            [path.as_str(), request.path()].iter().any(|text| text.ends_with(&format!("{answer:?}")))
        });
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
        let (bytes, stays): (Vec<u8>, bool) = match answer.copied().unwrap_or(Answer::Length) {
            Answer::Length => (format!("{head}content-length: {}\r\n\r\n{text}", text.len()).into(), true),
            Answer::Hints => {
                let hints = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
                (format!("{hints}{head}content-length: {}\r\n\r\n{text}", text.len()).into(), true)
            }
            Answer::Chunks => {
                let (a, b) = text.split_at(5);
                let chunks = format!("{:x}\r\n{a}\r\n{:x}\r\n{b}\r\n0\r\n\r\n", a.len(), b.len());
                (format!("{head}transfer-encoding: chunked\r\n\r\n{chunks}").into(), true)
            }
            Answer::Close => (format!("{head}connection: close\r\n\r\n{text}").into(), false),
            Answer::NoContent => (b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(), true),
            Answer::Long => {
                let head = format!("{head}content-length: {LONG_BYTES}\r\n\r\n");
                ([head.as_bytes(), &vec![b'x'; LONG_BYTES]].concat(), true)
            }
        };
        let end = memmem::rfind(&bytes, b"\r\n\r\n").map_or(0, |at| at + 4);
        let bytes = if is_head { bytes.get(..end).unwrap_or(&[]) } else { &bytes };
        stream.write_all(bytes).is_ok() && stays
    })
}
