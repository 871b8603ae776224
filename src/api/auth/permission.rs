//! Permissions of the management API, and the groups by which tokens name them.

use model::TokenId;

/// What resources a permission is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionLevel {
    User,
    Account,
    Zone,
}

/// What an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Any valid token.
    Any,
    TokensRead,
    TokensWrite,
    AccountRead,
    AccountWrite,
    RulesetsRead,
    RulesetsWrite,
    GatewaysRead,
    GatewaysWrite,
    /// To call a gateway: what gateway tokens have. No operation of this API needs it.
    GatewaysRun,
    ZoneRead,
    ZoneWrite,
    WafRead,
    WafWrite,
    EventsRead,
    DnsRead,
    DnsWrite,
    CertificatesRead,
    CertificatesWrite,
    CachePurge,
}

impl Permission {
    /// All that a group gives.
    pub const ALL: [Self; 19] = [
        Self::TokensRead,
        Self::TokensWrite,
        Self::AccountRead,
        Self::AccountWrite,
        Self::RulesetsRead,
        Self::RulesetsWrite,
        Self::GatewaysRead,
        Self::GatewaysWrite,
        Self::GatewaysRun,
        Self::ZoneRead,
        Self::ZoneWrite,
        Self::WafRead,
        Self::WafWrite,
        Self::EventsRead,
        Self::DnsRead,
        Self::DnsWrite,
        Self::CertificatesRead,
        Self::CertificatesWrite,
        Self::CachePurge,
    ];

    /// The name of its group.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::TokensRead => "API Tokens Read",
            Self::TokensWrite => "API Tokens Write",
            Self::AccountRead => "Account Settings Read",
            Self::AccountWrite => "Account Settings Write",
            Self::RulesetsRead => "Account Rulesets Read",
            Self::RulesetsWrite => "Account Rulesets Write",
            Self::GatewaysRead => "AI Gateway Read",
            Self::GatewaysWrite => "AI Gateway Write",
            Self::GatewaysRun => "AI Gateway Run",
            Self::ZoneRead => "Zone Read",
            Self::ZoneWrite => "Zone Write",
            Self::WafRead => "Zone WAF Read",
            Self::WafWrite => "Zone WAF Write",
            Self::EventsRead => "Security Events Read",
            Self::DnsRead => "DNS Read",
            Self::DnsWrite => "DNS Write",
            Self::CertificatesRead => "SSL and Certificates Read",
            Self::CertificatesWrite => "SSL and Certificates Write",
            Self::CachePurge => "Cache Purge",
        }
    }

    pub fn level(self) -> PermissionLevel {
        match self {
            Self::Any | Self::TokensRead | Self::TokensWrite => PermissionLevel::User,
            Self::AccountRead
            | Self::AccountWrite
            | Self::RulesetsRead
            | Self::RulesetsWrite
            | Self::GatewaysRead
            | Self::GatewaysWrite
            | Self::GatewaysRun => PermissionLevel::Account,
            Self::ZoneRead
            | Self::ZoneWrite
            | Self::WafRead
            | Self::WafWrite
            | Self::EventsRead
            | Self::DnsRead
            | Self::DnsWrite
            | Self::CertificatesRead
            | Self::CertificatesWrite
            | Self::CachePurge => PermissionLevel::Zone,
        }
    }

    /// The id of its group, the same everywhere.
    pub fn id(self) -> String {
        TokenId::derived("permission group", self.name()).to_string()
    }

    /// The permission of a group, by its id.
    pub fn of_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|permission| permission.id() == id)
    }

    /// Whether it includes another: who may write may read.
    pub fn includes(self, other: Self) -> bool {
        self == other
            || matches!(
                (self, other),
                (_, Self::Any)
                    | (Self::TokensWrite, Self::TokensRead)
                    | (Self::AccountWrite, Self::AccountRead)
                    | (Self::RulesetsWrite, Self::RulesetsRead)
                    | (Self::GatewaysWrite, Self::GatewaysRead)
                    | (Self::ZoneWrite, Self::ZoneRead)
                    | (Self::WafWrite, Self::WafRead)
                    | (Self::DnsWrite, Self::DnsRead)
                    | (Self::CertificatesWrite, Self::CertificatesRead)
            )
    }
}
