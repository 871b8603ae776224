//! What a rule adds to the keys of kept responses, or leaves out of them.

use std::borrow::Cow;

use http::{HeaderMap, HeaderValue, header};
use model::cache_key::{CacheKeyParameters, CustomKey, QueryKey, QueryNames};
use percent_encoding::percent_decode;

use crate::proxy::headers;

/// Parts of a key, each with its length, so that no two lists of parts are one text.
#[derive(Default)]
pub(super) struct KeyParts(pub(super) Vec<u8>);

impl KeyParts {
    pub(super) fn add(&mut self, part: &[u8]) {
        self.0.extend_from_slice(&(part.len() as u64).to_be_bytes());
        self.0.extend_from_slice(part);
    }

    /// Adds what is said under a name, how much there is of it, and each value.
    fn add_all<'v>(&mut self, kind: &str, name: &str, values: impl Iterator<Item = &'v [u8]>) {
        let values: Vec<&[u8]> = values.collect();
        self.add(kind.as_bytes());
        self.add(name.as_bytes());
        self.add(&(values.len() as u64).to_be_bytes());
        values.into_iter().for_each(|value| self.add(value));
    }
}

/// A target with the parameters that count, in the order in which they do.
///
/// A query with a `;`, which some frameworks take for a `&`, stays as it is: an origin could read other parameters than
/// were left out.
pub(super) fn target<'t>(target: Cow<'t, [u8]>, parameters: &CacheKeyParameters) -> Cow<'t, [u8]> {
    let Some(at) = memchr::memchr(b'?', &target) else { return target };
    let (path, query) = target.split_at(at);
    let query = query.get(1..).unwrap_or_default();
    if query.contains(&b';') {
        return target;
    }
    let counts = parameters.custom_key.as_ref().and_then(|key| key.query_string.as_ref());
    let mut kept: Vec<(Vec<u8>, &[u8])> = query
        .split(|byte| *byte == b'&')
        .map(|parameter| (name(parameter), parameter))
        .filter(|(name, _)| counts.is_none_or(|counts| is_counted(counts, name)))
        .collect();
    if parameters.ignore_query_strings_order == Some(true) {
        // Those of one name stay in their order, by which origins choose one.
        kept.sort_by_cached_key(|(name, _)| loose(name));
    }
    let query = kept.into_iter().map(|(_, parameter)| parameter).collect::<Vec<_>>().join(&b'&');
    let has_query = !query.is_empty();
    Cow::Owned([path, if has_query { b"?" } else { b"" }, &query].concat())
}

/// The name of a parameter as origins read it.
fn name(parameter: &[u8]) -> Vec<u8> {
    let end = memchr::memchr(b'=', parameter).unwrap_or(parameter.len());
    let spaced: Vec<u8> = parameter
        .get(..end)
        .unwrap_or_default()
        .iter()
        .map(|byte| if *byte == b'+' { b' ' } else { *byte })
        .collect();
    percent_decode(&spaced).collect()
}

fn is_counted(counts: &QueryKey, name: &[u8]) -> bool {
    let has = |names: &QueryNames, is: &dyn Fn(&[u8]) -> bool| {
        names.all == Some(true) || names.list.iter().any(|listed| is(listed.as_bytes()))
    };
    match (&counts.include, &counts.exclude) {
        // In doubt a parameter counts: what an origin reads under a listed name must not be left out.
        (Some(include), _) => has(include, &|listed| loose(listed) == loose(name)),
        (None, Some(exclude)) => !has(exclude, &|listed| listed == name),
        (None, None) => true,
    }
}

/// A name as the most generous framework reads it: in any case, without spaces before it and without what makes it a
/// list or an entry of one, points and spaces as `_`.
fn loose(name: &[u8]) -> Vec<u8> {
    let name = name.trim_ascii_start().split(|byte| matches!(byte, b'[' | 0)).next().unwrap_or_default();
    let read = |byte: &u8| if matches!(byte, b'.' | b' ') { b'_' } else { byte.to_ascii_lowercase() };
    name.iter().map(read).collect()
}

/// Adds what a rule says that counts besides the target.
pub(super) fn add_custom(
    parts: &mut KeyParts,
    custom: &CustomKey,
    fields: &HeaderMap,
    country: impl FnOnce() -> String,
) {
    let values = |name: &str| fields.get_all(name).into_iter().map(HeaderValue::as_bytes);
    if let Some(header) = &custom.header {
        for name in &header.include {
            parts.add_all("field", name, values(name));
        }
        for name in &header.check_presence {
            parts.add_all("has field", name, values(name).take(1).map(|_| &b""[..]));
        }
        for (name, texts) in &header.contains {
            let holds_one = |value: &&[u8]| {
                texts.iter().any(|text| memchr::memmem::find(value, text.as_bytes()).is_some())
            };
            parts.add_all("field with", name, values(name).filter(holds_one));
        }
    }
    if let Some(cookie) = &custom.cookie {
        for name in &cookie.include {
            parts.add_all("cookie", name, cookies(fields, name));
        }
        for name in &cookie.check_presence {
            parts.add_all("has cookie", name, cookies(fields, name).take(1).map(|_| &b""[..]));
        }
    }
    let Some(user) = &custom.user else { return };
    if user.geo == Some(true) {
        parts.add_all("country", "", std::iter::once(country().as_bytes()));
    }
    if user.lang == Some(true) {
        parts.add_all("language", "", std::iter::once(language(fields).as_bytes()));
    }
}

/// Whether a rule leaves `Origin` out of keys.
pub(super) fn leaves_out_origin(parameters: Option<&CacheKeyParameters>) -> bool {
    let custom = parameters.and_then(|parameters| parameters.custom_key.as_ref());
    custom.and_then(|custom| custom.header.as_ref()).and_then(|header| header.exclude_origin) == Some(true)
}

fn cookies<'h>(fields: &'h HeaderMap, name: &'h str) -> impl Iterator<Item = &'h [u8]> {
    let fields = fields.get_all(header::COOKIE).into_iter().map(HeaderValue::as_bytes);
    fields.flat_map(move |field| headers::cookies(field, name.as_bytes()))
}

/// The language that a client names first, in lower case; nothing if it names none.
fn language(fields: &HeaderMap) -> String {
    let named = fields.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or("");
    named.split([',', ';']).next().unwrap_or("").trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use model::cache_key::{CookieKey, HeaderKey, UserKey};

    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn of_query(include: Option<QueryNames>, exclude: Option<QueryNames>, sorts: bool) -> CacheKeyParameters {
        let query_string = Some(QueryKey { include, exclude });
        CacheKeyParameters {
            ignore_query_strings_order: sorts.then_some(true),
            custom_key: Some(CustomKey { query_string, ..CustomKey::default() }),
            ..CacheKeyParameters::default()
        }
    }

    #[test]
    fn parts_of_a_key_cannot_stand_for_each_other() {
        let of = |parts: &[&str]| {
            let mut key = KeyParts::default();
            parts.iter().for_each(|part| key.add(part.as_bytes()));
            key.0
        };
        assert_ne!(of(&["a", "bc"]), of(&["ab", "c"]));
        assert_ne!(of(&["a", ""]), of(&["a"]));
    }

    #[test]
    fn targets_have_the_parameters_that_count() {
        let list = |names: &[&str]| Some(QueryNames { all: None, list: texts(names) });
        let all = || Some(QueryNames { all: Some(true), list: Vec::new() });
        let include = of_query(list(&["id", "a b"]), None, false);
        let exclude = of_query(None, list(&["utm_source"]), false);
        let sorted = of_query(None, None, true);
        for (parameters, before, after) in [
            (&include, "/a", "/a"),
            (&include, "/a?id=1&x=2&id=3", "/a?id=1&id=3"),
            (&include, "/a?%69d=1&a+b=2&a%20b=3&b=4", "/a?%69d=1&a+b=2&a%20b=3"),
            (
                &include,
                "/a?+id=1&id%00x=2&id[]=3&id%5Ba%5D=4&ID=5&a_b=6&idx=7",
                "/a?+id=1&id%00x=2&id[]=3&id%5Ba%5D=4&ID=5&a_b=6",
            ),
            (&include, "/a?x=1", "/a"),
            (&include, "/a?x=1;id=5", "/a?x=1;id=5"),
            (&include, "/a?x=?id=1", "/a"),
            (&exclude, "/a?utm%5Fsource=x&b=1&utm_source", "/a?b=1"),
            (&exclude, "/a?utm_source=x", "/a"),
            (
                &exclude,
                "/a?UTM_source=x&utm.source=y&utm_source[]=z",
                "/a?UTM_source=x&utm.source=y&utm_source[]=z",
            ),
            (&exclude, "/a?&&b", "/a?&&b"),
            (&of_query(all(), None, false), "/a?b=1&c", "/a?b=1&c"),
            (&of_query(None, all(), false), "/a?b=1&c", "/a"),
            (&sorted, "/a?b=1&a=2&b=0&a=1", "/a?a=2&a=1&b=1&b=0"),
            (&sorted, "/a?b=1&A=2&a[]=3&a=4", "/a?A=2&a[]=3&a=4&b=1"),
            (&sorted, "/a?b=1;a=2&a", "/a?b=1;a=2&a"),
        ] {
            let found = target(before.as_bytes().into(), parameters);
            assert_eq!(String::from_utf8_lossy(&found), after, "{before} {parameters:?}");
        }
    }

    #[test]
    fn fields_cookies_and_clients_are_told_apart_as_a_rule_says() {
        let custom = CustomKey {
            header: Some(HeaderKey {
                include: texts(&["X-Plan"]),
                check_presence: texts(&["x-beta"]),
                contains: [("accept".to_owned(), texts(&["image/webp", "image/avif"]))].into(),
                exclude_origin: None,
            }),
            cookie: Some(CookieKey { include: texts(&["theme"]), check_presence: texts(&["session"]) }),
            user: Some(UserKey { device_type: None, geo: Some(true), lang: Some(true) }),
            ..CustomKey::default()
        };
        let key = |fields: &str, country: &str| {
            let mut headers = HeaderMap::new();
            for (name, value) in fields.lines().filter_map(|line| line.split_once(": ")) {
                headers.append(name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap());
            }
            let mut parts = KeyParts::default();
            add_custom(&mut parts, &custom, &headers, || country.to_owned());
            parts.0
        };
        for (one, other, are_alike) in [
            ("x-plan: a", "x-plan: b", false),
            ("x-plan: a", "x-plan: a\nx-plan: b", false),
            ("", "x-plan: ", false),
            ("x-beta: 1", "x-beta: 2", true),
            ("x-beta: 1", "", false),
            ("accept: text/html", "accept: */*", true),
            ("accept: image/webp", "accept: */*", false),
            ("accept: image/webp", "accept: image/webp,*/*", false),
            ("cookie: theme=dark; a=1", "cookie: b=2;theme=dark", true),
            ("cookie: theme=dark", "cookie: theme=light", false),
            ("cookie: xtheme=dark", "cookie: themes=light", true),
            ("cookie: session=1", "cookie: session=2", true),
            ("cookie: session=1", "", false),
            ("accept-language: DE-de, en;q=0.5", "accept-language: de-DE;q=0.9", true),
            ("accept-language: de", "accept-language: en", false),
            ("x-other: 1", "", true),
        ] {
            assert_eq!(key(one, "DE") == key(other, "DE"), are_alike, "{one:?} {other:?}");
        }
        assert_ne!(key("", "DE"), key("", "FR"));
    }
}
