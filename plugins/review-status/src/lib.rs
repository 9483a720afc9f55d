//! `review-status`: one resource that changes by itself, as the model of a live provider.
//!
//! Somebody submitted a piece of work and waits for its review. `test://review/status` says `pending`; some seconds after the first
//! subscription the review is there, and everybody who subscribed is told.
//!
//! Settings, all optional: `delay-seconds` (5), `initial-status`, `initial-message`, `updated-status`, `updated-message`.

mod bindings {
    wit_bindgen::generate!({ path: "../../wit", world: "live-provider" });
}

use std::cell::RefCell;

use bindings::{
    exports::wharf::provider::{
        resources::{self, ReadRequest, Reading},
        subscriptions, timer_handler,
    },
    wharf::provider::{
        announce, settings, timers,
        types::{Body, Contents, Error, ResourceInfo, ResourcePage, Reuse, TemplateInfo, TemplateMatch},
    },
};

const URI: &str = "test://review/status";
const MIME_TYPE: &str = "text/plain";
const TIMER: &str = "review";
const DEFAULT_DELAY_SECONDS: f64 = 5.0;
/// More than a day is a mistake in wharf.toml, not a review.
const MAX_DELAY_SECONDS: f64 = 86_400.0;

#[derive(Clone, Copy, PartialEq)]
enum Review {
    /// Nobody has subscribed yet.
    Pending,
    /// The timer runs.
    UnderWay,
    Done,
}

// A live provider has exactly one instance, and calls come one at a time: what one call leaves here is there in the next.
thread_local! {
    static REVIEW: RefCell<Review> = const { RefCell::new(Review::Pending) };
}

struct ReviewStatus;

impl resources::Guest for ReviewStatus {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let status = ResourceInfo {
            uri: URI.into(),
            name: "review-status".into(),
            title: Some("Review status".into()),
            description: Some("Where the review stands. Subscribe to be told when it is done, instead of asking again and again.".into()),
            mime_type: Some(MIME_TYPE.into()),
            size: None,
            icons: None,
            annotations: None,
            meta_json: None,
        };
        // The list itself never changes, so the host need not ask again.
        Ok(ResourcePage { resources: vec![status], next_cursor: None, reuse: Some(Reuse::UntilAnnounced) })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(Vec::new())
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        if request.uri != URI {
            return Err(Error::NotFound);
        }
        let (status, version, message) = match REVIEW.with_borrow(|review| *review) {
            Review::Pending | Review::UnderWay => {
                (setting("initial-status", "pending"), "1", setting("initial-message", "Waiting for a reviewer."))
            }
            Review::Done => (setting("updated-status", "reviewed"), "2", setting("updated-message", "Approved, ready to merge.")),
        };
        // The host may still hold this version: then it need not be sent again.
        if request.if_none_match.as_deref() == Some(version) {
            return Ok(None);
        }
        let text = format!("status: {status}\nversion: {version}\nmessage: {message}");
        let contents = Contents { uri: None, mime_type: Some(MIME_TYPE.into()), body: Body::Text(text), meta_json: None };
        Ok(Some(Reading { contents: vec![contents], version: Some(version.into()), reuse: None }))
    }
}

impl subscriptions::Guest for ReviewStatus {
    fn subscribe(uri: String, _matched: Option<TemplateMatch>) -> Result<(), Error> {
        if uri != URI {
            return Err(Error::NotFound);
        }
        // Only the first subscription starts the review; later ones find it under way or done.
        if REVIEW.with_borrow(|review| *review == Review::Pending) {
            timers::start(TIMER, delay_ms(), None)?;
            REVIEW.set(Review::UnderWay);
        }
        Ok(())
    }

    fn unsubscribe(_uri: String) {
        // The review goes on: whoever reads later finds it done.
    }
}

impl timer_handler::Guest for ReviewStatus {
    fn fired(_names: Vec<String>) {
        // First change what `read` answers, then say so.
        REVIEW.set(Review::Done);
        announce::updated(&[URI.into()]);
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

bindings::export!(ReviewStatus with_types_in bindings);
