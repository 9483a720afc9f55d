//! From `tracing`'s spans to those of OpenTelemetry.
//!
//! Invariants: a span that continues another's trace follows that one's choice whether it is recorded (OpenTelemetry's `ParentBased`), one
//! below a span of this host follows that, and only one that begins a trace is chosen by the ratio; what is not recorded keeps its ids and
//! nothing else.

use std::{borrow::Cow, fmt, sync::Arc};

use tracing::{
    Metadata, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
    span::{Attributes, Id, Record},
    subscriber::Interest,
};
use tracing_subscriber::{
    layer::{Context, Filter, Layer},
    registry::LookupSpan,
};

use super::{
    queue::Queue,
    span::{Clock, Ids, Kind, Span, Value},
};
use crate::trace::{LEVEL, LINK, PARENT, STATE, TARGET, TraceContext};

/// See the module's page. It wants [`SpanFilter`] before it.
#[derive(Debug)]
pub struct SpanLayer(Arc<Queue>);

/// Lets through the host's own spans while they are collected, and nothing else: then no place that makes one makes it in vain.
#[derive(Debug, Clone)]
pub struct SpanFilter(Arc<Queue>);

impl SpanLayer {
    pub(super) fn new(queue: Arc<Queue>) -> Self {
        Self(queue)
    }
}

impl SpanFilter {
    pub(super) fn new(queue: Arc<Queue>) -> Self {
        Self(queue)
    }

    fn wants(&self, what: &Metadata<'_>) -> bool {
        what.is_span() && what.target() == TARGET && self.0.is_open()
    }
}

impl<S> Filter<S> for SpanFilter {
    fn enabled(&self, what: &Metadata<'_>, _context: &Context<'_, S>) -> bool {
        self.wants(what)
    }

    fn callsite_enabled(&self, what: &'static Metadata<'static>) -> Interest {
        if self.wants(what) { Interest::always() } else { Interest::never() }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(if self.0.is_open() { LevelFilter::from_level(LEVEL) } else { LevelFilter::OFF })
    }
}

/// What is kept with a span.
struct Going {
    ids: Ids,
    /// None if it is not recorded.
    told: Option<Box<(Said, Clock)>>,
    start: std::time::SystemTime,
    parent: Option<[u8; 8]>,
    is_remote: bool,
}

/// What its fields say.
#[derive(Default)]
struct Said {
    parent: Option<TraceContext>,
    state: Option<String>,
    link: Option<TraceContext>,
    name: Option<Cow<'static, str>>,
    kind: Kind,
    failed: bool,
    attributes: Vec<(&'static str, Value)>,
}

impl Said {
    fn text(&mut self, field: &Field, text: Cow<'_, str>) {
        match field.name() {
            PARENT => self.parent = text.parse().ok(),
            LINK => self.link = text.parse().ok(),
            STATE => self.state = Some(text.into_owned()),
            "otel.name" => self.name = Some(text.into_owned().into()),
            "otel.status_code" => self.failed = text.eq_ignore_ascii_case("error"),
            "otel.kind" => {
                self.kind = match &*text {
                    "server" => Kind::Server,
                    "client" => Kind::Client,
                    _ => Kind::Internal,
                }
            }
            _ => self.set(field, Value::Text(text.into_owned().into())),
        }
    }

    fn set(&mut self, field: &Field, value: Value) {
        match self.attributes.iter_mut().find(|(name, _)| *name == field.name()) {
            Some((_, before)) => *before = value,
            None => self.attributes.push((field.name(), value)),
        }
    }
}

impl Visit for Said {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, Value::Number(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, Value::Whole(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, Value::Whole(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, Value::Truth(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, format!("{value:?}").into());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut said = Said::default();
        attributes.record(&mut said);
        let below = span.parent().and_then(|parent| parent.extensions().get::<Going>().map(|parent| parent.ids));
        let mut own = [0; 8];
        let mut random = getrandom::fill(&mut own).is_ok();
        let (trace, parent, sampled) = match (said.parent, below) {
            (Some(parent), _) => (parent.trace_id, Some(parent.span_id), parent.sampled),
            (None, Some(parent)) => (parent.trace, Some(parent.span), parent.sampled),
            (None, None) => {
                let mut trace = [0; 16];
                random &= getrandom::fill(&mut trace).is_ok();
                (trace, None, self.0.samples(&trace))
            }
        };
        // Without random numbers its ids would be those of others.
        let sampled = sampled && random;
        let is_remote = said.parent.is_some();
        let told = sampled.then(|| Box::new((said, Clock::start())));
        let ids = Ids { trace, span: own, sampled };
        span.extensions_mut().insert(Going { ids, told, start: std::time::SystemTime::now(), parent, is_remote });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some((said, _)) = span.extensions_mut().get_mut::<Going>().and_then(|going| going.told.as_deref_mut()) {
            values.record(said);
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some((_, clock)) = span.extensions_mut().get_mut::<Going>().and_then(|going| going.told.as_deref_mut()) {
            clock.leave();
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(Going { ids, told: Some(told), start, parent, is_remote }) = span.extensions_mut().remove::<Going>() else { return };
        let (Said { state, link, name, kind, failed, attributes, .. }, clock) = *told;
        self.0.push(Span {
            ids,
            parent,
            is_remote,
            state,
            link,
            name: name.unwrap_or(span.name().into()),
            kind,
            failed,
            attributes,
            start,
            took: clock.took(),
        });
    }
}
