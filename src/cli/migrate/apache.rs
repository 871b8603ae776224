//! Virtual hosts of Apache as zones, and its security directives as a rule file.

use super::{Listener, Migrated, Protection, Zone};

/// Directives that rule files have.
const RULES: [&str; 2] = ["include", "includeoptional"];

#[derive(Default)]
struct Host {
    address: String,
    names: Vec<String>,
    origins: Vec<String>,
    certificate: Option<String>,
    key: Option<String>,
    protection: Option<Protection>,
}

pub(super) fn migrate(text: &str) -> Migrated {
    let mut migrated = Migrated::default();
    let (mut of_all, mut host, mut hosts) = (Protection::None, None::<Host>, Vec::new());
    let mut security = Vec::new();
    for Line { number: line, text: raw, words } in lines(text) {
        let name = words.first().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
        let argument = words.get(1).cloned().unwrap_or_default();
        match name.as_str() {
            "<virtualhost" => {
                host = Some(Host { address: argument.trim_end_matches('>').to_owned(), ..Host::default() });
            }
            "</virtualhost>" => hosts.extend(host.take()),
            "secruleengine" => {
                let protection = match argument.to_ascii_lowercase().as_str() {
                    "on" => Protection::Block,
                    "detectiononly" => Protection::Log,
                    _ => Protection::None,
                };
                match &mut host {
                    Some(host) => host.protection = Some(protection),
                    None => of_all = protection,
                }
            }
            _ if name.starts_with("sec") || RULES.contains(&name.as_str()) => security.push(raw),
            _ if name.starts_with("<ifmodule") || name.starts_with("</ifmodule") => {}
            "listen" => {}
            _ => match host.as_mut().and_then(|host| host.take(&name, &words)) {
                Some(()) => {}
                None => migrated.note(format!("line {line}: `{}` has no equivalent", words.join(" "))),
            },
        }
    }
    for host in hosts {
        host.add_to(&mut migrated, of_all);
    }
    if !security.is_empty() {
        migrated.rules.push("security.conf".to_owned());
        migrated.note("save these lines as `security.conf` beside this file; rules are read as they are:");
        migrated.notes.extend(security.iter().map(|line| format!("  {line}")));
    }
    migrated
}

impl Host {
    /// `None` for a directive that says nothing here.
    fn take(&mut self, name: &str, words: &[String]) -> Option<()> {
        let argument = words.get(1)?.clone();
        match name {
            "servername" => self.names.insert(0, argument),
            "serveralias" => self.names.extend(words.iter().skip(1).cloned()),
            "sslcertificatefile" => self.certificate = Some(argument),
            "sslcertificatekeyfile" => self.key = Some(argument),
            "sslengine" | "proxypassreverse" | "proxypreservehost" => {}
            "proxypass" if argument == "/" => {
                self.origins.push(words.get(2)?.trim_end_matches('/').to_owned());
            }
            _ => return None,
        }
        Some(())
    }

    fn add_to(self, migrated: &mut Migrated, of_all: Protection) {
        let address = self.address.replace("_default_", "0.0.0.0").replace('*', "0.0.0.0");
        let address = if address.contains(':') { address } else { format!("{address}:80") };
        migrated
            .listen(Listener { address, certificates: self.certificate.zip(self.key).into_iter().collect() });
        for name in self.names {
            let plain = name.trim_start_matches("*.").split(':').next().unwrap_or_default().to_owned();
            if self.origins.is_empty() {
                migrated.note(format!("`{name}` passes nothing on, so it is no zone"));
            } else if migrated.zones.iter().all(|zone| zone.name != plain) {
                let protection = self.protection.unwrap_or(of_all);
                migrated.zones.push(Zone { name: plain, origins: self.origins.clone(), protection });
            }
        }
    }
}

struct Line {
    number: usize,
    text: String,
    words: Vec<String>,
}

/// Continued lines are one, comments and empty lines none.
fn lines(text: &str) -> Vec<Line> {
    let (mut found, mut held, mut first) = (Vec::new(), String::new(), 1);
    for (number, line) in text.lines().enumerate() {
        if held.is_empty() {
            first = number + 1;
        }
        match line.trim_end().strip_suffix('\\') {
            Some(part) => held.push_str(part),
            None => {
                held.push_str(line);
                let line = std::mem::take(&mut held);
                let line = line.trim();
                if !line.is_empty() && !line.starts_with('#') {
                    let words =
                        line.split_whitespace().map(|word| word.trim_matches('"').to_owned()).collect();
                    found.push(Line { number: first, text: line.to_owned(), words });
                }
            }
        }
    }
    found
}
