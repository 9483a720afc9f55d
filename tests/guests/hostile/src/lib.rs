//! Misbehaves, as the URI it is asked for says.
//!
//! Reads: `hostile://ok` and `hostile://count` (reads of this instance so far) behave. `hostile://trap`, `hostile://exit`,
//! `hostile://loop`, `hostile://sleep` (for ever, inside WASI), `hostile://allocate` (for ever), `hostile://huge` (1 GB, or as much as
//! there is), `hostile://big/<bytes>`, `hostile://bad-utf8`, `hostile://flood` (100,000 lines on stderr), `hostile://long-line` (1 MiB
//! without an end), `hostile://announce` (what is not its own, and no URIs), `hostile://announce-huge` (32 MiB of URIs),
//! `hostile://random` (1 MiB of it at once), `hostile://pollables` (10,000 handles kept), `hostile://sockets` (says how many it got),
//! `hostile://timers` (2,000 timers; says how many it got), `hostile://timer-names`, `hostile://timer-trap` (traps when a timer fires).
//!
//! Lists, by the setting `list` or the last `hostile://list/<mode>` read: `endless` (pages for ever), `huge` (100,000 entries on a page),
//! `duplicates`, `reserved` (`wharf:` URIs and templates), `trap`, `loop`, `bad-cursor` (the second page is always invalid),
//! `denied` (the list is), `needs` (lists one that is unavailable until a setting is set), `traps` (lists `trap` before `ok`), `not-found` (lists one that is not there).
//!
//! `subscribe` traps for `hostile://trap`, loops for `hostile://loop`, and else succeeds.

use std::{cell::RefCell, io::Write, time::Duration};

wit_bindgen::generate!({ path: "../../../wit", world: "wharf:provider/live-provider" });

use exports::wharf::provider::{
    resources::{self, ReadRequest, Reading},
    subscriptions, timer_handler,
};
use wharf::provider::{
    announce, settings, timers,
    types::{Body, Contents, Error, ResourceInfo, ResourcePage, TemplateInfo, TemplateMatch},
};

thread_local! {
    static COUNT: RefCell<u64> = const { RefCell::new(0) };
    static MODE: RefCell<String> = const { RefCell::new(String::new()) };
}

struct Hostile;
export!(Hostile);

fn spin() -> ! {
    let mut n = 0u64;
    loop {
        n = std::hint::black_box(n.wrapping_add(1));
    }
}

fn mode() -> String {
    let mode = MODE.with_borrow(Clone::clone);
    if mode.is_empty() { settings::get("list").unwrap_or_default() } else { mode }
}

fn info(uri: impl Into<String>) -> ResourceInfo {
    ResourceInfo {
        uri: uri.into(),
        name: "hostile".into(),
        title: None,
        description: None,
        mime_type: None,
        size: None,
        icons: None,
        annotations: None,
        meta_json: None,
    }
}

fn page(resources: Vec<ResourceInfo>, next: Option<String>) -> Result<ResourcePage, Error> {
    Ok(ResourcePage { resources, next_cursor: next, reuse: None })
}

fn text(text: impl Into<String>) -> Body {
    Body::Text(text.into())
}

impl resources::Guest for Hostile {
    fn list(cursor: Option<String>) -> Result<ResourcePage, Error> {
        match mode().as_str() {
            "endless" => {
                let n: u64 = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
                page(vec![info(format!("hostile://endless/{n}"))], Some((n + 1).to_string()))
            }
            "huge" => page((0..100_000).map(|n| info(format!("hostile://huge/{n}"))).collect(), None),
            "duplicates" => page(vec![info("hostile://ok"), info("hostile://ok"), info("hostile://ok")], None),
            "reserved" => page(vec![info("wharf://state/x"), info("hostile://ok")], None),
            "trap" => panic!("the list"),
            "denied" => Err(Error::Denied("grant the folder notes".into())),
            "needs" => page(vec![info("hostile://needs"), info("hostile://ok")], None),
            "traps" => page(vec![info("hostile://trap"), info("hostile://ok")], None),
            "not-found" => page(vec![info("hostile://not-found")], None),
            "loop" => spin(),
            "bad-cursor" if cursor.is_some() => Err(Error::Invalid("no such cursor".into())),
            "bad-cursor" => page(vec![info("hostile://ok")], Some("next".into())),
            _ => page(vec![info("hostile://ok"), info("hostile://count")], None),
        }
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        if mode() != "reserved" {
            return Ok(Vec::new());
        }
        Ok(vec![TemplateInfo {
            uri_template: "wharf://state/{key}".into(),
            name: "reserved".into(),
            title: None,
            description: None,
            mime_type: None,
            icons: None,
            annotations: None,
            meta_json: None,
        }])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let count = COUNT.with_borrow_mut(|count| {
            *count += 1;
            *count
        });
        let Some(what) = request.uri.strip_prefix("hostile://") else { return Err(Error::NotFound) };
        let body = match what {
            "ok" => text("ok"),
            "needs" => return Err(Error::Unavailable("set token".into())),
            "count" => text(count.to_string()),
            "trap" => panic!("asked to"),
            "exit" => std::process::exit(3),
            "loop" => spin(),
            "sleep" => loop {
                std::thread::sleep(Duration::from_secs(3600));
            },
            "allocate" => {
                let mut kept = Vec::new();
                loop {
                    kept.push(std::hint::black_box(vec![1u8; 1 << 20]));
                }
            }
            "huge" => {
                let mut bytes = Vec::new();
                let mut size = 1usize << 30;
                while bytes.try_reserve_exact(size).is_err() {
                    size -= size / 8;
                }
                bytes.resize(size, b'x');
                Body::Utf8(bytes)
            }
            "bad-utf8" => Body::Utf8(vec![b'a', 0xff]),
            "random" => text(wasi::random::random::get_random_bytes(1 << 20).len().to_string()),
            "pollables" => {
                for _ in 0..10_000 {
                    std::mem::forget(wasi::clocks::monotonic_clock::subscribe_duration(1));
                }
                text("held")
            }
            "sockets" => {
                use wasi::sockets::{network::IpAddressFamily, tcp_create_socket::create_tcp_socket, udp_create_socket::create_udp_socket};
                let made = [create_tcp_socket(IpAddressFamily::Ipv4).is_ok(), create_udp_socket(IpAddressFamily::Ipv4).is_ok()];
                text(made.iter().filter(|made| **made).count().to_string())
            }
            "flood" => {
                let mut stderr = std::io::stderr().lock();
                for n in 0..100_000 {
                    let _ = writeln!(stderr, "flood {n}");
                }
                text("flooded")
            }
            "long-line" => {
                let _ = std::io::stderr().write_all(&vec![b'x'; 1 << 20]);
                text("written")
            }
            "announce" => {
                announce::updated(&["other://thing".into(), "no uri".into(), "wharf://state/x".into(), "hostile://ok".into()]);
                text("announced")
            }
            "announce-huge" => {
                announce::updated(&vec!["x".repeat(1 << 20); 32]);
                text("announced")
            }
            "timers" => text((0..2_000).filter(|n| timers::start(&format!("timer {n}"), 3_600_000, None).is_ok()).count().to_string()),
            "timer-names" => text(format!(
                "{:?} {:?} {:?}",
                timers::start("", 1000, None),
                timers::start(&"x".repeat(2049), 1000, None),
                timers::start(&"x".repeat(2048), 1000, None)
            )),
            "timer-trap" => {
                timers::start("trap", 0, None)?;
                text("started")
            }
            _ => {
                if let Some(mode) = what.strip_prefix("list/") {
                    MODE.set(mode.into());
                    announce::list_changed();
                    text(mode)
                } else if let Some(size) = what.strip_prefix("big/").and_then(|size| size.parse().ok()) {
                    Body::Utf8(vec![b'x'; size])
                } else {
                    return Err(Error::NotFound);
                }
            }
        };
        Ok(Some(Reading { contents: vec![Contents { uri: None, mime_type: None, body, meta_json: None }], version: None, reuse: None }))
    }
}

impl subscriptions::Guest for Hostile {
    fn subscribe(uri: String, _matched: Option<TemplateMatch>) -> Result<(), Error> {
        match uri.as_str() {
            "hostile://trap" => panic!("asked to"),
            "hostile://loop" => spin(),
            _ => Ok(()),
        }
    }

    fn unsubscribe(_uri: String) {}
}

impl timer_handler::Guest for Hostile {
    fn fired(_names: Vec<String>) {
        panic!("a timer")
    }
}
