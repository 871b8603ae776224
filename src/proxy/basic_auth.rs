//! Names and passwords (RFC 7617) for sites that have no sign-in of their own.
//!
//! A password takes tens of milliseconds to check, by design. So few are checked at once, on threads of their own, and one
//! that was right is known again without that.

use std::collections::HashSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, header};
use parking_lot::Mutex;
use pingora::Result;
use pingora::http::RequestHeader;
use pingora::proxy::Session;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use super::context::{Context, Route};
use super::facts::is_for;
use super::refusal::Refusal;
use super::{field_edits, headers, refuse};
use crate::clock::Clock;
use crate::snapshot::{CompiledZone, PasswordGuard};

/// Tells origins whose password was right.
const USER_FIELD: &str = "svc-authenticated-user";
/// Checks at once: guesses must not take the machine from who has a password.
const AT_ONCE: usize = 2;
/// Most requests whose password is being checked or waits for that; a further one is answered with 503.
const MAX_UNDER_WAY: usize = 64;
/// Right passwords that are remembered, as hashes with that of the user: a changed user is checked anew.
const REMEMBERED: usize = 4_096;
/// Longest value of the field that is looked at.
const MAX_FIELD_BYTES: usize = 1_024;

/// The step that asks for passwords.
pub(super) struct Passwords {
    turns: Arc<Semaphore>,
    places: Semaphore,
    /// Short: no check is made while it is held.
    right: Mutex<HashSet<[u8; 32]>>,
    clock: Clock,
}

impl Passwords {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            places: Semaphore::new(MAX_UNDER_WAY),
            right: Mutex::default(),
            clock,
        }
    }

    /// Refuses a request that needs a password and has not brought a right one.
    pub(super) async fn check(
        &self,
        zone: &CompiledZone,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<()> {
        for guard in &zone.password_guards {
            if !is_for(&guard.expression, session, self.clock.unix(), ctx) {
                continue;
            }
            match self.user(guard, session).await {
                Ok(name) => ctx.authenticated_user = Some(name),
                Err(refusal) => {
                    ctx.realm = Some(guard.realm.clone());
                    return refuse(ctx, refusal);
                }
            }
        }
        if ctx.authenticated_user.is_some() {
            session.req_header_mut().remove_header(&header::AUTHORIZATION);
        }
        Ok(())
    }

    /// Who sends a request.
    async fn user(&self, guard: &PasswordGuard, session: &Session) -> std::result::Result<String, Refusal> {
        let headers = &session.req_header().headers;
        // Two fields are two stories.
        let is_one = headers.get_all(header::AUTHORIZATION).iter().count() == 1;
        let field = headers::bytes(headers, &header::AUTHORIZATION);
        let (name, password) = credentials(field).filter(|_| is_one).ok_or(Refusal::Unauthenticated)?;
        // The time that it takes does not say whether there is such a user.
        let (known, hash) = match guard.users.get(&name) {
            Some(hash) => (true, hash),
            None => (false, guard.users.values().next().ok_or(Refusal::Unauthenticated)?),
        };
        let key: [u8; 32] =
            Sha256::new().chain_update(hash).chain_update([0]).chain_update(&password).finalize().into();
        if known && self.right.lock().contains(&key) {
            return Ok(name);
        }
        let _place = self.places.try_acquire().map_err(|_| Refusal::TooManyPasswords)?;
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| Refusal::Internal)?;
        let hash = hash.clone();
        let checked = tokio::task::spawn_blocking(move || {
            // The turn lasts as long as the work, also if nobody waits for it any more.
            let _turn = turn;
            bcrypt::verify(password, &hash).unwrap_or(false)
        });
        match checked.await {
            Ok(true) if known => {
                let mut right = self.right.lock();
                if right.len() >= REMEMBERED {
                    right.clear();
                }
                right.insert(key);
                Ok(name)
            }
            Ok(_) => Err(Refusal::Unauthenticated),
            Err(_) => Err(Refusal::Internal),
        }
    }
}

/// Tells an origin whose password was right; where nobody was asked too, a client cannot say it.
pub(super) fn tell_user(request: &mut RequestHeader, ctx: &Context) -> Result<()> {
    if matches!(&ctx.route, Route::Zone(zone) if !zone.password_guards.is_empty()) {
        field_edits::remove_twins(request, USER_FIELD);
    }
    match &ctx.authenticated_user {
        Some(user) => {
            let user = HeaderValue::from_bytes(user.as_bytes()).unwrap_or(HeaderValue::from_static(""));
            request.insert_header(USER_FIELD, user)
        }
        None => Ok(()),
    }
}

/// Name and password of a field.
fn credentials(field: &[u8]) -> Option<(String, Vec<u8>)> {
    if field.len() > MAX_FIELD_BYTES {
        return None;
    }
    let (scheme, rest) = field.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let text = STANDARD.decode(rest.trim_ascii()).ok()?;
    let colon = text.iter().position(|byte| *byte == b':')?;
    let (name, password) = text.split_at(colon);
    let name = std::str::from_utf8(name).ok().filter(|name| !name.chars().any(char::is_control))?;
    Some((name.to_owned(), password.get(1..)?.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_or_are_none() {
        let of = |text: &str| credentials(text.as_bytes());
        let written = |text: &[u8]| format!("Basic {}", STANDARD.encode(text));
        assert_eq!(of(&written(b"ann:a:b")), Some(("ann".to_owned(), b"a:b".to_vec())));
        assert_eq!(
            of(&written(b"ann:a").replace("Basic ", "bASIC   ")),
            Some(("ann".to_owned(), b"a".to_vec()))
        );
        assert_eq!(of(&written(b":")), Some((String::new(), Vec::new())));
        for none in [
            "",
            "Basic",
            "Basic ",
            "Basic ???",
            "Bearer YTpi",
            &written(b"no colon"),
            &written(b"a\nb:c"),
            &written(b"\xff:c"),
        ] {
            assert_eq!(of(none), None, "{none}");
        }
        assert_eq!(of(&written(&[&b"a:"[..], &[b'x'; 2000]].concat())), None);
    }
}
