//! A request of a zone: everything that may refuse it, in order.

use std::sync::Arc;

use pingora::Result;
use pingora::proxy::Session;

use super::context::{Context, Route};
use super::refusal::Refusal;
use super::{Edge, refuse, tls_only};
use crate::snapshot::{CompiledZone, Snapshot};

impl Edge {
    /// Takes a request past all that may refuse it; `true` if it is answered.
    pub(super) async fn take_zone_request(
        &self,
        zone: &Arc<CompiledZone>,
        snapshot: &Snapshot,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<bool> {
        ctx.route = Route::Zone(Arc::clone(zone));
        if ctx.loop_name.is_in_circle(&session.req_header().headers) {
            return refuse(ctx, Refusal::InCircle);
        }
        if let Some(refusal) = tls_only::connection_refusal(zone, ctx) {
            return refuse(ctx, refusal);
        }
        if let Some((refusal, location)) = tls_only::https_location(session, ctx) {
            ctx.location = Some(location);
            return refuse(ctx, refusal);
        }
        if zone.challenges {
            if self.challenges.take_solution(zone, session, ctx).await? {
                return Ok(true);
            }
            self.challenges.read_passed(zone, session, ctx);
        }
        self.inspection.inspect_request(zone, session, ctx).await?;
        self.settle_traffic(snapshot, ctx)?;
        self.passwords.check(zone, session, ctx).await?;
        // Boxed, because few zones ask anybody.
        if !zone.auth_services.is_empty() {
            Box::pin(self.auth_services.check(zone, session, ctx)).await?;
        }
        Ok(false)
    }
}
