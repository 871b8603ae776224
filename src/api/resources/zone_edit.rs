//! One field or more of a zone changed, as PATCH and PUT of its parts do.

use std::sync::Arc;

use model::{Declared, Zone};
use store::Change;

use super::rulesets_read::revision;
use crate::api::error::{ApiError, ApiErrors};
use crate::api::operation::ApiCall;
use crate::control::Applied;

/// Changes the zone of a path, if its precondition holds. A change that makes nothing different is none.
///
/// # Errors
/// If there is no such zone, it is not as the precondition says, or those of `change` and of the write.
pub(super) async fn edit_zone(
    call: &ApiCall,
    change: impl Fn(&Zone) -> Result<Zone, ApiErrors> + Send + 'static,
) -> Result<EditedZone, ApiErrors> {
    let (id, path, now) = (call.zone()?.id.clone(), call.path.clone(), call.now.clone());
    let (of, precondition) = (id.clone(), call.precondition());
    let applied = call
        .write(move |resources| {
            let known = resources.zones.get(&of).ok_or_else(|| ApiError::unknown(&path))?;
            precondition.check(revision(known))?;
            let mut zone = change(known)?;
            if zone == known.value {
                return Ok(Vec::new());
            }
            zone.modified_on.clone_from(&now);
            Ok(vec![Change::PutZone { zone: Box::new(zone) }])
        })
        .await?;
    let zone = applied.resources.zones.get(&id).map(Arc::clone);
    Ok(EditedZone { zone: zone.ok_or_else(|| ApiError::unknown(&call.path))?, applied })
}

/// A zone that was changed, and everything as it is then.
pub(super) struct EditedZone {
    pub(super) zone: Arc<Declared<Zone>>,
    pub(super) applied: Applied,
}
