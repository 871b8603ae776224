//! What the data of each type is made of, in the order of wire and zone files.

use crate::RecordType;

/// A field of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RdataField {
    /// As the API names it.
    pub name: &'static str,
    pub kind: RdataFieldKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RdataFieldKind {
    /// 8 bits.
    Byte,
    /// 16 bits.
    Short,
    Ipv4,
    Ipv6,
    Name,
    /// Letters and digits behind their length.
    Tag,
    /// A text of up to 255 bytes behind its length.
    Text,
    /// One or more of those.
    Texts,
    /// A text up to the end.
    LongText,
    Hex,
    Base64,
    /// Keys with values (RFC 9460 section 2.1).
    ServiceParameters,
    /// A place on earth (RFC 1876).
    Location,
}

use RdataFieldKind::{
    Base64, Byte, Hex, Ipv4, Ipv6, Location, LongText, Name, ServiceParameters, Short, Tag, Text, Texts,
};

macro_rules! fields {
    ($($name:literal: $kind:ident),* $(,)?) => {
        &[$(RdataField { name: $name, kind: $kind }),*]
    };
}

const SERVICE: &[RdataField] = fields!["priority": Short, "target": Name, "value": ServiceParameters];
const CERTIFICATE_USE: &[RdataField] = fields![
    "usage": Byte,
    "selector": Byte,
    "matching_type": Byte,
    "certificate": Hex,
];
const HOST: &[RdataField] = fields!["content": Name];

/// The fields of a type. What has no fields of its own in the API has one, `content`.
pub fn fields_of(of: RecordType) -> &'static [RdataField] {
    match of {
        RecordType::A => fields!["content": Ipv4],
        RecordType::Aaaa => fields!["content": Ipv6],
        RecordType::Caa => fields!["flags": Byte, "tag": Tag, "value": LongText],
        RecordType::Cert => fields![
            "type": Short,
            "key_tag": Short,
            "algorithm": Byte,
            "certificate": Base64,
        ],
        RecordType::Cname | RecordType::Ns | RecordType::Ptr => HOST,
        RecordType::Dnskey => fields![
            "flags": Short,
            "protocol": Byte,
            "algorithm": Byte,
            "public_key": Base64,
        ],
        RecordType::Ds => fields![
            "key_tag": Short,
            "algorithm": Byte,
            "digest_type": Byte,
            "digest": Hex,
        ],
        RecordType::Https | RecordType::Svcb => SERVICE,
        RecordType::Loc => fields!["content": Location],
        RecordType::Mx => fields!["priority": Short, "content": Name],
        RecordType::Naptr => fields![
            "order": Short,
            "preference": Short,
            "flags": Text,
            "service": Text,
            "regex": Text,
            "replacement": Name,
        ],
        RecordType::Openpgpkey => fields!["content": Base64],
        RecordType::Smimea | RecordType::Tlsa => CERTIFICATE_USE,
        RecordType::Srv => fields![
            "priority": Short,
            "weight": Short,
            "port": Short,
            "target": Name,
        ],
        RecordType::Sshfp => fields!["algorithm": Byte, "type": Byte, "fingerprint": Hex],
        RecordType::Txt => fields!["content": Texts],
        RecordType::Uri => fields!["priority": Short, "weight": Short, "target": LongText],
    }
}

/// Whether the API has the data of a type as fields, from which it makes the content.
pub fn is_structured(of: RecordType) -> bool {
    !matches!(
        of,
        RecordType::A
            | RecordType::Aaaa
            | RecordType::Cname
            | RecordType::Mx
            | RecordType::Ns
            | RecordType::Openpgpkey
            | RecordType::Ptr
            | RecordType::Txt
    )
}
