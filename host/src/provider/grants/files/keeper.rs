//! The thread that watches: takes what is asked for and what events say, looks, and tells.
//!
//! It is one thread for all, as the system's watcher is: a mount that does not answer at all holds up what is told of others too. (It delays
//! no call of any provider.)

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{
    Bounds, Change, Identity, Sink,
    pace::Pace,
    shared::{News, Order, Roots, Shared},
    system::{Deaf, System},
    tree::{Changes, Ears, Tree, Trouble},
};

/// Everything is looked at so often also where events come: some changes make none.
const RESCAN: Duration = Duration::from_secs(10);
/// And so often where none come.
const POLL: Duration = Duration::from_secs(1);
/// A look is followed by a pause of so many times itself, so that looks take half a percent of a core at the most; five where none come.
const PAUSES: u32 = 200;
const POLL_PAUSES: u32 = 20;
/// Of a tree with too many entries it is said so often that it is to be looked at.
const BLIND: Duration = Duration::from_secs(30);
/// Granted folders are looked at so often to see whether they were made again.
const ROOTS: Duration = Duration::from_secs(2);
/// Events that come within this are taken together.
const TOGETHER: Duration = Duration::from_millis(10);
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Events come.
    Hears,
    /// None come.
    Looks,
    /// There is too much of it.
    Blind,
}

struct Watch {
    shown: String,
    sink: Sink,
}

struct Followed {
    /// Who watched it first, and so has it counted.
    owner: Arc<str>,
    tree: Tree,
    mode: Mode,
    pace: Pace,
    watches: BTreeMap<u64, Watch>,
    /// When everything is looked at again.
    next: Instant,
    /// When what is remembered was last brought up to date.
    looked: Instant,
    /// Changes were lost: its watches are told so.
    lost: bool,
}

/// See the module's page.
pub(super) struct Keeper {
    system: System,
    trees: BTreeMap<u64, Followed>,
    /// Which tree has this path.
    paths: HashMap<(PathBuf, PathBuf, bool), u64>,
    /// Which tree a watch is of.
    watches: HashMap<u64, u64>,
    roots: BTreeMap<u64, Roots>,
    look_at_roots: Instant,
    bounds: Bounds,
    /// Why no events come at all, until it was said.
    deaf: Option<String>,
}

impl Keeper {
    pub fn new(shared: &Arc<Shared>, bounds: Bounds) -> Self {
        let (system, deaf) = System::new(shared, bounds.folders);
        Self {
            system,
            trees: BTreeMap::new(),
            paths: HashMap::new(),
            watches: HashMap::new(),
            roots: BTreeMap::new(),
            look_at_roots: Instant::now(),
            bounds,
            deaf,
        }
    }

    /// Works until nobody wants it any more.
    pub fn run(mut self, shared: &Shared) {
        while let Some(news) = shared.next(self.next()) {
            let together = !news.touched.is_empty();
            self.take_in(news);
            self.work();
            if together {
                thread::sleep(TOGETHER);
            }
        }
    }

    fn next(&self) -> Option<Instant> {
        let trees = self.trees.values().map(|tree| tree.pace.due().map_or(tree.next, |due| due.min(tree.next)));
        trees.chain((!self.roots.is_empty()).then_some(self.look_at_roots)).min()
    }

    fn take_in(&mut self, News { begun, roots, ended, touched, lost, poll }: News) {
        self.roots.extend(roots);
        for number in ended {
            self.end(number);
        }
        for (number, (order, when)) in begun {
            self.begin(number, order, when, poll);
        }
        for (path, (touch, when)) in touched {
            for tree in self.system.concerned(&path) {
                if let Some(followed) = self.trees.get_mut(&tree)
                    && followed.tree.touch(&path, touch, self.bounds.changes)
                {
                    followed.pace.touch(when);
                }
            }
        }
        if lost {
            let now = Instant::now();
            for followed in self.trees.values_mut().filter(|followed| followed.mode == Mode::Hears) {
                followed.tree.look_at_everything();
                followed.lost = true;
                followed.pace.touch(now);
            }
        }
    }

    fn end(&mut self, number: u64) {
        self.roots.remove(&number);
        let Some(tree) = self.watches.remove(&number) else { return };
        let Some(followed) = self.trees.get_mut(&tree) else { return };
        followed.watches.remove(&number);
        if followed.watches.is_empty() {
            followed.tree.forget(&mut self.system.ears(tree));
            self.trees.remove(&tree);
            self.paths.retain(|_, other| *other != tree);
        }
    }

    fn begin(&mut self, number: u64, order: Order, when: Instant, poll: bool) {
        let Order { owner, root, below, recursive, shown, sink, asked } = order;
        let watch = Watch { shown, sink };
        let path = (root, below, recursive);
        if let Some(tree) = self.paths.get(&path).copied()
            && let Some(followed) = self.trees.get_mut(&tree)
        {
            // What was told to the others meanwhile it did not hear.
            if followed.looked >= when || followed.mode == Mode::Blind {
                watch.tell(&Changes::new(), true, self.bounds.changes);
            }
            followed.watches.insert(number, watch);
            self.watches.insert(number, tree);
            return;
        }
        if let Some(reason) = self.deaf.take() {
            tracing::warn!("changes of files are looked for, since the system does not tell of them: {reason}");
        }
        let now = Instant::now();
        let mode = if poll || !self.system.hears() { Mode::Looks } else { Mode::Hears };
        let tree = Tree::new(path.0.clone(), path.1.clone(), path.2);
        let watches = [(number, watch)].into();
        let followed = Followed { owner, tree, mode, pace: Pace::default(), watches, next: now, looked: now, lost: false };
        // A number that no tree has: no two watches have the same.
        self.paths.insert(path, number);
        self.watches.insert(number, number);
        self.trees.insert(number, followed);
        self.look(number, |tree, ears, room| tree.begin(asked, ears, room));
    }

    fn work(&mut self) {
        let now = Instant::now();
        let due: Vec<u64> = self
            .trees
            .iter()
            .filter(|(_, tree)| tree.next <= now || tree.pace.due().is_some_and(|due| due <= now))
            .map(|(tree, _)| *tree)
            .collect();
        for tree in due {
            let Some(followed) = self.trees.get_mut(&tree) else { continue };
            if followed.next <= now {
                if followed.mode == Mode::Blind {
                    followed.next = now + BLIND;
                    followed.tell(&Changes::new(), true, self.bounds.changes);
                    continue;
                }
                followed.tree.look_at_everything();
            }
            let lost = std::mem::take(&mut followed.lost);
            self.look(tree, move |tree, ears, room| Ok((lost, tree.look(ears, room)?)));
        }
        if !self.roots.is_empty() && self.look_at_roots <= now {
            self.look_at_roots = now + ROOTS;
            for roots in self.roots.values_mut() {
                roots.look();
            }
        }
    }

    /// Looks at a tree, tells its watches, and goes on with less where a bound is met.
    fn look(&mut self, number: u64, mut look: impl FnMut(&mut Tree, &mut dyn Ears, usize) -> Result<(bool, Changes), Trouble>) {
        let owner = self.trees.get(&number).map(|tree| tree.owner.clone());
        let others = || self.trees.iter().filter(|(other, _)| **other != number).map(|(_, other)| other);
        let all: usize = others().map(|other| other.tree.entries()).sum();
        let own: usize = others().filter(|other| Some(&other.owner) == owner.as_ref()).map(|other| other.tree.entries()).sum();
        let room = self.bounds.entries.saturating_sub(all).min(self.bounds.of_one.saturating_sub(own));
        let Some(followed) = self.trees.get_mut(&number) else { return };
        let began = Instant::now();
        let looked = if followed.mode == Mode::Hears {
            look(&mut followed.tree, &mut self.system.ears(number), room)
        } else {
            look(&mut followed.tree, &mut Deaf, room)
        };
        let looked = match looked {
            Err(Trouble::Full) => {
                followed.mode = Mode::Looks;
                followed.tree.deafen(&mut self.system.ears(number));
                tracing::warn!(
                    "the system watches no more folders for this host (it has {}): changes in {} are looked for; if the limit is the system's, \
                     `sysctl fs.inotify.max_user_watches` shows it",
                    self.system.count(),
                    followed.tree.path().display()
                );
                // What was found before it broke off is known already, and would go untold.
                look(&mut followed.tree, &mut Deaf, room).map(|(_, changes)| (true, changes))
            }
            looked => looked,
        };
        let now = Instant::now();
        followed.pace.clear();
        (followed.looked, followed.lost) = (now, false);
        match looked {
            Ok((rescan, changes)) => {
                let took = now - began;
                followed.next = match followed.mode {
                    Mode::Hears => now + RESCAN.max(took * PAUSES),
                    _ => now + POLL.max(took * POLL_PAUSES),
                };
                followed.tell(&changes, rescan, self.bounds.changes);
            }
            Err(_) => {
                let Bounds { of_one: most, entries: all, .. } = self.bounds;
                let (path, every) = (followed.tree.path(), humantime::format_duration(BLIND));
                tracing::warn!(
                    "with {} there would be more than {most} watched files of one provider, or {all} of all: no single change in it is told, only \
                     every {every} that all of it is to be looked at; let the provider watch less of it",
                    path.display()
                );
                followed.mode = Mode::Blind;
                followed.tree.forget(&mut self.system.ears(number));
                followed.next = now + BLIND;
                followed.tell(&Changes::new(), true, self.bounds.changes);
            }
        }
    }
}

impl Roots {
    fn look(&mut self) {
        // One that is gone is waited for: there is nothing to be had of it now.
        let is_another = |(folder, known): &(PathBuf, Option<Identity>)| Identity::at(folder).is_some_and(|now| Some(now) != *known);
        if self.tell.is_some()
            && self.folders.iter().any(is_another)
            && let Some(tell) = self.tell.take()
        {
            tell();
        }
    }
}

impl Followed {
    fn tell(&self, changes: &Changes, rescan: bool, most: usize) {
        for watch in self.watches.values() {
            watch.tell(changes, rescan, most);
        }
    }
}

impl Watch {
    fn tell(&self, changes: &Changes, rescan: bool, most: usize) {
        if rescan || changes.len() > most {
            return (self.sink)(vec![(self.shown.clone(), Change::Rescan)]);
        }
        if !changes.is_empty() {
            (self.sink)(changes.iter().map(|(below, change)| (self.path(below), *change)).collect());
        }
    }

    fn path(&self, below: &std::path::Path) -> String {
        let below = below.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
        match (self.shown.as_str(), below.as_str()) {
            (shown, "") => shown.to_owned(),
            ("/", below) => format!("/{below}"),
            (shown, below) => format!("{shown}/{below}"),
        }
    }
}
