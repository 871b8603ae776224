//! Alerts: policies, the webhooks that hear of them, and what was sent.

use model::alert::{AlertPolicy, AlertType, AlertWebhook};
use model::{AccountId, Declared, Phase, Resources};
use serde::Serialize;
use serde_json::json;
use store::Change;

use super::accounts::Deleted;
use super::{rule_input, shapes};
use crate::alerts::{secret_field, webhook_secret};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Operation, QueryParameter, ResultKind, Running, Verb, new_id,
};
use crate::upstream::mail;
use crate::upstream::webhook::Webhook;

const fn operation(
    verb: Verb,
    path: &'static str,
    summary: &'static str,
    input: Option<InputShape>,
    output: ResultKind,
    run: fn(ApiCall) -> Running,
) -> Operation {
    let (permission, query) = match verb {
        Verb::Get => (Permission::AccountRead, &[] as &[QueryParameter]),
        _ => (Permission::AccountWrite, &[DRY_RUN] as &[QueryParameter]),
    };
    Operation { verb, path, summary, permission, query, input, output, run }
}

const POLICIES: &str = "/accounts/{account_id}/alerting/v3/policies";
const POLICY: &str = "/accounts/{account_id}/alerting/v3/policies/{policy_id}";
const WEBHOOKS: &str = "/accounts/{account_id}/alerting/v3/destinations/webhooks";
const WEBHOOK: &str = "/accounts/{account_id}/alerting/v3/destinations/webhooks/{webhook_id}";
const ONE_POLICY: ResultKind = ResultKind::One(shapes::ALERT_POLICY);
const ONE_WEBHOOK: ResultKind = ResultKind::One(shapes::ALERT_WEBHOOK);

pub(super) const OPERATIONS: &[Operation] = &[
    operation(
        Verb::Get,
        POLICIES,
        "Lists the alert policies of an account.",
        None,
        ResultKind::List(shapes::ALERT_POLICY),
        |call| Box::pin(policies(call)),
    ),
    operation(
        Verb::Post,
        POLICIES,
        "Makes an alert policy.",
        Some(InputShape::Object(shapes::ALERT_POLICY)),
        ONE_POLICY,
        |call| Box::pin(put_policy(call, true)),
    ),
    operation(Verb::Get, POLICY, "Shows an alert policy.", None, ONE_POLICY, |call| {
        Box::pin(async move { ApiReply::of(&shown(policy(&call.snapshot.resources, &call)?)) })
    }),
    operation(
        Verb::Put,
        POLICY,
        "Replaces an alert policy.",
        Some(InputShape::Object(shapes::ALERT_POLICY)),
        ONE_POLICY,
        |call| Box::pin(put_policy(call, false)),
    ),
    operation(
        Verb::Delete,
        POLICY,
        "Deletes an alert policy.",
        None,
        ResultKind::One(shapes::DELETED),
        |call| Box::pin(delete_policy(call)),
    ),
    operation(
        Verb::Get,
        WEBHOOKS,
        "Lists the webhooks of an account, never their secrets.",
        None,
        ResultKind::List(shapes::ALERT_WEBHOOK),
        |call| Box::pin(webhooks(call)),
    ),
    operation(
        Verb::Post,
        WEBHOOKS,
        "Makes a webhook; it must answer a test message with 2xx.",
        Some(InputShape::Object(shapes::ALERT_WEBHOOK)),
        ONE_WEBHOOK,
        |call| Box::pin(put_webhook(call, true)),
    ),
    operation(Verb::Get, WEBHOOK, "Shows a webhook, never its secret.", None, ONE_WEBHOOK, |call| {
        Box::pin(async move { ApiReply::of(&shown_webhook(webhook(&call.snapshot.resources, &call)?)) })
    }),
    operation(
        Verb::Put,
        WEBHOOK,
        "Replaces a webhook, its secret too; it must answer a test message with 2xx.",
        Some(InputShape::Object(shapes::ALERT_WEBHOOK)),
        ONE_WEBHOOK,
        |call| Box::pin(put_webhook(call, false)),
    ),
    operation(Verb::Delete, WEBHOOK, "Deletes a webhook.", None, ResultKind::One(shapes::DELETED), |call| {
        Box::pin(delete_webhook(call))
    }),
    operation(
        Verb::Get,
        "/accounts/{account_id}/alerting/v3/history",
        "Lists the last hundred alerts of an account, the newest first.",
        None,
        ResultKind::List(shapes::PAST_ALERT),
        |call| Box::pin(history(call)),
    ),
    operation(
        Verb::Get,
        "/accounts/{account_id}/alerting/v3/available_alerts",
        "Lists the kinds of alerts that there are.",
        None,
        ResultKind::Value,
        |_| Box::pin(available()),
    ),
];

#[derive(Debug, Serialize)]
struct ShownAlertPolicy<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    enabled: bool,
    alert_type: AlertType,
    mechanisms: serde_json::Value,
    filters: serde_json::Value,
    created: &'a str,
    modified: &'a str,
}

fn shown(policy: &AlertPolicy) -> ShownAlertPolicy<'_> {
    let webhooks: Vec<_> = policy.webhooks.iter().map(|id| json!({"id": id})).collect();
    let emails: Vec<_> = policy.emails.iter().map(|address| json!({"id": address})).collect();
    let services: Vec<_> = policy.sources.iter().map(|source| service(source)).collect();
    ShownAlertPolicy {
        id: &policy.id,
        name: &policy.name,
        description: &policy.description,
        enabled: policy.enabled,
        alert_type: policy.alert_type,
        mechanisms: json!({"email": emails, "webhooks": webhooks}),
        filters: json!({"zones": policy.zones, "services": services}),
        created: &policy.created,
        modified: &policy.modified,
    }
}

/// Sources of events, with what people call them.
fn services() -> impl Iterator<Item = (&'static str, &'static str)> {
    Phase::ALL.into_iter().map(Phase::source).chain([("edge", "Edge")])
}

fn service(source: &str) -> &str {
    services().find(|(known, _)| *known == source).map_or(source, |(_, service)| service)
}

#[derive(Debug, Serialize)]
struct ShownWebhook<'a> {
    id: &'a str,
    name: &'a str,
    url: &'a str,
    r#type: &'static str,
    has_secret: bool,
    created_at: &'a str,
}

fn shown_webhook(webhook: &AlertWebhook) -> ShownWebhook<'_> {
    let AlertWebhook { id, name, url, secret, created_at, .. } = webhook;
    ShownWebhook { id, name, url, r#type: "generic", has_secret: secret.is_some(), created_at }
}

fn unknown(what: &str, id: &str) -> ApiErrors {
    ApiError::new(error::NOT_FOUND, format!("the account has no {what} `{id}`")).into()
}

fn policy<'r>(resources: &'r Resources, call: &ApiCall) -> Result<&'r Declared<AlertPolicy>, ApiErrors> {
    let (id, account) = (call.parameter("policy_id"), call.account());
    let found = resources.alerts.get(id).filter(|policy| policy.account == account);
    found.ok_or_else(|| unknown("policy", id))
}

async fn policies(call: ApiCall) -> Answer {
    let account = call.account();
    let mine = call.snapshot.resources.alerts.values().filter(|policy| policy.account == account);
    ApiReply::of(&mine.map(|policy| shown(policy)).collect::<Vec<_>>())
}

/// Most addresses of a policy.
const MAX_EMAILS: usize = 20;

/// The addresses of a policy, also those of the field that ended on 2023-04-03, with commas between.
fn emails(fields: &Fields<'_>, mechanisms: Option<&Fields<'_>>, sends_mail: bool) -> Vec<String> {
    let mut emails: Vec<String> = Vec::new();
    let mut take = |fields: &Fields<'_>, field: &str, address: &str| {
        if !sends_mail {
            let message = "this server sends no mail, because `[mail]` is not set in its configuration";
            fields.refuse(error::BAD_FIELD, field, message);
        } else if let Err(message) = mail::check_address(address) {
            fields.refuse(error::BAD_FIELD, field, message);
        } else if !emails.iter().any(|known| known == address) {
            emails.push(address.to_owned());
        }
    };
    for email in mechanisms.and_then(|all| all.objects("email")).unwrap_or_default() {
        email.ignore(&["name"]);
        if let Some(address) = email.required_text("id") {
            take(&email, "id", address);
        }
    }
    for address in fields.text("notification_email").into_iter().flat_map(|list| list.split(',')) {
        take(fields, "notification_email", address.trim());
    }
    if emails.len() > MAX_EMAILS {
        fields.refuse(error::BAD_FIELD, "mechanisms", format!("a policy has at most {MAX_EMAILS} addresses"));
    }
    emails
}

/// What a body says of a policy; ids and times are filled in later.
fn written(
    fields: &Fields<'_>,
    resources: &Resources,
    account: &AccountId,
    sends_mail: bool,
) -> Option<AlertPolicy> {
    fields.ignore(&["id", "created", "modified", "alert_interval"]);
    let name = fields.required_text("name").map(str::to_owned);
    let alert_type = fields.word("alert_type", error::BAD_FIELD);
    if alert_type.is_none() && fields.value("alert_type").is_none() {
        fields.refuse(
            error::BAD_FIELD,
            "alert_type",
            "`alert_type` is required, such as `security_events_alert`",
        );
    }
    let mut webhooks = Vec::new();
    let mechanisms = fields.object("mechanisms");
    for webhook in mechanisms.as_ref().and_then(|all| all.objects("webhooks")).unwrap_or_default() {
        webhook.ignore(&["name", "type"]);
        let id = webhook.required_text("id").unwrap_or("");
        if resources.webhooks.get(id).is_none_or(|known| known.account != *account) {
            webhook.refuse(error::BAD_FIELD, "id", format!("the account has no webhook `{id}`"));
        }
        webhooks.push(id.to_owned());
    }
    let emails = emails(fields, mechanisms.as_ref(), sends_mail);
    if webhooks.is_empty() && emails.is_empty() {
        let message =
            "a policy needs at least one webhook or address in `mechanisms.webhooks` or `mechanisms.email`";
        fields.refuse(error::BAD_FIELD, "mechanisms", message);
    }
    let filters = fields.object("filters");
    let texts =
        |name: &'static str| filters.as_ref().and_then(|filters| filters.texts(name)).unwrap_or_default();
    let mut zones = Vec::new();
    for (nth, id) in texts("zones").iter().enumerate() {
        match crate::api::operation::find_zone(resources, id).filter(|zone| zone.account == *account) {
            Some(zone) => zones.push(zone.name.clone()),
            None => {
                let message = format!("the account has no zone `{id}`");
                fields.refuse(error::BAD_FIELD, &format!("filters/zones/{nth}"), message);
            }
        }
    }
    let mut sources = Vec::new();
    for (nth, name) in texts("services").iter().enumerate() {
        match services()
            .find(|(source, service)| *source == name.as_str() || service.eq_ignore_ascii_case(name))
        {
            Some((source, _)) => sources.push(source.to_owned()),
            None => {
                let known = services().map(|(_, service)| service).collect::<Vec<_>>().join("`, `");
                let message = format!("unknown service `{name}`; expected one of `{known}`");
                fields.refuse(error::BAD_FIELD, &format!("filters/services/{nth}"), message);
            }
        }
    }
    Some(AlertPolicy {
        id: String::new(),
        account: account.clone(),
        name: name?,
        description: fields.text("description").unwrap_or("").to_owned(),
        enabled: fields.bool("enabled").unwrap_or(true),
        alert_type: alert_type?,
        webhooks,
        emails,
        zones,
        sources,
        created: String::new(),
        modified: String::new(),
    })
}

async fn put_policy(call: ApiCall, is_new: bool) -> Answer {
    let account = call.account();
    let resources = &call.snapshot.resources;
    let (mut alert, unknown) = rule_input::read(&call.body, |fields| {
        written(fields, resources, &account, call.snapshot.mail.is_some())
    })?;
    alert.modified.clone_from(&call.now);
    if is_new {
        (alert.id, alert.created) = (new_id()?, call.now.clone());
    } else {
        let known = policy(resources, &call)?;
        (alert.id, alert.created) = (known.id.clone(), known.created.clone());
    }
    let put = alert.clone();
    call.write(move |_| Ok(vec![Change::PutAlert { alert: put.clone() }])).await?;
    Ok(ApiReply::of(&shown(&alert))?.passing_over(unknown))
}

async fn delete_policy(call: ApiCall) -> Answer {
    let id = policy(&call.snapshot.resources, &call)?.id.clone();
    let of = id.clone();
    call.write(move |_| Ok(vec![Change::DeleteAlert { id: of.clone() }])).await?;
    ApiReply::of(&Deleted { id: &id })
}

fn webhook<'r>(resources: &'r Resources, call: &ApiCall) -> Result<&'r AlertWebhook, ApiErrors> {
    let (id, account) = (call.parameter("webhook_id"), call.account());
    let found = resources.webhooks.get(id).filter(|webhook| webhook.account == account);
    found.map(|webhook| &**webhook).ok_or_else(|| unknown("webhook", id))
}

async fn webhooks(call: ApiCall) -> Answer {
    let account = call.account();
    let mine = call.snapshot.resources.webhooks.values().filter(|webhook| webhook.account == account);
    ApiReply::of(&mine.map(|webhook| shown_webhook(webhook)).collect::<Vec<_>>())
}

/// Makes a webhook or replaces one. A secret that is not named again goes, because who points a webhook at
/// another place must not learn the secret of the one before.
async fn put_webhook(call: ApiCall, is_new: bool) -> Answer {
    let ((name, url, secret), ignored) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["id", "type", "created_at"]);
        let url = fields.required_text("url").filter(|url| match Webhook::check_url(url) {
            Ok(()) => true,
            Err(message) => {
                fields.refuse(error::BAD_FIELD, "url", message);
                false
            }
        });
        let secret = fields.text("secret").filter(|secret| {
            let is_sound = secret.len() <= 1024 && secret.bytes().all(|byte| (0x21..0x7f).contains(&byte));
            if !is_sound {
                fields.refuse(error::BAD_FIELD, "secret", "expected at most 1024 letters, digits and signs");
            }
            is_sound
        });
        let name = fields.required_text("name").map(str::to_owned);
        Some((name?, url?.to_owned(), secret.map(str::to_owned)))
    })?;
    let (id, created_at) = if is_new {
        (new_id()?, call.now.clone())
    } else {
        let known = webhook(&call.snapshot.resources, &call)?;
        (known.id.clone(), known.created_at.clone())
    };
    let webhook =
        AlertWebhook { id, account: call.account(), name, url, secret, is_sealed: false, created_at };
    if !call.is_dry_run()? {
        send_test(&webhook, &call).await?;
    }
    let put = webhook_secret::kept(webhook.clone(), call.shared.secrets_key.as_ref())
        .map_err(|message| ApiError::new(error::UNAVAILABLE, message))?;
    call.write(move |resources| {
        if !is_new && !resources.webhooks.contains_key(&put.id) {
            return Err(unknown("webhook", &put.id));
        }
        Ok(vec![Change::PutWebhook { webhook: put.clone() }])
    })
    .await?;
    Ok(ApiReply::of(&shown_webhook(&webhook))?.passing_over(ignored))
}

/// Sends a message that says it is a test.
async fn send_test(webhook: &AlertWebhook, call: &ApiCall) -> Result<(), ApiErrors> {
    let message = json!({"name": webhook.name, "text": "This is a test of your webhook.", "ts": call.unix,
        "account_id": webhook.account, "alert_type": "test"});
    let test = Webhook {
        url: webhook.url.clone(),
        fields: secret_field(webhook.secret.clone()),
        body: message.to_string(),
        may_be_private: call.shared.may_be_private,
    };
    let now = std::time::Duration::from_secs(call.unix);
    test.send(&call.snapshot.upstream, now).await.map_err(|reason| {
        ApiError::at(error::BAD_FIELD, "/url", format!("the test message was not taken: {reason}")).into()
    })
}

async fn delete_webhook(call: ApiCall) -> Answer {
    let (id, account) = (call.parameter("webhook_id").to_owned(), call.account());
    let of = id.clone();
    call.write(move |resources| {
        let known = resources.webhooks.get(&of).filter(|webhook| webhook.account == account);
        known.ok_or_else(|| unknown("webhook", &of))?;
        if let Some(policy) = resources.alerts.values().find(|policy| policy.webhooks.contains(&of)) {
            let message = format!("the policy `{}` uses the webhook; change it first", policy.name);
            return Err(ApiError::new(error::CONFLICT, message).into());
        }
        Ok(vec![Change::DeleteWebhook { id: of.clone() }])
    })
    .await?;
    ApiReply::of(&Deleted { id: &id })
}

#[derive(Debug, Serialize)]
struct ShownAlert {
    policy_id: String,
    sent: String,
    text: String,
    delivered: String,
    failed: String,
}

async fn history(call: ApiCall) -> Answer {
    let account = call.account().to_string();
    let alerts = call.shared.read_security(move |log| log.alerts(&account)).await?;
    let shown = alerts.into_iter().map(|alert| ShownAlert {
        policy_id: alert.policy,
        sent: alert.at,
        text: alert.text,
        delivered: alert.delivered,
        failed: alert.failed,
    });
    ApiReply::of(&shown.collect::<Vec<_>>())
}

async fn available() -> Answer {
    ApiReply::of(&json!({"Security": [
        {"type": AlertType::SecurityEventsAlert, "display_name": "Security Events Alert",
            "description": "A spike of security events", "filter_options": ["zones"]},
        {"type": AlertType::DeprecationAlert, "display_name": "Deprecation Alert",
            "description": "Something that ends soon is still used", "filter_options": []},
        {"type": AlertType::AdvancedSecurityEventsAlert, "display_name": "Advanced Security Events Alert",
            "description": "A spike of security events of some zones or services",
            "filter_options": ["zones", "services"]},
    ]}))
}
