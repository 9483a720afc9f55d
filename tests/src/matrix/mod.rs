//! The client matrix: each client that is out there, by each way it has to the host, through one whole round.
//!
//! A *round* is one client by one way: it connects, lists, reads, subscribes, is told, unsubscribes; the provider crashes under it; the host
//! is killed and started anew, between two requests and under a read; it closes. What is done and expected in each of [`STEPS`] is in the drivers, one for each language:
//! programs in `tests/clients/`, which report a line a step, and `rmcp` here. The fixture is `tests/guests/matrix`.
//!
//! A step that does not hold fails the test, unless `tests/clients/known.toml` says why; an entry there that did not happen fails it, too.
//! The results are left in `target/matrix/`, from which `cargo xtask compatibility` makes COMPATIBILITY.md.

mod clients;
mod known;
mod player;
mod report;
mod rmcp;
mod round;
mod told;

pub(crate) use clients::Driver;
pub use clients::{CLIENTS, Client, Way};
pub use known::Known;
pub(crate) use rmcp::lab_round;
pub use round::whole_rounds;

/// The steps of a round, in the order in which they are reported.
pub const STEPS: [&str; 18] = [
    "connect",
    "list",
    "pages",
    "templates",
    "complete",
    "text",
    "blob",
    "not-found",
    "subscribe",
    "update",
    "read-again",
    "flood",
    "unsubscribe",
    "list-changed",
    "died",
    "restart",
    "killed",
    "close",
];
