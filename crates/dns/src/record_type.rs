//! Types of records (IANA registry "Domain Name System (DNS) Parameters").

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! types {
    ($($name:ident = $number:literal,)*) => {
        /// A type that a zone can have records of, written as its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "UPPERCASE")]
        pub enum RecordType {
            $($name,)*
        }

        impl RecordType {
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// As messages write it.
            pub fn number(self) -> u16 {
                match self {
                    $(Self::$name => $number,)*
                }
            }

            pub fn of_number(number: u16) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

types! {
    A = 1,
    Aaaa = 28,
    Caa = 257,
    Cert = 37,
    Cname = 5,
    Dnskey = 48,
    Ds = 43,
    Https = 65,
    Loc = 29,
    Mx = 15,
    Naptr = 35,
    Ns = 2,
    Openpgpkey = 61,
    Ptr = 12,
    Smimea = 53,
    Srv = 33,
    Sshfp = 44,
    Svcb = 64,
    Tlsa = 52,
    Txt = 16,
    Uri = 256,
}

impl RecordType {
    pub fn word(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::Aaaa => "AAAA",
            Self::Caa => "CAA",
            Self::Cert => "CERT",
            Self::Cname => "CNAME",
            Self::Dnskey => "DNSKEY",
            Self::Ds => "DS",
            Self::Https => "HTTPS",
            Self::Loc => "LOC",
            Self::Mx => "MX",
            Self::Naptr => "NAPTR",
            Self::Ns => "NS",
            Self::Openpgpkey => "OPENPGPKEY",
            Self::Ptr => "PTR",
            Self::Smimea => "SMIMEA",
            Self::Srv => "SRV",
            Self::Sshfp => "SSHFP",
            Self::Svcb => "SVCB",
            Self::Tlsa => "TLSA",
            Self::Txt => "TXT",
            Self::Uri => "URI",
        }
    }

    /// The type of a word, in either case.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.word().eq_ignore_ascii_case(word))
    }

    /// Whether the edge can stand in front of what records of this type name.
    pub fn is_proxiable(self) -> bool {
        matches!(self, Self::A | Self::Aaaa | Self::Cname)
    }

    /// Whether the API has the record's first number beside its content.
    pub fn has_priority(self) -> bool {
        matches!(self, Self::Mx | Self::Srv | Self::Uri)
    }
}

impl fmt::Display for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_are_unique() {
        for &known in RecordType::ALL {
            assert_eq!(RecordType::of_number(known.number()), Some(known));
            assert_eq!(RecordType::parse(&known.word().to_lowercase()), Some(known));
        }
        assert_eq!(RecordType::ALL.len(), 21);
    }
}
