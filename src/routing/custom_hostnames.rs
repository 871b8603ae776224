//! Custom hostnames by name. Those of one name may be of several zones; the one that is served has its requests.

use std::slice;
use std::sync::Arc;

use model::{CustomHostname, Declared};

use super::Hosts;

/// A custom hostname, and the name of the zone that serves it.
#[derive(Clone, Debug)]
pub struct HostnameSite {
    pub hostname: Arc<Declared<CustomHostname>>,
    pub zone: Arc<str>,
    /// As its status says: what is looked for on each request is here.
    is_served: bool,
}

impl HostnameSite {
    pub fn new(hostname: Arc<Declared<CustomHostname>>, zone: Arc<str>) -> Self {
        Self { is_served: hostname.status.is_served(), hostname, zone }
    }

    /// Whether its requests are served.
    pub fn is_served(&self) -> bool {
        self.is_served
    }
}

/// All of one name: the served one first.
#[derive(Clone, Debug)]
enum HostnamesOfName {
    One(HostnameSite),
    Several(Box<[HostnameSite]>),
}

impl HostnamesOfName {
    fn new(mut sites: Vec<HostnameSite>) -> Option<Self> {
        match sites.len() {
            0 => None,
            1 => sites.pop().map(Self::One),
            _ => Some(Self::Several(sites.into())),
        }
    }

    fn sites(&self) -> &[HostnameSite] {
        match self {
            Self::One(site) => slice::from_ref(site),
            Self::Several(sites) => sites,
        }
    }
}

/// Custom hostnames by name. A copy shares what it does not change.
#[derive(Clone, Debug)]
pub struct CustomHostnames {
    by_name: Hosts<HostnamesOfName>,
    wildcards: usize,
}

impl Default for CustomHostnames {
    fn default() -> Self {
        // There may be many, and one of many is changed without a look at the others.
        Self { by_name: Hosts::in_parts(), wildcards: 0 }
    }
}

impl CustomHostnames {
    /// Puts a hostname in the place of the one with its id.
    pub fn put(&mut self, site: HostnameSite) {
        let name = site.hostname.hostname.clone();
        let mut of_name = self.others(&site.hostname);
        self.wildcards += usize::from(site.hostname.is_wildcard);
        let at = if site.is_served { 0 } else { of_name.len() };
        of_name.insert(at, site);
        self.set(&name, of_name);
    }

    pub fn remove(&mut self, hostname: &CustomHostname) {
        let of_name = self.others(hostname);
        self.set(&hostname.hostname, of_name);
    }

    /// Those with the name of a hostname but for that itself, which is not counted any more.
    fn others(&mut self, hostname: &CustomHostname) -> Vec<HostnameSite> {
        let mut of_name = self.of_name(&hostname.hostname).to_vec();
        of_name.retain(|known| {
            let is_it = known.hostname.id == hostname.id;
            self.wildcards -= usize::from(is_it && known.hostname.is_wildcard);
            !is_it
        });
        of_name
    }

    fn set(&mut self, name: &str, sites: Vec<HostnameSite>) {
        match HostnamesOfName::new(sites) {
            Some(of_name) => self.by_name.insert(name, of_name),
            None => self.by_name.remove(name),
        }
    }

    /// The hostname of exactly this name, the served one if there is one.
    pub fn exact(&self, host: &str) -> Option<&HostnameSite> {
        self.by_name.get(host)?.sites().first()
    }

    /// The served hostname above a name that stands for it too.
    pub fn wildcard(&self, host: &str) -> Option<&HostnameSite> {
        if self.wildcards == 0 {
            return None;
        }
        let mut name = host;
        loop {
            name = name.split_once('.')?.1;
            let served = self.exact(name).filter(|site| site.is_served);
            if let Some(found) = served.filter(|site| site.hostname.is_wildcard) {
                return Some(found);
            }
        }
    }

    /// All of exactly this name.
    pub fn of_name(&self, host: &str) -> &[HostnameSite] {
        self.by_name.get(host).map_or(&[], HostnamesOfName::sites)
    }

    pub fn len(&self) -> usize {
        self.by_name.values().map(|of_name| of_name.sites().len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use model::{HostnameId, HostnameStatus, ZoneId};
    use uuid::Uuid;

    use super::*;

    fn site(id: u128, name: &str, status: HostnameStatus, is_wildcard: bool) -> HostnameSite {
        let hostname = CustomHostname {
            id: HostnameId(Uuid::from_u128(id)),
            zone: ZoneId::new("z"),
            hostname: name.into(),
            is_wildcard,
            status,
            since: 0,
            attempts: 0,
            next_check: 0,
            has_pointed_here: false,
            verification_errors: Box::default(),
            ownership_token: Uuid::nil(),
            origin: None,
            metadata: None,
            pack: None,
            created_on: "".into(),
        };
        HostnameSite::new(Arc::new(Declared::at_revision(hostname, 1)), "saas.example".into())
    }

    fn id(site: Option<&HostnameSite>) -> Option<u128> {
        site.map(|site| site.hostname.id.0.as_u128())
    }

    #[test]
    fn what_stands_behind_a_name_fits_beside_it() {
        assert_eq!(size_of::<HostnamesOfName>(), 32, "see `HostEntry`");
    }

    #[test]
    fn the_served_one_has_the_name_and_wildcards_stand_for_what_is_below() {
        let mut all = CustomHostnames::default();
        all.put(site(1, "a.dev", HostnameStatus::Pending, false));
        all.put(site(2, "a.dev", HostnameStatus::Active, true));
        all.put(site(3, "b.dev", HostnameStatus::Active, false));
        assert_eq!((id(all.exact("a.dev")), id(all.exact("b.dev")), all.len()), (Some(2), Some(3), 3));
        assert_eq!(id(all.wildcard("x.y.a.dev")), Some(2));
        assert_eq!(
            (id(all.wildcard("a.dev")), id(all.wildcard("x.b.dev")), id(all.exact("x.a.dev"))),
            (None, None, None)
        );
        all.put(site(2, "a.dev", HostnameStatus::Moved, true));
        all.put(site(1, "a.dev", HostnameStatus::Active, false));
        assert_eq!((id(all.exact("a.dev")), id(all.wildcard("x.a.dev")), all.len()), (Some(1), None, 3));
        let before = all.clone();
        all.remove(&site(1, "a.dev", HostnameStatus::Active, false).hostname);
        all.remove(&site(2, "a.dev", HostnameStatus::Active, true).hostname);
        assert_eq!((id(all.exact("a.dev")), id(before.exact("a.dev")), all.len()), (None, Some(1), 1));
    }
}
