//! What the host warns of about a provider while it loads and asks it: rules that were broken in a way that costs an entry or a field.

use std::{
    fmt::Debug,
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context};

/// Where the host says what it leaves out of a provider's answers.
const TARGETS: [&str; 2] = ["wharf::catalog::lists", "wharf::provider::wasm::log"];

/// Takes such warnings out of the log. All clones have the same ones.
#[derive(Clone, Default)]
pub(crate) struct Warnings(Arc<Mutex<Vec<String>>>);

/// Whether this event is one for [`Warnings`].
pub(crate) fn is_about_a_provider(what: &Metadata<'_>) -> bool {
    *what.level() == Level::WARN && TARGETS.contains(&what.target())
}

impl Warnings {
    pub(super) fn take(&self) -> Vec<String> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut message = Message::default();
        event.record(&mut message);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message.0);
    }
}

#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}
