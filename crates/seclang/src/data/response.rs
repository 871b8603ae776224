//! The facts of a response.

use bytes::Bytes;

use super::message::{BodyLimits, MessageData, Pair};
use super::text::{Buffers, Text};
use body::head::ResponseHead;
use body::{self, json};

impl MessageData {
    pub(crate) fn read_response_head(&mut self, head: &ResponseHead<'_>, buffers: &mut Buffers) {
        self.response_status = buffers.add_count(usize::from(head.status));
        self.response_protocol = buffers.add(head.protocol.as_bytes());
        self.status_line = buffers.add(format!("{} {}", head.protocol, head.status).as_bytes());
        self.response_length = self.zero;
        self.response_headers = head
            .headers
            .iter()
            .map(|(name, value)| Pair { key: buffers.add(name), value: buffers.add(value) })
            .collect();
    }

    pub(crate) fn read_response_body(&mut self, body: Bytes, cut: bool, buffers: &mut Buffers) {
        self.response_length = buffers.add_count(body.len());
        self.response_body = buffers.set_response(body);
        if cut {
            self.outbound_data_error = self.one;
        }
    }

    /// Reads `RESPONSE_ARGS` of a JSON response; of what is no JSON there are none.
    pub(crate) fn read_response_args(&mut self, limits: BodyLimits, buffers: &mut Buffers) {
        let content_type = buffers.get(self.response_header(b"content-type", buffers));
        if !body::is_json(body::media_type(content_type)) {
            return;
        }
        let (body, args) = (buffers.response(), &mut self.response_args);
        let read = json::read(&body, json::Limits { depth: limits.json_depth }, &mut |path, value| {
            if args.len() < limits.arguments {
                args.push(Pair { key: buffers.add(path), value: buffers.add(value) });
            }
        });
        if read.is_err() {
            args.clear();
        }
    }

    pub(crate) fn response_header(&self, name: &[u8], buffers: &Buffers) -> Text {
        let pair = self.response_headers.iter().find(|pair| buffers.get(pair.key).eq_ignore_ascii_case(name));
        pair.map_or(Text::EMPTY, |pair| pair.value)
    }
}
