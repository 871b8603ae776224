//! Cookies by which clients show that they are where they say (RFC 7873, RFC 9018).

use std::hash::Hasher;
use std::net::IpAddr;

use siphasher::sip::SipHasher24;

/// How long a cookie is taken, in seconds (RFC 9018 section 4.3).
const MAX_AGE: u32 = 3_600;
/// How far the clock of another server may be ahead.
const MAX_AHEAD: u32 = 300;

/// Makes and checks cookies with a key.
#[derive(Clone)]
pub struct Cookies {
    key: [u8; 16],
}

impl Cookies {
    pub fn new(key: [u8; 16]) -> Self {
        Self { key }
    }

    /// The server's part for a client's of 8 bytes.
    pub(crate) fn make(&self, cookie: [u8; 8], client: IpAddr, now: u32) -> [u8; 16] {
        let mut made = [0; 16];
        made[0] = 1;
        made[4..8].copy_from_slice(&now.to_be_bytes());
        let hash = self.hash(cookie, [made[0], made[1], made[2], made[3]], now, client);
        made[8..].copy_from_slice(&hash.to_le_bytes());
        made
    }

    /// Whether a cookie, the client's part and the server's, is one of this server.
    pub(crate) fn knows(&self, cookie: &[u8], client: IpAddr, now: u32) -> bool {
        let Ok([c0, c1, c2, c3, c4, c5, c6, c7, v, r0, r1, r2, t0, t1, t2, t3, hash @ ..]) =
            <[u8; 24]>::try_from(cookie)
        else {
            return false;
        };
        let made_at = u32::from_be_bytes([t0, t1, t2, t3]);
        let is_recent = now.wrapping_sub(made_at) <= MAX_AGE || made_at.wrapping_sub(now) <= MAX_AHEAD;
        let expected = self.hash([c0, c1, c2, c3, c4, c5, c6, c7], [v, r0, r1, r2], made_at, client);
        v == 1 && is_recent && expected == u64::from_le_bytes(hash)
    }

    fn hash(&self, cookie: [u8; 8], head: [u8; 4], made_at: u32, client: IpAddr) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write(&cookie);
        hasher.write(&head);
        hasher.write(&made_at.to_be_bytes());
        match client {
            IpAddr::V4(client) => hasher.write(&client.octets()),
            IpAddr::V6(client) => hasher.write(&client.octets()),
        }
        hasher.finish()
    }
}

impl std::fmt::Debug for Cookies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cookies")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_known_from_their_client_for_a_while() {
        // RFC 9018, appendix A.1.
        let key =
            [0xe5, 0xe9, 0x73, 0xe5, 0xa6, 0xb2, 0xa4, 0x3f, 0x48, 0xe7, 0xdc, 0x84, 0x9e, 0x37, 0xbf, 0xcf];
        let cookies = Cookies::new(key);
        let (client, now): (IpAddr, _) = ("198.51.100.100".parse().unwrap(), 1_559_731_985);
        let part = [0x24, 0x64, 0xc4, 0xab, 0xcf, 0x10, 0xc9, 0x57];
        let made = cookies.make(part, client, now);
        assert_eq!(
            made,
            [1, 0, 0, 0, 0x5c, 0xf7, 0x9f, 0x11, 0x1f, 0x81, 0x30, 0xc3, 0xee, 0xe2, 0x94, 0x80]
        );
        let whole = [&part[..], &made].concat();
        assert!(
            cookies.knows(&whole, client, now + MAX_AGE) && cookies.knows(&whole, client, now - MAX_AHEAD)
        );
        assert!(
            !cookies.knows(&whole, client, now + MAX_AGE + 1)
                && !cookies.knows(&whole, client, now - MAX_AHEAD - 1)
        );
        assert!(!cookies.knows(&whole, "198.51.100.101".parse().unwrap(), now));
        assert!(!cookies.knows(&part, client, now) && !Cookies::new([0; 16]).knows(&whole, client, now));
    }
}
