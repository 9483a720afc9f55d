//! `{{name}}`, a Wharf provider: what it offers, and which function answers for it. What the resources hold is in `content.rs`.

mod content;

use content::Seconds;
use wharf_provider::{Provide, Provider, Result, announce, export, timers};

const SECONDS: &str = "{{scheme}}://seconds";
const EVERY_SECOND: u32 = 1000; // milliseconds

// `Seconds` is what this provider remembers: there is one, from load to the next reload, and each function is handed it.
impl Provide for Seconds {
    fn provider() -> Result<Provider<Self>> {
        let mut provider = Provider::new(Seconds::default());

        provider
            .resource("{{scheme}}://sentence")
            .title("A sentence")
            .mime_type("text/plain")
            .subscribable() // It changes only when this project does: the host tells of that by itself.
            .read(|_, _| Ok(content::SENTENCE));

        // A family of resources: every URI that matches.
        provider
            .template("{{scheme}}://greeting/{name}")
            .title("A greeting for anybody")
            .mime_type("text/plain")
            .subscribable()
            .read(|_, request| Ok(content::greeting(request.variable("name"))));

        // No call may wait, so time comes from the host; it is asked for while somebody is subscribed.
        provider
            .resource(SECONDS)
            .title("How long somebody has been subscribed")
            .mime_type("text/plain")
            .on_subscribe(|_, _| timers::every(SECONDS, EVERY_SECOND, tick))
            .on_unsubscribe(|_, _| timers::cancel(SECONDS))
            .read(|seconds, _| Ok(seconds.text()));

        Ok(provider)
    }
}

/// First change what is read, then say so.
fn tick(seconds: &mut Seconds) {
    seconds.tick();
    announce::updated([SECONDS]);
}

// What this provider has besides resources: name here what you use.
export!(Seconds: subscriptions, timers);

#[cfg(test)]
mod tests {
    use wharf_provider::testing::Tested;

    use super::*;

    #[test]
    fn seconds_pass_while_somebody_is_subscribed() -> Result<()> {
        let mut provider = Tested::<Seconds>::new()?;
        provider.subscribe(SECONDS)?;
        provider.fire(SECONDS);
        assert_eq!(provider.announced(), [SECONDS]);
        assert_eq!(provider.text(SECONDS)?, "1 second");
        Ok(())
    }
}
