//! The host a request is for, in the form routing compares.

use super::Refused;

/// Host of an authority, without its port, lower case, without a final dot. Writes into `buffer`
/// only if something must change.
///
/// # Errors
/// If it is not a host name or an address.
pub fn normal_form<'b>(authority: &'b str, buffer: &'b mut String) -> Result<&'b str, Refused> {
    let host = match authority.strip_prefix('[') {
        // An IPv6 address in brackets (RFC 3986 section 3.2.2).
        Some(rest) => {
            let (address, port) = rest.split_once(']').ok_or(Refused::BadHost)?;
            check_port(port.strip_prefix(':'))?;
            address.parse::<std::net::Ipv6Addr>().map_err(|_| Refused::BadHost)?;
            address
        }
        None => {
            let (host, port) =
                authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
            check_port(port)?;
            host.strip_suffix('.').unwrap_or(host)
        }
    };
    let sound = !host.is_empty()
        && host.len() <= model::host_name::MAX_NAME_BYTES
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b':'));
    if !sound {
        return Err(Refused::BadHost);
    }
    if host.bytes().any(|b| b.is_ascii_uppercase()) {
        buffer.clear();
        buffer.extend(host.chars().map(|c| c.to_ascii_lowercase()));
        return Ok(buffer);
    }
    Ok(host)
}

fn check_port(port: Option<&str>) -> Result<(), Refused> {
    match port {
        Some(port) if !port.is_empty() && port.parse::<u16>().is_err() => Err(Refused::BadHost),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_lose_port_case_and_dot() {
        let mut buffer = String::new();
        for (authority, host) in [
            ("a.example", "a.example"),
            ("A.Example.:8080", "a.example"),
            ("192.0.2.1:80", "192.0.2.1"),
            ("[2001:db8::1]:443", "2001:db8::1"),
        ] {
            assert_eq!(normal_form(authority, &mut buffer), Ok(host));
        }
        for authority in ["", ":80", "a b", "a:99999", "a/b", "[::1", "u@h", "é"] {
            assert_eq!(normal_form(authority, &mut buffer), Err(Refused::BadHost), "{authority}");
        }
    }
}
