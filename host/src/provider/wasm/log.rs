//! A provider's voice in the log: what it writes to stdout and stderr, line by line, and the host's warnings about it.
//!
//! Bounded whatever the guest does: a line is cut, lines past a rate are dropped and counted. No line has a secret in it.

use std::{collections::VecDeque, mem, sync::Arc};

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use crate::provider::grants::Secrets;

/// A longer line is cut, and its rest goes on as the next one.
const MAX_LINE_BYTES: usize = 8 << 10;
/// Lines that may come at once: a panic with its backtrace has some tens.
const BURST: u32 = 200;
/// Lines a second after that.
const PER_SECOND: u32 = 50;
/// How often the number of dropped lines is told, at most.
const TELL_DROPPED: Duration = Duration::from_secs(1);

/// Where a line comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    Stdout,
    Stderr,
    /// The host, which has something to say about the provider.
    Host,
}

type Sink = Box<dyn Fn(From, &str) + Send + Sync>;

/// Cheap to clone; all clones are one log, of one instance.
#[derive(Clone)]
pub(super) struct GuestLog {
    all: Arc<Inner>,
    begun: Arc<Mutex<Begun>>,
}

/// Lines of which the end has not come yet. Each instance has its own: two that write at once must not mix them, nor split a secret.
#[derive(Default)]
struct Begun {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

struct Inner {
    sink: Sink,
    secrets: Arc<Secrets>,
    state: Mutex<State>,
}

struct State {
    /// Lines that may still pass.
    credit: f64,
    filled: Instant,
    dropped: u64,
    told: Option<Instant>,
}

impl GuestLog {
    /// Writes to the host's log, under this name, without these.
    pub fn new(provider: Arc<str>, secrets: Arc<Secrets>) -> Self {
        Self::with_sink(
            secrets,
            Box::new(move |from, line| match from {
                From::Host => tracing::warn!(provider = &*provider, "{line}"),
                From::Stdout => tracing::info!(provider = &*provider, stream = "stdout", "{line}"),
                From::Stderr => tracing::info!(provider = &*provider, stream = "stderr", "{line}"),
            }),
        )
    }

    /// What is not to be seen in it.
    pub fn secrets(&self) -> &Secrets {
        &self.all.secrets
    }

    /// The same log for another instance.
    pub fn apart(&self) -> Self {
        Self { all: self.all.clone(), begun: Arc::default() }
    }

    fn with_sink(secrets: Arc<Secrets>, sink: Sink) -> Self {
        let state = State { credit: BURST.into(), filled: Instant::now(), dropped: 0, told: None };
        Self { all: Arc::new(Inner { sink, secrets, state: Mutex::new(state) }), begun: Arc::default() }
    }

    /// Takes what the guest wrote. Whole lines go out, the rest waits for its end.
    pub fn write(&self, from: From, bytes: &[u8]) {
        let mut lines = VecDeque::new();
        let mut own = self.begun.lock();
        let mut state = self.all.state.lock();
        let now = Instant::now();
        let mut rest = mem::take(own.buffer(from));
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (mut text, ended) = piece.strip_suffix(b"\n").map_or((piece, false), |text| (text, true));
            while !text.is_empty() {
                let (fits, more) = text.split_at(text.len().min(MAX_LINE_BYTES - rest.len()));
                rest.extend_from_slice(fits);
                text = more;
                if !text.is_empty() {
                    // Not through a secret, whose halves would both be seen.
                    let begun = rest.split_off(rest.len() - self.secrets().begun_in(&rest));
                    state.pass(from, &mem::replace(&mut rest, begun), now, self.secrets(), &mut lines);
                }
            }
            if ended {
                state.pass(from, &mem::take(&mut rest), now, self.secrets(), &mut lines);
            }
        }
        *own.buffer(from) = rest;
        drop((state, own));
        self.send(lines);
    }

    /// Something the user should know, of which a guest may cause as much as it likes.
    pub fn warn(&self, line: &str) {
        let mut lines = VecDeque::new();
        self.all.state.lock().pass(From::Host, line.as_bytes(), Instant::now(), self.secrets(), &mut lines);
        self.send(lines);
    }

    /// The instance ended: what it wrote without an end of line goes out, and the number of lines that were dropped.
    pub fn finish(&self) {
        let mut lines = VecDeque::new();
        let mut own = self.begun.lock();
        let mut state = self.all.state.lock();
        for from in [From::Stdout, From::Stderr] {
            let rest = mem::take(own.buffer(from));
            if !rest.is_empty() {
                state.pass(from, &rest, Instant::now(), self.secrets(), &mut lines);
            }
        }
        state.told = None;
        state.tell(Instant::now(), &mut lines);
        drop((state, own));
        self.send(lines);
    }

    /// A call ended: if lines were dropped, their number goes out now, since nothing may ever follow.
    pub fn settle(&self) {
        let mut lines = VecDeque::new();
        self.all.state.lock().tell(Instant::now(), &mut lines);
        self.send(lines);
    }

    /// Without the lock, which the guest's own thread of calls needs.
    fn send(&self, lines: VecDeque<(From, String)>) {
        for (from, line) in lines {
            (self.all.sink)(from, &line);
        }
    }
}

impl Begun {
    fn buffer(&mut self, from: From) -> &mut Vec<u8> {
        if from == From::Stdout { &mut self.stdout } else { &mut self.stderr }
    }
}

impl State {
    fn pass(&mut self, from: From, line: &[u8], now: Instant, secrets: &Secrets, lines: &mut VecDeque<(From, String)>) {
        let gained = now.duration_since(self.filled).as_secs_f64() * f64::from(PER_SECOND);
        self.credit = (self.credit + gained).min(BURST.into());
        self.filled = now;
        if self.credit < 1.0 {
            self.dropped += 1;
            return;
        }
        self.credit -= 1.0;
        self.tell(now, lines);
        lines.push_back((from, readable(line, secrets)));
    }

    fn tell(&mut self, now: Instant, lines: &mut VecDeque<(From, String)>) {
        if self.dropped > 0 && self.told.is_none_or(|told| now.duration_since(told) >= TELL_DROPPED) {
            let dropped = mem::take(&mut self.dropped);
            lines.push_back((From::Host, format!("{dropped} lines of its log were dropped: more than {PER_SECOND} a second")));
            self.told = Some(now);
        }
    }
}

/// As text without secrets that cannot move the cursor or colour of a terminal, or feign another line.
fn readable(line: &[u8], secrets: &Secrets) -> String {
    let text = String::from_utf8_lossy(line);
    let text = secrets.hide(text.trim_end_matches('\r'));
    if !text.contains(|c: char| c.is_control() && c != '\t') {
        return text.into_owned();
    }
    text.chars().flat_map(|c| if c.is_control() && c != '\t' { c.escape_default().collect() } else { vec![c] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{
        Grants,
        grants::{Secret, Variable},
    };

    type Seen = Arc<Mutex<Vec<(From, String)>>>;

    fn log() -> (GuestLog, Seen) {
        hiding(Secrets::default())
    }

    fn hiding(secrets: Secrets) -> (GuestLog, Seen) {
        let seen = Seen::default();
        let sink = seen.clone();
        (GuestLog::with_sink(secrets.into(), Box::new(move |from, line| sink.lock().push((from, line.to_owned())))), seen)
    }

    #[test]
    fn two_instances_that_write_at_once_mix_no_lines_and_split_no_secret() {
        let (one, seen) = log();
        let other = one.apart();
        one.write(From::Stderr, b"to");
        other.write(From::Stderr, b"x\n");
        one.write(From::Stderr, b"ken\n");
        other.write(From::Stderr, b"half");
        one.finish();
        assert_eq!(texts(&seen), ["x", "token"]);
        other.finish();
        assert_eq!(texts(&seen), ["half"]);
    }

    fn texts(seen: &Seen) -> Vec<String> {
        mem::take(&mut *seen.lock()).into_iter().map(|(_, line)| line).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn lines_go_out_whole_and_streams_do_not_mix() {
        let (log, seen) = log();
        log.write(From::Stderr, b"one\ntw");
        log.write(From::Stdout, b"other\n");
        log.write(From::Stderr, b"o\r\n\nthree");
        assert_eq!(
            *seen.lock(),
            [(From::Stderr, "one".into()), (From::Stdout, "other".into()), (From::Stderr, "two".into()), (From::Stderr, String::new())]
        );
        seen.lock().clear();
        log.finish();
        assert_eq!(texts(&seen), ["three"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_line_is_cut() {
        let (log, seen) = log();
        log.write(From::Stderr, b"ab");
        log.write(From::Stderr, &vec![b'x'; 2 * MAX_LINE_BYTES]);
        log.write(From::Stderr, b"\n");
        assert_eq!(texts(&seen).iter().map(String::len).collect::<Vec<_>>(), [MAX_LINE_BYTES, MAX_LINE_BYTES, 2]);
    }

    #[tokio::test(start_paused = true)]
    async fn past_the_rate_lines_are_dropped_and_counted() {
        let (log, seen) = log();
        log.write(From::Stderr, "x\n".repeat(BURST as usize + 7).as_bytes());
        assert_eq!(texts(&seen).len(), BURST as usize);
        log.settle();
        assert_eq!(texts(&seen), ["7 lines of its log were dropped: more than 50 a second"]);
        log.write(From::Stderr, b"x\n");
        log.settle();
        assert!(texts(&seen).is_empty(), "their number is told once a second at most");
        tokio::time::advance(TELL_DROPPED).await;
        log.write(From::Stderr, b"y\n");
        assert_eq!(texts(&seen), ["1 lines of its log were dropped: more than 50 a second", "y"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_is_in_no_line_however_it_is_written_and_wherever_lines_are_cut() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "s3cret/\ttoken").unwrap();
        let env = vec![Variable { name: "A".into(), value: Secret::File(file.path().into()) }];
        let (log, seen) = hiding(Secrets::read(&Grants { env, ..Grants::default() }));
        log.write(From::Stderr, b"a s3cre");
        log.write(From::Stderr, b"t/\ttoken b\n");
        log.warn("s3cret/\ttoken");
        log.write(From::Stdout, b"x s3cret/\ttoken");
        log.finish();
        assert_eq!(texts(&seen), ["a [redacted] b", "[redacted]", "x [redacted]"]);
        for before in MAX_LINE_BYTES - 13..=MAX_LINE_BYTES {
            log.write(From::Stderr, &vec![b'x'; before]);
            log.write(From::Stderr, b"s3cret/\ttoken and more\n");
            let said = texts(&seen);
            assert_eq!(said.concat().trim_start_matches('x'), "[redacted] and more");
            assert!(said.iter().all(|line| line.len() <= MAX_LINE_BYTES + 10), "{}", said.len());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_cannot_steer_a_terminal() {
        let (log, seen) = log();
        log.write(From::Stderr, b"\x1b[31mred\x07 \xff\ttab\n");
        assert_eq!(texts(&seen), ["\\u{1b}[31mred\\u{7} \u{fffd}\ttab"]);
    }
}
