//! Which kept responses are dropped.

use http::{HeaderMap, HeaderName, Uri};

use super::kept::ResponseName;

/// The field by which origins give responses names to be dropped by.
pub(super) const CACHE_TAG: HeaderName = HeaderName::from_static("cache-tag");

/// Responses of a zone that are to be dropped.
#[derive(Clone, Debug)]
pub struct Purge {
    pub zone_id: String,
    /// All of them, whatever else is named.
    pub everything: bool,
    pub urls: Vec<Uri>,
    pub hosts: Vec<String>,
    /// A host, and what paths there begin with: `shop.example/images/`.
    pub prefixes: Vec<String>,
    /// Words of the field `Cache-Tag`, in any case.
    pub tags: Vec<String>,
}

impl Purge {
    /// Whether it names a response.
    pub(super) fn is_for(&self, name: &ResponseName, head: &HeaderMap) -> bool {
        name.zone_id == self.zone_id
            && (self.everything
                || self.hosts.iter().any(|host| host.eq_ignore_ascii_case(&name.host))
                || self.prefixes.iter().any(|prefix| begins_with(name, prefix))
                || self.urls.iter().any(|url| is_at(name, url))
                || !self.tags.is_empty() && self.names_tag_of(head))
    }

    fn names_tag_of(&self, head: &HeaderMap) -> bool {
        let fields = head.get_all(CACHE_TAG).iter().filter_map(|value| value.to_str().ok());
        let mut words = fields.flat_map(|value| value.split([',', ' '])).filter(|word| !word.is_empty());
        words.any(|word| self.tags.iter().any(|tag| tag.eq_ignore_ascii_case(word)))
    }
}

fn begins_with(name: &ResponseName, prefix: &str) -> bool {
    let (host, path) = prefix.split_once('/').unwrap_or((prefix, ""));
    let told = name.target.strip_prefix(b"/").unwrap_or(&name.target);
    host.eq_ignore_ascii_case(&name.host) && told.starts_with(path.as_bytes())
}

fn is_at(name: &ResponseName, url: &Uri) -> bool {
    let host = url.host().unwrap_or("").trim_end_matches('.');
    let target = url.path_and_query().map_or("/", |target| target.as_str());
    (url.scheme_str() == Some("https")) == name.is_https
        && host.eq_ignore_ascii_case(&name.host)
        && target.as_bytes() == name.target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_named_by_url_host_prefix_and_tag() {
        let name = ResponseName {
            zone_id: "z".to_owned(),
            is_https: true,
            host: "shop.example".to_owned(),
            target: b"/a/b.css?v=1".to_vec(),
        };
        let mut head = HeaderMap::new();
        head.insert(CACHE_TAG, "blue, Green".parse().unwrap());
        let none = Purge {
            zone_id: "z".to_owned(),
            everything: false,
            urls: Vec::new(),
            hosts: Vec::new(),
            prefixes: Vec::new(),
            tags: Vec::new(),
        };
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        for (purge, is_for) in [
            (none.clone(), false),
            (Purge { everything: true, ..none.clone() }, true),
            (Purge { everything: true, zone_id: "y".to_owned(), ..none.clone() }, false),
            (Purge { hosts: texts(&["SHOP.example"]), ..none.clone() }, true),
            (Purge { hosts: texts(&["example", "a.shop.example"]), ..none.clone() }, false),
            (Purge { prefixes: texts(&["shop.example/a/"]), ..none.clone() }, true),
            (Purge { prefixes: texts(&["shop.example"]), ..none.clone() }, true),
            (Purge { prefixes: texts(&["shop.example/b", "a/"]), ..none.clone() }, false),
            (Purge { tags: texts(&["green"]), ..none.clone() }, true),
            (Purge { tags: texts(&["gree", "blue,"]), ..none.clone() }, false),
        ] {
            assert_eq!(purge.is_for(&name, &head), is_for, "{purge:?}");
        }
        for (url, is_at) in [
            ("https://shop.example/a/b.css?v=1", true),
            ("https://Shop.Example:443/a/b.css?v=1", true),
            ("http://shop.example/a/b.css?v=1", false),
            ("https://shop.example/a/b.css", false),
            ("https://shop.example/A/b.css?v=1", false),
        ] {
            let urls = vec![url.parse().unwrap()];
            assert_eq!(Purge { urls, ..none.clone() }.is_for(&name, &head), is_at, "{url}");
        }
    }
}
