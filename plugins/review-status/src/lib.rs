//! `review-status`: one resource that changes by itself, as the model of a live provider.
//!
//! Somebody submitted a piece of work and waits for its review. `test://review/status` says `pending`; some seconds after the first
//! subscription the review is there, and everybody who subscribed is told.
//!
//! Settings, all optional: `delay-seconds` (5), `initial-status`, `initial-message`, `updated-status`, `updated-message`.

use wharf_provider::{Provide, Provider, Reading, Result, announce, export, settings, timers};

const URI: &str = "test://review/status";
const TIMER: &str = "review";
const DEFAULT_DELAY_SECONDS: f64 = 5.0;
/// More than a day is a mistake in wharf.toml, not a review.
const MAX_DELAY_SECONDS: f64 = 86_400.0;

/// Where it stands: all that this provider remembers.
#[derive(Clone, Copy, PartialEq)]
enum Review {
    /// Nobody has subscribed yet.
    Pending,
    /// The timer runs.
    UnderWay,
    Done,
}

impl Provide for Review {
    fn provider() -> Result<Provider<Self>> {
        let mut provider = Provider::new(Review::Pending);
        provider
            .resource(URI)
            .name("review-status")
            .title("Review status")
            .describe("Where the review stands. Subscribe to be told when it is done, instead of asking again and again.")
            .mime_type("text/plain")
            // The review goes on when everybody has left: whoever reads later finds it done.
            .on_subscribe(|review, _| review.begin())
            .read(|review, _| Ok(review.reading()));
        Ok(provider)
    }
}

impl Review {
    /// Only the first subscription starts the review; later ones find it under way or done.
    fn begin(&mut self) -> Result<()> {
        if *self == Review::Pending {
            timers::after(TIMER, delay_ms(), Review::end)?;
            *self = Review::UnderWay;
        }
        Ok(())
    }

    /// First change what is read, then say so.
    fn end(&mut self) {
        *self = Review::Done;
        announce::updated([URI]);
    }

    fn reading(&self) -> Reading {
        let (status, version, message) = match self {
            Review::Pending | Review::UnderWay => {
                (setting("initial-status", "pending"), "1", setting("initial-message", "Waiting for a reviewer."))
            }
            Review::Done => (setting("updated-status", "reviewed"), "2", setting("updated-message", "Approved, ready to merge.")),
        };
        // The host may still hold this version: then it is not sent again.
        Reading::new(format!("status: {status}\nversion: {version}\nmessage: {message}")).version(version)
    }
}

fn setting(name: &str, default: &str) -> String {
    settings::get(name).unwrap_or_else(|| default.into())
}

fn delay_ms() -> u32 {
    let seconds = match settings::get("delay-seconds") {
        None => DEFAULT_DELAY_SECONDS,
        Some(text) => match text.parse::<f64>() {
            Ok(seconds) if (0.0..=MAX_DELAY_SECONDS).contains(&seconds) => seconds,
            _ => {
                // What a provider writes to stderr goes to the host's log, under the provider's name.
                eprintln!(
                    "delay-seconds = {text:?} is no number from 0 to {MAX_DELAY_SECONDS}: taking {DEFAULT_DELAY_SECONDS}. Set it in wharf.toml."
                );
                DEFAULT_DELAY_SECONDS
            }
        },
    };
    (seconds * 1000.0) as u32
}

export!(Review: subscriptions, timers);
