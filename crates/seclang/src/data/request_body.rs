//! The facts of a request body, by the processor that its media type or a rule chooses.

use bytes::Bytes;

use super::decoded::add_decoded;
use super::message::{BodyLimits, MessageData, Pair};
use super::text::{Buffers, Text};
use body::guess::{Guess, guess, is_text};
use body::xml_path::XmlPath;
use body::{self, BodyError, charset, grpc, json, multipart, protobuf, urlencoded, xml, xml_search};

/// XML has more attributes than forms have arguments: drawings and property lists have thousands.
const ATTRIBUTES_FOR_AN_ARGUMENT: usize = 10;

impl MessageData {
    /// Chooses the processor by the media type: rules of phase 1 may look at it, and change it.
    pub(crate) fn choose_processor(&mut self, buffers: &mut Buffers) {
        let media_type = body::media_type(self.header(b"content-type", buffers));
        let processor: &[u8] = match media_type {
            _ if media_type.eq_ignore_ascii_case(b"application/x-www-form-urlencoded") => b"URLENCODED",
            _ if body::is_multipart(media_type) => b"MULTIPART",
            _ if body::is_json(media_type) => b"JSON",
            _ if body::is_xml(media_type) => b"XML",
            _ if body::is_grpc(media_type) => b"GRPC",
            _ => b"",
        };
        self.processor = buffers.add(processor);
    }

    /// Reads the body by its processor, or as `forced` says. A body of a type without a processor is read as what it
    /// looks like: servers that do not look at the type would do the same.
    pub(crate) fn read_body(
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
        let takes_utf16 = matches!(buffers.get(processor), b"" | b"JSON" | b"XML");
        let utf8 = if takes_utf16 { charset::to_utf8(&body) } else { None };
        let whole = buffers.set_body(utf8.map_or(body, Bytes::from));
        if force_variable {
            self.body = whole;
        }
        let content_types =
            self.headers.iter().filter(|pair| buffers.get(pair.key).eq_ignore_ascii_case(b"content-type"));
        // Whoever reads the body next may go by another of them.
        let ambiguous = forced.is_none() && content_types.count() > 1;
        let outcome = match buffers.get(processor) {
            b"URLENCODED" => {
                self.body = whole;
                self.too_many_arguments |= !self.read_form(whole, limits, buffers);
                if urlencoded::is_malformed(buffers.get(whole)) {
                    self.urlencoded_error = self.one;
                }
                self.read_as(guess(buffers.get(whole)), limits, buffers);
                Ok(())
            }
            b"JSON" => self.read_json(limits, buffers),
            b"MULTIPART" => {
                let content_type = self.header(b"content-type", buffers).to_vec();
                self.read_multipart(&content_type, limits, buffers)
            }
            b"XML" => self.read_xml(limits, buffers),
            b"GRPC" => self.read_grpc(limits, buffers),
            _ => {
                self.read_untyped(whole, limits, buffers);
                Ok(())
            }
        };
        if ambiguous {
            self.set_body_error("there is more than one Content-Type", buffers);
        }
        if let Err(error) = outcome {
            self.set_body_error(&error.to_string(), buffers);
            // A framework may read what our reader could not: rules see it as it came.
            self.add_body_text(whole, buffers);
            let key = buffers.add(b"");
            self.args_post.push(Pair { key, value: whole });
        }
        add_decoded(0, limits, &mut self.args_post, buffers);
        self.measure_arguments(buffers);
    }

    /// Reads a body whose type says nothing of how it is read.
    fn read_untyped(&mut self, whole: Text, limits: BodyLimits, buffers: &mut Buffers) {
        let guess = guess(buffers.get(whole));
        let is_read = self.read_as(guess, limits, buffers);
        let media_type = body::media_type(self.header(b"content-type", buffers));
        if !is_read && (body::is_text(media_type) || is_text(buffers.get(whole))) {
            self.add_body_text(whole, buffers);
            let unescaped = if guess == Guess::Json { json::unescaped(buffers.get(whole)) } else { None };
            if let Some(text) = unescaped {
                let text = buffers.add(&text);
                self.add_body_text(text, buffers);
            }
        }
        if guess == Guess::Form {
            // More pairs than the limit are no reason to refuse what may be no form.
            self.read_form(whole, limits, buffers);
        }
    }

    /// Adds the values of a body that is JSON or XML in all but its type. True if nothing else can be meant by it: XML
    /// may be a text with markup as well.
    fn read_as(&mut self, guess: Guess, limits: BodyLimits, buffers: &mut Buffers) -> bool {
        match guess {
            Guess::Json => self.read_json_values(limits, buffers),
            Guess::Xml => {
                let (document, _) = self.xml_document(limits, buffers);
                // Some readers take the first element and leave what follows.
                if document.has_root {
                    self.add_xml(&document, buffers);
                }
                false
            }
            Guess::Form | Guess::Other => false,
        }
    }

    /// False if there are more pairs than the limit.
    fn read_form(&mut self, text: Text, limits: BodyLimits, buffers: &mut Buffers) -> bool {
        let left = limits.arguments.saturating_sub(self.args_get.len());
        form(text, left, &mut self.args_post, buffers)
    }

    /// Adds the values of one JSON value or more; those past the limit as one text, a line each. False if the body is
    /// not JSON to its end: some readers take the first value and leave what follows.
    fn read_json_values(&mut self, limits: BodyLimits, buffers: &mut Buffers) -> bool {
        let left = limits.arguments.saturating_sub(self.args_get.len());
        let body = buffers.body();
        let args = &mut self.args_post;
        let mut rest = Vec::new();
        let json_limits = json::Limits { depth: limits.json_depth };
        let read = json::read_sequence(&body, json_limits, &mut |path, value| {
            if args.len() < left {
                args.push(Pair { key: buffers.add(path), value: buffers.add(value) });
            } else {
                add_line(value, &mut rest);
            }
        });
        if !rest.is_empty() {
            args.push(Pair { key: buffers.add(b"json"), value: buffers.add(&rest) });
        }
        read.is_ok()
    }

    fn add_body_text(&mut self, value: Text, buffers: &mut Buffers) {
        self.texts.push(Pair { key: buffers.add(b"body"), value });
    }

    /// Makes `REQBODY_ERROR` true.
    pub(crate) fn set_body_error(&mut self, reason: &str, buffers: &mut Buffers) {
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
        let (document, read) = self.xml_document(limits, buffers);
        self.too_many_arguments |= matches!(read, Err(BodyError::TooMany { what: xml::ATTRIBUTES, .. }));
        self.add_xml(&document, buffers);
        read
    }

    fn xml_document(&self, limits: BodyLimits, buffers: &Buffers) -> (xml::Document, Result<(), BodyError>) {
        let left = limits.arguments.saturating_sub(self.args_get.len());
        let attributes = left.saturating_mul(ATTRIBUTES_FOR_AN_ARGUMENT);
        let limits = xml::Limits { depth: limits.json_depth, attributes, texts: attributes };
        let mut document = xml::Document::default();
        let read = xml::read(&buffers.body(), limits, &mut document);
        (document, read)
    }

    fn add_xml(&mut self, document: &xml::Document, buffers: &mut Buffers) {
        let text = Pair { key: buffers.add(b"/*"), value: buffers.add(&document.text) };
        self.xml.push(text);
        let (key, text_key, from) = (buffers.add(b"//@*"), buffers.add(b"xml"), self.xml.len());
        self.xml.extend(document.attributes.iter().map(|value| Pair { key, value: buffers.add(value) }));
        let attributes = self.xml.iter().skip(from).map(|pair| Pair { key: text_key, ..*pair });
        self.texts.extend(attributes);
        self.texts
            .extend(document.texts.iter().map(|value| Pair { key: text_key, value: buffers.add(value) }));
    }

    /// Adds what paths find in a body that was read as XML.
    pub(crate) fn find_xml_paths(
        &mut self,
        paths: &[(String, XmlPath)],
        limits: BodyLimits,
        buffers: &mut Buffers,
    ) {
        if self.xml.is_empty() {
            return;
        }
        let (names, paths): (Vec<&str>, Vec<&XmlPath>) =
            paths.iter().map(|(name, path)| (name.as_str(), path)).unzip();
        let values = limits.arguments.saturating_mul(ATTRIBUTES_FOR_AN_ARGUMENT);
        let limits = xml_search::Limits { depth: limits.json_depth, values };
        let (found, read) = xml_search::find(&buffers.body(), &paths, limits);
        self.too_many_arguments |= read == Err(xml_search::Stop::TooMany);
        for (path, value) in found {
            let name = names.get(path).copied().unwrap_or_default();
            self.xml.push(Pair { key: buffers.add(name.as_bytes()), value: buffers.add(&value) });
        }
    }

    fn read_multipart(
        &mut self,
        content_type: &[u8],
        limits: BodyLimits,
        buffers: &mut Buffers,
    ) -> Result<(), BodyError> {
        let form = multipart::Form::of(content_type, limits.multipart_parts)?;
        let left = limits.arguments.saturating_sub(self.args_get.len());
        let body = buffers.body();
        let mut too_many = false;
        let (mut files, mut fields) = (0, 0);
        // Values of files past the limit, a line each.
        let mut rest = Vec::new();
        let outcome = multipart::read(&body, form, &mut |part| {
            let key = buffers.add(&part.name);
            self.part_names.push(key);
            for line in &part.headers {
                let value = buffers.add(&multipart::unfolded(line));
                self.part_headers.push(Pair { key, value });
            }
            let start = part.content.as_ptr() as usize - body.as_ptr() as usize;
            let content = buffers.body_part(start..start + part.content.len());
            // Parts of mails and batches are files without names.
            let is_file = part.file_name.is_some() || (!form.is_form && !is_text(part.content));
            let count = if is_file { &mut files } else { &mut fields };
            *count += 1;
            if *count > left {
                too_many = true;
                return;
            }
            if is_file {
                self.files_bytes += content.len();
                self.files_sizes.push(Pair { key, value: buffers.add_count(content.len()) });
            }
            // Some servers take the one, some the other.
            let decoded = part.decoded_content().map(|decoded| buffers.add(&decoded));
            for content in std::iter::once(content).chain(decoded) {
                if !is_file {
                    self.args_post.push(Pair { key, value: content });
                    continue;
                }
                self.files_content.push(Pair { key, value: content });
                for value in values_of_file(buffers.get(content), &part, limits) {
                    if self.args_post.len() < left {
                        self.args_post.push(Pair { key, value: buffers.add(&value) });
                    } else {
                        add_line(&value, &mut rest);
                    }
                }
            }
            for name in part.file_name.iter().chain(&part.extended_file_name) {
                self.files.push(Pair { key, value: buffers.add(name) });
            }
        });
        if !rest.is_empty() {
            self.args_post.push(Pair { key: Text::EMPTY, value: buffers.add(&rest) });
        }
        self.files_combined_size = buffers.add_count(self.files_bytes);
        self.too_many_arguments |= too_many;
        self.bends = outcome.bends;
        outcome.end.map(|_| ())
    }
}

/// JSON is looked for in strings of JSON no deeper than this.
const JSON_IN_JSON: usize = 3;

/// Appends a value as a line.
pub(crate) fn add_line(value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(value);
    out.push(b'\n');
}

/// Values of their own up to the limit of arguments; those past it are one, a line each.
fn add_value(value: &[u8], limits: BodyLimits, values: &mut Vec<Vec<u8>>) {
    let is_full = values.len() >= limits.arguments;
    match values.last_mut().filter(|_| is_full) {
        Some(rest) => {
            rest.push(b'\n');
            rest.extend_from_slice(value);
        }
        None => values.push(value.to_vec()),
    }
}

/// The values of a text that begins as JSON, up to where it is no more, and those of JSON in them; whether it is JSON to
/// its end.
fn json_values(text: &[u8], limits: BodyLimits, levels: usize) -> (Vec<Vec<u8>>, bool) {
    let mut values = Vec::new();
    let read = json::read_sequence(text, json::Limits { depth: limits.json_depth }, &mut |_, value| {
        add_value(value, limits, &mut values);
        if levels > 0 && may_be_json(value) {
            let (inner, _) = json_values(value, limits, levels - 1);
            inner.iter().for_each(|value| add_value(value, limits, &mut values));
        }
    });
    (values, read.is_ok())
}

/// The values of a value that begins as a JSON object or array, as of [`json_values`].
pub(crate) fn json_values_in(value: &[u8], limits: BodyLimits) -> (Vec<Vec<u8>>, bool) {
    if may_be_json(value) { json_values(value, limits, JSON_IN_JSON) } else { (Vec::new(), false) }
}

fn may_be_json(value: &[u8]) -> bool {
    matches!(value.trim_ascii_start(), [b'{' | b'[', ..])
}

/// The values of a file of JSON or XML: servers bind such parts as they bind a body.
fn values_of_file(content: &[u8], part: &multipart::Part<'_>, limits: BodyLimits) -> Vec<Vec<u8>> {
    match guess(content) {
        Guess::Json => json_values(content, limits, JSON_IN_JSON).0,
        Guess::Xml if part.header(b"content-type").is_some_and(|t| body::is_xml(body::media_type(t))) => {
            let attributes = limits.arguments.saturating_mul(ATTRIBUTES_FOR_AN_ARGUMENT);
            let mut document = xml::Document::default();
            let of_xml = xml::Limits { depth: limits.json_depth, attributes, texts: attributes };
            // What was read before an error, a lenient reader reads too.
            let _ = xml::read(content, of_xml, &mut document);
            let mut values = Vec::new();
            for text in document.texts.iter().chain(&document.attributes) {
                add_value(text, limits, &mut values);
            }
            values
        }
        _ => Vec::new(),
    }
}

/// Adds the pairs of a form, decoded; false if there are more than `left`.
pub(crate) fn form(text: Text, left: usize, args: &mut Vec<Pair>, buffers: &mut Buffers) -> bool {
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
