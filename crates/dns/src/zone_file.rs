//! Zone files (RFC 1035 section 5) to entries: `$ORIGIN`, `$TTL` and `$GENERATE`, brackets, quotes, comments.

use std::fmt;

use crate::name::Name;
use crate::rdata::Rdata;
use crate::record_type::RecordType;
use crate::token::token;

/// Most entries that all `$GENERATE` of a file make.
const MAX_GENERATED: u64 = 65_536;

/// A record of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub owner: Name,
    /// Seconds; `None` if neither the record nor `$TTL` says.
    pub ttl: Option<u32>,
    pub data: EntryData,
    /// What is behind the last `;` of its lines.
    pub comment: Option<String>,
    /// From 1.
    pub line: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EntryData {
    Record(Rdata),
    /// Primary, mail address, serial, refresh, retry, expire, minimum, as they are written.
    Soa(Vec<String>),
    /// Of a type that zones here do not have.
    Other(String),
}

/// What is wrong in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneFileError {
    /// From 1.
    pub line: usize,
    pub message: String,
}

impl fmt::Display for ZoneFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// Reads a file. Names that are not absolute are below `origin` until `$ORIGIN` says another.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(text: &str, origin: &Name) -> Result<Vec<Entry>, Vec<ZoneFileError>> {
    let mut reader =
        Reader { origin: origin.clone(), ttl: None, owner: None, entries: Vec::new(), generated: 0 };
    let mut errors = Vec::new();
    let mut rest = Lines { rest: text, line: 1 };
    loop {
        match rest.next() {
            Ok(Some(line)) => {
                if let Err(message) = reader.line(&line) {
                    errors.push(ZoneFileError { line: line.number, message });
                }
            }
            Ok(None) => break,
            Err(error) => {
                errors.push(error);
                break;
            }
        }
    }
    if errors.is_empty() { Ok(reader.entries) } else { Err(errors) }
}

/// Lines that belong together because of brackets, as one.
struct Line {
    number: usize,
    /// Without comments and brackets.
    text: String,
    comment: Option<String>,
}

struct Lines<'t> {
    rest: &'t str,
    line: usize,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<Option<Line>, ZoneFileError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let number = self.line;
        let (mut text, mut comment) = (String::new(), None::<String>);
        let (mut depth, mut is_quoted, mut is_escaped, mut is_comment) = (0_usize, false, false, false);
        let mut end = self.rest.len();
        for (at, character) in self.rest.char_indices() {
            if character == '\n' {
                self.line += 1;
                if is_quoted {
                    return Err(ZoneFileError {
                        line: number,
                        message: "a quote has no end in its line".to_owned(),
                    });
                }
                is_comment = false;
                if depth == 0 {
                    end = at + 1;
                    break;
                }
                text.push(' ');
                continue;
            }
            if is_comment {
                comment.get_or_insert_default().push(character);
                continue;
            }
            let was_escaped = std::mem::take(&mut is_escaped);
            match character {
                _ if was_escaped => text.push(character),
                '\\' => {
                    is_escaped = true;
                    text.push(character);
                }
                '"' => {
                    is_quoted = !is_quoted;
                    text.push(character);
                }
                _ if is_quoted => text.push(character),
                ';' => {
                    is_comment = true;
                    comment = Some(String::new());
                }
                '(' => {
                    depth += 1;
                    text.push(' ');
                }
                ')' => {
                    depth = depth.checked_sub(1).ok_or_else(|| ZoneFileError {
                        line: self.line,
                        message: "`)` stands without its `(`".to_owned(),
                    })?;
                    text.push(' ');
                }
                '\r' => {}
                character => text.push(character),
            }
        }
        if depth > 0 || is_quoted {
            let what = if is_quoted { "a quote" } else { "`(`" };
            return Err(ZoneFileError { line: number, message: format!("{what} has no end") });
        }
        self.rest = self.rest.get(end..).unwrap_or("");
        let comment = comment.map(|comment| comment.trim().to_owned()).filter(|comment| !comment.is_empty());
        Ok(Some(Line { number, text, comment }))
    }
}

struct Reader {
    origin: Name,
    /// Of `$TTL`.
    ttl: Option<u32>,
    /// Of the last record.
    owner: Option<Name>,
    entries: Vec<Entry>,
    generated: u64,
}

impl Reader {
    fn line(&mut self, line: &Line) -> Result<(), String> {
        let text = line.text.trim_end();
        if text.trim_start().is_empty() {
            return Ok(());
        }
        let has_owner = !text.starts_with([' ', '\t']);
        let (first, rest) = word(text.trim_start())?;
        if has_owner && let Some(directive) = first.strip_prefix('$') {
            return self.directive(directive, rest, line);
        }
        let rest = if has_owner {
            self.owner = Some(Name::parse(first, Some(&self.origin))?);
            rest
        } else {
            text.trim_start()
        };
        let owner = self.owner.clone().ok_or("the first record has no name, and there is none before it")?;
        let entry = self.entry(owner, rest, line)?;
        self.entries.push(entry);
        Ok(())
    }

    fn directive(&mut self, directive: &str, rest: &str, line: &Line) -> Result<(), String> {
        match directive.to_ascii_uppercase().as_str() {
            "ORIGIN" => self.origin = Name::parse(word(rest)?.0, Some(&self.origin))?,
            "TTL" => {
                let (text, _) = word(rest)?;
                self.ttl = Some(
                    seconds(text)
                        .ok_or_else(|| format!("expected seconds for `$TTL`, found `{text:.40}`"))?,
                );
            }
            "GENERATE" => self.generate(rest, line)?,
            "INCLUDE" => return Err("$INCLUDE directive not allowed".to_owned()),
            other => {
                return Err(format!(
                    "unknown directive `${other:.40}`; expected `$ORIGIN`, `$TTL` or `$GENERATE`"
                ));
            }
        }
        Ok(())
    }

    /// `$GENERATE start-stop[/step] owner [ttl] [class] type data`, with `$` and `${offset,width,base}` in owner and data.
    fn generate(&mut self, rest: &str, line: &Line) -> Result<(), String> {
        let (range, template) = word(rest)?;
        let (bounds, step) = range.split_once('/').unwrap_or((range, "1"));
        let read = |text: &str| text.parse::<u32>().ok();
        let parsed =
            bounds.split_once('-').and_then(|(start, stop)| Some((read(start)?, read(stop)?, read(step)?)));
        let (start, stop, step) =
            parsed.filter(|(start, stop, step)| start <= stop && *step > 0).ok_or_else(|| {
                format!("expected `start-stop` or `start-stop/step` behind `$GENERATE`, found `{range:.40}`")
            })?;
        for value in (start..=stop).step_by(step as usize) {
            self.generated += 1;
            if self.generated > MAX_GENERATED {
                return Err(format!("`$GENERATE` makes at most {MAX_GENERATED} records in a file"));
            }
            let text = generated(template, value)?;
            let (owner, rest) = word(&text)?;
            let owner = Name::parse(owner, Some(&self.origin))?;
            let entry = self.entry(owner, rest, line)?;
            self.entries.push(entry);
        }
        Ok(())
    }

    /// What is behind the name: TTL and class in either order, type, data.
    fn entry(&self, owner: Name, text: &str, line: &Line) -> Result<Entry, String> {
        let (mut ttl, mut rest) = (None, text);
        let record_type = loop {
            let (first, behind) = word(rest)?;
            rest = behind;
            if first.eq_ignore_ascii_case("IN") {
                continue;
            }
            if ["CH", "HS", "CS"].iter().any(|class| class.eq_ignore_ascii_case(first)) {
                return Err(format!("records are of the class `IN`, found `{first}`"));
            }
            match seconds(first)
                .filter(|_| ttl.is_none() && first.starts_with(|first: char| first.is_ascii_digit()))
            {
                Some(found) => ttl = Some(found),
                None => break first,
            }
        };
        let data = match RecordType::parse(record_type) {
            Some(known) => EntryData::Record(
                Rdata::parse(known, rest, Some(&self.origin)).map_err(|error| error.message)?,
            ),
            None if record_type.eq_ignore_ascii_case("SOA") => {
                EntryData::Soa(rest.split_ascii_whitespace().map(str::to_owned).collect())
            }
            None if is_type_word(record_type) => EntryData::Other(record_type.to_ascii_uppercase()),
            None => return Err(format!("expected a TTL, `IN` or a type, found `{record_type:.40}`")),
        };
        Ok(Entry { owner, ttl: ttl.or(self.ttl), data, comment: line.comment.clone(), line: line.number })
    }
}

/// Whether a word may be that of a type: letters first, digits and hyphens behind.
fn is_type_word(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_alphabetic())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// The first word and what is behind it.
fn word(text: &str) -> Result<(&str, &str), String> {
    let text = text.trim_start();
    if text.is_empty() {
        return Err("the record ends before its type and data".to_owned());
    }
    let (_, behind) = token(text)?;
    let word = text.get(..text.len() - behind.len()).unwrap_or("");
    Ok((word, behind.trim_start()))
}

/// Seconds, also as `1h30m`.
fn seconds(text: &str) -> Option<u32> {
    let (mut total, mut number, mut has_digits) = (0_u32, 0_u32, false);
    for byte in text.bytes() {
        if byte.is_ascii_digit() {
            number = number.checked_mul(10)?.checked_add(u32::from(byte - b'0'))?;
            has_digits = true;
            continue;
        }
        let unit = match byte.to_ascii_lowercase() {
            b's' => 1,
            b'm' => 60,
            b'h' => 3_600,
            b'd' => 86_400,
            b'w' => 604_800,
            _ => return None,
        };
        if !has_digits {
            return None;
        }
        total = total.checked_add(number.checked_mul(unit)?)?;
        (number, has_digits) = (0, false);
    }
    (!text.is_empty()).then_some(())?;
    // RFC 2181 section 8.
    total.checked_add(number).filter(|total| i32::try_from(*total).is_ok())
}

/// A template with a number in the place of `$` and `${offset,width,base}`; `\$` is `$`.
fn generated(template: &str, value: u32) -> Result<String, String> {
    let mut text = String::with_capacity(template.len() + 8);
    let mut rest = template;
    while let Some(at) = rest.find(['$', '\\']) {
        let (before, found) = rest.split_at_checked(at).unwrap_or((rest, ""));
        text.push_str(before);
        if let Some(behind) = found.strip_prefix("\\$") {
            text.push('$');
            rest = behind;
        } else if let Some(behind) = found.strip_prefix('\\') {
            text.push('\\');
            let mut characters = behind.chars();
            text.extend(characters.next());
            rest = characters.as_str();
        } else if let Some((form, behind)) = found.strip_prefix("${").and_then(|rest| rest.split_once('}')) {
            text.push_str(&numbered(form, value).ok_or_else(|| {
                format!("expected `${{offset,width,base}}`, the base `d`, `o`, `x` or `X`, found `${{{form:.40}}}`")
            })?);
            rest = behind;
        } else {
            text.push_str(&value.to_string());
            rest = found.get(1..).unwrap_or("");
        }
    }
    text.push_str(rest);
    Ok(text)
}

fn numbered(form: &str, value: u32) -> Option<String> {
    let mut parts = form.split(',');
    let offset: i64 = parts.next()?.parse().ok()?;
    let width: usize =
        parts.next().map_or(Some(0), |width| width.parse().ok()).filter(|width| *width <= 63)?;
    let base = parts.next().unwrap_or("d");
    let value = i64::from(value).checked_add(offset).filter(|value| *value >= 0)?;
    parts.next().is_none().then_some(())?;
    Some(match base {
        "d" => format!("{value:0width$}"),
        "o" => format!("{value:0width$o}"),
        "x" => format!("{value:0width$x}"),
        "X" => format!("{value:0width$X}"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> Name {
        Name::parse("example.com", None).unwrap()
    }

    fn entries(text: &str) -> Vec<(String, Option<u32>, String)> {
        let entries = parse(text, &origin()).unwrap_or_else(|errors| panic!("{errors:?}"));
        let shown = |data: &EntryData| match data {
            EntryData::Record(rdata) => format!("{rdata:?}"),
            EntryData::Soa(fields) => format!("SOA {}", fields.join(" ")),
            EntryData::Other(word) => word.clone(),
        };
        entries.iter().map(|entry| (entry.owner.to_string(), entry.ttl, shown(&entry.data))).collect()
    }

    #[test]
    fn files_are_read_as_they_are_written() {
        let text = "$TTL 1h\n@ IN SOA ns1 admin (\n 1 ; serial\n 2h 1h 1w 5m )\n\tNS ns1\n\
                    ns1 300 IN A 192.0.2.1 ; the first\n    IN 60 AAAA 2001:db8::1\n\
                    $ORIGIN sub.example.com.\nwww CNAME @\n\n; only a comment\n\
                    text TXT \"a;b\" ( \"c\"\n \"d\" )\nabs.example.org. TYPE65534 \\# 1 00\r\n";
        let row = |owner: &str, ttl, data: &str| (owner.to_owned(), Some(ttl), data.to_owned());
        assert_eq!(
            entries(text),
            [
                row("example.com", 3600, "SOA ns1 admin 1 2h 1h 1w 5m"),
                row("example.com", 3600, "NS ns1.example.com."),
                row("ns1.example.com", 300, "A 192.0.2.1"),
                row("ns1.example.com", 60, "AAAA 2001:db8::1"),
                row("www.sub.example.com", 3600, "CNAME sub.example.com."),
                row("text.sub.example.com", 3600, "TXT \"a;b\" \"c\" \"d\""),
                row("abs.example.org", 3600, "TYPE65534"),
            ]
        );
        let found = parse("a A 192.0.2.1 ; note cf_tags=x\n", &origin()).unwrap();
        assert_eq!(found[0].comment.as_deref(), Some("note cf_tags=x"));
    }

    #[test]
    fn numbers_are_filled_in() {
        let text =
            "$GENERATE 1-3/2 host-$ 60 A 192.0.2.$\n$GENERATE 9-10 ${1,3,d}.r${0,0,x} CNAME h\\$x.${-9}\n";
        let found: Vec<String> =
            entries(text).into_iter().map(|(owner, _, data)| format!("{owner} {data}")).collect();
        assert_eq!(
            found,
            [
                "host-1.example.com A 192.0.2.1",
                "host-3.example.com A 192.0.2.3",
                "010.r9.example.com CNAME h\\$x.0.example.com.",
                "011.ra.example.com CNAME h\\$x.1.example.com.",
            ]
        );
    }

    #[test]
    fn every_mistake_is_named_with_its_line() {
        let text = "a A 1.2.3\n\nb IN\n$INCLUDE x\n$NOTHING\nc CH A 192.0.2.1\nd 5 5 A 192.0.2.1\n$TTL x\n\
                    $GENERATE 5-1 a A 192.0.2.1\n$GENERATE 0-99999 a$ A 192.0.2.1\n";
        let lines: Vec<usize> = parse(text, &origin()).unwrap_err().iter().map(|error| error.line).collect();
        assert_eq!(lines, [1, 3, 4, 5, 6, 7, 8, 9, 10]);
        for text in ["a A ( 192.0.2.1\n", "a TXT \"x\n", "a A 192.0.2.1 )\n", "  A 192.0.2.1\n"] {
            assert_eq!(parse(text, &origin()).unwrap_err().len(), 1, "{text}");
        }
    }
}
