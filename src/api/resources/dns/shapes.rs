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

pub(super) const DESIRED: &ObjectShape = &ObjectShape {
    name: "DnsRecordsWanted",
    fields: &[required("records", Kind::Objects(RECORD), "All records of the zone, as they are to be.")],
};

pub(super) const PLAN: &ObjectShape = &ObjectShape {
    name: "DnsRecordPlan",
    fields: &[
        field("serial", Kind::Whole, "The serial of the records, for `if_serial`."),
        field("unchanged", Kind::Whole, "How many records stay as they are."),
        field("deletes", Kind::Objects(RECORD), "Records that are deleted, as they were."),
        field("puts", Kind::Objects(RECORD), "Records that are changed, as they are then."),
        field("posts", Kind::Objects(RECORD), "Records that are made."),
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

pub(super) const DNSSEC: &ObjectShape = &ObjectShape {
    name: "Dnssec",
    fields: &[
        field(
            "status",
            Kind::Text,
            "`pending` while answers are signed and the zone above has not the DS record, then `active`; \
             `pending-disabled` while it still has it, else `disabled`.",
        ),
        field("flags", Kind::Any, "257: the key signs keys and everything else."),
        field("algorithm", Kind::Any, "13."),
        field("key_type", Kind::Any, "ECDSAP256SHA256."),
        field("digest_type", Kind::Any, "2."),
        field("digest_algorithm", Kind::Any, "SHA256."),
        field("digest", Kind::Any, "The hash of the key."),
        field("ds", Kind::Any, "The DS record for the zone above."),
        field("key_tag", Kind::Any, "The tag of the key."),
        field("public_key", Kind::Any, "The public key."),
        field(
            "dnssec_multi_signer",
            Kind::Flag,
            "Whether DNSKEY records of the zone are served with its own.",
        ),
        field("dnssec_presigned", Kind::Flag, "Always `false`."),
        field(
            "dnssec_use_nsec3",
            Kind::Flag,
            "Whether denials name hashes of names (NSEC3), not names (NSEC).",
        ),
        field("modified_on", Kind::Any, "When it was last changed (RFC 3339)."),
        field(
            "rollover",
            Kind::Any,
            "While the key is changed: `stage`, `since`, and `key_tag`, `ds` and `public_key` of the other key.",
        ),
    ],
};

pub(super) const PAST_CHANGE: &ObjectShape = &ObjectShape {
    name: "PastDnsChange",
    fields: &[
        field("serial", Kind::Whole, "The serial that the change made."),
        field("at", Kind::Text, "When it was made (RFC 3339)."),
        field("actor", Kind::Text, "Who made it."),
        field("put", Kind::Whole, "Records that it made or changed."),
        field("deleted", Kind::Whole, "Records that it deleted."),
    ],
};

pub(super) const PAST_RECORD: &ObjectShape = &ObjectShape {
    name: "PastDnsRecord",
    fields: &[
        field("serial", Kind::Whole, "The serial that the change made."),
        field("at", Kind::Text, "When it was made (RFC 3339)."),
        field("actor", Kind::Text, "Who made it."),
        field("record", Kind::Any, "The record from then on; `null` if it was deleted."),
    ],
};

pub(super) const ROLLBACK: &ObjectShape = &ObjectShape {
    name: "DnsRollback",
    fields: &[required("serial", Kind::Whole, "The serial to which records return.")],
};

pub(super) const SCAN: &ObjectShape = &ObjectShape {
    name: "DnsScan",
    fields: &[
        field("recs_added", Kind::Whole, "Records that the zone lacked and has now."),
        field("total_records_parsed", Kind::Whole, "Records that were found."),
    ],
};

pub(super) const REVIEW: &ObjectShape = &ObjectShape {
    name: "DnsScanReview",
    fields: &[
        field("accepts", Kind::Objects(RECORD), "Records that the zone gets."),
        field("rejects", Kind::Any, "Objects with the `id` of a record that was found and is forgotten."),
    ],
};

pub(super) const ACL: &ObjectShape = &ObjectShape {
    name: "TransferAcl",
    fields: &[
        field("id", Kind::Text, "Identifier of the network."),
        required("name", Kind::Text, "What people call it."),
        required("ip_range", Kind::Text, "An address, or a network of at least /24 or, of IPv6, /64."),
    ],
};

pub(super) const PEER: &ObjectShape = &ObjectShape {
    name: "TransferPeer",
    fields: &[
        field("id", Kind::Text, "Identifier of the name server."),
        required("name", Kind::Text, "What people call it."),
        field("ip", Kind::Any, "Its address."),
        field("port", Kind::Any, "Where it answers queries; 53 if it is not named."),
        field("tsig_id", Kind::Any, "The key that signs what goes between us."),
        field("ixfr_enable", Kind::Any, "Whether it is asked for changes rather than for whole zones."),
    ],
};

pub(super) const TSIG: &ObjectShape = &ObjectShape {
    name: "TransferKey",
    fields: &[
        field("id", Kind::Text, "Identifier of the key."),
        required("name", Kind::Text, "Its name, which both sides have alike."),
        required(
            "algo",
            Kind::Text,
            "`hmac-sha1`, `hmac-sha224`, `hmac-sha256`, `hmac-sha384` or `hmac-sha512`.",
        ),
        required("secret", Kind::Text, "At least 16 bytes in Base64."),
    ],
};

pub(super) const OUTGOING: &ObjectShape = &ObjectShape {
    name: "OutgoingTransfer",
    fields: &[
        field("id", Kind::Text, "Identifier."),
        field("name", Kind::Text, "The name of the zone."),
        required(
            "peers",
            Kind::Texts,
            "Ids of the name servers that are told of changes and may have the zone.",
        ),
        field("soa_serial", Kind::Any, "The serial of the zone."),
        field("checked_time", Kind::Any, "When a peer last got the zone (RFC 3339)."),
        field("created_time", Kind::Any, "When it was made (RFC 3339)."),
        field("last_transferred_time", Kind::Any, "When a peer last got the zone (RFC 3339)."),
    ],
};

pub(super) const INCOMING: &ObjectShape = &ObjectShape {
    name: "IncomingTransfer",
    fields: &[
        field("id", Kind::Text, "Identifier."),
        field("name", Kind::Text, "The name of the zone."),
        required(
            "peers",
            Kind::Texts,
            "Ids of the name servers that have the zone, in the order in which they are asked.",
        ),
        field(
            "auto_refresh_seconds",
            Kind::Any,
            "How often they are asked for its serial, at least every 60; 0 for what the zone says.",
        ),
        field("soa_serial", Kind::Any, "The serial that came last."),
        field("checked_time", Kind::Any, "When a peer last answered (RFC 3339)."),
        field("created_time", Kind::Any, "When it was made (RFC 3339)."),
        field("modified_time", Kind::Any, "When it was last changed (RFC 3339)."),
    ],
};

const SOA: &ObjectShape = &ObjectShape {
    name: "DnsSoa",
    fields: &[
        field("mname", Kind::Any, "The primary name server; `null` for the first of the zone's."),
        field(
            "rname",
            Kind::Any,
            "The administrator's mail address, as a name; an address with `@` is taken too.",
        ),
        field("refresh", Kind::Whole, "600 to 86400 seconds."),
        field("retry", Kind::Whole, "600 to 3600 seconds, at most `refresh`."),
        field("expire", Kind::Whole, "86400 to 2419200 seconds, at least `refresh`."),
        field("min_ttl", Kind::Whole, "How long negative answers are kept, 60 to 86400 seconds."),
        field("ttl", Kind::Whole, "The TTL of the SOA record, 1800 to 3600 seconds."),
    ],
};

pub(super) const ZONE_SETTINGS: &ObjectShape = &ObjectShape {
    name: "DnsSettings",
    fields: &[
        field(
            "flatten_all_cnames",
            Kind::Flag,
            "Whether CNAME records are answered with the addresses they lead to.",
        ),
        field("foundation_dns", Kind::Flag, "Kept, and means nothing here."),
        field("multi_provider", Kind::Flag, "Whether NS records at the zone's own name are served."),
        field(
            "secondary_overrides",
            Kind::Flag,
            "Whether records of a zone that comes from others can be proxied.",
        ),
        field("ns_ttl", Kind::Whole, "The TTL of the zone's NS records, 30 to 86400 seconds."),
        field(
            "zone_mode",
            Kind::Words(&["standard", "cdn_only", "dns_only"]),
            "Whether queries are refused (`cdn_only`), or nothing is proxied (`dns_only`).",
        ),
        field(
            "nameservers",
            Kind::Any,
            "`ns_set`, the set of the configuration that its name servers are of; of the `type` `custom.zone` they are names below the zone.",
        ),
        field("soa", Kind::Object(SOA), "The start of authority."),
        field("internal_dns", Kind::Any, "Not kept."),
    ],
};

pub(super) const ACCOUNT_SETTINGS: &ObjectShape = &ObjectShape {
    name: "AccountDnsSettings",
    fields: &[
        field("zone_defaults", Kind::Object(ZONE_SETTINGS), "What new zones begin with."),
        field("enforce_dns_only", Kind::Flag, "Whether nothing is proxied in any zone of the account."),
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
