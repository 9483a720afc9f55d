//! How long one question may take.

use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, Instant},
};

use crate::error::{Error, Result};

/// Steps between two looks at the clock. A step is an object read or a file looked at, some microseconds each.
const STEPS: u32 = 16;

/// Time for one question, shared by all that works on its answer. Every loop whose length the repository decides takes steps.
#[derive(Debug, Clone, Default)]
pub struct Budget(Rc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    until: Cell<Option<Instant>>,
    steps: Cell<u32>,
    /// For tests: how many steps are left, whatever the clock says.
    #[cfg(test)]
    left: Cell<Option<usize>>,
}

impl Budget {
    /// Begins anew, with so much time.
    pub fn begin(&self, time: Duration) {
        self.0.until.set(Instant::now().checked_add(time));
        self.0.steps.set(0);
    }

    /// Begins anew, with so many steps.
    #[cfg(test)]
    pub(crate) fn begin_steps(&self, steps: usize) {
        self.0.left.set(Some(steps));
    }

    /// One step.
    ///
    /// # Errors
    /// [`Error::TooLong`] once the time is over, from then on every time.
    pub fn step(&self) -> Result<()> {
        #[cfg(test)]
        if let Some(left) = self.0.left.get() {
            self.0.left.set(Some(left.saturating_sub(1)));
            return if left == 0 { Err(Error::TooLong) } else { Ok(()) };
        }
        let Some(until) = self.0.until.get() else { return Ok(()) };
        let steps = self.0.steps.get();
        self.0.steps.set((steps + 1) % STEPS);
        if steps == 0 && Instant::now() >= until {
            // The next step looks again.
            self.0.steps.set(0);
            return Err(Error::TooLong);
        }
        Ok(())
    }
}
