//! When a file has come to rest: pure bookkeeping over what scans find, with no clock and no file system of its own.
//!
//! Invariants: what is told of a file is what it was when it had come to rest, and each time it came to rest anew it is told anew; a file that a
//! writer closed, or that was renamed into place, rests at once; any other rests when it is found the same in two looks; one that is gone
//! is gone only when it stays away, since editors and compilers delete and create.

use std::time::Duration;

use tokio::time::Instant;

/// Two looks this far apart that find the same are enough. A compiler that writes a file writes it in one go.
pub(super) const STABLE: Duration = Duration::from_millis(100);
/// The same where times are kept in seconds: a later change within the step would go unseen. FAT has steps of two.
pub(super) const STABLE_COARSE: Duration = Duration::from_secs(2);
/// A file that stays away for so long is gone.
pub(super) const GONE: Duration = Duration::from_secs(2);

/// What tells one content of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Device and inode.
    pub file: (u64, u64),
    /// Bytes.
    pub size: u64,
    /// When its content and its inode changed, in nanoseconds since 1970.
    pub times: (i128, i128),
}

impl Stamp {
    const SECOND: i128 = 1_000_000_000;

    /// Whether its file system seems to keep whole seconds only.
    fn is_coarse(&self) -> bool {
        self.times.0 % Self::SECOND == 0 && self.times.1 % Self::SECOND == 0
    }
}

/// What a look finds at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Something is there.
    There(Stamp),
    /// Nothing is.
    Absent,
}

/// What an event says of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hint {
    /// Something may have changed.
    Touched,
    /// It is complete as it stands: its writer closed it, or it was renamed into place.
    Complete,
}

/// A path as it is told: whether there is something, and which time of its coming to rest this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resting {
    /// Whether there is something at the path.
    pub there: bool,
    /// Another each time it came to rest anew; zero if it rests as it was first found. No two paths have the same but zero.
    pub revision: u64,
}

/// One path.
#[derive(Debug)]
pub(super) struct Track {
    rests: Look,
    revision: u64,
    seen: Look,
    since: Instant,
    /// An event said that it changed, though it may look the same.
    touched: bool,
}

impl Track {
    /// A path that rests as it is found.
    pub fn resting(found: Look, now: Instant) -> Self {
        Self { rests: found, revision: 0, seen: found, since: now, touched: false }
    }

    /// A path at which there was nothing till now.
    pub fn new(now: Instant) -> Self {
        Self::resting(Look::Absent, now)
    }

    /// What is told of it.
    pub fn told(&self) -> Resting {
        Resting { there: self.rests != Look::Absent, revision: self.revision }
    }

    /// Whether it is known that there is nothing.
    pub fn is_gone(&self) -> bool {
        self.rests == Look::Absent && self.seen == Look::Absent
    }

    /// Takes in what a look found, and what events said since the last one. `None` for what could not be seen, which changes nothing. Returns
    /// when it has to be looked at again, if it does not rest. `revisions` counts them all.
    pub fn look(&mut self, found: Option<Look>, hint: Option<Hint>, now: Instant, revisions: &mut u64) -> Option<Instant> {
        let found = found?;
        let moved = found != self.seen;
        if moved || (hint.is_some() && found != Look::Absent) {
            (self.seen, self.since) = (found, now);
            self.touched |= hint.is_some();
        }
        if self.seen == self.rests && !self.touched {
            return None;
        }
        let wait = match (self.seen, hint) {
            // Whatever an event said of what is not there, what is not there has come and gone.
            (Look::Absent, _) if self.rests == Look::Absent => {
                self.touched = false;
                return None;
            }
            (Look::Absent, _) => GONE,
            (Look::There(_), Some(Hint::Complete)) => Duration::ZERO,
            (Look::There(stamp), _) if stamp.is_coarse() => STABLE_COARSE,
            (Look::There(_), _) => STABLE,
        };
        let due = self.since + wait;
        if now < due {
            return Some(due);
        }
        *revisions += 1;
        (self.rests, self.touched, self.revision) = (self.seen, false, *revisions);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn there(content: u64) -> Option<Look> {
        Some(Look::There(Stamp { file: (1, 1), size: content, times: (1, 1) }))
    }

    const ABSENT: Option<Look> = Some(Look::Absent);

    fn at_rest(now: Instant) -> Track {
        Track::resting(Look::There(Stamp { file: (1, 1), size: 1, times: (1, 1) }), now)
    }

    /// Looks at it, with the revisions that it has had.
    fn look(track: &mut Track, found: Option<Look>, hint: Option<Hint>, now: Instant) -> Option<Instant> {
        let mut revisions = track.told().revision;
        track.look(found, hint, now, &mut revisions)
    }

    fn revision(track: &Track) -> u64 {
        track.told().revision
    }

    #[test]
    fn what_a_writer_closed_or_a_rename_put_in_place_rests_at_once() {
        let now = Instant::now();
        let mut track = at_rest(now);
        assert_eq!(look(&mut track, there(2), Some(Hint::Complete), now), None);
        assert_eq!(revision(&track), 1);
        assert_eq!(look(&mut track, there(2), Some(Hint::Complete), now), None, "also where it looks as it did");
        assert_eq!(revision(&track), 2);
    }

    #[test]
    fn anything_else_rests_when_two_looks_find_the_same() {
        let now = Instant::now();
        let mut track = at_rest(now);
        assert_eq!(look(&mut track, there(2), None, now), Some(now + STABLE));
        assert_eq!(look(&mut track, there(3), Some(Hint::Touched), now + STABLE), Some(now + 2 * STABLE), "it is still being written");
        assert_eq!(
            look(&mut track, there(3), Some(Hint::Touched), now + STABLE + MS),
            Some(now + 2 * STABLE + MS),
            "and an event says so, too"
        );
        assert_eq!(revision(&track), 0);
        assert_eq!(look(&mut track, there(3), None, now + 2 * STABLE + MS), None);
        assert_eq!(revision(&track), 1);
        assert_eq!(look(&mut track, there(3), None, now + 9 * STABLE), None);
        assert_eq!(revision(&track), 1, "once is enough");
    }

    #[test]
    fn where_times_are_whole_seconds_the_looks_are_further_apart() {
        let now = Instant::now();
        let mut track = at_rest(now);
        let coarse = Some(Look::There(Stamp { file: (1, 1), size: 2, times: (Stamp::SECOND, 0) }));
        assert_eq!(look(&mut track, coarse, None, now), Some(now + STABLE_COARSE));
    }

    #[test]
    fn a_file_that_comes_back_in_time_was_never_gone() {
        let now = Instant::now();
        let mut track = at_rest(now);
        assert_eq!(look(&mut track, ABSENT, Some(Hint::Touched), now), Some(now + GONE));
        assert_eq!(
            look(&mut track, ABSENT, Some(Hint::Touched), now + GONE - MS),
            Some(now + GONE),
            "what else happens does not put it off"
        );
        assert!(track.told().there);
        assert_eq!(look(&mut track, there(2), Some(Hint::Complete), now + GONE - MS), None);
        assert_eq!(track.told(), Resting { there: true, revision: 1 });
    }

    #[test]
    fn a_file_that_stays_away_is_gone() {
        let now = Instant::now();
        let mut track = at_rest(now);
        look(&mut track, ABSENT, None, now);
        assert_eq!(look(&mut track, ABSENT, None, now + GONE), None);
        assert_eq!(track.told(), Resting { there: false, revision: 1 });
    }

    #[test]
    fn what_cannot_be_seen_stays_as_it_was() {
        let now = Instant::now();
        let mut track = at_rest(now);
        assert_eq!(look(&mut track, None, Some(Hint::Complete), now), None);
        assert_eq!(track.told(), Resting { there: true, revision: 0 });
    }

    #[test]
    fn what_came_and_went_between_two_looks_is_nothing() {
        let now = Instant::now();
        let mut track = Track::new(now);
        assert_eq!(look(&mut track, ABSENT, Some(Hint::Complete), now), None);
        assert_eq!(track.told(), Resting::default());
        assert_eq!(look(&mut track, there(1), None, now), Some(now + STABLE));
    }
}
