//! Any text is a zone file or is refused with lines that it has; what is read is written and read again as the same.

#![no_main]

use dns::zone_file::{self, EntryData};
use dns::{Name, Rdata};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let origin = Name::parse("example.com.", None).unwrap();
    match zone_file::parse(text, &origin) {
        Ok(entries) => {
            for entry in entries {
                let EntryData::Record(rdata) = entry.data else { continue };
                let again = Rdata::parse(rdata.record_type(), rdata.text(), None).unwrap();
                assert_eq!(again, rdata);
                let owner = Name::parse(&format!("{}.", entry.owner), None);
                assert!(entry.owner.is_root() || owner.unwrap() == entry.owner);
                let _ = (rdata.content(), rdata.fields(), rdata.target());
            }
        }
        Err(errors) => {
            let lines = text.split('\n').count();
            assert!(!errors.is_empty() && errors.iter().all(|error| (1..=lines).contains(&error.line)));
        }
    }
});
