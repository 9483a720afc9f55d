//! What the thread that watches and those who ask it both see.
//!
//! Invariant: nobody waits here, and what waits is bounded: what is asked for by those who ask, events by [`MAX_TOUCHED`].

use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Instant, SystemTime},
};

use parking_lot::{Condvar, Mutex};

use super::{Bounds, Identity, Sink, keeper::Keeper, tree::Touch};

/// Paths of events that wait one by one; past it, everything is looked at.
const MAX_TOUCHED: usize = 10_000;

/// A watch that is asked for.
pub(super) struct Order {
    pub owner: Arc<str>,
    pub root: PathBuf,
    pub below: PathBuf,
    pub recursive: bool,
    pub shown: String,
    pub sink: Sink,
    pub asked: SystemTime,
}

pub(super) type Tell = Arc<dyn Fn() + Send + Sync>;

/// Granted folders, and who wants to know if one is another than it was.
pub(super) struct Roots {
    pub folders: Vec<(PathBuf, Option<Identity>)>,
    pub tell: Option<Tell>,
}

#[derive(Default)]
struct State {
    last: u64,
    begun: BTreeMap<u64, (Order, Instant)>,
    roots: BTreeMap<u64, Roots>,
    /// Those that were taken before they ended.
    ended: Vec<u64>,
    touched: HashMap<PathBuf, (Touch, Instant)>,
    lost: bool,
    poll: bool,
    bounds: Bounds,
    started: bool,
    closed: bool,
}

impl State {
    fn has_news(&self) -> bool {
        self.lost || !(self.begun.is_empty() && self.roots.is_empty() && self.ended.is_empty() && self.touched.is_empty())
    }
}

/// See the module's page.
#[derive(Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    news: Condvar,
}

/// What there is to do.
pub(super) struct News {
    pub begun: BTreeMap<u64, (Order, Instant)>,
    pub roots: BTreeMap<u64, Roots>,
    pub ended: Vec<u64>,
    pub touched: HashMap<PathBuf, (Touch, Instant)>,
    pub lost: bool,
    pub poll: bool,
}

impl Shared {
    pub fn poll(&self) {
        self.state.lock().poll = true;
    }

    #[cfg(test)]
    pub fn bound(&self, bounds: Bounds) {
        self.state.lock().bounds = bounds;
    }

    pub fn begin(self: &Arc<Self>, order: Order) -> io::Result<u64> {
        self.ask(|state, number| drop(state.begun.insert(number, (order, Instant::now()))))
    }

    pub fn follow(self: &Arc<Self>, folders: Vec<(PathBuf, Option<Identity>)>, tell: Tell) -> io::Result<u64> {
        self.ask(|state, number| drop(state.roots.insert(number, Roots { folders, tell: Some(tell) })))
    }

    fn ask(self: &Arc<Self>, what: impl FnOnce(&mut State, u64)) -> io::Result<u64> {
        let mut state = self.state.lock();
        if !state.started {
            let (shared, bounds) = (self.clone(), state.bounds);
            thread::Builder::new().name("wharf-files".into()).spawn(move || Keeper::new(&shared, bounds).run(&shared))?;
            state.started = true;
        }
        state.last += 1;
        let number = state.last;
        what(&mut state, number);
        drop(state);
        self.news.notify_one();
        Ok(number)
    }

    pub fn end(&self, number: u64) {
        let mut state = self.state.lock();
        if state.begun.remove(&number).is_none() && state.roots.remove(&number).is_none() {
            state.ended.push(number);
        }
        drop(state);
        self.news.notify_one();
    }

    pub fn close(&self) {
        self.state.lock().closed = true;
        self.news.notify_one();
    }

    pub fn touched(&self, paths: Vec<PathBuf>, touch: Touch) {
        let mut state = self.state.lock();
        let now = Instant::now();
        for path in paths {
            if state.touched.len() >= MAX_TOUCHED {
                state.lost = true;
            }
            if state.lost {
                state.touched.clear();
                break;
            }
            let (said, last) = state.touched.entry(path).or_insert((touch, now));
            (said.content, said.moved, *last) = (said.content | touch.content, said.moved | touch.moved, now);
        }
        drop(state);
        self.news.notify_one();
    }

    pub fn lost(&self) {
        self.state.lock().lost = true;
        self.news.notify_one();
    }

    /// Waits for news, at most until then. `None`: nobody wants it any more.
    pub fn next(&self, until: Option<Instant>) -> Option<News> {
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return None;
            }
            if state.has_news() || until.is_some_and(|until| until <= Instant::now()) {
                let State { begun, roots, ended, touched, lost, poll, .. } = &mut *state;
                return Some(News {
                    begun: std::mem::take(begun),
                    roots: std::mem::take(roots),
                    ended: std::mem::take(ended),
                    touched: std::mem::take(touched),
                    lost: std::mem::take(lost),
                    poll: *poll,
                });
            }
            match until {
                Some(until) => drop(self.news.wait_until(&mut state, until)),
                None => self.news.wait(&mut state),
            }
        }
    }
}
