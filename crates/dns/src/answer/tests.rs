//! Answers to questions over one zone.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

use super::*;
use crate::query::tests::{opt, packet};
use crate::tsig::TsigAlgorithm;
use crate::zone::{NodeRecords, Soa};
use crate::zone_file::{self, EntryData};
use crate::{Name, Rdata};

const ZONE: &str = "\
    @ 300 MX 10 mail\n@ 300 A 192.0.2.1\nwww 60 CNAME web\nweb 60 A 192.0.2.2\nweb 60 A 192.0.2.3\n\
    mail A 192.0.2.4\nout CNAME www.example.org.\na.b.c TXT x\n*.wild TXT wild\nreal.wild A 192.0.2.5\n\
    sub NS ns1.sub\nsub NS ns.example.org.\nsub DS 1 13 2 aabb\nns1.sub A 192.0.2.6\nns1.sub AAAA 2001:db8::6\n\
    loop1 CNAME loop2\nloop2 CNAME loop1\nchain CNAME x.wild\ntosub CNAME deep.sub\ngone CNAME nothing\n\
    *.alias CNAME web\nboth CNAME web\nboth TXT beside\n";

pub(super) fn name(text: &str) -> Name {
    Name::parse(text, None).unwrap()
}

fn zone(text: &str) -> DnsZone {
    let apex = name("example.com");
    let soa = Soa {
        primary: name("ns1.edge.example"),
        mailbox: name("dns.edge.example"),
        serial: 7,
        refresh: 1,
        retry: 2,
        expire: 3,
        minimum: 60,
        ttl: 3600,
    };
    let mut zone = DnsZone::new(apex.clone(), &soa, &[name("ns1.edge.example")], 86_400);
    let mut nodes: BTreeMap<Name, Vec<(u32, Cow<'_, Rdata>)>> = BTreeMap::new();
    for entry in zone_file::parse(text, &apex).unwrap() {
        let EntryData::Record(rdata) = entry.data else { panic!("{entry:?}") };
        nodes.entry(entry.owner).or_default().push((entry.ttl.unwrap_or(300), Cow::Owned(rdata)));
    }
    for (name, records) in nodes {
        zone.set(&NodeRecords { name: &name, records });
    }
    zone
}

fn catalog(zone: DnsZone) -> Catalog {
    let mut catalog = Catalog::default();
    catalog.insert(zone.apex().clone().wire(), Arc::new(zone));
    catalog
}

fn ask<'c>(catalog: &'c Catalog, packet: &[u8], carrier: Carrier) -> (Answered<'c>, Vec<u8>) {
    let cookies = Cookies::new([7; 16]);
    let client = "192.0.2.200".parse().unwrap();
    let transport = Transport { carrier, cookies: &cookies, client, now: 1_000_000 };
    let mut buffer = vec![0; TCP_BYTES];
    let answered = answer(catalog, packet, &transport, &mut buffer);
    buffer.truncate(answered.bytes);
    (answered, buffer)
}

fn name_at(message: &[u8], at: &mut usize) -> String {
    let (mut place, mut moved, mut text) = (*at, false, String::new());
    loop {
        let length = usize::from(message[place]);
        if length >= 192 {
            if !moved {
                *at = place + 2;
            }
            moved = true;
            let target = (length & 63) << 8 | usize::from(message[place + 1]);
            assert!(target < place, "pointers lead back");
            place = target;
            continue;
        }
        if length == 0 {
            if !moved {
                *at = place + 1;
            }
            return text;
        }
        let label = String::from_utf8_lossy(&message[place + 1..place + 1 + length]);
        let _ = write!(text, "{label}.");
        place += 1 + length;
    }
}

/// Flags and records of a message, without OPT: `aa/tc rcode | answers | authorities | additional`.
fn shown(message: &[u8]) -> String {
    let short = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
    let mut at = 12;
    if short(4) == 1 {
        name_at(message, &mut at);
        at += 4;
    }
    let flags = format!(
        "{}{}",
        if message[2] & 4 > 0 { "aa" } else { "" },
        if message[2] & 2 > 0 { "tc" } else { "" }
    );
    let mut text = format!("{flags} {}", message[3] & 15);
    for section in 0..3 {
        text.push_str(" |");
        for _ in 0..short(6 + 2 * section) {
            let owner = name_at(message, &mut at);
            let (record_type, ttl) = (short(at), short(at + 6));
            let length = usize::from(short(at + 8));
            at += 10;
            let word = RecordType::of_number(record_type)
                .map_or(format!("TYPE{record_type}"), |known| known.word().to_owned());
            if record_type != 41 {
                let _ = write!(text, " {owner} {ttl} {word}");
            }
            let mut end = at;
            if matches!(word.as_str(), "CNAME" | "NS") {
                let _ = write!(text, " {}", name_at(message, &mut end));
            } else if word == "A" {
                let _ = write!(text, " {}", message[at + 3]);
            }
            at += length;
        }
    }
    assert_eq!(at, message.len(), "{text}");
    text
}

#[test]
fn answers_are_those_of_the_standards() {
    let catalog = catalog(zone(ZONE));
    let soa = "example.com. 60 TYPE6";
    for (asked, query_type, expected) in [
        ("example.com", 1, "aa 0 | example.com. 300 A 1 | |".to_owned()),
        ("EXAMPLE.com", 15, "aa 0 | EXAMPLE.com. 300 MX | |".to_owned()),
        ("example.com", 6, "aa 0 | example.com. 3600 TYPE6 | |".to_owned()),
        ("example.com", 2, "aa 0 | example.com. 20864 NS ns1.edge.example. | |".to_owned()),
        ("example.com", 28, format!("aa 0 | | {soa} |")),
        ("nothing.example.com", 1, format!("aa 3 | | {soa} |")),
        ("b.c.example.com", 1, format!("aa 0 | | {soa} |")),
        ("x.a.b.c.example.com", 1, format!("aa 3 | | {soa} |")),
        ("www.example.com", 1, "aa 0 | www.example.com. 60 CNAME web.example.com. web.example.com. 60 A 3 web.example.com. 60 A 2 | |".to_owned()),
        ("www.example.com", 5, "aa 0 | www.example.com. 60 CNAME web.example.com. | |".to_owned()),
        ("www.example.com", 16, format!("aa 0 | www.example.com. 60 CNAME web.example.com. | {soa} |")),
        ("out.example.com", 1, "aa 0 | out.example.com. 300 CNAME www.example.org. | |".to_owned()),
        ("gone.example.com", 1, format!("aa 3 | gone.example.com. 300 CNAME nothing.example.com. | {soa} |")),
        ("x.wild.example.com", 16, "aa 0 | x.wild.example.com. 300 TXT | |".to_owned()),
        ("x.y.wild.example.com", 16, "aa 0 | x.y.wild.example.com. 300 TXT | |".to_owned()),
        ("x.wild.example.com", 1, format!("aa 0 | | {soa} |")),
        ("real.wild.example.com", 16, format!("aa 0 | | {soa} |")),
        ("x.real.wild.example.com", 16, format!("aa 3 | | {soa} |")),
        ("wild.example.com", 16, format!("aa 0 | | {soa} |")),
        ("*.wild.example.com", 16, "aa 0 | *.wild.example.com. 300 TXT | |".to_owned()),
        ("chain.example.com", 16, "aa 0 | chain.example.com. 300 CNAME x.wild.example.com. x.wild.example.com. 300 TXT | |".to_owned()),
        ("q.alias.example.com", 1, "aa 0 | q.alias.example.com. 300 CNAME web.example.com. web.example.com. 60 A 3 web.example.com. 60 A 2 | |".to_owned()),
        ("both.example.com", 16, "aa 0 | both.example.com. 300 TXT | |".to_owned()),
        ("www.example.com", 255, "aa 0 | www.example.com. 60 CNAME web.example.com. | |".to_owned()),
        ("example.com", 255, "aa 0 | example.com. 3600 TYPE13 | |".to_owned()),
        ("b.c.example.com", 255, format!("aa 0 | | {soa} |")),
        ("sub.example.com", 43, "aa 0 | sub.example.com. 300 DS | |".to_owned()),
        ("sub.example.com", 1, " 0 | | sub.example.com. 300 NS ns.example.org. sub.example.com. 300 NS ns1.sub.example.com. | ns1.sub.example.com. 300 A 6 ns1.sub.example.com. 300 AAAA".to_owned()),
        ("x.y.sub.example.com", 43, " 0 | | sub.example.com. 300 NS ns.example.org. sub.example.com. 300 NS ns1.sub.example.com. | ns1.sub.example.com. 300 A 6 ns1.sub.example.com. 300 AAAA".to_owned()),
        ("tosub.example.com", 1, "aa 0 | tosub.example.com. 300 CNAME deep.sub.example.com. | sub.example.com. 300 NS ns.example.org. sub.example.com. 300 NS ns1.sub.example.com. | ns1.sub.example.com. 300 A 6 ns1.sub.example.com. 300 AAAA".to_owned()),
        ("example.com", 43, format!("aa 0 | | {soa} |")),
        ("example.org", 1, " 5 | | |".to_owned()),
        ("example.com", 252, " 5 | | |".to_owned()),
        (".", 1, " 5 | | |".to_owned()),
    ] {
        let mut query = packet(asked, query_type, &[]);
        // As it was written.
        for (at, byte) in asked.split('.').collect::<Vec<_>>().join("\0").bytes().enumerate() {
            if byte != 0 && asked != "." {
                query[13 + at] = byte;
            }
        }
        let (_, message) = ask(&catalog, &query, Carrier::Udp);
        let expected = if expected.ends_with('|') || expected.contains("AAAA") { expected } else { format!("{expected} |") };
        assert_eq!(shown(&message).trim_end(), expected.trim_end(), "{asked} {query_type}");
        assert_eq!(message[..2], [0xAB, 0xCD]);
    }
    let (_, looped) = ask(&catalog, &packet("loop1.example.com", 1, &[]), Carrier::Udp);
    assert_eq!(u16::from_be_bytes([looped[6], looped[7]]), 8, "a loop ends");
    let chaos = {
        let mut chaos = packet("version.bind", 16, &[]);
        let end = chaos.len();
        chaos[end - 1] = 3;
        chaos
    };
    assert_eq!(ask(&catalog, &chaos, Carrier::Udp).0.rcode, Rcode::Refused);
}

#[test]
fn answers_are_as_long_as_the_client_takes() {
    let many: String = (0..100).map(|nth| format!("many 60 A 192.0.2.{nth}\n")).collect();
    let catalog = catalog(zone(&many));
    let plain = packet("many.example.com", 1, &[]);
    let (answered, message) = ask(&catalog, &plain, Carrier::Udp);
    assert!(answered.is_truncated && message.len() == plain.len());
    assert_eq!(shown(&message).trim_end(), "aatc 0 | | |");
    let (answered, message) =
        ask(&catalog, &packet("many.example.com", 1, &opt(65_535, false, &[])), Carrier::Udp);
    assert!(answered.is_truncated && message.len() == plain.len() + 11);
    let (answered, message) = ask(&catalog, &plain, Carrier::Tcp);
    assert!(!answered.is_truncated && message.len() == plain.len() + 100 * 16);
    let mut first = std::collections::BTreeSet::new();
    for id in 0..50 {
        let mut query = plain.clone();
        query[1] = id;
        let (_, message) = ask(&catalog, &query, Carrier::Tcp);
        first.insert(message[plain.len() + 15]);
    }
    assert!(first.len() > 20, "addresses take turns");
}

#[test]
fn cookies_and_versions_are_answered_and_limits_need_a_cookie() {
    let catalog = catalog(zone(ZONE));
    let sent = |options: &[u8]| packet("web.example.com", 1, &opt(1232, true, options));
    let (answered, message) = ask(&catalog, &sent(b"\0\x0a\0\x08abcdefgh"), Carrier::UdpPastLimit);
    assert!(answered.is_truncated && !answered.has_cookie);
    assert!(message.len() * 2 <= sent(b"\0\x0a\0\x08abcdefgh").len() * 3, "no more than half as much again");
    let cookie = &message[message.len() - 28..];
    let (answered, _) = ask(&catalog, &sent(cookie), Carrier::UdpPastLimit);
    assert!(!answered.is_truncated && answered.has_cookie && answered.rcode == Rcode::NoError);
    let mut newer = sent(&[]);
    let version = newer.len() - 5;
    newer[version] = 1;
    let (answered, message) = ask(&catalog, &newer, Carrier::Udp);
    assert_eq!(answered.rcode, Rcode::BadVers);
    assert_eq!(message[message.len() - 6], 1, "the upper bits of the code");
}

#[test]
fn a_badly_signed_query_is_refused_however_it_came() {
    let catalog = catalog(zone(ZONE));
    let key = TsigKey::new(name("unknown.example"), TsigAlgorithm::HmacSha256, &[7; 32]).unwrap();
    let mut signed = packet("web.example.com", 1, &[]);
    let bytes = signed.len();
    signed.resize(512, 0);
    let bytes = TsigSigner::new(&key, &[]).sign(&mut signed, bytes, 1_000_000, None).unwrap();
    signed.truncate(bytes);
    let carriers = [Carrier::Udp, Carrier::UdpPastLimit, Carrier::Tcp, Carrier::Encrypted];
    for carrier in carriers {
        let (answered, message) = ask(&catalog, &signed, carrier);
        assert_eq!(answered.rcode, Rcode::NotAuth, "{carrier:?}");
        assert!(!answered.is_truncated && message.len() <= signed.len(), "{carrier:?}");
    }
}

#[test]
fn names_come_and_go_with_those_above_them() {
    let mut zone = zone(ZONE);
    let names = zone.names();
    let set = |zone: &mut DnsZone, text: &str, records: &[&str]| {
        let records =
            records.iter().map(|text| (60, Cow::Owned(Rdata::parse(RecordType::A, text, None).unwrap())));
        zone.set(&NodeRecords { name: &name(text), records: records.collect() });
    };
    let before = zone.clone();
    set(&mut zone, "x.y.z.example.com", &["192.0.2.9"]);
    assert_eq!(zone.names(), names + 3);
    set(&mut zone, "z.example.com", &["192.0.2.9"]);
    set(&mut zone, "x.y.z.example.com", &[]);
    assert_eq!(zone.names(), names + 1);
    set(&mut zone, "z.example.com", &[]);
    set(&mut zone, "a.b.c.example.com", &[]);
    assert_eq!((zone.names(), before.names()), (names - 3, names));
    set(&mut zone, "outside.example.org", &["192.0.2.9"]);
    assert_eq!(zone.names(), names - 3);
    let catalog = catalog(zone);
    let gone = ask(&catalog, &packet("b.c.example.com", 1, &[]), Carrier::Udp).0;
    assert_eq!(gone.rcode, Rcode::NxDomain);
}

#[test]
fn encrypted_answers_are_padded_if_the_client_pads() {
    let catalog = catalog(zone(ZONE));
    let mut ran = 0;
    for (name, cookie) in [("www", &b""[..]), ("nothing", b"\0\x0a\0\x08abcdefgh"), ("mail", b"")] {
        let padded = [b"\0\x0c\0\x02\0\0", cookie].concat();
        let question = format!("{name}.example.com");
        let sent = |options: &[u8]| packet(&question, 1, &opt(1_232, false, options));
        let (plain, _) = ask(&catalog, &sent(cookie), Carrier::Encrypted);
        let (answered, message) = ask(&catalog, &sent(&padded), Carrier::Encrypted);
        assert!(plain.bytes < 468 && answered.bytes == 468 && answered.rcode == plain.rcode);
        assert!(message.ends_with(&[0; 64]));
        let (over_tcp, _) = ask(&catalog, &sent(&padded), Carrier::Tcp);
        assert_eq!(over_tcp.bytes, plain.bytes);
        ran += 1;
    }
    assert_eq!(ran, 3);
}

#[test]
fn the_lowest_ttl_of_a_message_is_found() {
    let catalog = catalog(zone(ZONE));
    for (name, expected) in [("www", Some(60)), ("mail", Some(300)), ("nothing", Some(60)), ("x.y", Some(60))]
    {
        let query = packet(&format!("{name}.example.com"), 1, &opt(1_232, false, &[]));
        let (_, message) = ask(&catalog, &query, Carrier::Tcp);
        assert_eq!(lowest_ttl(&message), expected, "{name}");
        for cut in 0..message.len() - 11 {
            assert!(lowest_ttl(&message[..cut]).is_none_or(|ttl| Some(ttl) >= expected));
        }
    }
    assert_eq!(lowest_ttl(&[0; 12]), None);
}

#[test]
fn only_primaries_notify_whatever_carries_it() {
    let mut zone = zone(ZONE);
    let primary =
        crate::TransferPolicy { unsigned: vec!["192.0.2.200/32".parse().unwrap()], ..Default::default() };
    let stranger =
        crate::TransferPolicy { unsigned: vec!["192.0.2.1/32".parse().unwrap()], ..Default::default() };
    let mut notify = packet("example.com", 6, &[]);
    notify[2] = 0x24;
    for (policy, expected) in [(Some(primary), true), (Some(stranger), false), (None, false)] {
        zone.set_primaries(policy.map(Arc::new), false);
        let catalog = catalog(zone.clone());
        for carrier in [Carrier::Udp, Carrier::UdpPastLimit, Carrier::Tcp, Carrier::Encrypted] {
            let is_judged = carrier != Carrier::UdpPastLimit;
            assert_eq!(ask(&catalog, &notify, carrier).0.is_notified, expected && is_judged, "{carrier:?}");
        }
    }
}
