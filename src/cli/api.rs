//! `portcullis api`: the management API from the command line, as tables or JSON.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{Failure, print, printable};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest answer that is read.
const MAX_ANSWER_BYTES: u64 = 64 << 20;
/// Columns of a table, at most; JSON has all fields.
const COLUMNS: usize = 6;
/// Longest text in a column, in characters.
const CELL: usize = 40;

/// Ask the management API of a running edge. The token comes from PORTCULLIS_API_TOKEN.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  portcullis api zones\n  portcullis api rules shop.example\n  portcullis api post /zones '{\"name\":\"shop.example\",\"origins\":[\"http://127.0.0.1:9000\"]}'\n\nPaths are those below /client/v4; `portcullis api get /openapi.json` describes them."
)]
pub(super) struct Api {
    /// Where the admin port listens; only plain HTTP, as on this machine.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:9180", global = true)]
    url: String,
    /// Print the answer as it came.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: ApiCommand,
}

#[derive(Debug, Subcommand)]
enum ApiCommand {
    /// List the zones.
    #[command(after_help = "Example:\n  portcullis api zones")]
    Zones,
    /// Show the rules of a zone's entry points.
    #[command(after_help = "Example:\n  portcullis api rules shop.example")]
    Rules {
        /// Id or name of the zone.
        zone: String,
    },
    /// List the tokens of the API.
    #[command(after_help = "Example:\n  portcullis api tokens")]
    Tokens,
    /// List the newest security events of a zone.
    #[command(after_help = "Example:\n  portcullis api events shop.example action=block")]
    Events {
        /// Id or name of the zone.
        zone: String,
        /// Filters, such as `action=block`.
        filters: Vec<String>,
    },
    /// Drop kept responses of a zone: all, or those of URLs.
    #[command(after_help = "Example:\n  portcullis api purge shop.example https://shop.example/style.css")]
    Purge {
        /// Id or name of the zone.
        zone: String,
        /// URLs whose responses are dropped; all without any.
        urls: Vec<String>,
    },
    /// Send a GET to a path.
    #[command(after_help = "Example:\n  portcullis api get /accounts")]
    Get { path: String },
    /// Send a POST with a JSON body.
    #[command(after_help = "Example:\n  portcullis api post /accounts '{\"name\":\"team\"}'")]
    Post { path: String, body: Option<String> },
    /// Send a PUT with a JSON body.
    #[command(after_help = "Example:\n  portcullis api put /accounts/ID '{\"name\":\"team\"}'")]
    Put { path: String, body: Option<String> },
    /// Send a PATCH with a JSON body.
    #[command(
        after_help = "Example:\n  portcullis api patch /zones/shop.example '{\"balance\":\"least_connections\"}'"
    )]
    Patch { path: String, body: Option<String> },
    /// Send a DELETE.
    #[command(after_help = "Example:\n  portcullis api delete /zones/shop.example")]
    Delete { path: String },
}

impl Api {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let Self { url, json, command } = self;
        let ask = |method: &str, path: &str, body: &str| {
            let answer = send(&url, method, path, body)?;
            shown(&answer, json)
        };
        match command {
            ApiCommand::Zones => ask("GET", "/zones?per_page=1000", ""),
            ApiCommand::Tokens => ask("GET", "/user/tokens?per_page=50", ""),
            ApiCommand::Events { zone, filters } => {
                let query = filters.iter().map(|filter| format!("&{filter}")).collect::<String>();
                ask("GET", &format!("/zones/{zone}/security/events?per_page=50{query}"), "")
            }
            ApiCommand::Purge { zone, urls } => {
                let body = match urls.is_empty() {
                    true => json!({ "purge_everything": true }),
                    false => json!({ "files": urls }),
                };
                ask("POST", &format!("/zones/{zone}/purge_cache"), &body.to_string())
            }
            ApiCommand::Rules { zone } => {
                let phases = model::Phase::ALL.map(model::Phase::word);
                for phase in phases {
                    let path = format!("/zones/{zone}/rulesets/phases/{phase}/entrypoint");
                    match send(&url, "GET", &path, "")? {
                        ApiAnswer { status: 404, .. } if !json => print(&format!("{phase}: none\n"))?,
                        answer => {
                            print(&format!("{phase}:\n"))?;
                            shown(&ApiAnswer { part: Some("rules"), ..answer }, json)?;
                        }
                    }
                }
                Ok(())
            }
            ApiCommand::Get { path } => ask("GET", &path, ""),
            ApiCommand::Post { path, body } => ask("POST", &path, body.as_deref().unwrap_or("{}")),
            ApiCommand::Put { path, body } => ask("PUT", &path, body.as_deref().unwrap_or("{}")),
            ApiCommand::Patch { path, body } => ask("PATCH", &path, body.as_deref().unwrap_or("{}")),
            ApiCommand::Delete { path } => ask("DELETE", &path, ""),
        }
    }
}

/// What came back.
struct ApiAnswer {
    status: u16,
    body: String,
    /// The field of the result that a table shows; the result itself if `None`.
    part: Option<&'static str>,
}

fn send(url: &str, method: &str, path: &str, body: &str) -> Result<ApiAnswer, Failure> {
    let authority = url.strip_prefix("http://").ok_or_else(|| {
        Failure::Input(format!("`{url}` does not begin with `http://`; the admin port speaks plain HTTP"))
    })?;
    let authority = authority.trim_end_matches('/');
    let token = std::env::var("PORTCULLIS_API_TOKEN").unwrap_or_default();
    if token.is_empty() {
        let message = "set PORTCULLIS_API_TOKEN to a token of the API; the first start of an edge prints one";
        return Err(Failure::Input(message.to_owned()));
    }
    if !path.starts_with('/') || path.bytes().chain(token.bytes()).any(|byte| byte <= b' ') {
        return Err(Failure::Input(format!("`{path}` is not a path; it begins with `/` and has no spaces")));
    }
    let failed = |error: std::io::Error| Failure::Input(format!("cannot ask `{url}`: {error}"));
    let address = if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
    let mut stream = TcpStream::connect(&address).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    let head = format!(
        "{method} /client/v4{path} HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).map_err(failed)?;
    let mut text = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut text).map_err(failed)?;
    let text = String::from_utf8_lossy(&text);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| Failure::Input(format!("`{url}` did not answer in HTTP")))?;
    Ok(ApiAnswer { status, body: body.to_owned(), part: None })
}

fn shown(answer: &ApiAnswer, json: bool) -> Result<(), Failure> {
    let parsed = serde_json::from_str::<Value>(&answer.body).unwrap_or(Value::Null);
    if !(200..300).contains(&answer.status) {
        let errors = parsed["errors"].as_array().map_or(&[][..], Vec::as_slice);
        let lines = errors.iter().map(|error| {
            let at = error["source"]["pointer"].as_str().map_or_else(String::new, |at| format!(" at `{at}`"));
            let message = printable(error["message"].as_str().unwrap_or(""));
            format!("error {}{at}: {message}", error["code"])
        });
        let lines: Vec<String> = lines.collect();
        let text = if lines.is_empty() { format!("status {}", answer.status) } else { lines.join("\n") };
        return Err(Failure::Input(text));
    }
    if json || !parsed.is_object() {
        return print(&format!("{}\n", answer.body));
    }
    let result = answer.part.map_or(&parsed["result"], |part| &parsed["result"][part]);
    let text = match result {
        Value::Array(rows) => table(rows),
        other => format!("{other:#}\n"),
    };
    print(&text)
}

/// The fields that are texts, numbers or truth values, in columns.
fn table(rows: &[Value]) -> String {
    let Some(first) = rows.first().and_then(Value::as_object) else { return String::from("none\n") };
    // What names a thing is first, whatever order JSON has.
    let mut names: Vec<&str> = first
        .iter()
        .filter(|(_, value)| !value.is_object() && !value.is_array())
        .map(|(name, _)| name.as_str())
        .collect();
    let rank = |name: &&str| {
        [
            "id",
            "Datetime",
            "name",
            "status",
            "Action",
            "Ref",
            "ClientRequestHost",
            "ClientRequestPath",
            "action",
            "expression",
            "description",
            "enabled",
        ]
        .iter()
        .position(|known| known == name)
        .unwrap_or(usize::MAX)
    };
    names.sort_by_key(rank);
    names.truncate(COLUMNS);
    let cell = |row: &Value, name: &str| {
        let text = match &row[name] {
            Value::String(text) => printable(text),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        if text.chars().count() > CELL { text.chars().take(CELL - 1).chain(['…']).collect() } else { text }
    };
    let lines: Vec<Vec<String>> = std::iter::once(names.iter().map(|name| (*name).to_owned()).collect())
        .chain(rows.iter().map(|row| names.iter().map(|name| cell(row, name)).collect()))
        .collect();
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..names.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_names_first_and_escape_what_clients_chose() {
        let rows = [
            json!({"name": "a\u{1b}[2J", "id": "1", "more": {"x": 1}, "z": null, "b": true}),
            json!({"name": "x".repeat(60), "id": "22"}),
        ];
        let lines: Vec<String> = table(&rows).lines().map(str::to_owned).collect();
        assert!(lines[0].starts_with("id  name"), "{lines:?}");
        assert!(lines[1].contains(r"a\u{1b}[2J") && lines[2].ends_with('…'), "{lines:?}");
        assert_eq!(table(&[]), "none\n");
    }
}
