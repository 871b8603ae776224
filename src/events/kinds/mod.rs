//! The kinds of events, one file each.

mod ai_call;
mod ai_log_dropped;
mod body_uninspected;
mod connection_ended;
mod gateway_request;
mod origin_changed;
mod request_finished;
mod request_refused;
mod rule_matched;
mod rules_unfinished;
mod scan_skipped;
mod security_event;
mod sensitive_data_found;
mod sensitive_data_repeated;
mod server_started;
mod service_failed;
mod snapshot_published;
mod snapshot_refused;

pub use ai_call::AiCall;
pub use ai_log_dropped::AiLogDropped;
pub use body_uninspected::BodyUninspected;
pub use connection_ended::{ConnectionEnd, ConnectionEnded};
pub use gateway_request::GatewayRequest;
pub use origin_changed::OriginChanged;
pub use request_finished::RequestFinished;
pub use request_refused::RequestRefused;
pub use rule_matched::RuleMatched;
pub use rules_unfinished::RulesUnfinished;
pub use scan_skipped::{ScanSkipped, SkipReason};
pub use security_event::{Contribution, SecurityEvent};
pub use sensitive_data_found::SensitiveDataFound;
pub use sensitive_data_repeated::SensitiveDataRepeated;
pub use server_started::ServerStarted;
pub use service_failed::ServiceFailed;
pub use snapshot_published::SnapshotPublished;
pub use snapshot_refused::SnapshotRefused;
