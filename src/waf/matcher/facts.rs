//! What a request is made of, read once into the transaction's buffers.

use std::net::IpAddr;

use bytes::Bytes;

use super::text::{Buffers, Text};
use crate::body::{self, BodyError, json, multipart, urlencoded};

/// The head of a request, as received.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'r> {
    pub method: &'r [u8],
    /// The request target, undecoded.
    pub target: &'r [u8],
    /// As `HTTP/1.1`.
    pub protocol: &'r str,
    pub headers: &'r [(&'r [u8], &'r [u8])],
    pub client: IpAddr,
    pub request_id: &'r str,
}

/// Limits on what a body may hold.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimits {
    /// Arguments of query and body together.
    pub arguments: usize,
    pub json_depth: usize,
    pub multipart_parts: usize,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self { arguments: 1000, json_depth: 64, multipart_parts: 128 }
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::waf) struct Pair {
    pub(in crate::waf) key: Text,
    pub(in crate::waf) value: Text,
}

/// Every fact a variable may ask for; empty until it is known.
#[derive(Debug, Default)]
pub(in crate::waf) struct Facts {
    pub(in crate::waf) method: Text,
    pub(in crate::waf) uri_raw: Text,
    pub(in crate::waf) uri: Text,
    pub(in crate::waf) filename: Text,
    pub(in crate::waf) basename: Text,
    pub(in crate::waf) query: Text,
    pub(in crate::waf) protocol: Text,
    pub(in crate::waf) line: Text,
    pub(in crate::waf) remote_addr: Text,
    pub(in crate::waf) unique_id: Text,
    pub(in crate::waf) headers: Vec<Pair>,
    pub(in crate::waf) cookies: Vec<Pair>,
    pub(in crate::waf) args_get: Vec<Pair>,
    pub(in crate::waf) args_post: Vec<Pair>,
    pub(in crate::waf) args_combined_size: Text,
    pub(in crate::waf) files: Vec<Pair>,
    pub(in crate::waf) part_headers: Vec<Pair>,
    pub(in crate::waf) body: Text,
    pub(in crate::waf) body_length: Text,
    pub(in crate::waf) processor: Text,
    pub(in crate::waf) body_error: Text,
    pub(in crate::waf) body_error_msg: Text,
    pub(in crate::waf) multipart_strict_error: Text,
    /// Whether there were more arguments than the limit; those past it are not in the lists.
    pub(in crate::waf) too_many_arguments: bool,
}

impl Facts {
    pub(super) fn read_head(&mut self, head: &RequestHead<'_>, limits: BodyLimits, buffers: &mut Buffers) {
        self.method = buffers.add(head.method);
        self.protocol = buffers.add(head.protocol.as_bytes());
        self.uri_raw = buffers.add(head.target);
        self.line = buffers.compose(|_, out| {
            out.extend_from_slice(head.method);
            out.push(b' ');
            out.extend_from_slice(head.target);
            out.push(b' ');
            out.extend_from_slice(head.protocol.as_bytes());
        });
        self.remote_addr = buffers.compose(|_, out| {
            use std::io::Write;
            // INVARIANT: writing to a vector cannot fail.
            let _ = write!(out, "{}", head.client);
        });
        self.unique_id = buffers.add(head.request_id.as_bytes());
        self.body_error = buffers.add(b"0");
        self.multipart_strict_error = self.body_error;
        self.body_length = self.body_error;
        self.split_target(head.target);
        for (name, value) in head.headers {
            let pair = Pair { key: buffers.add(name), value: buffers.add(value) };
            self.headers.push(pair);
            if name.eq_ignore_ascii_case(b"cookie") {
                cookies(value, pair.value, &mut self.cookies);
            }
        }
        let mut args = std::mem::take(&mut self.args_get);
        self.too_many_arguments |= !form(self.query, limits.arguments, &mut args, buffers);
        self.args_get = args;
        self.measure_arguments(buffers);
    }

    /// Path and query of the request target, whatever its form (RFC 9112 section 3.2).
    fn split_target(&mut self, target: &[u8]) {
        let absolute = memchr::memmem::find(target, b"://")
            .filter(|at| !target.get(..*at).is_some_and(|s| s.contains(&b'/')));
        let start = absolute.map_or(0, |scheme| {
            let authority = target.get(scheme + 3..).unwrap_or(&[]);
            scheme + 3 + authority.iter().position(|b| matches!(b, b'/' | b'?')).unwrap_or(authority.len())
        });
        self.uri = Buffers::part(self.uri_raw, start, target.len());
        let origin_form = target.get(start..).unwrap_or(&[]);
        let question = memchr::memchr(b'?', origin_form).unwrap_or(origin_form.len());
        self.filename = Buffers::part(self.uri, 0, question);
        self.query = Buffers::part(self.uri, question + 1, origin_form.len());
        let path = origin_form.get(..question).unwrap_or(&[]);
        let slash = memchr::memrchr(b'/', path).map_or(0, |at| at + 1);
        self.basename = Buffers::part(self.filename, slash, path.len());
    }

    /// Reads the body by its media type, or as `forced` says.
    pub(super) fn read_body(
        &mut self,
        body: Bytes,
        forced: Option<&str>,
        limits: BodyLimits,
        buffers: &mut Buffers,
    ) {
        self.body_length = buffers.add_count(body.len());
        if body.is_empty() {
            return;
        }
        let content_type = self.header(b"content-type", buffers).to_vec();
        let media_type = body::media_type(&content_type);
        let processor = match forced {
            Some(name) => name,
            None if media_type.eq_ignore_ascii_case(b"application/x-www-form-urlencoded") => "URLENCODED",
            None if media_type.eq_ignore_ascii_case(b"multipart/form-data") => "MULTIPART",
            None if body::is_json(media_type) => "JSON",
            None => "",
        };
        self.processor = buffers.add(processor.as_bytes());
        let whole = buffers.set_body(body);
        let outcome = match processor {
            "URLENCODED" => {
                self.body = whole;
                let mut args = std::mem::take(&mut self.args_post);
                let left = limits.arguments.saturating_sub(self.args_get.len());
                self.too_many_arguments |= !form(whole, left, &mut args, buffers);
                self.args_post = args;
                Ok(())
            }
            "JSON" => self.read_json(limits, buffers),
            "MULTIPART" => self.read_multipart(&content_type, limits, buffers),
            _ => Ok(()),
        };
        if let Err(error) = outcome {
            self.set_body_error(&error.to_string(), buffers);
        }
        self.measure_arguments(buffers);
    }

    /// Makes `REQBODY_ERROR` true.
    pub(super) fn set_body_error(&mut self, reason: &str, buffers: &mut Buffers) {
        self.body_error = buffers.add(b"1");
        self.body_error_msg = buffers.add(reason.as_bytes());
    }

    fn header<'b>(&self, name: &[u8], buffers: &'b Buffers) -> &'b [u8] {
        let pair = self.headers.iter().find(|pair| buffers.get(pair.key).eq_ignore_ascii_case(name));
        pair.map_or(&[], |pair| buffers.get(pair.value))
    }

    fn read_json(&mut self, limits: BodyLimits, buffers: &mut Buffers) -> Result<(), BodyError> {
        let left = limits.arguments.saturating_sub(self.args_get.len());
        let mut too_many = false;
        let body = buffers.body();
        let args = &mut self.args_post;
        let read = json::read(&body, json::Limits { depth: limits.json_depth }, &mut |path, value| {
            if args.len() < left {
                args.push(Pair { key: buffers.add(path), value: buffers.add(value) });
            } else {
                too_many = true;
            }
        });
        self.too_many_arguments |= too_many;
        read
    }

    fn read_multipart(
        &mut self,
        content_type: &[u8],
        limits: BodyLimits,
        buffers: &mut Buffers,
    ) -> Result<(), BodyError> {
        let boundary = multipart::boundary(content_type)?;
        let left = limits.arguments.saturating_sub(self.args_get.len());
        let body = buffers.body();
        let mut too_many = false;
        let read = multipart::read(&body, boundary, limits.multipart_parts, &mut |part| {
            let key = buffers.add(&part.name);
            for line in part.headers {
                let value = buffers.add(line);
                self.part_headers.push(Pair { key, value });
            }
            let value = match &part.file_name {
                Some(file_name) => buffers.add(file_name),
                None => {
                    let start = part.content.as_ptr() as usize - body.as_ptr() as usize;
                    buffers.body_part(start..start + part.content.len())
                }
            };
            let list = if part.file_name.is_some() { &mut self.files } else { &mut self.args_post };
            if list.len() < left {
                list.push(Pair { key, value });
            } else {
                too_many = true;
            }
        })?;
        self.too_many_arguments |= too_many;
        if read.strict_error.is_some() {
            self.multipart_strict_error = buffers.add(b"1");
        }
        Ok(())
    }

    fn measure_arguments(&mut self, buffers: &mut Buffers) {
        let size =
            self.args_get.iter().chain(&self.args_post).map(|pair| pair.key.len() + pair.value.len()).sum();
        self.args_combined_size = buffers.add_count(size);
    }
}

/// Adds the pairs of a form, decoded; false where there are more than `left`.
fn form(text: Text, left: usize, args: &mut Vec<Pair>, buffers: &mut Buffers) -> bool {
    let input = buffers.get(text);
    let base = input.as_ptr() as usize;
    let mut spans = Vec::new();
    urlencoded::read(input, |name, value| {
        // An empty value may point anywhere; its offset is of no interest.
        let offset = |part: &[u8]| if part.is_empty() { 0 } else { part.as_ptr() as usize - base };
        spans.push((offset(name), name.len(), offset(value), value.len()));
    });
    for (name, name_length, value, value_length) in spans.iter().copied().take(left) {
        let mut part = |start: usize, length: usize| {
            let raw = Buffers::part(text, start, start + length);
            if urlencoded::needs_decoding(buffers.get(raw)) {
                buffers.compose(|buffers, out| urlencoded::decode(buffers.get(raw), out))
            } else {
                raw
            }
        };
        args.push(Pair { key: part(name, name_length), value: part(value, value_length) });
    }
    spans.len() <= left
}

/// Splits a `Cookie` value; a cookie without `=` has an empty name, as browsers treat it.
fn cookies(raw: &[u8], text: Text, cookies: &mut Vec<Pair>) {
    let mut start = 0;
    for part in raw.split(|byte| *byte == b';') {
        let lead = part.len() - part.trim_ascii_start().len();
        let trimmed = part.trim_ascii();
        let at = start + lead;
        start += part.len() + 1;
        if trimmed.is_empty() {
            continue;
        }
        let (key, value) = match memchr::memchr(b'=', trimmed) {
            Some(equals) => {
                let name = trimmed.get(..equals).unwrap_or(&[]).trim_ascii_end();
                (
                    Buffers::part(text, at, at + name.len()),
                    Buffers::part(text, at + equals + 1, at + trimmed.len()),
                )
            }
            None => (Text::EMPTY, Buffers::part(text, at, at + trimmed.len())),
        };
        cookies.push(Pair { key, value });
    }
}
