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
        only_valid(&server, &authority);
    }
}

/// Ends what is open of these, and of all who are let in no more. Whose token was replaced by another of the same name may come back by that.
pub(super) fn end(server: &Server, authority: &Arc<Authority>, gone: Vec<Caller>) {
    let valid = authority.clone();
    server.end_callers(move |caller| !gone.contains(caller) && valid.is_valid(caller));
    only_valid(server, authority);
}

fn only_valid(server: &Server, authority: &Arc<Authority>) {
    let authority = authority.clone();
    server.end_callers(move |caller| authority.is_valid(caller));
}
