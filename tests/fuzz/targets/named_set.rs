#![no_main]
//! Any texts are values of named lists; what a list holds is what a search through its values finds.

use std::net::IpAddr;

use expression::NamedSet;
use libfuzzer_sys::fuzz_target;
use model::ListKind;

fuzz_target!(|input: (Vec<&str>, Vec<(bool, u8, u128)>, u128, &str)| {
    let (texts, networks, bits, host) = input;
    let address = |bits: u128, is_v4: bool| match is_v4 {
        true => IpAddr::V4(((bits & 0xffff_ffff) as u32).into()),
        false => IpAddr::V6(bits.into()),
    };
    let mut values: Vec<String> = networks
        .iter()
        .map(|(is_v4, length, bits)| format!("{}/{}", address(*bits, *is_v4), length % if *is_v4 { 33 } else { 129 }))
        .collect();
    values.extend(texts.iter().map(|text| (*text).to_owned()));
    let kept: Vec<String> =
        values.iter().filter_map(|value| NamedSet::normal_form(ListKind::Ip, value).ok()).collect();
    for value in &kept {
        assert_eq!(NamedSet::normal_form(ListKind::Ip, value).as_ref(), Ok(value), "a normal form is its own");
    }
    if let NamedSet::Addresses(set) = NamedSet::of(ListKind::Ip, kept.iter().map(String::as_str)) {
        for asked in [address(bits, true), address(bits, false)] {
            let holds = |value: &String| match value.split_once('/') {
                Some(_) => value.parse::<ipnet::IpNet>().is_ok_and(|network| network.contains(&asked.to_canonical())),
                None => value.parse::<IpAddr>().is_ok_and(|known| known == asked.to_canonical()),
            };
            assert_eq!(set.contains(asked), kept.iter().any(holds), "{asked} {kept:?}");
        }
    }
    let hosts: Vec<String> =
        values.iter().filter_map(|value| NamedSet::normal_form(ListKind::Hostname, value).ok()).collect();
    if let NamedSet::Hosts(set) = NamedSet::of(ListKind::Hostname, hosts.iter().map(String::as_str)) {
        let _ = set.contains(host.as_bytes());
        assert!(hosts.iter().filter(|known| !known.starts_with("*.")).all(|known| set.contains(known.as_bytes())));
    }
});
