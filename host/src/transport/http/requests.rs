//! Requests by the status of their answer.
//!
//! Invariant: counting takes neither a lock nor memory.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use axum::http::StatusCode;

/// The statuses there can be (RFC 9110, section 15): from 100 to 599.
const FIRST: u16 = 100;
const STATUSES: usize = 500;

/// See the module's page.
#[derive(Debug)]
pub struct Requests([AtomicU64; STATUSES]);

impl Default for Requests {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; STATUSES])
    }
}

impl Requests {
    /// One was answered so.
    pub fn count(&self, status: StatusCode) {
        if let Some(counter) = status.as_u16().checked_sub(FIRST).and_then(|at| self.0.get(usize::from(at))) {
            counter.fetch_add(1, Relaxed);
        }
    }

    /// The statuses that were answered, in order, with how often each was.
    pub fn by_status(&self) -> impl Iterator<Item = (u16, u64)> {
        (FIRST..).zip(&self.0).map(|(status, count)| (status, count.load(Relaxed))).filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_is_counted_for_itself_and_what_is_none_is_not() {
        let requests = Requests::default();
        for status in [100, 200, 200, 404, 599, 999] {
            requests.count(StatusCode::from_u16(status).unwrap());
        }
        assert_eq!(requests.by_status().collect::<Vec<_>>(), [(100, 1), (200, 2), (404, 1), (599, 1)]);
    }
}
