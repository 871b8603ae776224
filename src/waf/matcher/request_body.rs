//! The facts of a request body, by the processor that its media type or a rule chooses.

use bytes::Bytes;

use super::facts::{BodyLimits, Facts, Pair};
use super::text::{Buffers, Text};
use crate::body::{self, BodyError, grpc, json, multipart, protobuf, urlencoded, xml};

/// XML has more attributes than forms have arguments: drawings and property lists have thousands.
const ATTRIBUTES_FOR_AN_ARGUMENT: usize = 10;

impl Facts {
    /// Chooses the processor by the media type: rules of phase 1 may look at it, and change it.
    pub(super) fn choose_processor(&mut self, buffers: &mut Buffers) {
        let media_type = body::media_type(self.header(b"content-type", buffers));
        let processor: &[u8] = match media_type {
            _ if media_type.eq_ignore_ascii_case(b"application/x-www-form-urlencoded") => b"URLENCODED",
            _ if media_type.eq_ignore_ascii_case(b"multipart/form-data") => b"MULTIPART",
            _ if body::is_json(media_type) => b"JSON",
            _ if body::is_xml(media_type) => b"XML",
            _ if body::is_grpc(media_type) => b"GRPC",
            _ => b"",
        };
        self.processor = buffers.add(processor);
    }

    /// Reads the body by its processor, or as `forced` says.
    pub(super) fn read_body(
        &mut self,
        body: Bytes,
        forced: Option<&str>,
        force_variable: bool,
        limits: BodyLimits,
        buffers: &mut Buffers,
    ) {
        self.body_length = buffers.add_count(body.len());
        if body.is_empty() {
            return;
        }
        let processor = match forced {
            Some(name) => buffers.add(name.as_bytes()),
            None => self.processor,
        };
        self.processor = processor;
        let whole = buffers.set_body(body);
        if force_variable {
            self.body = whole;
        }
        if buffers.get(processor).is_empty()
            && body::is_text(body::media_type(self.header(b"content-type", buffers)))
        {
            self.body_text = whole;
        }
        let content_types =
            self.headers.iter().filter(|pair| buffers.get(pair.key).eq_ignore_ascii_case(b"content-type"));
        // Whoever reads the body next may go by another of them.
        let ambiguous = forced.is_none() && content_types.count() > 1;
        let outcome = match buffers.get(processor) {
            b"URLENCODED" => {
                self.body = whole;
                let mut args = std::mem::take(&mut self.args_post);
                let left = limits.arguments.saturating_sub(self.args_get.len());
                self.too_many_arguments |= !form(whole, left, &mut args, buffers);
                self.args_post = args;
                if urlencoded::is_malformed(buffers.get(whole)) {
                    self.urlencoded_error = self.one;
                }
                Ok(())
            }
            b"JSON" => self.read_json(limits, buffers),
            b"MULTIPART" => {
                let content_type = self.header(b"content-type", buffers).to_vec();
                self.read_multipart(&content_type, limits, buffers)
            }
            b"XML" => self.read_xml(limits, buffers),
            b"GRPC" => self.read_grpc(limits, buffers),
            _ => Ok(()),
        };
        if ambiguous {
            self.set_body_error("there is more than one Content-Type", buffers);
        }
        if let Err(error) = outcome {
            self.set_body_error(&error.to_string(), buffers);
            // A framework may read what our reader could not: rules see it as it came.
            self.body_text = whole;
            let key = buffers.add(b"");
            self.args_post.push(Pair { key, value: whole });
        }
        self.measure_arguments(buffers);
    }

    /// Makes `REQBODY_ERROR` true.
    pub(super) fn set_body_error(&mut self, reason: &str, buffers: &mut Buffers) {
        self.body_error = buffers.add(b"1");
        self.body_error_msg = buffers.add(reason.as_bytes());
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

    fn read_grpc(&mut self, limits: BodyLimits, buffers: &mut Buffers) -> Result<(), BodyError> {
        let left = limits.arguments.saturating_sub(self.args_get.len());
        let body = buffers.body();
        let args = &mut self.args_post;
        let mut too_many = false;
        let mut add = |args: &mut Vec<Pair>, path: &[u8], value: &[u8]| {
            if args.len() < left {
                args.push(Pair { key: buffers.add(path), value: buffers.add(value) });
            } else {
                too_many = true;
            }
        };
        for message in grpc::messages(&body) {
            // The content type does not tell for sure what a message is: most are Protocol Buffers, some JSON.
            let first = args.len();
            let json = json::Limits { depth: limits.json_depth };
            let is_json = matches!(message.bytes, [b'{' | b'[', ..])
                && json::read(message.bytes, json, &mut |path, value| add(args, path, value)).is_ok();
            if !is_json {
                args.truncate(first);
                protobuf::read(message.bytes, limits.json_depth, &mut |path, value| add(args, path, value));
            }
        }
        self.too_many_arguments |= too_many;
        if grpc::complete_bytes(&body) < body.len() {
            return Err(BodyError::Malformed("the body does not end with a whole gRPC message"));
        }
        Ok(())
    }

    fn read_xml(&mut self, limits: BodyLimits, buffers: &mut Buffers) -> Result<(), BodyError> {
        let mut document = xml::Document::default();
        let left = limits.arguments.saturating_sub(self.args_get.len());
        let limits = xml::Limits {
            depth: limits.json_depth,
            attributes: left.saturating_mul(ATTRIBUTES_FOR_AN_ARGUMENT),
        };
        let read = xml::read(&buffers.body(), limits, &mut document);
        self.too_many_arguments |= document.attributes.len() >= limits.attributes && read.is_err();
        let text = Pair { key: buffers.add(b"/*"), value: buffers.add(&document.text) };
        self.xml.push(text);
        let key = buffers.add(b"//@*");
        self.xml.extend(document.attributes.iter().map(|value| Pair { key, value: buffers.add(value) }));
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
        let mut files_bytes = 0;
        let outcome = multipart::read(&body, boundary, limits.multipart_parts, &mut |part| {
            let key = buffers.add(&part.name);
            for line in part.headers {
                let value = buffers.add(line);
                self.part_headers.push(Pair { key, value });
            }
            let start = part.content.as_ptr() as usize - body.as_ptr() as usize;
            let content = buffers.body_part(start..start + part.content.len());
            let list = if part.file_name.is_some() { &mut self.files } else { &mut self.args_post };
            if list.len() >= left {
                too_many = true;
                return;
            }
            match &part.file_name {
                Some(file_name) => {
                    list.push(Pair { key, value: buffers.add(file_name) });
                    files_bytes += content.len();
                    self.files_sizes.push(Pair { key, value: buffers.add_count(content.len()) });
                    self.files_content.push(Pair { key, value: content });
                }
                None => list.push(Pair { key, value: content }),
            }
        });
        self.files_combined_size = buffers.add_count(files_bytes);
        self.too_many_arguments |= too_many;
        self.bends = outcome.bends;
        outcome.end.map(|_| ())
    }
}

/// Adds the pairs of a form, decoded; false where there are more than `left`.
pub(super) fn form(text: Text, left: usize, args: &mut Vec<Pair>, buffers: &mut Buffers) -> bool {
    let input = buffers.get(text);
    let base = input.as_ptr() as usize;
    let (from, mut count) = (args.len(), 0);
    urlencoded::read(input, |name, value| {
        // An empty value may point anywhere; its offset is of no interest.
        let part = |part: &[u8]| {
            let start = if part.is_empty() { 0 } else { part.as_ptr() as usize - base };
            Buffers::part(text, start, start + part.len())
        };
        count += 1;
        if count <= left {
            args.push(Pair { key: part(name), value: part(value) });
        }
    });
    for pair in args.iter_mut().skip(from) {
        for part in [&mut pair.key, &mut pair.value] {
            if urlencoded::needs_decoding(buffers.get(*part)) {
                *part = buffers.compose(|buffers, out| urlencoded::decode(buffers.get(*part), out));
            }
        }
    }
    count <= left
}
