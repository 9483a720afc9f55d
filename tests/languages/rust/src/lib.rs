//! The contract fixture in Rust, with the SDK. What it has to do is the same in each language, and is told by the test that drives it.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    time::{SystemTime, UNIX_EPOCH},
};

use wharf_provider::{
    Contents, Error, Icon, IconTheme, Provide, Provider, Reading, Request, Result, Reuse, Role, Suggestions, announce, export, settings,
    timers,
};

const COUNT: &str = "contract://count";
const SETTING: &str = "contract://setting";
const EVERY_MS: u32 = 100;
const TEXT: &str = "text/plain";
const META: &str = r#"{"contract/x": 1}"#;
const LAST_MODIFIED: f64 = 1_700_000_000_000.0;
/// Bytes that are asked for at a time until there are no more.
const PIECE: usize = 1 << 20;

#[derive(Default)]
struct Contract {
    count: u32,
}

impl Provide for Contract {
    fn provider() -> Result<Provider<Self>> {
        let mut provider = Provider::new(Contract::default());
        provider.page_size(1).list_reuse(Reuse::UntilAnnounced);

        provider
            .resource("contract://full")
            .title("Everything")
            .describe("Every field that a list can carry.")
            .mime_type(TEXT)
            .size(5)
            .icon(icon())
            .audience([Role::User, Role::Assistant])
            .priority(0.5)
            .last_modified(LAST_MODIFIED)
            .meta(META)
            .subscribable()
            .read(|_, _| Ok(Reading::new("hello").version("1").reuse_ms(1000)));
        provider.resource("contract://utf8").mime_type(TEXT).subscribable().read(|_, _| Ok(Contents::utf8("grüße, 世界")));
        provider
            .resource("contract://blob")
            .mime_type("application/octet-stream")
            .subscribable()
            .read(|_, _| Ok((0..=255).collect::<Vec<u8>>()));
        provider.resource("contract://two").mime_type(TEXT).subscribable().read(|_, _| {
            let part = Contents::text("two").uri("contract://two/part").mime_type("text/markdown").meta(r#"{"contract/part": 2}"#);
            Ok([Contents::text("one"), part])
        });
        provider
            .resource(COUNT)
            .mime_type(TEXT)
            .on_subscribe(|_, _| timers::every("count", EVERY_MS, Contract::count))
            .on_unsubscribe(|_, _| timers::cancel("count"))
            .read(|contract, _| Ok(contract.count.to_string()));
        provider
            .resource(SETTING)
            .mime_type(TEXT)
            .subscribable()
            .read(|_, _| Ok(settings::get("greeting").unwrap_or_else(|| "none".into())));

        provider
            .template("contract://echo/{word}{?from,to}")
            .title("Echo")
            .describe("What the URI says.")
            .mime_type(TEXT)
            .icon(icon())
            .audience([Role::User, Role::Assistant])
            .priority(0.5)
            .last_modified(LAST_MODIFIED)
            .meta(META)
            .subscribable()
            .complete("word", |_, typed, _| Ok(Suggestions::beginning_with(typed, ["alpha", "beta", "gamma"])))
            .complete("from", |_, _, known| Ok(Suggestions::from_iter(known.get("word"))))
            .read(|_, request| {
                let given = |name| request.given(name).unwrap_or("-");
                Ok(format!("word={} from={} to={}", given("word"), given("from"), given("to")))
            });
        provider.template("contract://path/{+path}").subscribable().read(|_, request| Ok(request.variable("path").to_owned()));
        provider
            .template("contract://error/{kind}")
            .on_subscribe(|_, request| Err(as_asked(request.variable("kind"))))
            .read(|_, request| Err::<Reading, _>(as_asked(request.variable("kind"))));
        provider.template("contract://do/{what}").subscribable().read(|_, request| act(request));
        Ok(provider)
    }
}

impl Contract {
    fn count(&mut self) {
        self.count += 1;
        announce::updated([COUNT]);
    }
}

fn icon() -> Icon {
    Icon::new("data:image/png;base64,AAAA").mime_type("image/png").size("48x48").theme(IconTheme::Dark)
}

fn as_asked(kind: &str) -> Error {
    let text = format!("as asked: {kind}");
    match kind {
        "invalid" => Error::Invalid(text),
        "denied" => Error::Denied(text),
        "unavailable" => Error::Unavailable(text),
        "failed" => Error::Failed(text),
        _ => Error::NotFound,
    }
}

fn act(request: &Request) -> Result<String> {
    match request.variable("what") {
        "trap" => {
            eprintln!("about to die");
            panic!("as asked");
        }
        "loop" => loop {
            std::hint::spin_loop();
        },
        "allocate" => {
            let mut all = Vec::new();
            loop {
                all.push(std::hint::black_box(vec![1_u8; PIECE]));
            }
        }
        "stderr" => {
            eprintln!("a line from the guest");
            Ok("done".into())
        }
        // What std has of randomness: its own keys of a hash map, from the host.
        "random" => Ok(format!("{:020}", RandomState::new().build_hasher().finish())),
        "now" => Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis().to_string()),
        "announce" => {
            announce::updated([SETTING]);
            Ok("done".into())
        }
        _ => Err(Error::NotFound),
    }
}

export!(Contract: subscriptions, completions, timers);
