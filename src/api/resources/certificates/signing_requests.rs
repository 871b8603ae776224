//! `/zones/{zone_id}/custom_csrs` and `/accounts/{account_id}/custom_csrs`: requests that a CA elsewhere signs, by keys that
//! stay here.

use hostnames::name;
use model::certificate_pack::KeptKey;
use model::signing_request::{SigningKeyType, SigningSubject};
use model::{Declared, Resources, SigningRequest, SigningRequestId};
use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256};
use serde::Serialize;
use store::Change;
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::hosts::host_list;
use super::{operation, shapes};
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Kind, Operation, PAGE, PER_PAGE, QueryParameter, ResultKind, Verb,
    new_uuid,
};
use crate::api::resources::accounts::{Deleted, owner_of_path};
use crate::api::resources::rule_input;
use crate::api::resources::rulesets_read::revision;
use crate::certificates::sealing::{self, KeyOwner};

/// How many keys are made at once; others wait, so that traffic has the processors.
static KEYS_AT_ONCE: Semaphore = Semaphore::const_new(1);
/// Most requests of an account with its zones.
const MAX_REQUESTS: usize = 1_000;
/// Most names of a request.
const MAX_HOSTS: usize = 100;
/// Longest field of a subject, in bytes (RFC 5280 appendix A.1).
const MAX_SUBJECT_BYTES: usize = 64;
/// Longest text that people write for themselves, in bytes.
const MAX_NOTE_BYTES: usize = 1_024;

const INPUT: Option<InputShape> = Some(InputShape::Object(shapes::SIGNING_REQUEST));
const LIST: &[QueryParameter] = &[
    PAGE,
    PER_PAGE,
    QueryParameter {
        name: "order",
        kind: Kind::Words(&["name", "account_tag", "created_at"]),
        doc: "What they are sorted by; when they were made if nothing is said.",
    },
    QueryParameter {
        name: "direction",
        kind: Kind::Words(&["asc", "desc"]),
        doc: "Which end comes first; `asc` if nothing is said.",
    },
];

/// The operations of an owner, whose path is `$owner`.
macro_rules! operations {
    ($owner:literal) => {
        [
            operation(
                Verb::Get,
                concat!($owner, "/custom_csrs"),
                "Lists requests for certificates.",
                LIST,
                (None, ResultKind::List(shapes::SIGNING_REQUEST)),
                |call| Box::pin(async move { list(&call) }),
            ),
            operation(
                Verb::Post,
                concat!($owner, "/custom_csrs"),
                "Makes a key, which stays here, and a request that a CA can sign.",
                &[DRY_RUN],
                (INPUT, ResultKind::One(shapes::SIGNING_REQUEST)),
                |call| Box::pin(create(call)),
            ),
            operation(
                Verb::Get,
                concat!($owner, "/custom_csrs/{custom_csr_id}"),
                "Shows a request for a certificate.",
                &[],
                (None, ResultKind::One(shapes::SIGNING_REQUEST)),
                |call| Box::pin(async move { find(&call) }),
            ),
            operation(
                Verb::Delete,
                concat!($owner, "/custom_csrs/{custom_csr_id}"),
                "Deletes a request and its key; certificates that were uploaded for it keep theirs.",
                &[DRY_RUN],
                (None, ResultKind::One(crate::api::resources::shapes::DELETED)),
                |call| Box::pin(delete(call)),
            ),
        ]
    };
}

pub(in crate::api::resources) const OF_ACCOUNTS: &[Operation] =
    operations!("/accounts/{account_id}").as_slice();
pub(in crate::api::resources) const OF_ZONES: &[Operation] = operations!("/zones/{zone_id}").as_slice();

#[derive(Debug, Serialize)]
struct ShownSigningRequest<'a> {
    id: String,
    account_tag: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    common_name: &'a str,
    sans: &'a [String],
    country: &'a str,
    state: &'a str,
    locality: &'a str,
    organization: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    organizational_unit: Option<&'a str>,
    key_type: SigningKeyType,
    csr: &'a str,
    created_at: &'a str,
}

fn shown(request: &SigningRequest) -> ShownSigningRequest<'_> {
    let subject = &request.subject;
    ShownSigningRequest {
        id: request.id.to_string(),
        account_tag: request.account.as_str(),
        name: request.name.as_deref(),
        description: request.description.as_deref(),
        common_name: &subject.common_name,
        sans: &request.hosts,
        country: &subject.country,
        state: &subject.state,
        locality: &subject.locality,
        organization: &subject.organization,
        organizational_unit: subject.organizational_unit.as_deref(),
        key_type: request.key_type,
        csr: &request.text,
        created_at: &request.created_on,
    }
}

fn of_path<'r>(call: &ApiCall, resources: &'r Resources) -> Result<&'r Declared<SigningRequest>, ApiErrors> {
    let (account, zone) = owner_of_path(call)?;
    let text = call.parameter("custom_csr_id");
    let id: Uuid = text.parse().map_err(|_| {
        let message = format!("expected the identifier of a request, found `{text:.60}`");
        ApiErrors::from(ApiError::new(error::BAD_CSR_ID, message))
    })?;
    let found = resources.signing_requests.get(&SigningRequestId(id));
    let found = found.filter(|request| request.account == account && request.zone == zone);
    found.ok_or_else(|| ApiError::new(error::NO_CSR, "The certificate request was not found.").into())
}

fn list(call: &ApiCall) -> Answer {
    let (account, zone) = owner_of_path(call)?;
    let all = call.snapshot.resources.signing_requests.values().map(|request| &request.value);
    let mut mine: Vec<_> = all.filter(|request| request.account == account && request.zone == zone).collect();
    match call.asked("order") {
        Some("name") => mine.sort_by_key(|request| (&request.name, request.id)),
        _ => mine.sort_by_key(|request| (&request.created_on, request.id)),
    }
    if call.asked("direction") == Some("desc") {
        mine.reverse();
    }
    let (page, info) = call.paging(20, 50)?.of(mine);
    ApiReply::page(&page.into_iter().map(shown).collect::<Vec<_>>(), info)
}

fn find(call: &ApiCall) -> Answer {
    let request = of_path(call, &call.snapshot.resources)?;
    Ok(ApiReply::of(&shown(request))?.tagged(revision(request)))
}

/// What a body says of a request.
#[derive(Clone, Debug, Default)]
struct WrittenSigningRequest {
    name: Option<String>,
    description: Option<String>,
    subject: SigningSubject,
    hosts: Vec<String>,
    key_type: Option<SigningKeyType>,
}

/// A text of at most some bytes without control characters.
fn plain(fields: &Fields<'_>, name: &'static str, text: &str, longest: usize) -> String {
    if text.is_empty() || text.len() > longest || text.chars().any(char::is_control) {
        let message = format!("expected 1 to {longest} bytes without control characters for `{name}`");
        fields.refuse(error::BAD_CSR, name, message);
    }
    text.to_owned()
}

fn subject(fields: &Fields<'_>) -> SigningSubject {
    let part = |name: &'static str| {
        fields
            .required_text(name)
            .map_or_else(String::new, |text| plain(fields, name, text, MAX_SUBJECT_BYTES))
    };
    let country = part("country");
    let is_country = country.len() == 2 && country.bytes().all(|byte| byte.is_ascii_uppercase());
    if fields.value("country").is_some() && !is_country {
        fields.refuse(error::BAD_CSR, "country", "expected two capital letters (ISO 3166-1), such as `DE`");
    }
    let common_name = name::of_certificate(&part("common_name")).unwrap_or_else(|message| {
        fields.refuse(error::BAD_CSR, "common_name", message);
        String::new()
    });
    let unit = fields.text("organizational_unit").filter(|unit| !unit.is_empty());
    SigningSubject {
        common_name,
        country,
        state: part("state"),
        locality: part("locality"),
        organization: part("organization"),
        organizational_unit: unit.map(|unit| plain(fields, "organizational_unit", unit, MAX_SUBJECT_BYTES)),
    }
}

fn written(fields: &Fields<'_>) -> WrittenSigningRequest {
    fields.ignore(&["id", "account_tag", "csr", "created_at"]);
    let note = |name: &'static str| {
        let text = fields.text(name).filter(|text| !text.is_empty());
        text.map(|text| plain(fields, name, text, MAX_NOTE_BYTES))
    };
    WrittenSigningRequest {
        name: note("name"),
        description: note("description"),
        subject: subject(fields),
        hosts: host_list(fields, "sans", MAX_HOSTS, error::BAD_CSR, |_| Ok(())),
        key_type: fields.word("key_type", error::BAD_CSR),
    }
}

/// A new key and the request that it signs, both in PEM.
///
/// # Errors
/// One sentence: the system has no random numbers, or a name has letters that a certificate does not take.
fn signed(written: &WrittenSigningRequest, key_type: SigningKeyType) -> Result<(String, String), String> {
    let algorithm = match key_type {
        SigningKeyType::Rsa2048 => &PKCS_RSA_SHA256,
        SigningKeyType::P256 => &PKCS_ECDSA_P256_SHA256,
    };
    let mut parameters = CertificateParams::new(written.hosts.clone()).map_err(|error| error.to_string())?;
    let subject = &written.subject;
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    for (kind, text) in [
        (DnType::CountryName, Some(&subject.country)),
        (DnType::StateOrProvinceName, Some(&subject.state)),
        (DnType::LocalityName, Some(&subject.locality)),
        (DnType::OrganizationName, Some(&subject.organization)),
        (DnType::OrganizationalUnitName, subject.organizational_unit.as_ref()),
        (DnType::CommonName, Some(&subject.common_name)),
    ] {
        if let Some(text) = text {
            parameters.distinguished_name.push(kind, text.as_str());
        }
    }
    let key = KeyPair::generate_for(algorithm).map_err(|error| error.to_string())?;
    let request = parameters.serialize_request(&key).and_then(|request| request.pem());
    Ok((key.serialize_pem(), request.map_err(|error| error.to_string())?))
}

async fn create(call: ApiCall) -> Answer {
    let (account, zone) = owner_of_path(&call)?;
    let (written, unknown) = rule_input::read(&call.body, |fields| Some(written(fields)))?;
    let id = SigningRequestId(new_uuid()?);
    let key_type = written.key_type.unwrap_or(SigningKeyType::Rsa2048);
    let master = call.shared.secrets_key.clone();
    let unavailable = |message: String| ApiErrors::from(ApiError::new(error::UNAVAILABLE, message));
    // INVARIANT: nobody closes it.
    let _place = KEYS_AT_ONCE.acquire().await;
    // An RSA key takes a tenth of a second.
    let made = tokio::task::spawn_blocking(move || {
        let (key, text) = signed(&written, key_type)?;
        let key = sealing::kept(&KeyOwner::SigningRequest(id), &key, master.as_ref())?;
        Ok::<(WrittenSigningRequest, KeptKey, String), String>((written, key, text))
    });
    let (written, key, text) =
        made.await.map_err(|error| unavailable(error.to_string()))?.map_err(unavailable)?;
    let request = SigningRequest {
        id,
        account,
        zone,
        name: written.name,
        description: written.description,
        subject: written.subject,
        hosts: written.hosts,
        key_type,
        text,
        key,
        created_on: call.now.clone(),
    };
    let applied = call
        .write(move |resources| {
            let of_account =
                resources.signing_requests.values().filter(|known| known.account == request.account);
            if of_account.count() >= MAX_REQUESTS {
                let message = format!(
                    "the account has {MAX_REQUESTS} certificate requests; delete those that are over"
                );
                return Err(ApiError::new(error::CONFLICT, message).into());
            }
            Ok(vec![Change::PutSigningRequest { request: Box::new(request.clone()) }])
        })
        .await?;
    let missing = || ApiErrors::from(ApiError::new(error::NO_CSR, "The certificate request was not found."));
    let request = applied.resources.signing_requests.get(&id).ok_or_else(missing)?;
    Ok(ApiReply::of(&shown(request))?.tagged(revision(request)).passing_over(unknown))
}

async fn delete(call: ApiCall) -> Answer {
    let known = of_path(&call, &call.snapshot.resources)?;
    let (id, zone, precondition) = (known.id, known.zone.clone(), call.precondition());
    call.write(move |resources| {
        let known = resources.signing_requests.get(&id);
        precondition.check(known.and_then(revision))?;
        Ok(vec![Change::DeleteSigningRequest { zone: zone.clone(), id }])
    })
    .await?;
    ApiReply::of(&Deleted { id: &id.to_string() })
}
