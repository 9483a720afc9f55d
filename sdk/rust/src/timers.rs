//! To be called later, as no call may wait. Needs `timers` in [`export!`](crate::export).

use crate::{
    callbacks::{self, Table},
    error::Result,
    host,
};

thread_local! {
    static TIMERS: Table = const { callbacks::table() };
}

/// Calls the function each `ms` milliseconds, first in `ms`, until [`cancel`]. A name that is in use is started anew. A late timer fires
/// once, not once for each period missed; a period below 100 is raised to that, unless wharf.toml has another minimum.
pub fn every<S: 'static>(name: &str, ms: u32, fire: impl Fn(&mut S) + 'static) -> Result<()> {
    start(name, ms, Some(ms), fire)
}

/// Calls the function once, in `ms` milliseconds.
pub fn after<S: 'static>(name: &str, ms: u32, fire: impl Fn(&mut S) + 'static) -> Result<()> {
    start(name, ms, None, fire)
}

/// Calls the function in `after_ms` milliseconds, and then each `every_ms` if given.
pub fn start<S: 'static>(name: &str, after_ms: u32, every_ms: Option<u32>, fire: impl Fn(&mut S) + 'static) -> Result<()> {
    let begin = || host::start_timer(name, after_ms, every_ms);
    callbacks::put(&TIMERS, name, every_ms.is_none(), begin, move |state: &mut S, ()| fire(state))
}

/// It does not fire any more. Fine if there is none.
pub fn cancel(name: &str) {
    host::cancel_timer(name);
    callbacks::remove(&TIMERS, name);
}

pub(crate) fn fired<S: 'static>(state: &mut S, names: &[String]) {
    for name in names {
        // One that an earlier function cancelled is not there any more.
        if let Some(fire) = callbacks::get::<S, ()>(&TIMERS, name) {
            fire(state, ());
        }
    }
}
