//! The fields of DNS resources, as the description of the API shows them.

use crate::api::operation::{Field, Kind, ObjectShape, field, required};

/// Every type of records.
pub(super) const TYPES: &[&str] = &[
    "A",
    "AAAA",
    "CAA",
    "CERT",
    "CNAME",
    "DNSKEY",
    "DS",
    "HTTPS",
    "LOC",
    "MX",
    "NAPTR",
    "NS",
    "OPENPGPKEY",
    "PTR",
    "SMIMEA",
    "SRV",
    "SSHFP",
    "SVCB",
    "TLSA",
    "TXT",
    "URI",
];

const NAME: Field =
    required("name", Kind::Text, "The whole name, or one below the zone's; `@` is the zone's own.");
const TYPE: Field = required("type", Kind::Words(TYPES), "The type.");

pub(super) const RECORD: &ObjectShape = &ObjectShape {
    name: "DnsRecord",
    fields: &[
        field("id", Kind::Text, "Identifier of the record."),
        NAME,
        TYPE,
        field("content", Kind::Text, "The data as text; made of `data` for types that have it."),
        field("priority", Kind::Any, "The preference of MX, SRV and URI records, from 0 to 65535."),
        field("proxiable", Kind::Flag, "Whether the edge can stand in front of what the record names."),
        field("proxied", Kind::Flag, "Whether resolvers get the edge's addresses instead."),
        field("ttl", Kind::Any, "Seconds that resolvers keep it, 60 to 86400; 1 leaves it to the server."),
        field(
            "settings",
            Kind::Any,
            "`ipv4_only`, `ipv6_only` of proxied records, `flatten_cname` of CNAME records.",
        ),
        field("data", Kind::Any, "The data as fields, for types that have them."),
        field("meta", Kind::Any, "Where the record comes from."),
        field("comment", Kind::Any, "A note of up to 500 characters without line breaks."),
        field("tags", Kind::Any, "Tags: `name:value`, or a name."),
        field("created_on", Kind::Text, "When it was made (RFC 3339)."),
        field("modified_on", Kind::Text, "When it was last changed (RFC 3339)."),
        field("comment_modified_on", Kind::Text, "When the comment was last changed, if there is one."),
        field("tags_modified_on", Kind::Text, "When the tags were last changed, if there are some."),
    ],
};

pub(super) const BATCH: &ObjectShape = &ObjectShape {
    name: "DnsRecordBatch",
    fields: &[
        field("deletes", Kind::Any, "Records to delete, each with its `id`."),
        field("patches", Kind::Any, "Fields to change, each with the `id` of its record."),
        field("puts", Kind::Any, "Records to replace, each with its `id`."),
        field("posts", Kind::Any, "Records to make."),
    ],
};

pub(super) const IMPORT_FORM: &ObjectShape = &ObjectShape {
    name: "DnsRecordFile",
    fields: &[
        required("file", Kind::Text, "A zone file (RFC 1035 section 5), without `$INCLUDE`."),
        field("proxied", Kind::Any, "Whether its A, AAAA and CNAME records are proxied."),
    ],
};

pub(super) const IMPORT: &ObjectShape = &ObjectShape {
    name: "DnsRecordImport",
    fields: &[
        field("recs_added", Kind::Whole, "How many records were made."),
        field("total_records_parsed", Kind::Whole, "How many records were read."),
    ],
};

pub(super) const USAGE: &ObjectShape = &ObjectShape {
    name: "DnsRecordUsage",
    fields: &[
        field("record_quota", Kind::Any, "How many records there may be; `null` for no limit."),
        field("record_usage", Kind::Whole, "How many there are."),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_listed() {
        let words: Vec<&str> = dns::RecordType::ALL.iter().map(|known| known.word()).collect();
        assert_eq!(TYPES, words);
    }
}
