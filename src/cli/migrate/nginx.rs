//! Servers of nginx as zones: a server name is a zone, what it passes on its origins.

use super::{Listener, Migrated, Protection, Zone, quoted};
use crate::cli::Failure;

/// A directive with its words, and those in its braces.
#[derive(Debug)]
struct Directive {
    line: usize,
    words: Vec<String>,
    block: Option<Vec<Self>>,
}

/// Blocks in blocks; deeper ones are refused.
const MAX_DEPTH: usize = 16;

impl Directive {
    fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    fn argument(&self) -> &str {
        self.words.get(1).map_or("", String::as_str)
    }

    fn inner(&self) -> &[Self] {
        self.block.as_deref().unwrap_or(&[])
    }
}

pub(super) fn migrate(text: &str) -> Result<Migrated, Failure> {
    let mut lexer = Lexer { text, at: 0, line: 1 };
    let directives = lexer.block(0, 1)?;
    let http = directives.iter().filter(|directive| directive.name() == "http");
    let all: Vec<&Directive> = http.flat_map(Directive::inner).chain(&directives).collect();
    let mut migrated = Migrated::default();
    let of_all = protection(&mut migrated, &all).unwrap_or_default();
    for directive in &all {
        match directive.name() {
            "http" | "upstream" | "modsecurity" | "modsecurity_rules_file" => {}
            "client_max_body_size" => limit(&mut migrated, directive),
            "server" => server(&mut migrated, directive, &all, of_all),
            _ => leave(&mut migrated, directive),
        }
    }
    Ok(migrated)
}

fn leave(migrated: &mut Migrated, directive: &Directive) {
    let words = directive.words.join(" ").replace('\n', " ");
    migrated.note(format!("line {}: `{words}` has no equivalent", directive.line));
}

/// What the directives of the module say, and the rule files that they name.
fn protection(migrated: &mut Migrated, directives: &[&Directive]) -> Option<Protection> {
    for file in directives.iter().filter(|directive| directive.name() == "modsecurity_rules_file") {
        if !migrated.rules.contains(&file.words.get(1).cloned().unwrap_or_default()) {
            migrated.rules.extend(file.words.get(1).cloned());
        }
    }
    let switch = directives.iter().rev().find(|directive| directive.name() == "modsecurity")?;
    Some(if switch.argument() == "on" { Protection::Block } else { Protection::None })
}

fn limit(migrated: &mut Migrated, directive: &Directive) {
    let size = directive.argument();
    let (number, unit) = size.split_at(size.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len());
    let unit = match unit.to_ascii_lowercase().as_str() {
        "" => "B",
        "k" => "KiB",
        "m" => "MiB",
        "g" => "GiB",
        _ => return leave(migrated, directive),
    };
    migrated.limits.retain(|(key, _)| *key != "inspected_body");
    migrated.limits.push(("inspected_body", quoted(&format!("{number}{unit}"))));
}

fn server(migrated: &mut Migrated, server: &Directive, all: &[&Directive], of_all: Protection) {
    let inner: Vec<&Directive> = server.inner().iter().collect();
    let of =
        |name: &str| inner.iter().find(|directive| directive.name() == name).map(|d| d.argument().to_owned());
    let own = protection(migrated, &inner).unwrap_or(of_all);
    let certificate = of("ssl_certificate").zip(of("ssl_certificate_key"));
    let (mut names, mut origins) = (Vec::new(), Vec::new());
    for directive in &inner {
        match directive.name() {
            "listen" => {
                let address = address(directive.argument());
                let is_tls = directive.words.iter().any(|word| word == "ssl");
                let certificates = certificate.clone().filter(|_| is_tls).into_iter().collect();
                migrated.listen(Listener { address, certificates });
            }
            "server_name" => names.extend(directive.words.iter().skip(1).cloned()),
            "location" if directive.words.len() == 2 && directive.argument() == "/" => {
                for inner in directive.inner() {
                    match inner.name() {
                        "proxy_pass" => origins.extend(upstreams(inner.argument(), all)),
                        _ => leave(migrated, inner),
                    }
                }
            }
            "location" => {
                let words = directive.words.join(" ");
                migrated.note(format!(
                    "line {}: `{words}` has no equivalent: zones are told apart by their host names, not by paths",
                    directive.line
                ));
            }
            "proxy_pass" => origins.extend(upstreams(directive.argument(), all)),
            "client_max_body_size" => limit(migrated, directive),
            "ssl_certificate" | "ssl_certificate_key" | "modsecurity" | "modsecurity_rules_file" => {}
            _ => leave(migrated, directive),
        }
    }
    for name in names {
        // A zone answers for the names below its own.
        let plain = name.trim_start_matches("*.").trim_start_matches('.').to_owned();
        if plain.is_empty() || plain.contains(['~', '*', '_']) {
            migrated.note(format!("line {}: the server name `{name}` has no equivalent", server.line));
        } else if origins.is_empty() {
            migrated.note(format!("line {}: `{name}` passes nothing on, so it is no zone", server.line));
        } else if migrated.zones.iter().all(|zone| zone.name != plain) {
            migrated.zones.push(Zone { name: plain, origins: origins.clone(), protection: own });
        }
    }
}

fn address(listen: &str) -> String {
    match listen.rsplit_once(':') {
        Some((host, port)) => format!("{}:{port}", if host == "*" { "0.0.0.0" } else { host }),
        None if listen.bytes().all(|byte| byte.is_ascii_digit()) => format!("0.0.0.0:{listen}"),
        None => format!("{listen}:80"),
    }
}

/// The origins behind the URL of a `proxy_pass`, with its upstream taken apart.
fn upstreams(url: &str, all: &[&Directive]) -> Vec<String> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let host = rest.split('/').next().unwrap_or(rest);
    let group = all.iter().find(|directive| directive.name() == "upstream" && directive.argument() == host);
    match group {
        Some(group) => {
            let servers = group.inner().iter().filter(|directive| directive.name() == "server");
            servers.map(|server| format!("{scheme}://{}", server.argument())).collect()
        }
        None => vec![format!("{scheme}://{host}")],
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.text.get(self.at..)?.chars().next()?;
        self.at += next.len_utf8();
        self.line += usize::from(next == '\n');
        Some(next)
    }

    /// The directives up to the brace that closes those opened on a line, or the end of the file.
    fn block(&mut self, depth: usize, opened: usize) -> Result<Vec<Directive>, Failure> {
        let wrong = |line: usize, what: &str| Failure::Input(format!("line {line}: {what}"));
        if depth > MAX_DEPTH {
            return Err(wrong(self.line, "blocks are nested too deep"));
        }
        let (mut directives, mut words, mut word) = (Vec::new(), Vec::new(), String::new());
        let mut line = self.line;
        let end_word = |word: &mut String, words: &mut Vec<String>| {
            if !word.is_empty() {
                words.push(std::mem::take(word));
            }
        };
        while let Some(next) = self.next() {
            if words.is_empty() && word.is_empty() {
                line = self.line;
            }
            match next {
                '#' if word.is_empty() => while self.next().is_some_and(|next| next != '\n') {},
                quote @ ('"' | '\'') if word.is_empty() => {
                    loop {
                        match self.next() {
                            Some(next) if next == quote => break,
                            Some(next) => word.push(next),
                            None => return Err(wrong(line, "a quote is not closed")),
                        }
                    }
                    words.push(std::mem::take(&mut word));
                }
                ';' => {
                    end_word(&mut word, &mut words);
                    directives.push(Directive { line, words: std::mem::take(&mut words), block: None });
                }
                '{' => {
                    end_word(&mut word, &mut words);
                    let block = Some(self.block(depth + 1, line)?);
                    directives.push(Directive { line, words: std::mem::take(&mut words), block });
                }
                '}' if depth > 0 => return Ok(directives),
                '}' => return Err(wrong(self.line, "a brace closes what was not opened")),
                next if next.is_whitespace() => end_word(&mut word, &mut words),
                next => word.push(next),
            }
        }
        match depth {
            0 => Ok(directives),
            _ => Err(wrong(opened, "a brace is not closed")),
        }
    }
}
