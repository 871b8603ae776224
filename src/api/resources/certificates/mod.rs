//! Certificates of zones: packs and how far their validation is, and what people upload.

mod custom;
mod hosts;
mod packs;
mod shapes;
mod shown;
mod signing_requests;
mod universal;
mod uploaded;

pub(super) use custom::OPERATIONS as CUSTOM;
pub(super) use packs::OPERATIONS as PACKS;
pub(super) use shapes::SETTING as SETTING_SHAPE;
pub(super) use signing_requests::{
    OF_ACCOUNTS as SIGNING_REQUESTS_OF_ACCOUNTS, OF_ZONES as SIGNING_REQUESTS_OF_ZONES,
};
pub(super) use universal::OPERATIONS as UNIVERSAL;
pub(super) use uploaded::{ReadCertificate, UploadedCertificate, upload};

use crate::api::auth::Permission;
use crate::api::operation::{ApiCall, InputShape, Operation, QueryParameter, ResultKind, Running, Verb};

/// An operation of certificates and of the names that they are for.
pub(super) const fn operation(
    verb: Verb,
    path: &'static str,
    summary: &'static str,
    query: &'static [QueryParameter],
    (input, output): (Option<InputShape>, ResultKind),
    run: fn(ApiCall) -> Running,
) -> Operation {
    let permission = match verb {
        Verb::Get => Permission::CertificatesRead,
        _ => Permission::CertificatesWrite,
    };
    Operation { verb, path, summary, permission, query, input, output, run }
}
