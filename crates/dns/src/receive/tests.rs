//! What is handed over against what is received.

use std::borrow::Cow;
use std::sync::Arc;

use super::*;
use crate::answer::{Carrier, Catalog, TCP_BYTES, Transport};
use crate::tsig::TsigAlgorithm;
use crate::zone::{DnsZone, NodeRecords};
use crate::{Cookies, Transfer, TransferPolicy};

const NOW: u32 = 1_000_000;

fn name(text: &str) -> Name {
    Name::parse(text, None).unwrap()
}

fn key(secret: u8) -> TsigKey {
    TsigKey::new(name("k.example"), TsigAlgorithm::HmacSha256, &[secret; 32]).unwrap()
}

fn soa(serial: u32) -> Soa {
    let (primary, mailbox) = (name("ns.example"), name("a.example"));
    Soa { primary, mailbox, serial, refresh: 1, retry: 2, expire: 3, minimum: 4, ttl: 5 }
}

/// A zone of three serials, which anybody may have.
fn catalog(is_keyed: bool) -> Catalog {
    let servers = [name("ns.example")];
    let mut zone = DnsZone::new(name("example.com"), &soa(1), &servers, 60);
    let everybody: Vec<ipnet::IpNet> = vec!["0.0.0.0/0".parse().unwrap()];
    let keys = if is_keyed { vec![key(7)] } else { Vec::new() };
    let unsigned = if is_keyed { Vec::new() } else { everybody.clone() };
    zone.set_transfers(Some(Arc::new(TransferPolicy { unsigned, signed: everybody, keys })));
    let mut set = |serial: u32, owner: &str, records: &[(&str, &str)]| {
        let records = records.iter().map(|(kind, text)| {
            let kind = RecordType::parse(kind).unwrap();
            (300, Cow::Owned(Rdata::parse(kind, text, None).unwrap()))
        });
        zone.set(&NodeRecords { name: &name(owner), records: records.collect() });
        zone.set_authority(&soa(serial), &servers, 60);
    };
    set(2, "www.example.com", &[("A", "192.0.2.1"), ("MX", "1 mail.example.com.")]);
    set(3, "www.example.com", &[("A", "192.0.2.2"), ("MX", "1 mail.example.com."), ("TXT", "\"t\"")]);
    let mut catalog = Catalog::default();
    catalog.insert(zone.apex().clone().wire(), Arc::new(zone));
    catalog
}

/// The messages that answer a request.
fn answers(catalog: &Catalog, request: &[u8]) -> Vec<Vec<u8>> {
    let (cookies, client) = (Cookies::new([1; 16]), "192.0.2.9".parse().unwrap());
    let transport = Transport { carrier: Carrier::Tcp, cookies: &cookies, client, now: NOW };
    let mut buffer = vec![0; TCP_BYTES];
    match Transfer::requested(catalog, request, &transport) {
        Some(transfer) => {
            let (mut messages, mut all) = (transfer.messages(), Vec::new());
            // Short, so that a zone takes several.
            while let Some(bytes) = messages.write_next(&mut buffer[..240], NOW).unwrap() {
                all.push(buffer[..bytes].to_vec());
            }
            all
        }
        None => {
            let answered = crate::answer(catalog, request, &transport, &mut buffer);
            vec![buffer[..answered.bytes].to_vec()]
        }
    }
}

fn exchange<'k>(request: &ZoneRequest, key: Option<&'k TsigKey>) -> (Vec<u8>, ZoneExchange<'k>) {
    ZoneExchange::begin(name("example.com"), request.clone(), key, [3, 4], NOW).unwrap()
}

fn received(messages: &[Vec<u8>], mut exchange: ZoneExchange<'_>) -> Result<(ReceivedZone, usize), String> {
    for (nth, message) in messages.iter().enumerate() {
        let is_last = exchange.take(message, NOW)?;
        assert_eq!(is_last, nth + 1 == messages.len());
    }
    exchange.end().ok_or_else(|| "nothing came".to_owned())
}

fn since(serial: u32) -> ZoneRequest {
    ZoneRequest::Since(Box::new(soa(serial)))
}

#[test]
fn what_is_handed_over_is_what_is_received() {
    let shared = key(7);
    let mut ran = 0;
    for key in [None, Some(&shared)] {
        let catalog = catalog(key.is_some());
        let ask = |request: &ZoneRequest| {
            let (message, exchange) = exchange(request, key);
            received(&answers(&catalog, &message), exchange).unwrap().0
        };
        assert_eq!(ask(&ZoneRequest::Serial), ReceivedZone::Serial(soa(3)));
        let ReceivedZone::Whole(found, records) = ask(&ZoneRequest::Whole) else { panic!() };
        let texts: Vec<String> = records
            .iter()
            .map(|record| format!("{} {} {:?}", record.name, record.ttl, record.rdata))
            .collect();
        assert_eq!(found, soa(3));
        assert_eq!(texts.len(), 4, "{texts:?}");
        assert!(texts.contains(&"www.example.com 300 MX 1 mail.example.com.".to_owned()), "{texts:?}");
        let ReceivedZone::Changes(_, changes) = ask(&since(2)) else { panic!() };
        let texts: Vec<String> = changes
            .iter()
            .map(|change| match change {
                ZoneChange::Removed(record) => format!("- {:?}", record.rdata),
                ZoneChange::Added(record) => format!("+ {:?}", record.rdata),
            })
            .collect();
        assert_eq!(texts, ["- A 192.0.2.1", "+ A 192.0.2.2", "+ TXT \"t\""]);
        assert_eq!(ask(&since(3)), ReceivedZone::Serial(soa(3)));
        assert_eq!(ask(&since(9)), ReceivedZone::Serial(soa(3)), "a client that is ahead");
        assert!(matches!(ask(&since(0)), ReceivedZone::Whole(..)), "before the journal");
        ran += 1;
    }
    assert_eq!(ran, 2);
}

#[test]
fn no_byte_of_a_signed_answer_can_be_changed() {
    let (shared, catalog) = (key(7), catalog(true));
    let mut ran = 0;
    for request in [ZoneRequest::Serial, ZoneRequest::Whole, since(1)] {
        let (message, _) = exchange(&request, Some(&shared));
        let sound = answers(&catalog, &message);
        for (nth, at) in (0..sound.len()).flat_map(|nth| (0..sound[nth].len()).map(move |at| (nth, at))) {
            for bit in [1, 0x20, 0x80] {
                let mut messages = sound.clone();
                messages[nth][at] ^= bit;
                let (_, mut exchange) = exchange(&request, Some(&shared));
                let outcome: Result<Vec<bool>, String> =
                    messages.iter().map(|message| exchange.take(message, NOW)).collect();
                // Names of keys and algorithms are compared without regard to case.
                let is_case = bit == 0x20 && messages[nth][at].is_ascii_alphabetic();
                assert!(outcome.is_err() || is_case, "{request:?}: message {nth}, byte {at}");
                ran += 1;
            }
        }
        // Without the last message, or with another in its place, it is not whole.
        let (_, mut exchange) = exchange(&request, Some(&shared));
        let all_but_last = &sound[..sound.len() - 1];
        assert!(all_but_last.iter().all(|message| exchange.take(message, NOW) == Ok(false)));
    }
    assert!(ran > 2_000, "{ran}");
    let other = key(8);
    let (message, _) = exchange(&ZoneRequest::Whole, Some(&shared));
    let (_, mut by_other) = exchange(&ZoneRequest::Whole, Some(&other));
    assert!(by_other.take(&answers(&catalog, &message)[0], NOW).is_err());
    let (_, mut late) = exchange(&ZoneRequest::Whole, Some(&shared));
    assert!(late.take(&answers(&catalog, &message)[0], NOW + 301).is_err(), "an old answer");
}

#[test]
fn nothing_that_a_primary_sends_does_harm() {
    let catalog = catalog(false);
    let mut ran = 0;
    for request in [ZoneRequest::Serial, ZoneRequest::Whole, since(1)] {
        let (message, _) = exchange(&request, None);
        let sound = answers(&catalog, &message).concat();
        for at in 0..sound.len() {
            for value in [0, 0xC0, 0xFF, sound[at] ^ 1] {
                let mut message = sound.clone();
                message[at] = value;
                let (_, mut exchange) = exchange(&request, None);
                // Whatever comes of it, it ends.
                let _ = exchange.take(&message, NOW);
                let (_, mut exchange) = self::exchange(&request, None);
                let _ = exchange.take(&message[..at], NOW);
                ran += 1;
            }
        }
    }
    assert!(ran > 1_000, "{ran}");
    // A pointer to itself.
    let (request, mut exchange) = exchange(&ZoneRequest::Serial, None);
    let mut looped = request;
    (looped[2], looped[7]) = (0x84, 1);
    let at = u8::try_from(looped.len()).unwrap();
    looped.extend([0xC0, at, 0, 6, 0, 1, 0, 0, 0, 0, 0, 0]);
    assert!(exchange.take(&looped, NOW).is_err());
}
