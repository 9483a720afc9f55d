//! What an instance may use, and the hook by which wasmtime asks for memory.

use std::{num::NonZero, sync::Arc, time::Duration};

use wasmtime::ResourceLimiter;

use super::engine::TICK;
use crate::provider::tally::Tally;

/// Bytes that all memories of an instance may have together. Python and JavaScript start with some 15 MiB.
pub const DEFAULT_MEMORY: u64 = 256 << 20;
/// How long one call may take, by the clock on the wall.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(5);
/// Bytes of all contents of one reading, and of one page of a list.
pub const MAX_ANSWER_BYTES: usize = 16 << 20;
/// Fuel a guest may use up for handing over one answer, or the arguments of one import: its bytes, and room for what describes them.
pub(super) const HOSTCALL_FUEL: usize = MAX_ANSWER_BYTES + (1 << 20);

/// A component composed of several has a few core instances for each; these are ten times what any seen here needs.
const MAX_INSTANCES: usize = 256;
const MAX_TABLES: usize = 256;
const MAX_MEMORIES: usize = 32;
/// Elements of all tables, 8 bytes each. The largest seen here has 7,690.
const MAX_TABLE_ELEMENTS: usize = 200_000;

/// What one provider may use: `[provider.limits]` in wharf.toml.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all linear memories of an instance together.
    pub memory: u64,
    /// For each call, and for the start of an instance: both the wall-clock time and the computing time.
    pub deadline: Duration,
    /// Instances at the most, of a component that may have several: one that exports neither `subscriptions` nor a handler and does not import
    /// `shared-state`. There is one until calls wait for it.
    pub instances: usize,
}

impl Default for Limits {
    /// As many instances as there are processors.
    fn default() -> Self {
        let instances = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self { memory: DEFAULT_MEMORY, deadline: DEFAULT_DEADLINE, instances }
    }
}

impl Limits {
    /// The deadline as ticks spent computing. It ends a loop even where whoever watches the wall clock does not get to run.
    pub(super) fn ticks(&self) -> u64 {
        u64::try_from(self.deadline.as_millis() / TICK.as_millis()).unwrap_or(u64::MAX).max(1)
    }
}

/// Grants an instance memory up to the total. A growth beyond it fails as a full machine would make it fail: the guest decides what then.
#[derive(Debug)]
pub(super) struct Meter {
    limit: u64,
    memory: u64,
    elements: usize,
    /// What the growth under way adds, to be given back if it fails after all.
    pending: u64,
    /// Whether a growth was refused in this call; most guests trap then, and the user should learn why.
    pub refused: bool,
    tally: Arc<Tally>,
}

impl Meter {
    /// One that counts what there is of this provider.
    pub fn new(limits: &Limits, tally: Arc<Tally>) -> Self {
        Self { limit: limits.memory, memory: 0, elements: 0, pending: 0, refused: false, tally }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.tally.shrank(self.memory);
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current) as u64;
        self.pending = 0;
        let total = self.memory.saturating_add(more);
        if total > self.limit {
            self.refused = true;
            return Ok(false);
        }
        (self.memory, self.pending) = (total, more);
        self.tally.grew(more);
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        // Also called for a growth refused above, which added nothing.
        let back = std::mem::take(&mut self.pending);
        self.memory = self.memory.saturating_sub(back);
        self.tally.shrank(back);
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.elements.saturating_add(desired.saturating_sub(current));
        if total > MAX_TABLE_ELEMENTS {
            return Ok(false);
        }
        self.elements = total;
        Ok(true)
    }

    fn instances(&self) -> usize {
        MAX_INSTANCES
    }

    fn tables(&self) -> usize {
        MAX_TABLES
    }

    fn memories(&self) -> usize {
        MAX_MEMORIES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(memory: u64) -> Meter {
        Meter::new(&Limits { memory, ..Limits::default() }, Arc::default())
    }

    #[test]
    fn the_memory_limit_counts_all_memories_together() {
        let mut meter = meter(100);
        assert!(meter.memory_growing(0, 60, None).unwrap());
        assert!(!meter.memory_growing(0, 41, None).unwrap());
        assert!(meter.refused);
        assert!(meter.memory_growing(0, 40, None).unwrap());
        assert!(!meter.memory_growing(60, 61, None).unwrap());
    }

    #[test]
    fn what_instances_have_is_counted_for_as_long_as_they_live() {
        let tally = Arc::<Tally>::default();
        let mut old = Meter::new(&Limits::default(), tally.clone());
        let mut new = Meter::new(&Limits::default(), tally.clone());
        assert!(old.memory_growing(0, 60, None).unwrap() && new.memory_growing(0, 30, None).unwrap());
        assert!(new.memory_growing(30, 40, None).unwrap());
        new.memory_grow_failed(wasmtime::Error::msg("no memory")).unwrap();
        assert_eq!(tally.memory(), 90);
        drop(old);
        assert_eq!(tally.memory(), 30);
    }

    #[test]
    fn a_growth_that_fails_is_given_back() {
        let mut meter = meter(100);
        assert!(meter.memory_growing(0, 100, None).unwrap());
        meter.memory_grow_failed(wasmtime::Error::msg("no memory")).unwrap();
        assert!(meter.memory_growing(0, 100, None).unwrap());
        assert!(!meter.memory_growing(100, 101, None).unwrap());
    }

    #[test]
    fn a_refused_growth_gives_nothing_back() {
        let mut meter = meter(100);
        assert!(meter.memory_growing(0, 100, None).unwrap());
        assert!(!meter.memory_growing(100, 200, None).unwrap());
        meter.memory_grow_failed(wasmtime::Error::msg("refused")).unwrap();
        assert!(!meter.memory_growing(100, 101, None).unwrap());
    }

    #[test]
    fn the_table_limit_counts_all_tables_together() {
        let mut meter = meter(100);
        assert!(meter.table_growing(0, MAX_TABLE_ELEMENTS, None).unwrap());
        assert!(!meter.table_growing(0, 1, None).unwrap());
    }
}
