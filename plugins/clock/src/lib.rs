//! `clock`: the time in every time zone, as the model of a live provider with a template.
//!
//! `clock://zone/Europe/Berlin` says `2026-11-30T14:05:09+01:00 Europe/Berlin`. Every zone of the IANA time zone database can be read, the
//! common ones are listed, and all are suggested while someone types. A timer runs only while someone is subscribed: then each
//! subscribed zone is announced once a second, on the second.
//!
//! The rules of the zones are those of the crate jiff's copy of the database when this was built.

use std::collections::BTreeSet;

use jiff::{
    Timestamp,
    tz::{TimeZone, TimeZoneDatabase},
};
use wharf_provider::{Entry, Error, Provide, Provider, Request, Result, Reuse, Suggestions, announce, export, timers};

const TIMER: &str = "tick";
const TICK_MS: u32 = 1000;

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

/// Which URIs somebody is subscribed to: all that this provider remembers.
#[derive(Default)]
struct Clock {
    subscribed: BTreeSet<String>,
}

impl Provide for Clock {
    fn provider() -> Result<Provider<Self>> {
        let mut provider = Provider::new(Clock::default());
        // The list is the same as long as this file is.
        provider.list_reuse(Reuse::UntilAnnounced);
        provider
            .template("clock://zone/{+name}")
            .title("The time in a zone")
            .describe("The name is that of the IANA time zone database, such as Europe/Berlin. Subscribe for a clock that ticks.")
            .mime_type("text/plain")
            .list(|_| Ok(COMMON.map(entry).into()))
            .complete("name", |_, typed, _| Ok(suggestions(typed)))
            .on_subscribe(Clock::subscribe)
            .on_unsubscribe(Clock::unsubscribe)
            .read(|_, request| {
                let name = request.variable("name");
                let now = Timestamp::now().to_zoned(zone(name)?);
                Ok(format!("{} {name}", now.strftime("%Y-%m-%dT%H:%M:%S%:z")))
            });
        Ok(provider)
    }
}

impl Clock {
    fn subscribe(&mut self, request: &Request) -> Result<()> {
        zone(request.variable("name"))?;
        if self.subscribed.is_empty() {
            timers::start(TIMER, to_the_next_second(), Some(TICK_MS), Clock::tick)?;
        }
        self.subscribed.insert(request.uri().to_owned());
        Ok(())
    }

    fn unsubscribe(&mut self, request: &Request) {
        if self.subscribed.remove(request.uri()) && self.subscribed.is_empty() {
            timers::cancel(TIMER);
        }
    }

    fn tick(&mut self) {
        announce::updated(&self.subscribed);
    }
}

fn suggestions(typed: &str) -> Suggestions {
    let typed = typed.to_ascii_lowercase();
    let database = TimeZoneDatabase::bundled();
    let mut names: Vec<String> = database.available().map(|name| name.as_str().to_owned()).collect();
    names.retain(|name| name.to_ascii_lowercase().contains(&typed));
    // Common ones first, then those that begin with what is typed, then those that have it somewhere: `berl` is enough for Europe/Berlin.
    names.sort_by_cached_key(|name| {
        let begins = name.to_ascii_lowercase().starts_with(&typed);
        (!COMMON.contains(&name.as_str()), !begins, name.clone())
    });
    names.into()
}

/// The zone of this name. Names are taken as the database writes them and in no other case, so that each zone has one URI.
fn zone(name: &str) -> Result<TimeZone> {
    let zone = TimeZoneDatabase::bundled().get(name).map_err(|_| Error::NotFound)?;
    if zone.iana_name() == Some(name) { Ok(zone) } else { Err(Error::NotFound) }
}

fn to_the_next_second() -> u32 {
    let past = Timestamp::now().subsec_millisecond().unsigned_abs();
    TICK_MS.saturating_sub(past).max(1)
}

fn entry(name: &str) -> Entry {
    let place = name.rsplit('/').next().unwrap_or(name).replace('_', " ");
    Entry::new([("name", name)]).name(name).title(format!("The time in {place}"))
}

export!(Clock: subscriptions, completions, timers);
