//! What zones get from the configuration file is in the serials of those that other name servers have, too: without another
//! serial these would keep the name servers and addresses that were.

use model::NameService;
use store::Change;
use tokio::sync::oneshot;

use super::plane::Plane;
use super::{Queued, Write};
use crate::events::kinds::ServiceFailed;
use crate::snapshot::Names;

impl Plane {
    /// Notes what the file says of name servers, if it is not what it was and others have zones from here. That makes a
    /// revision.
    pub(super) fn note_name_service(&mut self) {
        let snapshot = self.handle().load();
        let resources = &snapshot.resources;
        if snapshot.names.served.is_empty() || !resources.zones.values().any(|zone| zone.is_handed_over()) {
            return;
        }
        let service = of(&snapshot.names);
        if resources.name_service.as_ref().is_some_and(|known| known.value == service) {
            return;
        }
        let edit = move |_: &_| Ok(vec![Change::PutNameService { service: Box::new(service.clone()) }]);
        let (reply, mut outcome) = oneshot::channel();
        self.write(vec![Queued { write: Write::of("configuration", edit), reply }]);
        if let Ok(Err(error)) = outcome.try_recv() {
            let error = format!("zones keep their serials though their name servers changed: {error}");
            self.events().emit(&ServiceFailed { service: "control", error });
        }
    }
}

fn of(names: &Names) -> NameService {
    let settings = &names.settings;
    let texts = |names: &[dns::Name]| names.iter().map(ToString::to_string).collect();
    NameService {
        name_servers: settings.name_servers.sets().map(|(set, names)| (set, texts(names))).collect(),
        addresses: settings.addresses.clone(),
        https_record: names.https_record.map(str::to_owned),
    }
}
