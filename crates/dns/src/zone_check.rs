//! What is wrong with the records of a zone file together, and what is likely not meant.

use std::collections::{BTreeMap, BTreeSet};

use crate::name::Name;
use crate::rdata::Rdata;
use crate::record_type::RecordType;
use crate::zone_file::{Entry, EntryData};

/// Most look-ups that an SPF record may cause (RFC 7208 section 4.6.4).
const MAX_SPF_LOOK_UPS: usize = 10;

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneFinding {
    /// From 1; 0 if it is about the file.
    pub line: usize,
    /// Whether the zone cannot be served so.
    pub is_error: bool,
    pub message: String,
}

/// Looks for findings in the entries of a zone, in the order of their lines.
pub fn check(entries: &[Entry], apex: &Name) -> Vec<ZoneFinding> {
    let mut checking = Checking { apex, by_name: BTreeMap::new(), findings: Vec::new() };
    let mut starts = 0;
    for entry in entries {
        if !entry.owner.is_within(apex) {
            checking.find(entry.line, true, format!("`{}` is not in the zone `{apex}`", entry.owner));
            continue;
        }
        match &entry.data {
            EntryData::Record(rdata) => {
                checking.by_name.entry(&entry.owner).or_default().push((entry, rdata));
            }
            EntryData::Soa(_) if entry.owner == *apex => starts += 1,
            EntryData::Soa(_) => {
                checking.find(entry.line, true, "a SOA record stands at the zone's own name".to_owned())
            }
            EntryData::Other(word) => {
                checking.find(entry.line, false, format!("records of the type `{word}` are not served here"));
            }
        }
    }
    if starts != 1 {
        let message =
            format!("a zone has one SOA record, found {starts}; this server makes it for its zones");
        checking.find(0, starts > 1, message);
    }
    checking.names();
    checking.findings.sort_by_key(|finding| finding.line);
    checking.findings
}

struct Checking<'e> {
    apex: &'e Name,
    by_name: BTreeMap<&'e Name, Vec<(&'e Entry, &'e Rdata)>>,
    findings: Vec<ZoneFinding>,
}

impl<'e> Checking<'e> {
    fn find(&mut self, line: usize, is_error: bool, message: String) {
        self.findings.push(ZoneFinding { line, is_error, message });
    }

    fn names(&mut self) {
        let cuts: BTreeSet<&Name> = self
            .by_name
            .iter()
            .filter(|(name, records)| ***name != *self.apex && has(records, RecordType::Ns))
            .map(|(name, _)| *name)
            .collect();
        let names: Vec<(&Name, Vec<(&Entry, &Rdata)>)> =
            self.by_name.iter().map(|(name, records)| (*name, records.clone())).collect();
        for (name, records) in names {
            self.aliases(name, &records);
            self.sets(name, &records);
            self.spf(name, &records);
            let cut = cuts.iter().find(|cut| name.is_within(cut)).copied();
            for (entry, rdata) in &records {
                self.target(name, entry, rdata, cut);
                let Some(cut) = cut else { continue };
                let belongs = match rdata.record_type() {
                    RecordType::Ns | RecordType::Ds => name == cut,
                    RecordType::A | RecordType::Aaaa => true,
                    _ => false,
                };
                if !belongs {
                    let message = format!("`{name}` is hidden by the delegation of `{cut}`");
                    self.find(entry.line, name == cut, message);
                }
            }
        }
    }

    /// A CNAME record stands alone (RFC 1034 section 3.6.2).
    fn aliases(&mut self, name: &Name, records: &[(&Entry, &Rdata)]) {
        let aliases: Vec<&(&Entry, &Rdata)> =
            records.iter().filter(|(_, rdata)| rdata.record_type() == RecordType::Cname).collect();
        let Some((first, _)) = aliases.first() else { return };
        if let Some((second, _)) = aliases.get(1) {
            self.find(
                second.line,
                true,
                format!("`{name}` has two CNAME records, the other in line {}", first.line),
            );
        }
        let others = records.iter().filter(|(_, rdata)| rdata.record_type() != RecordType::Cname);
        for (other, rdata) in others {
            let kind = rdata.record_type();
            let is_error = kind.is_proxiable() || kind == RecordType::Ns;
            let message =
                format!("`{name}` has a CNAME record, in line {}, beside the {kind} record", first.line);
            self.find(other.line, is_error, message);
        }
    }

    fn sets(&mut self, name: &Name, records: &[(&Entry, &Rdata)]) {
        for (nth, (entry, rdata)) in records.iter().enumerate() {
            let before = records.get(..nth).unwrap_or(&[]);
            let mut of_type = before.iter().filter(|(_, other)| other.record_type() == rdata.record_type());
            if let Some((same, _)) = before.iter().find(|(_, other)| other == rdata) {
                self.find(entry.line, false, format!("the record stands in line {} too", same.line));
            } else if let Some((other, _)) = of_type.find(|(other, _)| other.ttl != entry.ttl) {
                let message = format!(
                    "the {} records of `{name}` have different TTLs, the other in line {}; the lowest is served",
                    rdata.record_type(),
                    other.line
                );
                self.find(entry.line, false, message);
            }
        }
    }

    /// Where a record leads within the zone there are addresses.
    fn target(&mut self, name: &Name, entry: &Entry, rdata: &Rdata, cut: Option<&Name>) {
        let kind = rdata.record_type();
        let Some(target) = rdata.target().filter(|target| target.is_within(self.apex) && !target.is_root())
        else {
            return;
        };
        if !matches!(kind, RecordType::Ns | RecordType::Mx | RecordType::Srv | RecordType::Cname) {
            return;
        }
        let found = self.by_name.get(&target).or_else(|| {
            let mut above = target.parent();
            while let Some(name) = above.filter(|name| name.is_within(self.apex)) {
                if let Some(found) = name.below(b"*").and_then(|wildcard| self.by_name.get(&wildcard)) {
                    return Some(found);
                }
                above = name.parent();
            }
            None
        });
        let is_address = |record: &RecordType| matches!(record, RecordType::A | RecordType::Aaaa);
        let has_address =
            found.is_some_and(|records| records.iter().any(|(_, rdata)| is_address(&rdata.record_type())));
        let is_alias = found.is_some_and(|records| has(records, RecordType::Cname));
        let is_delegated = cut.is_some_and(|cut| name == cut && target.is_within(cut));
        if is_alias && kind != RecordType::Cname {
            self.find(
                entry.line,
                false,
                format!("{kind} leads to `{target}`, which is an alias (RFC 2181 section 10.3)"),
            );
        } else if !has_address && !is_alias {
            let message = match is_delegated {
                true => format!(
                    "`{target}` is below what it serves and has no address here; add its A or AAAA record"
                ),
                false => format!("{kind} leads to `{target}`, which has no address in the zone"),
            };
            self.find(entry.line, is_delegated, message);
        }
    }

    fn spf(&mut self, name: &Name, records: &[(&Entry, &Rdata)]) {
        let texts = records.iter().filter(|(_, rdata)| rdata.record_type() == RecordType::Txt);
        let policies: Vec<(&Entry, String)> = texts
            .map(|(entry, rdata)| (*entry, rdata.joined_text().to_lowercase()))
            .filter(|(_, text)| text == "v=spf1" || text.starts_with("v=spf1 "))
            .collect();
        if let Some((second, _)) = policies.get(1) {
            self.find(second.line, false, format!("`{name}` has two SPF records, which mail servers refuse"));
        }
        for (entry, text) in policies {
            if let Some(look_ups) = too_many_spf_look_ups(&text) {
                let message = format!(
                    "the SPF record causes {look_ups} look-ups; mail servers make {MAX_SPF_LOOK_UPS}"
                );
                self.find(entry.line, false, message);
            }
        }
    }
}

/// How many look-ups a text causes if it is an SPF record, if these are more than mail servers make.
pub fn too_many_spf_look_ups(text: &str) -> Option<usize> {
    let text = text.to_lowercase();
    let look_ups = text.strip_prefix("v=spf1 ")?.split(' ').filter(|term| spf_looks_up(term)).count();
    (look_ups > MAX_SPF_LOOK_UPS).then_some(look_ups)
}

fn has(records: &[(&Entry, &Rdata)], kind: RecordType) -> bool {
    records.iter().any(|(_, rdata)| rdata.record_type() == kind)
}

/// Whether a term of an SPF record has names looked up.
fn spf_looks_up(term: &str) -> bool {
    let term = term.trim_start_matches(['+', '-', '~', '?']);
    let word = term.split([':', '/', '=']).next().unwrap_or("");
    matches!(word, "include" | "a" | "mx" | "ptr" | "exists" | "redirect")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zone_file;

    #[test]
    fn what_is_wrong_is_found_by_its_line() {
        let apex = Name::parse("example.com", None).unwrap();
        let text = "@ SOA ns1 a 1 2 3 4 5\n@ NS ns1\nns1 A 192.0.2.1\nok CNAME ns1\nalias CNAME ok\nalias TXT x\nalias A 192.0.2.1\n\
            @ MX 1 alias2\nalias2 CNAME ns1\n@ MX 1 nowhere\nsub NS ns.sub\nsub2 NS ns.sub2\nns.sub2 A 192.0.2.2\nx.sub2 TXT hidden\n\
            a 60 A 192.0.2.1\na 70 A 192.0.2.2\na 60 A 192.0.2.1\nb.example.org. A 192.0.2.1\nb SOA x y 1 2 3 4 5\n\
            s TXT \"v=spf1 include:a include:b a mx ptr exists:c a:d a:e a:f mx:g include:h -all\"\ns TXT \"v=spf1 -all\"\nt TYPE99 x\n\
            twice CNAME ns1\ntwice CNAME ok\n*.w A 192.0.2.1\n@ MX 3 x.w\n";
        let found = check(&zone_file::parse(text, &apex).unwrap(), &apex);
        let lines: Vec<(usize, bool)> =
            found.iter().map(|finding| (finding.line, finding.is_error)).collect();
        assert_eq!(
            lines,
            [
                (6, false),
                (7, true),
                (8, false),
                (10, false),
                (11, true),
                (14, false),
                (16, false),
                (17, false),
                (18, true),
                (19, true),
                (20, false),
                (21, false),
                (22, false),
                (24, true),
            ],
            "{found:#?}"
        );
        let sound = "@ SOA ns1 a 1 2 3 4 5\n@ NS ns1\nns1 A 192.0.2.1\n";
        assert_eq!(check(&zone_file::parse(sound, &apex).unwrap(), &apex), []);
        assert_eq!(check(&[], &apex)[0].line, 0);
    }
}
