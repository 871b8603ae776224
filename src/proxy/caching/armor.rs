//! Armor against cache deception: what a URL says that a response is has to be what the response says.
//!
//! Who has a signed-in victim open `/account/x.css` at an origin that answers it with the account page would find that page
//! kept. With the armor only a style sheet is kept under such a name.

use http::{HeaderMap, header};
use percent_encoding::percent_decode;

/// Extensions of files that sites keep, and beginnings of the media types that such files have.
const TYPES: &[(&[&str], &[&str])] = &[
    (&["css"], &["text/css"]),
    (
        &["js", "mjs"],
        &["text/javascript", "application/javascript", "application/x-javascript", "text/ecmascript"],
    ),
    (&["json"], &["application/json", "text/json"]),
    (&["gif"], &["image/", "video/webm", "video/mp4"]),
    (
        &["avif", "bmp", "ico", "jpeg", "jpg", "pict", "png", "svg", "svgz", "tif", "tiff", "webp"],
        &["image/"],
    ),
    (
        &["eot", "otf", "ttf", "woff", "woff2"],
        &["font/", "application/font", "application/x-font", "application/vnd.ms-fontobject"],
    ),
    (&["avi", "mkv", "mov", "mp4", "ogv", "webm"], &["video/"]),
    (&["aac", "flac", "m4a", "mid", "midi", "mp3", "ogg", "wav"], &["audio/", "video/", "application/ogg"]),
    (&["pdf"], &["application/pdf"]),
    (&["ps"], &["application/postscript"]),
    (&["csv"], &["text/csv"]),
    (&["txt"], &["text/plain"]),
    (&["xml"], &["application/xml", "text/xml"]),
    (
        &[
            "7z", "apk", "bin", "bz2", "class", "dmg", "doc", "docx", "ejs", "exe", "gz", "iso", "jar",
            "pls", "ppt", "pptx", "rar", "swf", "tar", "xls", "xlsx", "zip", "zst",
        ],
        &["application/"],
    ),
];

/// What any file may have.
const ANY_FILE: &str = "application/octet-stream";
/// Types of pages that a browser shows, which no such file has.
const PAGES: &[&str] = &["application/json", "application/xhtml+xml", "application/xml"];

/// Whether the media type of a response is one that the extension of the path allows; a path without a known extension
/// allows all.
pub(super) fn is_sound(path: &[u8], response: &HeaderMap) -> bool {
    let Some(types) = extension(path).and_then(|extension| types(&extension)) else { return true };
    let mut values = response.get_all(header::CONTENT_TYPE).iter();
    let value = values.next().map_or(&b""[..], |value| value.as_bytes());
    let media_type = String::from_utf8_lossy(body::media_type(value)).to_ascii_lowercase();
    let is_allowed = types.iter().any(|known| media_type.starts_with(known));
    let is_page = types.contains(&"application/") && PAGES.contains(&media_type.as_str());
    values.next().is_none() && (media_type == ANY_FILE || is_allowed && !is_page)
}

fn types(extension: &str) -> Option<&'static [&'static str]> {
    TYPES.iter().find(|(extensions, _)| extensions.contains(&extension)).map(|(_, types)| *types)
}

/// The extension of the last segment of a path in any spelling, in lower case.
fn extension(path: &[u8]) -> Option<String> {
    let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
    let decoded: Vec<u8> = percent_decode(path).collect();
    let segment = decoded.rsplit(|byte| matches!(byte, b'/' | b'\\')).next()?;
    let after =
        segment.rsplitn(2, |byte| *byte == b'.').next().filter(|after| after.len() < segment.len())?;
    let name: String =
        after.iter().take_while(|byte| byte.is_ascii_alphanumeric()).map(|byte| char::from(*byte)).collect();
    Some(name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_types_agree() {
        for (path, content_type, expected) in [
            ("/a.css", "text/css; charset=utf-8", true),
            ("/a.CSS", "TEXT/CSS", true),
            ("/account/x.css", "text/html", false),
            ("/account/x.css?a.b=c", "text/html", false),
            ("/account%2Fx%2Ecss", "text/html", false),
            ("/account;x.css", "text/html", false),
            ("/account%0a.css", "text/html", false),
            ("/account%3f.css", "text/html", false),
            ("/account/x.css%00", "text/html", false),
            ("/account/x.css;a", "text/html", false),
            ("/a.js", "application/javascript", true),
            ("/a.js", "application/json", false),
            ("/a.jpg", "image/webp", true),
            ("/a.gif", "video/mp4", true),
            ("/a.png", "text/html", false),
            ("/a.woff2", "font/woff2", true),
            ("/a.zip", "application/zip", true),
            ("/a.zip", "application/json", false),
            ("/a.zip", "application/octet-stream", true),
            ("/a.css", "application/octet-stream", true),
            ("/a.css", "", false),
            ("/account", "text/html", true),
            ("/a.html", "text/html", true),
            ("/a.b.c/d", "text/html", true),
            ("/a.", "text/html", true),
        ] {
            let mut headers = HeaderMap::new();
            if !content_type.is_empty() {
                headers.insert(header::CONTENT_TYPE, content_type.parse().unwrap());
            }
            assert_eq!(is_sound(path.as_bytes(), &headers), expected, "{path} {content_type}");
        }
        let mut headers = HeaderMap::new();
        headers.append(header::CONTENT_TYPE, "text/css".parse().unwrap());
        headers.append(header::CONTENT_TYPE, "text/html".parse().unwrap());
        assert!(!is_sound(b"/a.css", &headers), "a browser may take the second");
    }
}
