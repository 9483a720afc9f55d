//! `notifications/cancelled`: which request it is about, and the requests of a legacy session that it may be about.
//!
//! Invariants: cancelling gives up waiting, and never ends what runs in a provider; a request that is over, however it ended, is
//! remembered no more; a session cancels none but its own.

use std::{collections::HashMap, future::poll_fn, pin::pin, sync::Arc, task::Poll};

use futures_util::future::{AbortHandle, AbortRegistration, Abortable};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::{ID_CAP, Id};

/// The id of the request that a `notifications/cancelled` is about, as [`comparable`] has it.
pub fn cancelled(message: &[u8]) -> Option<Box<str>> {
    #[derive(Deserialize)]
    struct Cancelled<'a> {
        #[serde(borrow)]
        params: Params<'a>,
    }
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, rename = "requestId")]
        id: &'a RawValue,
    }
    let cancelled: Cancelled<'_> = serde_json::from_slice(message).ok()?;
    let id = cancelled.params.id.get();
    (id.len() <= ID_CAP).then(|| comparable(id))
}

/// An id as JSON in one form: the same string may be written in several ways, and so may the same number.
pub fn comparable(id: &str) -> Box<str> {
    /// Past it a double does not tell whole numbers apart (RFC 8259 §6), so such a one is compared as it is written.
    const EXACT: f64 = (1u64 << 53) as f64;
    if id.starts_with('"') {
        if !id.contains('\\') {
            return id.into();
        }
        return serde_json::from_str::<String>(id).map_or_else(|_| id.into(), |text| serde_json::Value::from(text).to_string().into());
    }
    let whole = id.contains(['.', 'e', 'E']).then(|| id.parse::<f64>().ok()).flatten().filter(|number| number.fract() == 0.0);
    whole.filter(|number| number.abs() < EXACT).map_or_else(|| id.into(), |number| format!("{number:.0}").into())
}

/// Requests that wait for their answers, by id. One client may have several of the same: nothing in HTTP keeps it from that.
#[derive(Default)]
pub struct Waiting(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    by_id: HashMap<Box<str>, Vec<(u64, AbortHandle)>>,
    /// The number of the newest. Numbers tell requests of one id apart.
    newest: u64,
}

impl Waiting {
    /// Waits for the answer to a request. `None` if the request was cancelled meanwhile.
    pub async fn wait<T>(&self, id: Id<'_>, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        // Most answers are there at once, and then there is nothing to cancel. A cancel that overtakes its request is passed over, as the
        // specification has it for requests that are not known (2025-11-25, Cancellation, "Error Handling").
        if let Poll::Ready(answer) = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await {
            return Some(answer);
        }
        let (_registered, registration) = self.register(id);
        Abortable::new(work, registration).await.ok()
    }

    /// Enters a request that waits from now on for as long as what this gives is kept; cancelling it aborts what has the registration.
    pub fn register(&self, id: Id<'_>) -> (Registered, AbortRegistration) {
        let (abort, registration) = AbortHandle::new_pair();
        (Registered::new(&self.0, comparable(id.as_json()), abort), registration)
    }

    /// Lets all requests of this id, as [`cancelled`] gives it, wait no longer.
    pub fn cancel(&self, id: &str) {
        let cancelled = self.0.lock().by_id.remove(id);
        cancelled.into_iter().flatten().for_each(|(_, abort)| abort.abort());
    }

    /// Whether no request waits.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.0.lock().by_id.is_empty()
    }
}

/// One that waits. Also a client that hangs up drops it.
pub struct Registered {
    waiting: Arc<Mutex<Table>>,
    id: Box<str>,
    number: u64,
}

impl Registered {
    fn new(waiting: &Arc<Mutex<Table>>, id: Box<str>, abort: AbortHandle) -> Self {
        let mut table = waiting.lock();
        table.newest += 1;
        let number = table.newest;
        table.by_id.entry(id.clone()).or_default().push((number, abort));
        drop(table);
        Self { waiting: waiting.clone(), id, number }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut table = self.waiting.lock();
        if let Some(alike) = table.by_id.get_mut(&self.id) {
            alike.retain(|(number, _)| *number != self.number);
            if alike.is_empty() {
                table.by_id.remove(&self.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::FutureExt;
    use tokio::sync::oneshot;

    use super::*;
    use crate::mcp::message::{Incoming, Message, parse};

    fn id_in(message: &str) -> Id<'_> {
        let Ok(Incoming::One(Message::Request(request))) = parse(message.as_bytes()) else { panic!("{message}") };
        request.id
    }

    const ONE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    const TEXT: &str = r#"{"jsonrpc":"2.0","id":"\u0041","method":"ping"}"#;

    #[test]
    fn the_id_is_compared_as_what_it_says_and_keeps_its_type() {
        let about = |id: &str| cancelled(format!(r#"{{"params":{{"requestId":{id},"reason":"x"}}}}"#).as_bytes());
        assert_eq!(about(r#""\u0041""#), Some(comparable(r#""A""#)));
        assert_ne!(about("\"1\""), about("1"));
        assert_eq!(about(&format!("\"{}\"", "a".repeat(ID_CAP))), None);
        assert_eq!(cancelled(b"{}"), None);
    }

    #[test]
    fn an_id_is_the_same_however_it_is_written() {
        for (one, other) in
            [("1", "1.0"), ("10", "1e1"), ("10", "1E+1"), ("-150", "-1.50e2"), ("\"a\"", "\"\\u0061\""), ("\"/\"", "\"\\/\"")]
        {
            assert_eq!(comparable(one), comparable(other), "{one} {other}");
        }
        let different =
            ["1", "\"1\"", "1.5", "15", "9007199254740993", "9007199254740992", "9007199254740993.0", "1e400", "1e401", "\"A\"", "\"a\""];
        for (at, one) in different.iter().enumerate() {
            for other in &different[at + 1..] {
                assert_ne!(comparable(one), comparable(other), "{one} {other}");
            }
        }
    }

    #[tokio::test]
    async fn cancelling_ends_the_waiting_for_all_of_that_id_and_for_no_other() {
        let waiting = Waiting::default();
        let (answer, answered) = oneshot::channel();
        let mut first = Box::pin(waiting.wait(id_in(TEXT), pending::<()>()));
        let mut second = Box::pin(waiting.wait(id_in(TEXT), pending::<()>()));
        let mut other = Box::pin(waiting.wait(id_in(ONE), answered));
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none() && (&mut other).now_or_never().is_none());
        waiting.cancel("\"1\"");
        assert!((&mut first).now_or_never().is_none(), "a text is no number");
        waiting.cancel("\"A\"");
        assert_eq!((first.now_or_never(), second.now_or_never()), (Some(None), Some(None)));
        answer.send(7).unwrap();
        assert_eq!(other.now_or_never(), Some(Some(Ok(7))));
        assert!(waiting.is_empty());
    }

    #[tokio::test]
    async fn nothing_is_remembered_of_what_was_answered_or_given_up() {
        let waiting = Waiting::default();
        assert_eq!(waiting.wait(id_in(ONE), ready(1)).await, Some(1));
        let mut given_up = Box::pin(waiting.wait(id_in(ONE), pending::<()>()));
        let mut stays = Box::pin(waiting.wait(id_in(ONE), pending::<()>()));
        assert!((&mut given_up).now_or_never().is_none() && (&mut stays).now_or_never().is_none());
        drop(given_up);
        assert!(!waiting.is_empty(), "the other of this id still waits");
        waiting.cancel("1");
        assert_eq!(stays.now_or_never(), Some(None));
        assert!(waiting.is_empty());
    }
}
