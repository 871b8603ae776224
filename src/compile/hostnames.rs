//! Custom hostnames and certificates of the store by name: those of the previous snapshot with what has changed.

use std::sync::Arc;

use imbl::ordmap::DiffItem;

use super::Compiling;
use crate::certificates::CertificatesByName;
use crate::routing::{CustomHostnames, HostnameSite};
use model::{CustomHostname, Declared};

impl Compiling<'_> {
    pub(super) fn hostnames(&self) -> CustomHostnames {
        let resources = self.inputs.resources;
        let mut hostnames =
            self.inputs.previous.map(|previous| previous.hostnames.clone()).unwrap_or_default();
        let none = imbl::OrdMap::new();
        let before = self.inputs.previous.map_or(&none, |previous| &previous.resources.hostnames);
        let put = |hostnames: &mut CustomHostnames, hostname: &Arc<Declared<CustomHostname>>| {
            // One of a zone that is gone is not served.
            if let Some(zone) = resources.zones.get(&hostname.zone) {
                let zone = self.zone_name(&zone.name);
                hostnames.put(HostnameSite::new(Arc::clone(hostname), zone));
            }
        };
        for change in before.diff(&resources.hostnames) {
            match change {
                DiffItem::Add(_, added) => put(&mut hostnames, added),
                DiffItem::Update { old: (_, old), new: (_, new) } => {
                    hostnames.remove(old);
                    put(&mut hostnames, new);
                }
                DiffItem::Remove(_, removed) => hostnames.remove(removed),
            }
        }
        hostnames
    }

    /// One text for all hostnames of a zone.
    fn zone_name(&self, name: &str) -> Arc<str> {
        let mut names = self.zone_names.borrow_mut();
        if let Some(known) = names.get(name) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = name.into();
        names.insert(Arc::clone(&shared));
        shared
    }

    pub(super) fn certificates_by_name(&self) -> CertificatesByName {
        let master = self.inputs.conf.secrets_key.as_ref();
        let mut certificates =
            self.inputs.previous.map(|previous| previous.certificates_by_name.clone()).unwrap_or_default();
        let none = imbl::OrdMap::new();
        let before = self.inputs.previous.map_or(&none, |previous| &previous.resources.packs);
        for change in before.diff(&self.inputs.resources.packs) {
            match change {
                DiffItem::Add(_, added) => certificates.put(added, master),
                DiffItem::Update { old: (_, old), new: (_, new) } => {
                    certificates.remove(old);
                    certificates.put(new, master);
                }
                DiffItem::Remove(_, removed) => certificates.remove(removed),
            }
        }
        certificates
    }
}
