//! `clock`: the time in every time zone, as the model of a live provider with a template.
//!
//! `clock://zone/Europe/Berlin` says `2026-11-30T14:05:09+01:00 Europe/Berlin`. Every zone of the IANA time zone database can be read, the
//! common ones are listed, and all are suggested while someone types. A timer runs only while someone is subscribed: then each
//! subscribed zone is announced once a second, on the second.
//!
//! The rules of the zones are those of the crate jiff's copy of the database when this was built.

mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        // The world `live-provider` as it is, and one export more.
        inline: "
            package wharf:clock;
            world clock {
                include wharf:provider/live-provider@0.1.0;
                export wharf:provider/completions@0.1.0;
            }
        ",
        generate_all,
    });
}

use std::{cell::RefCell, collections::BTreeSet};

use bindings::{
    exports::wharf::provider::{
        completions::{self, Completion, CompletionRequest},
        resources::{self, ReadRequest, Reading},
        subscriptions, timer_handler,
    },
    wharf::provider::{
        announce, timers,
        types::{Body, Contents, Error, ResourceInfo, ResourcePage, Reuse, TemplateInfo, TemplateMatch},
    },
};
use jiff::{
    Timestamp,
    tz::{TimeZone, TimeZoneDatabase},
};

/// What every URI here begins with; the rest is the name of the zone.
const ZONE: &str = "clock://zone/";
const TEMPLATE: &str = "clock://zone/{+name}";
const VARIABLE: &str = "name";
const MIME_TYPE: &str = "text/plain";
const TIMER: &str = "tick";
const TICK_MS: u32 = 1000;
/// The host passes on no more suggestions than this.
const SUGGESTIONS: usize = 100;

/// The zones that are listed, and suggested before all others: together most of the world's people live in them.
const COMMON: [&str; 24] = [
    "UTC",
    "Africa/Cairo",
    "Africa/Johannesburg",
    "Africa/Lagos",
    "Africa/Nairobi",
    "America/Argentina/Buenos_Aires",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "America/Mexico_City",
    "America/New_York",
    "America/Sao_Paulo",
    "Asia/Dhaka",
    "Asia/Dubai",
    "Asia/Jakarta",
    "Asia/Karachi",
    "Asia/Kolkata",
    "Asia/Shanghai",
    "Asia/Singapore",
    "Asia/Tokyo",
    "Australia/Sydney",
    "Europe/Berlin",
    "Europe/London",
    "Pacific/Auckland",
];

// A live provider has exactly one instance, and calls come one at a time: what one call leaves here is there in the next.
thread_local! {
    static SUBSCRIBED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

struct Clock;

impl resources::Guest for Clock {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let resources = COMMON.iter().map(|name| info(name)).collect();
        Ok(ResourcePage { resources, next_cursor: None, reuse: Some(Reuse::UntilAnnounced) })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(vec![TemplateInfo {
            uri_template: TEMPLATE.into(),
            name: "zone".into(),
            title: Some("The time in a zone".into()),
            description: Some(
                "The name is that of the IANA time zone database, such as Europe/Berlin. Subscribe for a clock that ticks.".into(),
            ),
            mime_type: Some(MIME_TYPE.into()),
            icons: None,
            annotations: None,
            meta_json: None,
        }])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let (name, zone) = zone(&request.uri, request.matched.as_ref())?;
        let now = Timestamp::now().to_zoned(zone);
        let text = format!("{} {name}", now.strftime("%Y-%m-%dT%H:%M:%S%:z"));
        let contents = Contents { uri: None, mime_type: Some(MIME_TYPE.into()), body: Body::Text(text), meta_json: None };
        Ok(Some(Reading { contents: vec![contents], version: None, reuse: None }))
    }
}

impl subscriptions::Guest for Clock {
    fn subscribe(uri: String, matched: Option<TemplateMatch>) -> Result<(), Error> {
        zone(&uri, matched.as_ref())?;
        if SUBSCRIBED.with_borrow(BTreeSet::is_empty) {
            timers::start(TIMER, to_the_next_second(), Some(TICK_MS))?;
        }
        SUBSCRIBED.with_borrow_mut(|subscribed| subscribed.insert(uri));
        Ok(())
    }

    fn unsubscribe(uri: String) {
        let nobody_is_left = SUBSCRIBED.with_borrow_mut(|subscribed| subscribed.remove(&uri) && subscribed.is_empty());
        if nobody_is_left {
            timers::cancel(TIMER);
        }
    }
}

impl timer_handler::Guest for Clock {
    fn fired(_names: Vec<String>) {
        let subscribed: Vec<String> = SUBSCRIBED.with_borrow(|subscribed| subscribed.iter().cloned().collect());
        announce::updated(&subscribed);
    }
}

impl completions::Guest for Clock {
    fn complete(request: CompletionRequest) -> Result<Completion, Error> {
        if request.uri_template != TEMPLATE || request.argument != VARIABLE {
            return Err(Error::NotFound);
        }
        let typed = request.value.to_ascii_lowercase();
        let database = TimeZoneDatabase::bundled();
        let mut names: Vec<String> = database.available().map(|name| name.as_str().to_owned()).collect();
        names.retain(|name| name.to_ascii_lowercase().contains(&typed));
        // Common ones first, then those that begin with what is typed, then those that have it somewhere: `berl` is enough for Europe/Berlin.
        names.sort_by_cached_key(|name| {
            let begins = name.to_ascii_lowercase().starts_with(&typed);
            (!COMMON.contains(&name.as_str()), !begins, name.clone())
        });
        let total = u32::try_from(names.len()).ok();
        names.truncate(SUGGESTIONS);
        Ok(Completion { values: names, total, has_more: None })
    }
}

/// The zone a URI names. Names are taken as the database writes them and in no other case, so that each zone has one URI.
fn zone(uri: &str, matched: Option<&TemplateMatch>) -> Result<(String, TimeZone), Error> {
    // The host hands over the variable decoded; a URI that it found in the list is one of ours, and has nothing to decode.
    let variable = matched.and_then(|matched| matched.variables.iter().find(|(name, _)| name == VARIABLE));
    let name = match variable {
        Some((_, value)) => value.as_str(),
        None => uri.strip_prefix(ZONE).ok_or(Error::NotFound)?,
    };
    let zone = TimeZoneDatabase::bundled().get(name).map_err(|_| Error::NotFound)?;
    match zone.iana_name() {
        Some(exact) if exact == name => Ok((name.to_owned(), zone)),
        _ => Err(Error::NotFound),
    }
}

fn to_the_next_second() -> u32 {
    let past = Timestamp::now().subsec_millisecond().unsigned_abs();
    TICK_MS.saturating_sub(past).max(1)
}

fn info(name: &str) -> ResourceInfo {
    ResourceInfo {
        uri: format!("{ZONE}{name}"),
        name: name.into(),
        title: Some(format!("The time in {}", name.rsplit('/').next().unwrap_or(name).replace('_', " "))),
        description: None,
        mime_type: Some(MIME_TYPE.into()),
        size: None,
        icons: None,
        annotations: None,
        meta_json: None,
    }
}

bindings::export!(Clock with_types_in bindings);
