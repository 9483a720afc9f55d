//! The end of those who are let in no more: whose token was revoked, or has expired.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use crate::{auth::Authority, catalog::Caller, mcp::Server};

/// How much longer than its token a stream may live. To look costs some microseconds a thousand sessions.
const PERIOD: Duration = Duration::from_secs(1);

/// Ends what is open of those whose time is over, until there is no server any more. The time of day may jump, so it is looked at again and
/// again, and not waited for.
pub(super) async fn run(authority: Arc<Authority>, server: Weak<Server>) {
    authority.prepare().await;
    let mut tick = tokio::time::interval(PERIOD);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let Some(server) = server.upgrade() else { return };
        end(&server, |caller| authority.is_valid(caller));
    }
}

/// Ends the sessions and streams of all callers but those of whom this is true.
pub(super) fn end(server: &Server, is_valid: impl Fn(&Caller) -> bool) {
    // SEAM
    let _ = (server, is_valid);
}
