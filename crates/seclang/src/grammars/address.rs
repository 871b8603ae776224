//! Addresses: which hosts a URL in a value reaches, as the libraries that fetch it may read it.

use smallvec::SmallVec;

use super::host::{MAX_HOST_BYTES, Reach, host};
use super::{fragments_with, spans_lines};

/// What every URL and address that is looked for holds one of.
pub(crate) const MARKS: &[&[u8]] = &[b":/", b"//", b"\\\\", b"/\\", b"\\/", b"169.254.", b"metadata."];

/// Ports of services that speak another protocol than HTTP, or that nobody but programs asks: FTP, SSH, Telnet, mail,
/// Docker, databases, caches.
const OTHER_PORTS: &[u16] = &[21, 22, 23, 25, 110, 143, 2375, 2376, 3306, 5432, 6379, 11211, 27017];

/// What the URLs of a value reach. Texts may speak of addresses: documents reach nothing.
pub(crate) fn reach(value: &[u8]) -> Reach {
    let mut marks: SmallVec<[usize; 16]> =
        MARKS.iter().flat_map(|mark| memchr::memmem::find_iter(value, *mark)).collect();
    if marks.is_empty() {
        return Reach::default();
    }
    marks.sort_unstable();
    let parts = fragments_with(value, &marks);
    std::iter::once(value)
        .chain(parts)
        .map(|part| reach_of_part(part.trim_ascii()))
        .fold(Reach::default(), Reach::or)
}

fn reach_of_part(value: &[u8]) -> Reach {
    let mut found = Reach::default();
    if value.starts_with(b"//") || value.starts_with(b"\\\\") || value.starts_with(b"/\\") {
        found = found.or(authority(value.get(2..).unwrap_or_default()));
    }
    let (mut from, mut checked, mut is_spoken_of) = (0, 0, false);
    while let Some(at) = value.get(from..).and_then(scheme_end) {
        from += at + 2;
        let before = value.get(checked..from).unwrap_or_default();
        is_spoken_of |= before.iter().any(|byte| *byte <= b' ' || *byte == b'(');
        checked = from;
        let rest = value.get(from - 1..).unwrap_or_default();
        let slashes = rest.iter().take_while(|byte| matches!(byte, b'/' | b'\\')).count();
        let (slashes, rest) = rest.split_at(slashes);
        // JSON may have a backslash before each.
        let is_usual = matches!(slashes, b"//" | b"\\/\\/");
        let scheme = value.get(..from - 2).unwrap_or_default();
        let named = authority_of(rest);
        let is_odd = !is_usual || is_web(scheme) && asks_for_what_browsers_do_not(named);
        let reach = authority(rest).disguised_if(is_odd);
        // People and programs write of machines of their own, but not of these.
        found = found.or(match is_spoken_of {
            true => Reach {
                metadata: reach.metadata,
                disguised: reach.disguised,
                mentioned: reach.is_inside() && !(reach.loopback && is_tried_out(named)),
                ..Reach::default()
            },
            false => reach,
        });
    }
    found.disguised |= names_this_machine_without_scheme(value);
    // Nobody needs a link to name this one.
    if is_metadata_literal(value) {
        found.metadata = true;
    }
    // An address in other digits has no spaces, but reads like a text otherwise.
    let is_text = found != Reach::default() && value.contains(&b' ') && spans_lines(value);
    if is_text { Reach::default() } else { found }
}

/// Whether a word of a text begins with two slashes and this machine or its metadata service: browsers and libraries
/// take the scheme that they have.
fn names_this_machine_without_scheme(text: &[u8]) -> bool {
    let begins = |at: &usize| {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        matches!(before, Some(b' ' | b'\t' | b'"' | b'\'' | b'(' | b'='))
    };
    let slashes = memchr::memmem::find_iter(text, b"//").chain(memchr::memmem::find_iter(text, br"\\"));
    slashes.filter(begins).any(|at| {
        let rest = text.get(at + 2..).unwrap_or_default();
        let named = authority_of(rest);
        // `'\\00'` is no host.
        let is_host = named.contains(&b'.') || named.first().is_some_and(|byte| !byte.is_ascii_digit());
        if !is_host || is_tried_out(named) {
            return false;
        }
        let reach = authority(rest);
        reach.loopback || reach.metadata
    })
}

/// Whether a scheme is one of the web's.
fn is_web(before_colon: &[u8]) -> bool {
    let ends = |scheme: &[u8]| {
        let at = before_colon.len().checked_sub(scheme.len());
        at.and_then(|at| before_colon.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(scheme))
    };
    ends(b"http") || ends(b"https")
}

/// Whether an authority has the port of another service, or a user name although nobody develops a server there.
fn asks_for_what_browsers_do_not(authority: &[u8]) -> bool {
    port(authority).is_some_and(|port| OTHER_PORTS.contains(&port))
        || !is_tried_out(authority) && authority.contains(&b'@')
}

/// The port of `host:port`.
fn port(authority: &[u8]) -> Option<u16> {
    let colon = memchr::memrchr(b':', authority)?;
    std::str::from_utf8(authority.get(colon + 1..)?).ok()?.parse().ok()
}

/// Whether an authority has a port that a program may open without rights: developers run what they work on there.
fn is_tried_out(authority: &[u8]) -> bool {
    port(authority).is_some_and(|port| port >= 1024)
}

/// The colon behind a scheme: before a slash, or before what browsers take for two.
fn scheme_end(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b':', text).find(|colon| {
        let behind = text.get(colon + 1..).unwrap_or_default();
        matches!(behind, [b'/', ..] | [b'\\', b'/' | b'\\', ..])
    })
}

/// Whether a word of a text is the address or the name of the metadata service.
fn is_metadata_literal(value: &[u8]) -> bool {
    let is_word = |at: usize, length: usize| {
        let before = at.checked_sub(1).and_then(|before| value.get(before));
        let after = value.get(at + length);
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'/' | b'_');
        !before.is_some_and(is_part)
            && !after.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
    };
    let mut names = ["169.254.169.254", "metadata.google.internal"].into_iter();
    names.any(|name| memchr::memmem::find_iter(value, name).any(|at| is_word(at, name.len())))
}

/// `user@host:port`: a URL behind its slashes, up to the path or to what ends the URL.
fn authority_of(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| *byte <= b' ' || b"/\\?#\"'<>,;)".contains(byte));
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// The host of `user@host:port/…`. If it is in doubt which part is the host, both are.
fn authority(text: &[u8]) -> Reach {
    let authority = authority_of(text);
    let end = authority.len();
    let authority = authority.get(..end.min(MAX_HOST_BYTES * 2)).unwrap_or_default();
    let found = authority.split(|byte| *byte == b'@').map(host).fold(Reach::default(), Reach::or);
    // `http://a.example@127.0.0.1/`: a host where a name of a user belongs.
    let has_two = authority.split(|byte| *byte == b'@').filter(|part| part.contains(&b'.')).count() > 1;
    // `http://127.0.0.1?.example.com/`: a name goes on behind its end.
    let goes_on = matches!(text.get(end..end + 2), Some([b'#' | b'?' | b'\\', b'.']));
    let found = found.disguised_if(has_two || goes_on);
    // `http://a.example#@127.0.0.1/`: some read on.
    match text.get(end..) {
        Some([b'#' | b'?' | b'\\', rest @ ..]) => match memchr::memchr(b'@', rest).filter(|at| *at < 64) {
            Some(at) => {
                found.or(authority_after(rest.get(at + 1..).unwrap_or_default())).disguised_if(at == 0)
            }
            None => found,
        },
        _ => found,
    }
}

fn authority_after(text: &[u8]) -> Reach {
    let end =
        text.iter().position(|byte| *byte <= b' ' || b"/\\?#\"'<>".contains(byte)).unwrap_or(text.len());
    host(text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn hosts() {
        for value in [
            "http://127.0.0.1/",
            "http://localhost:8080/x",
            "http://0/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://a.example@127.0.0.1/",
            "//127.0.0.1/x",
            "\\\\127.0.0.1\\x",
            "http://127.0.0.1.nip.io/",
            "http://\u{2460}\u{2461}\u{2466}.0.0.1/",
            "http://127%2e0%2e0%2e1/",
            "HTTP://LOCALHOST",
            "http:/127.0.0.1/",
            "gopher://127.0.0.1:6379/_x",
            "http://a.example#@127.0.0.1/",
            "http://x.localtest.me/",
            "http://0.0.0.0:80",
            "http://127.0.0.1.",
            "url=http://127.0.0.1",
            "http://[0:0:0:0:0:ffff:7f00:1]/",
            "http://[::]/",
        ] {
            assert!(reach(value.as_bytes()).loopback, "{value}: {:?}", reach(value.as_bytes()));
        }
        for value in [
            "http://169.254.169.254/latest/meta-data/",
            "http://metadata.google.internal/",
            "http://2852039166/",
            "http://[fd00:ec2::254]/",
            "http://0xa9fea9fe/",
            "169.254.169.254",
            "http://100.100.100.200/",
            "http://0251.0376.0251.0376/",
            "http://[::ffff:a9fe:a9fe]/",
        ] {
            assert!(reach(value.as_bytes()).metadata, "{value}");
        }
        for value in [
            "http://10.0.0.1/",
            "https://192.168.1.1",
            "http://172.16.0.9:80/",
            "http://db.svc.cluster.local/",
            "http://[fe80::1]/",
            "http://host.docker.internal/",
        ] {
            let reach = reach(value.as_bytes());
            assert!(reach.private || reach.inner, "{value}");
        }
        for value in [
            "",
            "https://example.com/169.254.1.1",
            "https://local.example.com/",
            "localhost",
            "127.0.0.1",
            "see http",
            "12:30",
            "a://",
            "http://",
            "C:/x",
            "https://127.0.0.1.example.com/",
            "mailto:a@example.com",
            "Please open http://localhost:3000 in your browser and tell me what you see on the page",
        ] {
            assert_eq!(reach(value.as_bytes()), Reach::default(), "{value}");
        }
        for value in [
            "http:/127.0.0.1/",
            "http:///127.0.0.1/",
            "http:\\\\127.0.0.1/",
            "http://127%2e0.0.1/",
            "http://a.example@127.0.0.1/",
            "http://a.example:80@10.0.0.1/",
            "http://127.0.0.1#@a.example/",
            "http://a.example#@127.0.0.1/",
            "http://[0:0:0:0:0:0:0:1]/",
            "http://[0000::1]:80/",
            "http://127.0.0.1.nip.io/",
            "http://127.0.0.1?.example.com/",
            "http://127.0.0.1%23.example.com/",
            "http://127.0.0.1:6379/",
            "http://10.0.0.1:22",
            "http://user:word@localhost/",
            "http://127.127.127.127/",
            "http://spoofed.localtest.me/",
            "//127.0.0.1/admin",
            "\\\\localhost\\share",
        ] {
            let text = format!("please have a look at {value} and tell me what you see there");
            assert!(reach(text.as_bytes()).disguised, "{text}");
        }
        for value in [
            "http://127.0.0.1:8000/",
            "http:\\/\\/127.0.0.1:3000\\/",
            "http://[::1]:8080/",
            "redis://user:word@localhost:6379/0",
            "http://localhost:3000/#/@user",
            "http://192.0.2.1/a?b=@c",
            "file:///etc/motd",
            "http:///a.example/",
            "https://a.nip.io/",
            "// localhost",
            "//localhost:8080/x",
            "\\\\192.168.1.2\\scans",
            "'\\\\0'",
            "'\\\\072'",
        ] {
            let text = format!("please have a look at {value} and tell me what you see there");
            assert_eq!(reach(text.as_bytes()), Reach::default(), "{text}");
        }
        for value in [
            "http://127.0.0.1/",
            "http:\\/\\/127.0.0.1\\/",
            "http://localhost:80/x",
            "http://[fe80::1%25eth0]/",
            "http://192.168.1.1/admin",
            "http://10.0.0.5:8080/x",
            "http://db.default.svc/",
        ] {
            let text = format!("please have a look at {value} and tell me what you see there");
            let expected = Reach { mentioned: true, ..Reach::default() };
            assert_eq!(reach(text.as_bytes()), expected, "{text}");
        }
        assert!(reach(b"http://192.0.2.1/").numeric && !reach(b"http://192.0.2.1/").private);
        assert!(reach(b"http://017700000001/").disguised && !reach(b"http://127.0.0.1/").disguised);
    }
}
