//! What a poll knows of the answers it has had: which conditions to send, what is news, and when to ask again.

use std::time::{Duration, SystemTime};

use hyper::{
    HeaderMap,
    header::{self, HeaderName, HeaderValue},
};

use super::exchange::{Answer, Failure};

/// How often the pause is doubled after failures.
const MAX_DOUBLINGS: u32 = 4;
/// But not past this, unless the period itself is longer.
const MAX_BACK_OFF: Duration = Duration::from_secs(3600);
/// A server that asks to be left alone for longer is asked again all the same.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 3600);
/// The largest part of a period by which it is longer or shorter: polls that began together do not stay together.
const JITTER: f64 = 0.05;

const NOT_MODIFIED: u16 = 304;
const TOO_MANY_REQUESTS: u16 = 429;

/// What the provider was told last.
#[derive(PartialEq, Eq)]
enum Told {
    Answer(u16, blake3::Hash),
    Failure,
}

/// One poll's memory.
pub(super) struct Polling {
    period: Duration,
    last: Option<Told>,
    etag: Option<HeaderValue>,
    modified: Option<HeaderValue>,
    /// Failures in a row; answers that say that the server cannot answer now are such.
    failures: u32,
}

impl Polling {
    /// A period below the least is raised to it.
    pub fn new(period: Duration, least: Duration) -> Self {
        Self { period: period.max(least), last: None, etag: None, modified: None, failures: 0 }
    }

    /// Headers that let the server say that nothing has changed (RFC 9110 §13.1), unless the provider sends its own.
    pub fn conditions(&self, own: &HeaderMap) -> Vec<(HeaderName, HeaderValue)> {
        if own.contains_key(header::IF_NONE_MATCH) || own.contains_key(header::IF_MODIFIED_SINCE) {
            return Vec::new();
        }
        let conditions = [(header::IF_NONE_MATCH, &self.etag), (header::IF_MODIFIED_SINCE, &self.modified)];
        conditions.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
    }

    /// Takes notice of what came, and says whether it is news: whether the provider is to be told.
    pub fn judge(&mut self, conditional: bool, came: &Result<Answer, Failure>) -> bool {
        let told = match came {
            Err(_) => Told::Failure,
            // What it was told last holds.
            Ok(answer) if answer.status == NOT_MODIFIED && conditional => {
                self.failures = 0;
                return false;
            }
            Ok(answer) => Told::Answer(answer.status, blake3::hash(&answer.body)),
        };
        let answered = came.as_ref().ok().filter(|answer| !is_overloaded(answer.status));
        self.failures = if answered.is_some() { 0 } else { self.failures.saturating_add(1) };
        // They name what the provider has: after anything else a 304 would leave it without.
        let named = came.as_ref().ok().filter(|answer| (200..300).contains(&answer.status)).map(|answer| &answer.headers);
        self.etag = named.and_then(|headers| headers.get(header::ETAG)).cloned();
        self.modified = named.and_then(|headers| headers.get(header::LAST_MODIFIED)).cloned();
        let told = Some(told);
        let news = told != self.last;
        self.last = told;
        news
    }

    /// How long to wait now. `random` is from 0 to 1.
    pub fn pause(&self, came: &Result<Answer, Failure>, random: f64) -> Duration {
        let longest = self.period.max(MAX_BACK_OFF);
        let pause = self.period.saturating_mul(1 << self.failures.min(MAX_DOUBLINGS)).min(longest);
        let pause = pause.mul_f64(1.0 + JITTER * (2.0 * random - 1.0));
        let asked = came.as_ref().ok().and_then(|answer| retry_after(&answer.headers, SystemTime::now()));
        pause.max(asked.unwrap_or_default().min(MAX_RETRY_AFTER))
    }
}

/// Whether the server says that it cannot answer now.
fn is_overloaded(status: u16) -> bool {
    status == TOO_MANY_REQUESTS || status >= 500
}

/// Seconds, or a date (RFC 9110 §10.2.3).
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(now).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const MINUTE: Duration = Duration::from_secs(60);

    fn answer(status: u16, body: &str, headers: &[(HeaderName, &str)]) -> Result<Answer, Failure> {
        let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect();
        Ok(Answer { status, headers, body: body.into(), large: None })
    }

    #[test]
    fn only_another_status_or_another_body_is_news() {
        let mut polling = Polling::new(MINUTE, SECOND);
        let news: Vec<bool> = [(200, "a"), (200, "a"), (200, "b"), (404, "b"), (404, "b"), (200, "b")]
            .map(|(status, body)| polling.judge(false, &answer(status, body, &[])))
            .into();
        assert_eq!(news, [true, false, true, true, false, true]);
    }

    #[test]
    fn a_failure_is_news_once_and_so_is_what_follows_it() {
        let mut polling = Polling::new(MINUTE, SECOND);
        assert!(polling.judge(false, &answer(200, "a", &[(header::ETAG, "\"1\"")])));
        assert_eq!(polling.conditions(&HeaderMap::new()).len(), 1);
        assert!(polling.judge(true, &Err(Failure::TimedOut)) && !polling.judge(true, &Err(Failure::Failed("other".into()))));
        assert!(polling.conditions(&HeaderMap::new()).is_empty(), "the whole answer is wanted again");
        assert!(polling.judge(false, &answer(200, "a", &[])));
    }

    #[test]
    fn what_the_server_names_is_sent_back_and_a_304_is_no_news() {
        let mut polling = Polling::new(MINUTE, SECOND);
        let (tag, date) = ((header::ETAG, "W/\"1\""), (header::LAST_MODIFIED, "Mon, 30 Nov 2026 12:00:00 GMT"));
        polling.judge(false, &answer(200, "a", &[tag.clone(), date]));
        let conditions = polling.conditions(&HeaderMap::new());
        assert_eq!(conditions[0], (header::IF_NONE_MATCH, HeaderValue::from_static("W/\"1\"")));
        assert_eq!(conditions[1].0, header::IF_MODIFIED_SINCE);
        assert!(!polling.judge(true, &answer(304, "", &[])));
        assert_eq!(polling.conditions(&HeaderMap::new()).len(), 2, "they still hold");
        let own = HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_static("mine"))]);
        assert!(polling.conditions(&own).is_empty());
        assert!(polling.judge(false, &answer(304, "", &[])), "the provider's own condition held");
        polling.judge(false, &answer(200, "a", &[tag]));
        polling.judge(true, &answer(404, "", &[]));
        assert!(polling.conditions(&HeaderMap::new()).is_empty());
    }

    #[test]
    fn failures_make_the_pauses_longer_up_to_a_bound() {
        let mut polling = Polling::new(MINUTE, SECOND);
        let pauses: Vec<u64> = (0..7)
            .map(|n| {
                let came = if n % 2 == 0 { Err(Failure::TimedOut) } else { answer(503, "", &[]) };
                polling.judge(false, &came);
                polling.pause(&came, 0.5).as_secs()
            })
            .collect();
        assert_eq!(pauses, [120, 240, 480, 960, 960, 960, 960]);
        let well = answer(200, "", &[]);
        polling.judge(false, &well);
        assert_eq!(polling.pause(&well, 0.5), MINUTE);
        assert_eq!((polling.pause(&well, 0.0), polling.pause(&well, 1.0)), (MINUTE.mul_f64(0.95), MINUTE.mul_f64(1.05)));
        for (hours, longest) in [(1, 1), (2, 2)] {
            let mut polling = Polling::new(MINUTE * 60 * hours, SECOND);
            for _ in 0..9 {
                polling.judge(false, &Err(Failure::TimedOut));
            }
            assert_eq!(polling.pause(&Err(Failure::TimedOut), 0.5), MINUTE * 60 * longest);
        }
    }

    #[test]
    fn a_period_below_the_least_is_raised_to_it() {
        for (period, pause) in [(Duration::ZERO, SECOND), (SECOND / 2, SECOND), (MINUTE, MINUTE)] {
            assert_eq!(Polling::new(period, SECOND).pause(&answer(200, "", &[]), 0.5), pause);
        }
    }

    #[test]
    fn a_server_is_left_alone_for_as_long_as_it_asks_but_not_for_ever() {
        let mut polling = Polling::new(MINUTE, SECOND);
        let mut pause = |value: &str| {
            let came = answer(429, "", &[(header::RETRY_AFTER, value)]);
            polling.failures = 0;
            polling.judge(false, &came);
            polling.pause(&came, 0.5).as_secs()
        };
        assert_eq!((pause("300"), pause("1"), pause("nonsense"), pause("-1")), (300, 120, 120, 120));
        assert_eq!(pause("99999999999"), 24 * 3600);
        let date = httpdate::fmt_http_date(SystemTime::now() + MINUTE * 10);
        assert!((590..=600).contains(&pause(&date)), "{date}");
        assert_eq!(pause("Mon, 30 Nov 1998 12:00:00 GMT"), 120);
    }
}
