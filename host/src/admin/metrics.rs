//! Prometheus text, version 0.0.4 ("Text-based format" of Prometheus' "Exposition formats").
//!
//! | metric | what it counts |
//! |---|---|
//! | `wharf_build_info{version}` | 1 |
//! | `wharf_start_time_seconds` | when it was started |
//! | `wharf_ready` | whether every required provider serves |
//! | `wharf_provider_state{provider,state}` | 1 for the state it is in, else 0 |
//! | `wharf_provider_generation{provider}` | tries to load it |
//! | `wharf_provider_reloads_total{provider}` | versions that took the place of another |
//! | `wharf_provider_restarts_total{provider}` | instances that took the place of one that died |
//! | `wharf_provider_calls_total{provider,outcome}` | calls by how they ended; those answered in the guest's place too |
//! | `wharf_provider_call_duration_seconds{provider}` | how long the calls ran that were made |
//! | `wharf_provider_memory_bytes{provider}` | of all memories of its instances |
//! | `wharf_provider_memory_limit_bytes{provider}` | what one instance may have |
//! | `wharf_provider_queue{provider,queue}` | calls that wait for the instance |
//! | `wharf_provider_denials_total{provider}` | what it was denied |
//! | `wharf_provider_resources{provider}`, `wharf_provider_templates{provider}` | what it lists |
//! | `wharf_sessions`, `wharf_listens`, `wharf_listeners` | legacy sessions, `subscriptions/listen` requests, all listeners |
//! | `wharf_subscriptions` | URIs that somebody listens to |
//! | `wharf_updates_announced_total` | by providers, each URI for itself |
//! | `wharf_updates_delivered_total` | to the streams of listeners |
//! | `wharf_updates_coalesced_total` | of a URI that already waited for that listener |
//! | `wharf_updates_dropped_total` | announcements of somebody who does not own the URI |
//! | `wharf_http_requests_total{status}` | answers at the main address |
//! | `wharf_spans_exported_total`, `wharf_spans_dropped_total` | spans that the collector took, and that were let go; with `[server] otlp` only |
//!
//! Invariants: labels have names of providers, and words of this list: no URI, and nothing that a client says; the text is made at most
//! every [`KEPT`], however often it is asked for.

use std::{
    fmt::{Display, Write},
    future::Future,
    time::{Duration, UNIX_EPOCH},
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    Admin, denials,
    status::{Known, State, lists},
};
use crate::provider::tally::{BUCKETS, Durations, Outcome};

/// How long a text is good. Scrapers come every few seconds; whoever comes more often sees the same for that long.
pub const KEPT: Duration = Duration::from_millis(100);
/// Its media type.
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

const MICROS: f64 = 1e6;

/// The last text. Whoever asks while another is being made gets the last one, if there is one.
#[derive(Default)]
pub(super) struct Kept {
    text: Mutex<Option<(Instant, Bytes)>>,
    /// The right to make one.
    making: tokio::sync::Mutex<()>,
}

impl Kept {
    pub async fn or_made<F: Future<Output = String>>(&self, make: impl FnOnce() -> F) -> Bytes {
        let (fresh, stale) = self.look();
        if let Some(text) = fresh {
            return text;
        }
        let _turn = match (self.making.try_lock(), stale) {
            (Ok(turn), _) => turn,
            (Err(_), Some(stale)) => return stale,
            (Err(_), None) => self.making.lock().await,
        };
        // Another may have made it since.
        if let (Some(text), _) = self.look() {
            return text;
        }
        let text = Bytes::from(make().await);
        *self.text.lock() = Some((Instant::now(), text.clone()));
        text
    }

    fn look(&self) -> (Option<Bytes>, Option<Bytes>) {
        match &*self.text.lock() {
            Some((made, text)) if made.elapsed() < KEPT => (Some(text.clone()), None),
            Some((_, text)) => (None, Some(text.clone())),
            None => (None, None),
        }
    }
}

/// A text being written.
#[derive(Default)]
pub(super) struct Text(String);

impl Text {
    /// Begins a metric. Its samples follow.
    fn metric(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            self.0.push_str(if at == 0 { "{" } else { "," });
            self.0.push_str(label);
            self.0.push_str("=\"");
            for c in value.chars() {
                match c {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    c => self.0.push(c),
                }
            }
            self.0.push('"');
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.metric(name, kind, help);
        self.sample(name, &[], value);
    }

    fn of_providers<V: Display>(&mut self, name: &str, kind: &str, help: &str, known: &[Known], value: impl Fn(&Known) -> V) {
        self.metric(name, kind, help);
        for one in known {
            self.sample(name, &[("provider", of(one))], value(one));
        }
    }

    fn durations(&mut self, name: &str, provider: &str, durations: &Durations) {
        let bucket = format!("{name}_bucket");
        for (bound, count) in BUCKETS.iter().zip(durations.up_to) {
            self.sample(&bucket, &[("provider", provider), ("le", &seconds(*bound).to_string())], count);
        }
        self.sample(&bucket, &[("provider", provider), ("le", "+Inf")], durations.count);
        self.sample(&format!("{name}_sum"), &[("provider", provider)], seconds(durations.micros));
        self.sample(&format!("{name}_count"), &[("provider", provider)], durations.count);
    }
}

/// Exact as far as anyone needs: 2^53 microseconds are 285 years.
#[allow(clippy::cast_precision_loss)]
fn seconds(micros: u64) -> f64 {
    micros as f64 / MICROS
}

fn of(known: &Known) -> &str {
    &known.standing.planned.spec.name
}

impl Admin {
    /// The metrics, as they are or were at most [`KEPT`] ago.
    pub async fn metrics(&self) -> Bytes {
        self.kept.or_made(|| self.write_metrics()).await
    }

    async fn write_metrics(&self) -> String {
        let subscribed = self.subscriptions.counts().await.len();
        let mut text = Text::default();
        self.write_host(&mut text, subscribed);
        self.write_providers(&mut text);
        text.0
    }

    fn write_host(&self, text: &mut Text, subscribed: usize) {
        text.metric("wharf_build_info", "gauge", "The program.");
        text.sample("wharf_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
        let started = self.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        text.one("wharf_start_time_seconds", "gauge", "When it was started, in seconds since 1970.", started);
        let ready = self.not_ready().is_some_and(|lacking| lacking.is_empty());
        text.one("wharf_ready", "gauge", "Whether every required provider serves.", u8::from(ready));
        let (sessions, listens) = self.server.upgrade().map_or((0, 0), |server| (server.session_count(), server.listen_count()));
        text.one("wharf_sessions", "gauge", "Legacy sessions.", sessions);
        text.one("wharf_listens", "gauge", "Requests subscriptions/listen.", listens);
        let traffic = self.subscriptions.traffic();
        text.one("wharf_listeners", "gauge", "Sessions, listens, and what tools watch.", traffic.listeners());
        text.one("wharf_subscriptions", "gauge", "URIs that somebody listens to.", subscribed);
        for (what, help, value) in [
            ("announced", "Updates that providers announced.", self.queue.announced()),
            ("delivered", "Updates that went to the stream of a listener.", traffic.updates_delivered()),
            ("coalesced", "Updates of a URI that already waited for that listener.", traffic.updates_coalesced()),
            ("dropped", "Announcements of somebody who does not own the URI.", traffic.announcements_dropped()),
        ] {
            text.one(&format!("wharf_updates_{what}_total"), "counter", help, value);
        }
        text.metric("wharf_http_requests_total", "counter", "Answers at the main address.");
        for (status, count) in self.requests.by_status() {
            text.sample("wharf_http_requests_total", &[("status", &status.to_string())], count);
        }
        if let Some(counts) = self.spans.get().map(|spans| spans.counts()) {
            text.one("wharf_spans_exported_total", "counter", "Spans that the collector took.", counts.exported());
            text.one("wharf_spans_dropped_total", "counter", "Spans that nobody took.", counts.dropped());
        }
    }

    fn write_providers(&self, text: &mut Text) {
        let known = self.known();
        text.metric("wharf_provider_state", "gauge", "1 for the state that it is in.");
        for one in &known {
            let is = one.state();
            for state in State::ALL {
                text.sample("wharf_provider_state", &[("provider", of(one)), ("state", state.name())], u8::from(state == is));
            }
        }
        let progress = |known: &Known| known.standing.progress.clone();
        text.of_providers("wharf_provider_generation", "gauge", "Tries to load it.", &known, |one| progress(one).generation);
        let help = "Versions that took the place of another.";
        text.of_providers("wharf_provider_reloads_total", "counter", help, &known, |one| progress(one).reloads);
        let help = "Instances that took the place of one that died.";
        text.of_providers("wharf_provider_restarts_total", "counter", help, &known, |one| one.tally.restarts());
        text.metric("wharf_provider_calls_total", "counter", "Calls by how they ended.");
        for one in &known {
            for outcome in Outcome::ALL {
                let labels = [("provider", of(one)), ("outcome", outcome.name())];
                text.sample("wharf_provider_calls_total", &labels, one.tally.calls(outcome));
            }
        }
        let name = "wharf_provider_call_duration_seconds";
        text.metric(name, "histogram", "How long the calls ran that were made.");
        for one in &known {
            text.durations(name, of(one), &one.tally.durations());
        }
        text.of_providers("wharf_provider_memory_bytes", "gauge", "Of all memories of its instances.", &known, |one| one.tally.memory());
        let limit = |one: &Known| one.standing.planned.spec.limits.memory;
        text.of_providers("wharf_provider_memory_limit_bytes", "gauge", "What one instance may have.", &known, limit);
        text.metric("wharf_provider_queue", "gauge", "Calls that wait for the instance.");
        for one in &known {
            let queue = one.queue();
            for (what, depth) in [("reads", queue.reads), ("controls", queue.controls), ("webhooks", queue.webhooks)] {
                text.sample("wharf_provider_queue", &[("provider", of(one)), ("queue", what)], depth);
            }
        }
        let rights = self.runtime.upgrade().map(|runtime| runtime.all_rights()).unwrap_or_default();
        let denied = |one: &Known| {
            let rights = rights.iter().find(|rights| **rights.provider() == *of(one));
            rights.map(denials::times).unwrap_or_default()
        };
        text.of_providers("wharf_provider_denials_total", "counter", "What it was denied.", &known, denied);
        let snapshot = self.catalog.snapshot();
        let lists = |one: &Known| lists(&snapshot, one.standing.slot);
        text.of_providers("wharf_provider_resources", "gauge", "Resources that it lists.", &known, |one| lists(one).0);
        text.of_providers("wharf_provider_templates", "gauge", "Templates that it has.", &known, |one| lists(one).1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;
    use crate::provider::tally::Histogram;

    #[test]
    fn label_values_are_escaped() {
        let mut text = Text::default();
        text.sample("m", &[("a", "x\\y\"z\n"), ("b", "é{},=")], 1);
        text.sample("m", &[], 0.5);
        assert_eq!(text.0, "m{a=\"x\\\\y\\\"z\\n\",b=\"é{},=\"} 1\nm 0.5\n");
    }

    #[test]
    fn a_histogram_has_all_buckets_each_with_those_before_and_ends_with_all() {
        let histogram = Histogram::default();
        for micros in [3, 7, 2_000_000, 60_000_000] {
            histogram.record(Duration::from_micros(micros));
        }
        let mut text = Text::default();
        text.durations("d", "p", &histogram.durations());
        let lines: Vec<&str> = text.0.lines().collect();
        assert_eq!(lines.len(), BUCKETS.len() + 3);
        assert_eq!(lines[..2], ["d_bucket{provider=\"p\",le=\"0.000005\"} 1", "d_bucket{provider=\"p\",le=\"0.00001\"} 2"]);
        assert_eq!(
            lines[BUCKETS.len() - 1..],
            [
                "d_bucket{provider=\"p\",le=\"30\"} 3",
                "d_bucket{provider=\"p\",le=\"+Inf\"} 4",
                "d_sum{provider=\"p\"} 62.00001",
                "d_count{provider=\"p\"} 4"
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn ten_thousand_scrapes_a_second_make_the_text_ten_times() {
        let (kept, made) = (Kept::default(), AtomicUsize::new(0));
        let make = || async { made.fetch_add(1, Relaxed).to_string() };
        for _ in 0..1_000 {
            for _ in 0..10 {
                kept.or_made(make).await;
            }
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert_eq!(made.load(Relaxed), 10);
    }

    #[tokio::test]
    async fn who_asks_while_a_text_is_made_does_not_make_another() {
        let (kept, made) = (Kept::default(), AtomicUsize::new(0));
        let make = || async {
            tokio::task::yield_now().await;
            made.fetch_add(1, Relaxed).to_string()
        };
        let all = futures_util::future::join_all((0..100).map(|_| kept.or_made(make))).await;
        assert!(all.iter().all(|text| *text == "0") && made.load(Relaxed) == 1);
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_while_making_it_keeps_nobody_from_it() {
        let kept = Kept::default();
        let hangs = kept.or_made(std::future::pending);
        assert!(tokio::time::timeout(Duration::from_millis(1), hangs).await.is_err());
        assert_eq!(kept.or_made(|| async { "made".into() }).await, "made");
    }
}
