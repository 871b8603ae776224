//! `[[zones.basic_auth]]` resolved: the users of a file.

use std::collections::BTreeMap;
use std::str::FromStr;

use bcrypt::HashParts;

use super::Resolving;
use crate::conf::table::Located;
use crate::conf::zone_file::BasicAuthFile;
use crate::named_file::read_text;
use model::{BasicAuth, Phase};

/// Each more doubles the time that a guess takes, here and for the edge: 14 is about a second.
const MAX_COST: u32 = 14;

impl Resolving<'_> {
    pub(super) fn basic_auth(&mut self, file: BasicAuthFile, zone: &str) -> BasicAuth {
        let place = file.users_file.place.clone();
        let path = self.existing(&file.users_file);
        let text = read_text(&path).unwrap_or_default();
        let users = match users(&text) {
            Ok(users) => users,
            Err(message) => {
                self.bad(&place, format!("`{}`: {message}", path.display()));
                BTreeMap::new()
            }
        };
        let realm = file.realm.map_or_else(|| zone.to_owned(), |Located { value, place }| {
            // It stands in a field between quotes.
            if value.is_empty() || !value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic() && !b"\"\\".contains(&byte)) {
                self.bad(&place, "`zones.basic_auth.realm` takes letters, digits, spaces and signs of ASCII but `\"` and `\\`");
            }
            value
        });
        BasicAuth {
            expression: self.expression(file.expression, Phase::HttpRequestFirewallCustom),
            realm,
            users,
        }
    }
}

/// The users of a file with lines `name:hash`.
///
/// # Errors
/// One sentence, with the line.
fn users(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut users = BTreeMap::new();
    let lines = text.lines().map(str::trim).enumerate();
    for (nth, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let nth = nth + 1;
        let parsed = line.split_once(':').filter(|(name, _)| !name.is_empty());
        let Some((name, hash)) = parsed else {
            return Err(format!("line {nth} is no `name:hash`"));
        };
        match HashParts::from_str(hash) {
            Ok(parts) if parts.get_cost() <= MAX_COST => {}
            Ok(parts) => {
                return Err(format!(
                    "line {nth} has the cost {}; expected {MAX_COST} at most",
                    parts.get_cost()
                ));
            }
            Err(_) => {
                return Err(format!(
                    "line {nth} has no password hash that is taken; expected one of bcrypt (`htpasswd -nB NAME`)"
                ));
            }
        }
        if users.insert(name.to_owned(), hash.to_owned()).is_some() {
            return Err(format!("line {nth} has the name `{name}` again"));
        }
    }
    if users.is_empty() {
        return Err("there are no users; expected lines such as those of `htpasswd -nB NAME`".to_owned());
    }
    Ok(users)
}
