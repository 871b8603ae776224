//! Queries as messages have them (RFC 1035 section 4.1, RFC 6891): one question, and what the client can take.

use crate::message_record::{HEADER_BYTES, MessageRecord, split_name};
use crate::name::{MAX_LABEL_BYTES, MAX_WIRE_BYTES};
use crate::tsig::{TSIG, TsigRecord};

/// What a response over UDP has at most without EDNS.
pub const PLAIN_UDP_BYTES: usize = 512;
/// Types that ask for a zone.
pub(crate) const IXFR: u16 = 251;
pub(crate) const AXFR: u16 = 252;
const OPT: u16 = 41;
/// The option of cookies (RFC 7873).
const COOKIE: u16 = 10;
/// The option of padding (RFC 7830).
const PADDING: u16 = 12;
const EDNS_DO: u8 = 0x80;

/// Codes of responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rcode {
    NoError = 0,
    FormErr = 1,
    ServFail = 2,
    NxDomain = 3,
    NotImp = 4,
    Refused = 5,
    NotAuth = 9,
    BadVers = 16,
    BadCookie = 23,
}

impl Rcode {
    pub const ALL: [Self; 9] = [
        Self::NoError,
        Self::FormErr,
        Self::ServFail,
        Self::NxDomain,
        Self::NotImp,
        Self::Refused,
        Self::NotAuth,
        Self::BadVers,
        Self::BadCookie,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::NoError => "NOERROR",
            Self::FormErr => "FORMERR",
            Self::ServFail => "SERVFAIL",
            Self::NxDomain => "NXDOMAIN",
            Self::NotImp => "NOTIMP",
            Self::Refused => "REFUSED",
            Self::NotAuth => "NOTAUTH",
            Self::BadVers => "BADVERS",
            Self::BadCookie => "BADCOOKIE",
        }
    }
}

/// A query that has been read.
#[derive(Debug)]
pub struct Query<'p> {
    pub(crate) id: [u8; 2],
    pub(crate) is_recursion_desired: bool,
    pub(crate) is_checking_disabled: bool,
    /// The question as it was sent: name, type and class.
    pub(crate) question: &'p [u8],
    /// The name in lower case, padded with zeros.
    name: [u8; MAX_WIRE_BYTES],
    name_bytes: usize,
    pub query_type: u16,
    pub class: u16,
    pub edns: Option<Edns<'p>>,
    /// Whether it says that a zone has changed (RFC 1996).
    pub is_notify: bool,
    pub(crate) tsig: Option<TsigRecord<'p>>,
}

/// The client's EDNS options.
#[derive(Clone, Copy, Debug)]
pub struct Edns<'p> {
    /// What it takes over UDP.
    pub udp_bytes: u16,
    pub version: u8,
    /// Whether it wants signatures.
    pub is_dnssec_ok: bool,
    /// Whether it pads what it sends (RFC 7830).
    pub is_padded: bool,
    /// The client's cookie, followed by the server's if it has one.
    pub cookie: Option<&'p [u8]>,
}

/// Why there is no query to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoQuery {
    /// Nothing is answered: it is no query, or too short to be answered.
    Silence,
    /// The code is answered, without a question.
    Refuse(Rcode),
}

impl<'p> Query<'p> {
    /// Reads a message.
    ///
    /// # Errors
    /// [`NoQuery`] if there is no question to answer.
    pub fn read(packet: &'p [u8]) -> Result<Self, NoQuery> {
        let malformed = NoQuery::Refuse(Rcode::FormErr);
        let (header, behind) = packet.split_first_chunk::<HEADER_BYTES>().ok_or(NoQuery::Silence)?;
        let [id0, id1, flags0, flags1, counts @ ..] = *header;
        if flags0 & 0x80 != 0 {
            return Err(NoQuery::Silence);
        }
        let is_notify = flags0 & 0x78 == 4 << 3;
        if flags0 & 0x78 != 0 && !is_notify {
            return Err(NoQuery::Refuse(Rcode::NotImp));
        }
        let [q0, q1, an0, an1, ns0, ns1, ar0, ar1] = counts;
        let [questions, answers, authorities, additional] =
            [[q0, q1], [an0, an1], [ns0, ns1], [ar0, ar1]].map(u16::from_be_bytes);
        // A query for a transfer has the record that the client has in its second section; others have nothing there.
        // A message that a zone has changed may have its start of authority as an answer.
        if questions != 1 || answers > u16::from(is_notify) || authorities > 1 || additional > 3 {
            return Err(malformed);
        }
        let mut name = [0; MAX_WIRE_BYTES];
        let name_bytes = question_name(behind, &mut name).ok_or(malformed)?;
        let (question, mut rest) = behind.split_at_checked(name_bytes + 4).ok_or(malformed)?;
        let short = |at: usize| {
            question.get(at..at + 2).map_or(0, |bytes| bytes.iter().fold(0, |n, b| n << 8 | u16::from(*b)))
        };
        let (query_type, class) = (short(name_bytes), short(name_bytes + 2));
        let (mut edns, mut tsig) = (None, None);
        let before_additional = answers + authorities;
        for nth in 0..before_additional + additional {
            let before = rest;
            let record = MessageRecord::read(rest).ok_or(malformed)?;
            rest = record.behind;
            match record.record_type() {
                OPT if nth < before_additional || edns.is_some() || !record.is_at_root() => {
                    return Err(malformed);
                }
                OPT => edns = Some(edns_of(&record).ok_or(malformed)?),
                // It is the last (RFC 8945 section 5.1).
                TSIG if nth + 1 != before_additional + additional || nth < before_additional => {
                    return Err(malformed);
                }
                TSIG => tsig = Some(signature(&record, packet, before).ok_or(malformed)?),
                _ => {}
            }
        }
        if !rest.is_empty() {
            return Err(malformed);
        }
        Ok(Self {
            id: [id0, id1],
            is_recursion_desired: flags0 & 1 != 0,
            is_checking_disabled: flags1 & 0x10 != 0,
            question,
            name,
            name_bytes,
            query_type,
            class,
            edns,
            is_notify,
            tsig,
        })
    }

    /// The name that is asked for, in wire form and lower case.
    pub fn name(&self) -> &[u8] {
        self.name.get(..self.name_bytes).unwrap_or(&[])
    }

    /// Whether it is about signatures too.
    pub fn is_dnssec_ok(&self) -> bool {
        self.edns.is_some_and(|edns| edns.is_dnssec_ok)
    }
}

/// Copies a name, in lower case, to `name`, and returns its bytes. A question has no pointers.
fn question_name(wire: &[u8], name: &mut [u8; MAX_WIRE_BYTES]) -> Option<usize> {
    let mut at = 0;
    loop {
        let length = usize::from(*wire.get(at)?);
        if length > MAX_LABEL_BYTES {
            return None;
        }
        let end = at + 1 + length;
        let (from, to) = (wire.get(at..end)?, name.get_mut(at..end)?);
        to.copy_from_slice(from);
        if length == 0 {
            // A length is at most 63, below every letter.
            name.get_mut(..end)?.make_ascii_lowercase();
            return Some(end);
        }
        at = end;
    }
}

/// Reads the TSIG record of `packet`; `wire` is the part of the packet from that record on.
fn signature<'p>(record: &MessageRecord<'p>, packet: &'p [u8], wire: &'p [u8]) -> Option<TsigRecord<'p>> {
    let (name, _) = split_name(wire)?;
    let signed = packet.get(..packet.len() - wire.len())?;
    (record.class() == [0, 255]).then(|| TsigRecord::read(signed, name, record.rdata())).flatten()
}

fn edns_of<'p>(record: &MessageRecord<'p>) -> Option<Edns<'p>> {
    let [_, version, flags, _] = record.ttl;
    let (mut cookie, mut is_padded) = (None, false);
    let mut rest = record.rdata();
    while !rest.is_empty() {
        let ([c0, c1, n0, n1], behind) = rest.split_first_chunk::<4>()?;
        let (value, behind) = behind.split_at_checked(usize::from(u16::from_be_bytes([*n0, *n1])))?;
        match u16::from_be_bytes([*c0, *c1]) {
            // RFC 7873 section 4.
            COOKIE if !(value.len() == 8 || (16..=40).contains(&value.len())) => return None,
            COOKIE => cookie = cookie.or(Some(value)),
            PADDING => is_padded = true,
            _ => {}
        }
        rest = behind;
    }
    Some(Edns {
        udp_bytes: u16::from_be_bytes(record.class()),
        version,
        is_dnssec_ok: flags & EDNS_DO != 0,
        is_padded,
        cookie,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Name;

    /// A query as a stub resolver sends it; `edns` are the bytes of an OPT record.
    pub(crate) fn packet(name: &str, query_type: u16, edns: &[u8]) -> Vec<u8> {
        let mut packet = vec![0xAB, 0xCD, 1, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(!edns.is_empty())];
        packet.extend(Name::parse(name, None).unwrap().wire());
        packet.extend(query_type.to_be_bytes());
        packet.extend([0, 1]);
        packet.extend(edns);
        packet
    }

    /// An OPT record with a UDP size, the DO bit and options.
    pub(crate) fn opt(udp_bytes: u16, is_dnssec_ok: bool, options: &[u8]) -> Vec<u8> {
        let [b0, b1] = udp_bytes.to_be_bytes();
        let mut opt = vec![0, 0, 41, b0, b1, 0, 0, if is_dnssec_ok { 0x80 } else { 0 }, 0, 0];
        opt.push(u8::try_from(options.len()).unwrap());
        opt.extend(options);
        opt
    }

    #[test]
    fn queries_are_read() {
        let query = packet("WWW.Example.com", 1, &opt(1232, true, b"\0\x0a\0\x0812345678"));
        let read = Query::read(&query).unwrap();
        assert_eq!(read.name(), b"\x03www\x07example\x03com\0");
        assert_eq!((read.query_type, read.class, read.is_recursion_desired), (1, 1, true));
        let edns = read.edns.unwrap();
        assert_eq!((edns.udp_bytes, edns.is_dnssec_ok, edns.cookie), (1232, true, Some(&b"12345678"[..])));
    }

    #[test]
    fn what_is_no_query_is_refused_or_passed_over_in_silence() {
        let sound = packet("a.example", 1, &opt(1232, false, &[]));
        for length in 0..sound.len() {
            let outcome = Query::read(&sound[..length]).map(|_| ()).unwrap_err();
            let expected = if length < 12 { NoQuery::Silence } else { NoQuery::Refuse(Rcode::FormErr) };
            assert_eq!(outcome, expected, "{length} bytes");
        }
        let with = |at: usize, value: u8| {
            let mut packet = sound.clone();
            packet[at] = value;
            Query::read(&packet).map(|_| ()).unwrap_err()
        };
        assert_eq!(with(2, 0x80), NoQuery::Silence, "a response");
        assert_eq!(with(2, 0x28), NoQuery::Refuse(Rcode::NotImp), "an update");
        for (at, value, what) in [
            (5, 0, "no question"),
            (5, 2, "two questions"),
            (7, 1, "an answer"),
            (9, 2, "authorities"),
            (11, 9, "many records"),
            (12, 0xC0, "a pointer in the question"),
            (12, 64, "a label that is too long"),
        ] {
            assert_eq!(with(at, value), NoQuery::Refuse(Rcode::FormErr), "{what}");
        }
        let mut long = vec![0; 12];
        long[5] = 1;
        long.extend([1, b'a'].repeat(127));
        long.extend([0, 0, 1, 0, 1]);
        assert!(Query::read(&long).is_ok(), "255 bytes");
        long.splice(12..12, [1, b'a']);
        assert!(Query::read(&long).is_err(), "257 bytes");
        let doubled = [sound.clone(), opt(512, false, &[])].concat();
        let mut doubled = doubled;
        doubled[11] = 2;
        assert!(Query::read(&doubled).is_err());
        let cookie = packet("a.example", 1, &opt(1232, false, b"\0\x0a\0\x0112"));
        assert!(Query::read(&cookie).is_err(), "a cookie of another length");
    }
}
