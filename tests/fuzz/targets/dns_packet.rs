//! Any packet is answered or passed over: never a panic, never more than the client takes or the limit allows.

#![no_main]

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use dns::answer::{TCP_BYTES, UDP_BYTES, lowest_ttl};
use dns::dnssec::ZoneKey;
use dns::zone_file::{self, EntryData};
use dns::{
    Carrier, Catalog, Cookies, DnsZone, Name, NodeRecords, Rdata, RecordType, Soa, Transport, ZoneKeys, answer,
};
use libfuzzer_sys::fuzz_target;

const ZONE: &str = "@ A 192.0.2.1\nwww CNAME web\nweb A 192.0.2.2\nweb A 192.0.2.3\n*.wild TXT w\nsub NS ns.sub\nns.sub A 192.0.2.4\n\
    sec NS ns.sub\nsec DS 1 13 2 aa\nloop1 CNAME loop2\nloop2 CNAME loop1\na.b.c MX 10 web\n*.walias CNAME www\n";

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let mut catalog = Catalog::default();
    for (apex, is_signed, uses_nsec3) in
        [("a.", false, false), ("b.", true, false), ("sub.b.", false, false), ("c.", true, true)]
    {
        let apex = Name::parse(apex, None).unwrap();
        let soa = Soa {
            primary: apex.clone(),
            mailbox: apex.clone(),
            serial: 1,
            refresh: 1,
            retry: 1,
            expire: 1,
            minimum: 60,
            ttl: 60,
        };
        let mut zone = DnsZone::new(apex.clone(), &soa, &[apex.clone()], 60);
        for entry in zone_file::parse(ZONE, &apex).unwrap() {
            let EntryData::Record(rdata) = entry.data else { continue };
            zone.set(&NodeRecords { name: &entry.owner, records: vec![(60, Cow::Owned(rdata))] });
        }
        if is_signed {
            let key = ZoneKey::parse(&ZoneKey::generate().unwrap()).unwrap();
            let key = Arc::new(key);
            let keys =
                ZoneKeys { key, other: None, announces_other: false, of_others: Vec::new(), uses_nsec3 };
            zone.set_keys(Some(keys));
        }
        catalog.insert(apex.wire(), Arc::new(zone));
    }
    catalog
});

fuzz_target!(|packet: &[u8]| {
    for &record_type in RecordType::ALL {
        let Some(rdata) = Rdata::of_wire(record_type, packet) else { continue };
        let again = Rdata::parse(record_type, rdata.text(), None).unwrap();
        assert_eq!(again.wire(), rdata.wire(), "{rdata:?}");
    }
    let cookies = Cookies::new([1; 16]);
    let client = "192.0.2.9".parse().unwrap();
    let mut buffer = vec![0; TCP_BYTES];
    for carrier in [Carrier::Udp, Carrier::Tcp, Carrier::UdpPastLimit, Carrier::Encrypted] {
        let transport = Transport { carrier, cookies: &cookies, client, now: 1_000_000 };
        let answered = answer(&CATALOG, packet, &transport, &mut buffer);
        let is_stream = matches!(carrier, Carrier::Tcp | Carrier::Encrypted);
        assert!(answered.bytes <= if is_stream { TCP_BYTES } else { UDP_BYTES });
        let _ = lowest_ttl(&buffer[..answered.bytes]);
        if carrier == Carrier::UdpPastLimit && !answered.has_cookie {
            assert!(answered.bytes * 2 <= packet.len() * 3 + 1, "{} for {}", answered.bytes, packet.len());
        }
        if answered.bytes > 0 {
            assert!(answered.bytes >= 12 && buffer[2] & 0x80 > 0 && buffer[..2] == packet[..2]);
        }
    }
});
