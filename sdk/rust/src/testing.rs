//! For an author's own tests, with `cargo test`, where there is no host: calls a provider as the host would, and shows what it asked for.
//! Settings and the store are as the test sets them; timers, watches and fetches start, and what they wait for comes when the test says so.
//!
//! ```
//! use wharf_provider::{Provide, Provider, Result, announce, testing::Tested, timers};
//!
//! struct Count(u32);
//!
//! impl Provide for Count {
//!     fn provider() -> Result<Provider<Self>> {
//!         let mut provider = Provider::new(Count(0));
//!         timers::every("count", 1000, |count: &mut Count| {
//!             count.0 += 1;
//!             announce::updated(["x://count"]);
//!         })?;
//!         provider.resource("x://count").read(|count, _| Ok(count.0.to_string()));
//!         Ok(provider)
//!     }
//! }
//!
//! let mut count = Tested::<Count>::new()?;
//! count.fire("count");
//! assert_eq!(count.announced(), ["x://count"]);
//! assert_eq!(count.text("x://count")?, "1");
//! # Ok::<(), wharf_provider::Error>(())
//! ```

use std::{cell::RefCell, collections::BTreeMap};

use crate::{
    bindings::types::{ResourceInfo, TemplateInfo, TemplateMatch},
    callbacks,
    error::{Error, Result},
    fetch::Answer,
    files::FileChange,
    provider::{Provide, Provider},
    reading::{Body, Reading},
    request::Variables,
    webhooks::{WebhookRequest, WebhookResponse},
};

#[derive(Default)]
struct Recorded {
    announced: Vec<String>,
    lists: usize,
    settings: BTreeMap<String, String>,
    store: BTreeMap<String, Vec<u8>>,
    running: Vec<String>,
}

thread_local! {
    static RECORDED: RefCell<Recorded> = RefCell::default();
}

/// A provider under test.
pub struct Tested<S> {
    provider: Provider<S>,
}

/// Sets a setting; before [`Tested::new`].
pub fn set(name: &str, value: &str) {
    RECORDED.with_borrow_mut(|recorded| recorded.settings.insert(name.into(), value.into()));
}

impl<S: Provide> Tested<S> {
    /// A fresh instance.
    pub fn new() -> Result<Self> {
        callbacks::expect::<S>();
        Ok(Self { provider: S::provider()? })
    }

    /// What the provider remembers.
    pub fn state(&mut self) -> &mut S {
        &mut self.provider.state
    }

    /// All pages of the list.
    pub fn list(&mut self) -> Result<Vec<ResourceInfo>> {
        let (mut all, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let page = self.provider.list(cursor.as_deref())?;
            all.extend(page.resources);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(all);
            }
        }
    }

    /// The templates.
    pub fn templates(&self) -> Vec<TemplateInfo> {
        self.provider.templates()
    }

    /// Reads a resource that is listed.
    pub fn read(&mut self, uri: &str) -> Result<Reading> {
        self.provider.answer(uri.into(), None, None).map(|reading| reading.unwrap_or_else(Reading::unchanged))
    }

    /// Reads one of a template, with these variables.
    pub fn read_of(&mut self, template: &str, variables: impl Into<Variables>) -> Result<Reading> {
        let (uri, matched) = of(template, variables.into());
        self.provider.answer(uri, Some(matched), None).map(|reading| reading.unwrap_or_else(Reading::unchanged))
    }

    /// The text of a resource that is listed.
    pub fn text(&mut self, uri: &str) -> Result<String> {
        self.read(uri).map(|reading| reading.text())
    }

    /// Suggestions for a variable of a template.
    pub fn complete(&mut self, template: &str, variable: &str, typed: &str, known: impl Into<Variables>) -> Result<Vec<String>> {
        Ok(self.provider.complete(template, variable, typed, known.into().0)?.values)
    }

    /// Subscribes to a resource that is listed.
    pub fn subscribe(&mut self, uri: &str) -> Result<()> {
        self.provider.subscribe(uri.into(), None)
    }

    /// Subscribes to one of a template; gives its URI.
    pub fn subscribe_of(&mut self, template: &str, variables: impl Into<Variables>) -> Result<String> {
        let (uri, matched) = of(template, variables.into());
        self.provider.subscribe(uri.clone(), Some(matched))?;
        Ok(uri)
    }

    /// The last subscriber leaves.
    pub fn unsubscribe(&mut self, uri: &str) {
        self.provider.unsubscribe(uri);
    }

    /// Lets a timer fire that is running.
    pub fn fire(&mut self, name: &str) {
        crate::timers::fired(&mut self.provider.state, &[name.to_owned()]);
    }

    /// Files have changed.
    pub fn changed(&mut self, changes: Vec<FileChange>) {
        crate::files::changed(&mut self.provider.state, changes);
    }

    /// A request is answered.
    pub fn fetched(&mut self, name: &str, answer: Answer) {
        let outcome = crate::bindings::fetch::exports::wharf::provider::fetch_handler::FetchOutcome { name: name.into(), answer };
        crate::fetch::fetched(&mut self.provider.state, vec![outcome]);
    }

    /// Someone calls a webhook.
    pub fn receive(&mut self, request: WebhookRequest) -> WebhookResponse {
        self.provider.receive(request)
    }

    /// What was announced since this was last asked, in order.
    pub fn announced(&self) -> Vec<String> {
        RECORDED.with_borrow_mut(|recorded| std::mem::take(&mut recorded.announced))
    }

    /// How often `list_changed` was called.
    pub fn lists_announced(&self) -> usize {
        RECORDED.with_borrow(|recorded| recorded.lists)
    }

    /// Timers, watches, fetches and polls that were started and not ended, by name.
    pub fn running(&self) -> Vec<String> {
        RECORDED.with_borrow(|recorded| recorded.running.clone())
    }
}

impl Reading {
    /// All its texts, one after the other; bytes that are no text are left out.
    pub fn text(&self) -> String {
        let bodies = self.contents.iter().flatten().map(|contents| &contents.body);
        bodies
            .map(|body| match body {
                Body::Text(text) => text.clone(),
                Body::Utf8(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Body::Blob(_) => String::new(),
            })
            .collect()
    }
}

fn of(template: &str, variables: Variables) -> (String, TemplateMatch) {
    let uri = crate::template::expand(template, &variables);
    (uri, TemplateMatch { uri_template: template.into(), variables: variables.0 })
}

/// The imports, as a test sees them.
pub(crate) mod host {
    use super::{Error, RECORDED, Recorded, Result};
    use crate::{fetch::FetchRequest, shared_state::SharedValue};

    fn with<T>(act: impl FnOnce(&mut Recorded) -> T) -> T {
        RECORDED.with_borrow_mut(act)
    }

    fn begin(name: &str) -> Result<()> {
        if name.is_empty() {
            return Err(Error::invalid("a name has 1 to 2048 bytes"));
        }
        end(name);
        with(|recorded| recorded.running.push(name.into()));
        Ok(())
    }

    fn end(name: &str) {
        with(|recorded| recorded.running.retain(|known| known != name));
    }

    pub fn updated(uris: &[String]) {
        with(|recorded| recorded.announced.extend_from_slice(uris));
    }

    pub fn list_changed() {
        with(|recorded| recorded.lists += 1);
    }

    pub fn setting(name: &str) -> Option<String> {
        with(|recorded| recorded.settings.get(name).cloned())
    }

    pub fn settings() -> Vec<(String, String)> {
        with(|recorded| recorded.settings.clone().into_iter().collect())
    }

    pub fn start_timer(name: &str, _after_ms: u32, _every_ms: Option<u32>) -> Result<()> {
        begin(name)
    }

    pub fn cancel_timer(name: &str) {
        end(name);
    }

    pub fn watch(name: &str, _path: &str, _recursive: bool) -> Result<()> {
        begin(name)
    }

    pub fn unwatch(name: &str) {
        end(name);
    }

    pub fn fetch(name: &str, _request: &FetchRequest) -> Result<()> {
        begin(name)
    }

    pub fn poll(name: &str, _request: &FetchRequest, _every_ms: u32) -> Result<()> {
        begin(name)
    }

    pub fn cancel_fetch(name: &str) {
        end(name);
    }

    pub fn store_get(key: &str) -> Result<Option<Vec<u8>>> {
        Ok(with(|recorded| recorded.store.get(key).cloned()))
    }

    pub fn store_set(key: &str, value: &[u8]) -> Result<()> {
        with(|recorded| recorded.store.insert(key.into(), value.into()));
        Ok(())
    }

    pub fn store_remove(key: &str) -> Result<()> {
        with(|recorded| recorded.store.remove(key));
        Ok(())
    }

    pub fn store_replace(key: &str, expected: Option<&[u8]>, value: Option<&[u8]>) -> Result<bool> {
        let is_expected = store_get(key)?.as_deref() == expected;
        match value {
            _ if !is_expected => {}
            Some(value) => store_set(key, value)?,
            None => store_remove(key)?,
        }
        Ok(is_expected)
    }

    pub fn store_keys(prefix: &str) -> Result<Vec<String>> {
        Ok(with(|recorded| recorded.store.keys().filter(|key| key.starts_with(prefix)).cloned().collect()))
    }

    pub fn share(_key: &str, _value: &SharedValue) -> Result<()> {
        Ok(())
    }

    pub fn unshare(_key: &str) {}
}
