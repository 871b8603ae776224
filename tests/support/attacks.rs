//! The labelled attacks of `tests/data/owasp`.

use serde_json::Value;

/// One attack, as the request that its test sends.
#[derive(Clone, Debug)]
pub struct Attack {
    pub title: String,
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Without `Host` and `Content-Length`.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// All of them, in the order of their files.
pub fn labelled_attacks() -> Vec<Attack> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/owasp/attacks");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let texts = files.into_iter().map(|file| std::fs::read_to_string(file).unwrap());
    texts.flat_map(|text| attacks_of(&text)).collect()
}

fn attacks_of(text: &str) -> Vec<Attack> {
    let tests = text.lines().filter_map(|line| line.trim().strip_prefix("- {"));
    let tests = tests.map(|line| serde_json::from_str::<Value>(&format!("{{{line}")).unwrap());
    tests.map(|test| attack(&test)).collect()
}

fn attack(test: &Value) -> Attack {
    let input = &test["stages"][0]["input"];
    let text = |name: &str| input[name].as_str().unwrap_or("").to_owned();
    let headers = input["headers"].as_object().into_iter().flatten();
    let headers = headers.filter(|(name, _)| !matches!(name.as_str(), "Content-Length" | "Host"));
    Attack {
        title: test["test_title"].as_str().unwrap().to_owned(),
        method: text("method"),
        target: text("uri"),
        headers: headers
            .map(|(name, value)| (name.clone(), value.as_str().unwrap_or("").to_owned()))
            .collect(),
        body: text("data").into_bytes(),
    }
}
