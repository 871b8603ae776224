//! The path of a gateway request: `/v1/{account}/{gateway}/{provider}/{path}`.

/// A gateway path, taken apart. Nothing in it is decoded: what follows the provider goes out as it
/// came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatewayPath<'p> {
    pub account: &'p str,
    pub gateway: &'p str,
    pub provider: &'p str,
    /// With its first slash, or empty.
    pub rest: &'p str,
    /// With its `?`, or empty.
    pub query: &'p str,
}

impl<'p> GatewayPath<'p> {
    /// Takes the path and query of a request apart; `None` if it is no gateway path.
    pub fn parse(path_and_query: &'p str) -> Option<Self> {
        let (path, query) = path_and_query.split_at(path_and_query.find('?').unwrap_or(path_and_query.len()));
        let mut parts = path.strip_prefix("/v1/")?.splitn(4, '/');
        let (account, gateway) = (parts.next()?, parts.next()?);
        let provider = parts.next().unwrap_or("");
        let start = "/v1/".len() + account.len() + 1 + gateway.len() + 1 + provider.len();
        let rest = path.get(start..).unwrap_or("");
        (!account.is_empty() && !gateway.is_empty()).then_some(Self {
            account,
            gateway,
            provider,
            rest,
            query,
        })
    }
}

impl GatewayPath<'_> {
    /// Whether what follows the provider has a segment `..`, in any spelling: it could lead out of the provider's
    /// base path.
    pub fn leaves_its_provider(&self) -> bool {
        let rest = percent_encoding::percent_decode_str(self.rest);
        let rest: Vec<u8> = rest.collect();
        rest.split(|byte| matches!(byte, b'/' | b'\\')).any(|segment| segment == b"..")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leaves_its_provider() {
        for (rest, expected) in [
            ("/a/../b", true),
            ("/..", true),
            ("/a/%2e%2E/b", true),
            ("/a%2f..%2fb", true),
            ("/a/..%5cb", true),
            ("/a/..b/c", false),
            ("/a/.../b", false),
            ("/a?b=../c", false),
        ] {
            let text = format!("/v1/acme/main/openai{rest}");
            assert_eq!(GatewayPath::parse(&text).unwrap().leaves_its_provider(), expected, "{rest}");
        }
    }

    #[test]
    fn paths_are_taken_apart_and_not_decoded() {
        let path = GatewayPath::parse("/v1/acme/main/openai/v1/chat%2Fx//y?a=b?c").unwrap();
        assert_eq!((path.account, path.gateway, path.provider), ("acme", "main", "openai"));
        assert_eq!((path.rest, path.query), ("/v1/chat%2Fx//y", "?a=b?c"));
        let bare = GatewayPath::parse("/v1/acme/main").unwrap();
        assert_eq!((bare.provider, bare.rest), ("", ""));
        for text in ["/", "/v1", "/v1/", "/v1/acme", "/v1//main/openai", "/v2/a/b/c"] {
            assert_eq!(GatewayPath::parse(text), None, "{text}");
        }
    }
}
