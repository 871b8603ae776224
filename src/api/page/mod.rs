//! The page on the admin port: static files, which ask the management API and the metrics for everything they show.
//!
//! Its policy lets it load nothing from elsewhere and run no text as a script, and what it shows of requests is made of
//! texts alone, so that nothing that a client sends becomes markup.

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::get;
use http::{HeaderName, header};

/// A file of the page.
struct Asset {
    path: &'static str,
    media_type: &'static str,
    text: &'static str,
}

/// A file of this folder, at its place.
macro_rules! asset {
    ($name:literal, $media_type:literal) => {
        Asset { path: concat!("/page/", $name), media_type: $media_type, text: include_str!($name) }
    };
}

const ASSETS: &[Asset] = &[
    Asset { path: "/", media_type: "text/html; charset=utf-8", text: include_str!("index.html") },
    asset!("icon.svg", "image/svg+xml"),
    asset!("style.css", "text/css; charset=utf-8"),
    asset!("api.js", "text/javascript; charset=utf-8"),
    asset!("dom.js", "text/javascript; charset=utf-8"),
    asset!("main.js", "text/javascript; charset=utf-8"),
    asset!("views/ai.js", "text/javascript; charset=utf-8"),
    asset!("views/events.js", "text/javascript; charset=utf-8"),
    asset!("views/history.js", "text/javascript; charset=utf-8"),
    asset!("views/overview.js", "text/javascript; charset=utf-8"),
    asset!("views/rules.js", "text/javascript; charset=utf-8"),
    asset!("views/zones.js", "text/javascript; charset=utf-8"),
];

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

const FIELDS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    // A new version of the edge is a new page.
    (header::CACHE_CONTROL, "no-cache"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The routes of the page.
pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let mut router = Router::new();
    for Asset { path, media_type, text } in ASSETS {
        let answer = async || (FIELDS, [(header::CONTENT_TYPE, *media_type)], *text).into_response();
        router = router.route(path, get(answer));
    }
    router
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_of_the_folder_is_served() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/api/page");
        let files = |folder: String| {
            let entries = std::fs::read_dir(folder).unwrap();
            entries.filter(|entry| entry.as_ref().unwrap().path().is_file()).count()
        };
        // This file is not.
        assert_eq!(files(folder.to_owned()) - 1 + files(format!("{folder}/views")), ASSETS.len());
    }
}
