//! What a request is made of, read once into the transaction's buffers.

use std::net::IpAddr;
use std::sync::Arc;

use super::decoded::add_decoded;
use super::names::NameSet;
use super::received_time::ReceivedTime;
use super::request_body::form;
use super::text::{Buffers, Text};
use body::head::RequestHead;
use body::multipart::Bend;
use body::{base64, urlencoded};

/// Longer parts of a path may be tokens.
const MAX_NAME_BYTES: usize = 40;

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

/// A name with its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) key: Text,
    pub(crate) value: Text,
}

/// Every fact a variable may ask for; empty until it is known.
#[derive(Debug, Default)]
pub(crate) struct MessageData {
    pub(crate) method: Text,
    pub(crate) uri_raw: Text,
    pub(crate) uri: Text,
    pub(crate) filename: Text,
    pub(crate) basename: Text,
    pub(crate) query: Text,
    pub(crate) protocol: Text,
    pub(crate) line: Text,
    pub(crate) remote_addr: Text,
    pub(crate) remote_user: Text,
    pub(crate) server_addr: Text,
    pub(crate) web_app_id: Text,
    pub(crate) unique_id: Text,
    pub(crate) headers: Vec<Pair>,
    pub(crate) header_names: NameSet,
    pub(crate) cookies: Vec<Pair>,
    pub(crate) args_get: Vec<Pair>,
    pub(crate) args_post: Vec<Pair>,
    pub(crate) args_combined_size: Text,
    pub(crate) files: Vec<Pair>,
    pub(crate) part_headers: Vec<Pair>,
    pub(crate) part_names: Vec<Text>,
    pub(crate) body: Text,
    /// What is read that is no argument: parts of the path but for plain names, texts of XML, a body that is text.
    pub(crate) texts: Vec<Pair>,
    pub(crate) body_length: Text,
    pub(crate) processor: Text,
    pub(crate) body_error: Text,
    pub(crate) body_error_msg: Text,
    pub(crate) files_combined_size: Text,
    /// Bytes of all files, as sent.
    pub(crate) files_bytes: usize,
    pub(crate) files_sizes: Vec<Pair>,
    pub(crate) files_content: Vec<Pair>,
    pub(crate) xml: Vec<Pair>,
    pub(crate) urlencoded_error: Text,
    pub(crate) inbound_data_error: Text,
    pub(crate) outbound_data_error: Text,
    pub(crate) full_request: Text,
    pub(crate) full_request_length: Text,
    pub(crate) server_name: Text,
    pub(crate) server_port: Text,
    pub(crate) auth_type: Text,
    pub(crate) highest_severity: Text,
    pub(crate) session_id: Text,
    pub(crate) user_id: Text,
    pub(crate) geo: Vec<Pair>,
    /// Block lists that name the client.
    pub(crate) listed_in: Vec<Arc<str>>,
    pub(crate) received_time: ReceivedTime,
    pub(crate) response_status: Text,
    pub(crate) response_protocol: Text,
    pub(crate) status_line: Text,
    pub(crate) response_headers: Vec<Pair>,
    pub(crate) response_args: Vec<Pair>,
    pub(crate) response_body: Text,
    pub(crate) response_length: Text,
    pub(crate) zero: Text,
    pub(crate) one: Text,
    pub(crate) bends: Vec<Bend>,
    /// Whether there were more arguments than the limit; those past it are not in the lists.
    pub(crate) too_many_arguments: bool,
}

impl MessageData {
    /// Forgets everything but the memory of its lists.
    pub(crate) fn clear(&mut self) {
        let old = std::mem::take(self);
        *self = Self {
            headers: emptied(old.headers),
            cookies: emptied(old.cookies),
            texts: emptied(old.texts),
            args_get: emptied(old.args_get),
            args_post: emptied(old.args_post),
            files: emptied(old.files),
            part_headers: emptied(old.part_headers),
            part_names: emptied(old.part_names),
            response_args: emptied(old.response_args),
            files_sizes: emptied(old.files_sizes),
            files_content: emptied(old.files_content),
            xml: emptied(old.xml),
            response_headers: emptied(old.response_headers),
            bends: emptied(old.bends),
            ..Self::default()
        };
    }

    pub(crate) fn read_head(&mut self, head: &RequestHead<'_>, limits: BodyLimits, buffers: &mut Buffers) {
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
        self.remote_addr = add_address(head.client, buffers);
        self.server_addr = head.server.map_or(Text::EMPTY, |server| add_address(server, buffers));
        self.unique_id = buffers.add(head.request_id.as_bytes());
        self.zero = buffers.add(b"0");
        self.one = buffers.add(b"1");
        self.highest_severity = buffers.add(b"255");
        for flag in [
            &mut self.body_error,
            &mut self.body_length,
            &mut self.files_combined_size,
            &mut self.urlencoded_error,
            &mut self.inbound_data_error,
            &mut self.outbound_data_error,
        ] {
            *flag = self.zero;
        }
        self.split_target(head.target, buffers);
        add_decoded(0, limits, &mut self.texts, buffers);
        for (name, value) in head.headers {
            let pair = Pair { key: buffers.add(name), value: buffers.add(value) };
            self.headers.push(pair);
            self.header_names.add(name);
            if name.eq_ignore_ascii_case(b"cookie") {
                let first = self.cookies.len();
                cookies(value, pair.value, &mut self.cookies);
                self.add_quoted_cookies(first, buffers);
                add_decoded(first, limits, &mut self.cookies, buffers);
            } else if name.eq_ignore_ascii_case(b"authorization") {
                self.add_credentials(pair, buffers);
            }
        }
        self.read_authority(buffers);
        self.choose_processor(buffers);
        let mut args = std::mem::take(&mut self.args_get);
        self.too_many_arguments |= !form(self.query, limits.arguments, &mut args, buffers);
        add_decoded(0, limits, &mut args, buffers);
        self.args_get = args;
        self.measure_arguments(buffers);
    }

    /// Adds the cookies whose values are quoted strings with escapes, as servers in Python read them.
    fn add_quoted_cookies(&mut self, first: usize, buffers: &mut Buffers) {
        for at in first..self.cookies.len() {
            let Some(Pair { key, value }) = self.cookies.get(at).copied() else { break };
            let Some(text) = unquoted(buffers.get(value)) else { continue };
            self.cookies.push(Pair { key, value: buffers.add(&text) });
        }
    }

    /// Host, port and authentication scheme, from the header fields.
    fn read_authority(&mut self, buffers: &mut Buffers) {
        let host = self.header_text(b"host", buffers);
        let bytes = buffers.get(host);
        let colon = memchr::memrchr(b':', bytes)
            .filter(|at| memchr::memchr(b']', bytes.get(*at..).unwrap_or(&[])).is_none());
        self.server_name = Buffers::part(host, 0, colon.unwrap_or(host.len()));
        self.server_port = match colon {
            Some(at) => Buffers::part(host, at + 1, host.len()),
            None => buffers.add(b"80"),
        };
        let authorization = self.header_text(b"authorization", buffers);
        let end = memchr::memchr(b' ', buffers.get(authorization)).unwrap_or(authorization.len());
        self.auth_type = Buffers::part(authorization, 0, end);
        if buffers.get(self.auth_type).eq_ignore_ascii_case(b"basic") {
            let credentials = buffers.get(authorization).get(end..).unwrap_or(&[]).trim_ascii();
            let mut decoded = Vec::new();
            base64::decode_prefix(credentials, &mut decoded);
            let name = decoded.split(|byte| *byte == b':').next().unwrap_or(&[]);
            self.remote_user = buffers.add(name);
        }
    }

    /// Adds the name and the password of Basic credentials. Some servers pass over bytes that are not Base64.
    fn add_credentials(&mut self, Pair { key, value }: Pair, buffers: &mut Buffers) {
        let value = buffers.get(value).trim_ascii();
        let end = value.iter().position(u8::is_ascii_whitespace).unwrap_or(value.len());
        let (scheme, coded) = value.split_at(end);
        if !scheme.eq_ignore_ascii_case(b"basic") {
            return;
        }
        let mut decoded = Vec::new();
        base64::decode(coded.iter().filter_map(|byte| base64::sextet(*byte)), &mut decoded);
        for part in decoded.splitn(2, |byte| *byte == b':') {
            self.texts.push(Pair { key, value: buffers.add(part) });
        }
    }

    /// The whole request as one text, if rules ask for it.
    pub(crate) fn compose_request(&mut self, buffers: &mut Buffers) {
        let (line, headers) = (self.line, &self.headers);
        let body = buffers.body();
        self.full_request = buffers.compose(|buffers, out| {
            out.extend_from_slice(buffers.get(line));
            for pair in headers {
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(buffers.get(pair.key));
                out.extend_from_slice(b": ");
                out.extend_from_slice(buffers.get(pair.value));
            }
            out.extend_from_slice(b"\r\n\r\n");
            out.extend_from_slice(&body);
        });
        self.full_request_length = buffers.add_count(self.full_request.len());
    }

    /// 1 or 0.
    pub(crate) fn flag(&self, on: bool) -> Text {
        if on { self.one } else { self.zero }
    }

    /// Whether a multipart body bends this rule.
    pub(crate) fn bends(&self, bend: Bend) -> bool {
        self.bends.contains(&bend)
    }

    /// Path and query of the request target, whatever its form (RFC 9112 section 3.2).
    fn split_target(&mut self, target: &[u8], buffers: &mut Buffers) {
        let origin_form = body::head::origin_form(target);
        self.uri = Buffers::part(self.uri_raw, target.len() - origin_form.len(), target.len());
        let question = memchr::memchr(b'?', origin_form).unwrap_or(origin_form.len());
        self.query = Buffers::part(self.uri, question + 1, origin_form.len());
        let path_as_sent = Buffers::part(self.uri, 0, question);
        let path = path_as_sent;
        self.filename = match memchr::memchr(b'%', buffers.get(path)) {
            Some(_) => buffers.compose(|buffers, out| urlencoded::decode_path(buffers.get(path), out)),
            None => path,
        };
        let path = buffers.get(self.filename);
        let slash = memchr::memrchr(b'/', path).map_or(0, |at| at + 1);
        self.basename = Buffers::part(self.filename, slash, path.len());
        self.split_path(path_as_sent, buffers);
    }

    /// The parts of a path between slashes as it was sent, each decoded: a slash that is coded parts nothing.
    fn split_path(&mut self, path: Text, buffers: &mut Buffers) {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-~".contains(byte);
        let bytes = buffers.get(path);
        let is_odd = !bytes.iter().all(is_plain);
        let mut start = 0;
        for segment in bytes.split(|byte| *byte == b'/') {
            // Of plain names only those that may be tokens are looked at.
            if !segment.is_empty() && (is_odd || segment.len() > MAX_NAME_BYTES) {
                let value = Buffers::part(path, start, start + segment.len());
                self.texts.push(Pair { key: Text::EMPTY, value });
            }
            start += segment.len() + 1;
        }
        if self.texts.is_empty() {
            return;
        }
        let key = buffers.add(b"path");
        for segment in &mut self.texts {
            segment.key = key;
            if memchr::memchr(b'%', buffers.get(segment.value)).is_some() {
                let coded = segment.value;
                segment.value =
                    buffers.compose(|buffers, out| urlencoded::decode_path(buffers.get(coded), out));
            }
        }
    }

    pub(crate) fn header<'b>(&self, name: &[u8], buffers: &'b Buffers) -> &'b [u8] {
        buffers.get(self.header_text(name, buffers))
    }

    pub(crate) fn header_text(&self, name: &[u8], buffers: &Buffers) -> Text {
        let pair = self.headers.iter().find(|pair| buffers.get(pair.key).eq_ignore_ascii_case(name));
        pair.map_or(Text::EMPTY, |pair| pair.value)
    }

    pub(crate) fn measure_arguments(&mut self, buffers: &mut Buffers) {
        let size =
            self.args_get.iter().chain(&self.args_post).map(|pair| pair.key.len() + pair.value.len()).sum();
        self.args_combined_size = buffers.add_count(size);
    }
}

fn add_address(address: IpAddr, buffers: &mut Buffers) -> Text {
    buffers.compose(|_, out| {
        use std::io::Write;
        // INVARIANT: writing to a vector cannot fail.
        let _ = write!(out, "{address}");
    })
}

fn emptied<T>(mut list: Vec<T>) -> Vec<T> {
    list.clear();
    list
}

/// The text of a quoted string with escapes: three octal digits for a byte, or the sign itself.
fn unquoted(value: &[u8]) -> Option<Vec<u8>> {
    let mut rest = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    memchr::memchr(b'\\', rest)?;
    let mut text = Vec::with_capacity(rest.len());
    while let Some((&byte, after)) = rest.split_first() {
        let (tail, read) = match rest {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] => {
                (tail, (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
            }
            [b'\\', sign, tail @ ..] => (tail, *sign),
            _ => (after, byte),
        };
        rest = tail;
        text.push(read);
    }
    Some(text)
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
