//! Name servers of others that an account knows: networks that may ask for zones, peers, and keys shared with them.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dns::Name;
use dns::tsig::{TsigAlgorithm, TsigKey};
use gateway::vault::MasterKey;
use ipnet::IpNet;
use model::origin_url::is_private;
use model::{Account, AccountId, Resources, Secret, SharedKey, TransferAcl, TransferPartners, TransferPeer};
use serde_json::{Value, json};
use store::Change;

use super::shapes;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, ObjectShape, Operation, QueryParameter, ResultKind, Running, Verb,
    new_id,
};
use crate::api::resources::accounts::{self, Deleted};
use crate::api::resources::rule_input;
use crate::compile::zone_keys::{opened, shared_key_belonging};

const ACLS: &str = "/accounts/{account_id}/secondary_dns/acls";
const ACL: &str = "/accounts/{account_id}/secondary_dns/acls/{partner_id}";
const PEERS: &str = "/accounts/{account_id}/secondary_dns/peers";
const PEER: &str = "/accounts/{account_id}/secondary_dns/peers/{partner_id}";
const KEYS: &str = "/accounts/{account_id}/secondary_dns/tsigs";
const KEY: &str = "/accounts/{account_id}/secondary_dns/tsigs/{partner_id}";

const fn operation(
    verb: Verb,
    path: &'static str,
    summary: &'static str,
    shape: &'static ObjectShape,
    output: ResultKind,
    run: fn(ApiCall) -> Running,
) -> Operation {
    let (permission, query) = match verb {
        Verb::Get => (Permission::AccountRead, &[] as &[QueryParameter]),
        _ => (Permission::AccountWrite, &[DRY_RUN] as &[QueryParameter]),
    };
    let input = match verb {
        Verb::Post | Verb::Put => Some(InputShape::Object(shape)),
        _ => None,
    };
    Operation { verb, path, summary, permission, query, input, output, run }
}

use ResultKind::{List, One};
use shapes::{ACL as ACL_SHAPE, PEER as PEER_SHAPE, TSIG as KEY_SHAPE};

const DELETED: ResultKind = One(crate::api::resources::shapes::DELETED);

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    operation(
        Verb::Get,
        ACLS,
        "Lists networks that may ask for zones.",
        ACL_SHAPE,
        List(ACL_SHAPE),
        |call| Box::pin(list::<TransferAcl>(call)),
    ),
    operation(Verb::Post, ACLS, "Lets a network ask for zones.", ACL_SHAPE, One(ACL_SHAPE), |call| {
        Box::pin(make::<TransferAcl>(call))
    }),
    operation(Verb::Get, ACL, "Shows a network that may ask for zones.", ACL_SHAPE, One(ACL_SHAPE), |call| {
        Box::pin(find::<TransferAcl>(call))
    }),
    operation(
        Verb::Put,
        ACL,
        "Changes a network that may ask for zones.",
        ACL_SHAPE,
        One(ACL_SHAPE),
        |call| Box::pin(replace::<TransferAcl>(call)),
    ),
    operation(Verb::Delete, ACL, "Lets a network ask for zones no more.", ACL_SHAPE, DELETED, |call| {
        Box::pin(delete::<TransferAcl>(call))
    }),
    operation(Verb::Get, PEERS, "Lists name servers of others.", PEER_SHAPE, List(PEER_SHAPE), |call| {
        Box::pin(list::<TransferPeer>(call))
    }),
    operation(Verb::Post, PEERS, "Names a name server of others.", PEER_SHAPE, One(PEER_SHAPE), |call| {
        Box::pin(make::<TransferPeer>(call))
    }),
    operation(Verb::Get, PEER, "Shows a name server of others.", PEER_SHAPE, One(PEER_SHAPE), |call| {
        Box::pin(find::<TransferPeer>(call))
    }),
    operation(Verb::Put, PEER, "Changes a name server of others.", PEER_SHAPE, One(PEER_SHAPE), |call| {
        Box::pin(replace::<TransferPeer>(call))
    }),
    operation(Verb::Delete, PEER, "Forgets a name server that no zone names.", PEER_SHAPE, DELETED, |call| {
        Box::pin(delete::<TransferPeer>(call))
    }),
    // They show secrets, so reading them takes what writing takes.
    Operation {
        permission: Permission::AccountWrite,
        ..operation(Verb::Get, KEYS, "Lists keys that others have too.", KEY_SHAPE, List(KEY_SHAPE), |call| {
            Box::pin(list::<SharedKey>(call))
        })
    },
    operation(Verb::Post, KEYS, "Keeps a key that others have too.", KEY_SHAPE, One(KEY_SHAPE), |call| {
        Box::pin(make::<SharedKey>(call))
    }),
    Operation {
        permission: Permission::AccountWrite,
        ..operation(Verb::Get, KEY, "Shows a key that others have too.", KEY_SHAPE, One(KEY_SHAPE), |call| {
            Box::pin(find::<SharedKey>(call))
        })
    },
    operation(Verb::Put, KEY, "Changes a key that others have too.", KEY_SHAPE, One(KEY_SHAPE), |call| {
        Box::pin(replace::<SharedKey>(call))
    }),
    operation(Verb::Delete, KEY, "Deletes a key that no peer has.", KEY_SHAPE, DELETED, |call| {
        Box::pin(delete::<SharedKey>(call))
    }),
];

/// What reading a request needs beside its fields.
struct PartnerContext<'c> {
    account: &'c AccountId,
    master: Option<&'c MasterKey>,
    partners: &'c TransferPartners,
    /// Whether peers may be in private networks.
    may_be_private: bool,
}

/// One kind of what an account knows of others.
trait Partner: Clone + PartialEq + Send + Sync + 'static {
    /// What it is, in errors.
    const WHAT: &'static str;

    fn of(partners: &mut TransferPartners) -> &mut Vec<Self>;
    fn id(&self) -> &str;
    /// Reads one; `None` if it has errors, which are then found.
    fn read(id: &str, fields: &Fields<'_>, context: &PartnerContext<'_>) -> Option<Self>;
    /// As it is shown.
    ///
    /// # Errors
    /// If what is sealed does not open.
    fn shown(&self, account: &AccountId, master: Option<&MasterKey>) -> Result<Value, ApiErrors>;
    /// What still needs it, if something does.
    fn needed_by(&self, account: &AccountId, resources: &Resources) -> Option<String>;
}

fn name<'f>(fields: &Fields<'f>) -> Option<&'f str> {
    fields.ignore(&["id"]);
    fields.required_text("name")
}

impl Partner for TransferAcl {
    const WHAT: &'static str = "network";

    fn of(partners: &mut TransferPartners) -> &mut Vec<Self> {
        &mut partners.acls
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn read(id: &str, fields: &Fields<'_>, _: &PartnerContext<'_>) -> Option<Self> {
        let (name, text) = (name(fields), fields.required_text("ip_range"));
        let parse = |text: &str| {
            let range = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)).ok();
            let range =
                range.filter(|range| range.prefix_len() >= if range.addr().is_ipv4() { 24 } else { 64 });
            if range.is_none() {
                let message =
                    format!("expected an address, or a network of at least /24 or /64, found `{text:.60}`");
                fields.refuse(error::BAD_FIELD, "ip_range", message);
            }
            range
        };
        Some(Self { id: id.to_owned(), ip_range: parse(text?)?.trunc(), name: name?.to_owned() })
    }

    fn shown(&self, _: &AccountId, _: Option<&MasterKey>) -> Result<Value, ApiErrors> {
        Ok(json!({"id": self.id, "ip_range": self.ip_range, "name": self.name}))
    }

    fn needed_by(&self, _: &AccountId, _: &Resources) -> Option<String> {
        None
    }
}

impl Partner for TransferPeer {
    const WHAT: &'static str = "peer";

    fn of(partners: &mut TransferPartners) -> &mut Vec<Self> {
        &mut partners.peers
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn read(id: &str, fields: &Fields<'_>, context: &PartnerContext<'_>) -> Option<Self> {
        let name = name(fields);
        let ip = fields.text("ip").filter(|text| !text.is_empty()).and_then(|text| {
            let ip = text.parse::<IpAddr>().ok();
            match ip {
                None => {
                    fields.refuse(error::BAD_FIELD, "ip", format!("expected an address, found `{text:.60}`"))
                }
                Some(ip) if is_private(ip) && !context.may_be_private => {
                    let message = format!("`{ip}` is in a private network; `dns.private_peers` allows that");
                    fields.refuse(error::BAD_FIELD, "ip", message);
                }
                Some(_) => {}
            }
            ip
        });
        let tsig_id = fields.text("tsig_id").filter(|id| !id.is_empty());
        if let Some(id) = tsig_id.filter(|id| context.partners.key(id).is_none()) {
            fields.refuse(error::BAD_FIELD, "tsig_id", format!("the account has no key `{id:.60}`"));
        }
        let port = fields.within("port", 1..=65_535).and_then(|port| u16::try_from(port).ok());
        Some(Self {
            id: id.to_owned(),
            name: name?.to_owned(),
            ip,
            port: port.unwrap_or(Self::PORT),
            tsig_id: tsig_id.map(str::to_owned),
            ixfr_enable: fields.bool("ixfr_enable").unwrap_or(false),
        })
    }

    fn shown(&self, _: &AccountId, _: Option<&MasterKey>) -> Result<Value, ApiErrors> {
        Ok(json!({
            "id": self.id,
            "name": self.name,
            "ip": self.ip,
            "port": self.port,
            "tsig_id": self.tsig_id,
            "ixfr_enable": self.ixfr_enable,
        }))
    }

    fn needed_by(&self, account: &AccountId, resources: &Resources) -> Option<String> {
        let mut mine = resources.zones.values().filter(|zone| zone.account == *account);
        let zone = mine.find(|zone| {
            let outgoing = zone.outgoing.as_ref().map(|outgoing| &outgoing.peers);
            let incoming = zone.incoming.as_ref().map(|incoming| &incoming.peers);
            outgoing.into_iter().chain(incoming).any(|peers| peers.contains(&self.id))
        })?;
        Some(format!("the zone `{}`", zone.name))
    }
}

impl Partner for SharedKey {
    const WHAT: &'static str = "key";

    fn of(partners: &mut TransferPartners) -> &mut Vec<Self> {
        &mut partners.keys
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn read(id: &str, fields: &Fields<'_>, context: &PartnerContext<'_>) -> Option<Self> {
        let name = name(fields).and_then(|text| {
            let name = Name::parse(text, None).ok().filter(|name| !name.is_root());
            if name.is_none() {
                fields.refuse(error::BAD_FIELD, "name", format!("`{text:.60}` is no domain name"));
            }
            name
        });
        let algorithm = fields.required_text("algo").and_then(|text| {
            let algorithm = TsigAlgorithm::parse(text);
            if algorithm.is_none() {
                let words = TsigAlgorithm::ALL.map(TsigAlgorithm::word).join(", ");
                fields.refuse(
                    error::BAD_FIELD,
                    "algo",
                    format!("expected one of {words}, found `{text:.60}`"),
                );
            }
            algorithm
        });
        let secret = fields.required_text("secret").and_then(|text| {
            let decoded = STANDARD.decode(text).map_err(|_| "the secret is not Base64".to_owned());
            let root = Name::parse(".", None);
            let checked = decoded.and_then(|bytes| TsigKey::new(root?, TsigAlgorithm::HmacSha256, &bytes));
            checked.map_err(|message| fields.refuse(error::BAD_FIELD, "secret", message)).ok().map(|_| text)
        });
        let mut key = Self {
            id: id.to_owned(),
            name: name?.to_string(),
            algorithm: algorithm?.word().to_owned(),
            secret: secret?.to_owned(),
            is_sealed: false,
        };
        if let Some(master) = context.master {
            let sealed =
                master.seal(shared_key_belonging(context.account, &key), &Secret::new(key.secret.clone()));
            match sealed {
                Ok(sealed) => (key.secret, key.is_sealed) = (sealed, true),
                Err(message) => fields.refuse(error::UNAVAILABLE, "secret", message),
            }
        }
        Some(key)
    }

    fn shown(&self, account: &AccountId, master: Option<&MasterKey>) -> Result<Value, ApiErrors> {
        let what = format!("the TSIG key `{}`", self.name);
        let secret = opened(&what, shared_key_belonging(account, self), &self.secret, self.is_sealed, master);
        let secret = secret.map_err(|message| ApiError::new(error::UNAVAILABLE, message))?;
        let algorithm = format!("{}.", self.algorithm);
        Ok(json!({"id": self.id, "name": self.name, "algo": algorithm, "secret": STANDARD.encode(&*secret)}))
    }

    fn needed_by(&self, account: &AccountId, resources: &Resources) -> Option<String> {
        let partners = partners_of(resources, account);
        let peer = partners.peers.iter().find(|peer| peer.tsig_id.as_ref() == Some(&self.id))?;
        Some(format!("the peer `{}`", peer.name))
    }
}

/// What an account knows of others.
pub(super) fn partners_of(resources: &Resources, account: &AccountId) -> TransferPartners {
    let account = resources.accounts.get(account);
    account.and_then(|account| account.transfers.as_deref().cloned()).unwrap_or_default()
}

fn known<P: Partner>(resources: &Resources, call: &ApiCall) -> Result<P, ApiErrors> {
    let (mut partners, id) = (partners_of(resources, &call.account()), call.parameter("partner_id"));
    let found = P::of(&mut partners).iter().find(|partner| partner.id() == id).cloned();
    found.ok_or_else(|| {
        ApiError::new(error::NOT_FOUND, format!("the account has no {} `{id}`", P::WHAT)).into()
    })
}

async fn list<P: Partner>(call: ApiCall) -> Answer {
    let (account, master) = (call.account(), call.shared.secrets_key.as_ref());
    if !accounts::exists(&call.snapshot.resources, &account) {
        return Err(ApiError::unknown(&call.path).into());
    }
    let mut partners = partners_of(&call.snapshot.resources, &account);
    let shown = P::of(&mut partners).iter().map(|partner| partner.shown(&account, master));
    ApiReply::of(&shown.collect::<Result<Vec<_>, _>>()?)
}

async fn find<P: Partner>(call: ApiCall) -> Answer {
    let found: P = known(&call.snapshot.resources, &call)?;
    ApiReply::of(&found.shown(&call.account(), call.shared.secrets_key.as_ref())?)
}

async fn make<P: Partner>(call: ApiCall) -> Answer {
    let id = new_id()?;
    put::<P>(call, id).await
}

async fn replace<P: Partner>(call: ApiCall) -> Answer {
    let known: P = known(&call.snapshot.resources, &call)?;
    let id = known.id().to_owned();
    put::<P>(call, id).await
}

/// Puts one in the place of that of the same id, or adds it.
async fn put<P: Partner>(call: ApiCall, id: String) -> Answer {
    let (account, master) = (call.account(), call.shared.secrets_key.clone());
    let may_be_private = call.snapshot.dns.private_peers;
    let read = |partners: &TransferPartners| {
        let context = PartnerContext { account: &account, master: master.as_ref(), partners, may_be_private };
        rule_input::read(&call.body, |fields| P::read(&id, fields, &context))
    };
    let (partner, unknown) = read(&partners_of(&call.snapshot.resources, &account))?;
    let (of, path, put) = (account.clone(), call.path.clone(), partner.clone());
    change(&call, &of, path, move |partners| {
        let all = P::of(partners);
        match all.iter_mut().find(|known| known.id() == put.id()) {
            Some(known) => *known = put.clone(),
            None => all.push(put.clone()),
        }
        Ok(())
    })
    .await?;
    Ok(ApiReply::of(&partner.shown(&account, master.as_ref())?)?.passing_over(unknown))
}

/// Changes what an account knows of others.
async fn change(
    call: &ApiCall,
    account: &AccountId,
    path: String,
    edit: impl Fn(&mut TransferPartners) -> Result<(), ApiErrors> + Send + 'static,
) -> Result<(), ApiErrors> {
    let of = account.clone();
    call.write(move |resources| {
        let account: Account =
            accounts::find_account(resources, &of).ok_or_else(|| ApiError::unknown(&path))?;
        let known = partners_of(resources, &of);
        let mut partners = known.clone();
        edit(&mut partners)?;
        if partners == known {
            return Ok(Vec::new());
        }
        let account = Account { transfers: Some(Box::new(partners)), ..account };
        Ok(vec![Change::PutAccount { account }])
    })
    .await?;
    Ok(())
}

async fn delete<P: Partner>(call: ApiCall) -> Answer {
    let gone: P = known(&call.snapshot.resources, &call)?;
    let (id, account) = (gone.id().to_owned(), call.account());
    if let Some(user) = gone.needed_by(&account, &call.snapshot.resources) {
        let message = format!("{user} still has the {} `{id}`; change it first", P::WHAT);
        return Err(ApiError::new(error::CONFLICT, message).into());
    }
    let of = id.clone();
    change(&call, &account, call.path.clone(), move |partners| {
        P::of(partners).retain(|known| known.id() != of);
        Ok(())
    })
    .await?;
    ApiReply::of(&Deleted { id: &id })
}
