//! Resources as the API shows them. Shapes only: no behaviour beyond parsing their own words.

pub mod access_app;
pub mod account;
pub mod action;
mod action_parameters;
pub mod ai_log;
pub mod alert;
pub mod api_token;
pub mod backoff;
pub mod cache_key;
pub mod cache_settings;
pub mod certificate_pack;
pub mod compression;
pub mod content_policy;
pub mod custom_hostname;
pub mod declared;
pub mod deprecation;
pub mod dlp;
pub mod dns_record;
pub mod dns_settings;
pub mod dynamic_route;
pub mod gateway;
pub mod host_name;
pub mod id;
pub mod limit;
pub mod list;
pub mod log_cap;
pub mod mcp_server;
mod milliseconds;
pub mod origin_url;
mod overrides;
pub mod payload_key;
pub mod phase;
pub mod rate_limit;
mod record_id;
mod record_notes;
pub mod resources;
pub mod rewrite;
pub mod route;
pub mod ruleset;
pub mod secret;
pub mod security_record;
pub mod signing_request;
pub mod span_collector;
pub mod spend_limit;
pub mod traffic_settings;
mod word;
pub mod zone;
pub mod zone_dnssec;
pub mod zone_map;
pub mod zone_transfer;

pub use access_app::{AccessApp, AccessDestination, DestinationKind};
pub use account::Account;
pub use action::Action;
pub use ai_log::{AiLog, Finding};
pub use alert::{AlertPolicy, AlertType, AlertWebhook};
pub use api_token::ApiToken;
pub use backoff::Backoff;
pub use certificate_pack::{AcmeAccount, CertificatePack, PackId, PackKind, PackStatus};
pub use compression::CompressionName;
pub use content_policy::{ContentCategory, ContentPolicy};
pub use custom_hostname::{CustomHostname, FallbackOrigin, HostnameStatus};
pub use declared::{Declared, Provenance};
pub use deprecation::{CalendarDate, DeprecationMode, DeprecationSettings};
pub use dlp::{DlpAction, DlpPolicy, DlpSettings};
pub use dns_record::{DnsRecord, RecordSettings, ZoneRecords};
pub use dynamic_route::{DynamicRoute, RouteDeployment, RouteVersion};
pub use gateway::{Gateway, GatewayToken};
pub use host_name::HostName;
pub use id::{AccountId, GatewayId, HostnameId, RouteId, RuleId, RulesetId, TokenId, ZoneId};
pub use limit::{Counted, Dimension, Limit, LimitFilter, Measure, Technique, limit_filters};
pub use list::{ListItem, ListKind, NamedList};
pub use log_cap::{LogCap, LogStrategy};
pub use mcp_server::McpServer;
pub use payload_key::PayloadKey;
pub use phase::Phase;
pub use record_id::RecordId;
pub use record_notes::{NoteFields, RecordNotes};
pub use resources::{KeyId, Resources};
pub use ruleset::{Overrides, Rule, Ruleset, RulesetKind, RulesetOwner, RulesetSlot};
pub use secret::Secret;
pub use security_record::SecurityRecord;
pub use signing_request::{SigningRequest, SigningRequestId};
pub use span_collector::SpanCollector;
pub use spend_limit::{SpendLimit, SpendLimits};
pub use traffic_settings::{OriginEncryption, SecurityLevel, TrafficSettings};
pub use zone::{
    Balance, BasicAuth, ForwardAuth, HealthCheck, OriginProtocol, OriginProxyProtocol, SensitiveDataSettings,
    WafSettings, Zone, ZoneTls,
};
pub use zone_dnssec::{KeyRollover, RolloverStage, ZoneDnssec};
pub use zone_map::ZoneMap;
pub use zone_transfer::{
    IncomingTransfer, OutgoingTransfer, ReceivedAuthority, SharedKey, TransferAcl, TransferPartners,
    TransferPeer,
};
