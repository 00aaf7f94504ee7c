//! What happened in a world, in order, as lines of text.

use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;

use tokio::time::Instant;

/// The story of a run. Copies share it.
#[derive(Clone)]
pub struct Story {
    begun: Instant,
    lines: Rc<RefCell<Vec<String>>>,
}

impl Story {
    /// Begins now. Must be called in the world's tokio runtime.
    #[must_use]
    pub fn begin() -> Self {
        Self { begun: Instant::now(), lines: Rc::default() }
    }

    /// Adds what `who` did.
    pub fn tell(&self, who: &str, what: impl Display) {
        self.tell_at(self.begun.elapsed().as_secs_f64(), who, what);
    }

    /// Adds what `who` did at that time, in seconds since the story began.
    pub fn tell_at(&self, seconds: f64, who: &str, what: impl Display) {
        self.lines.borrow_mut().push(format!("{seconds:>9.3} s  {who}: {what}"));
    }

    /// All of it, in the order of time.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.lines.borrow().clone();
        // Times have the same width, and what happened at the same time stays in the order in which it was added.
        lines.sort_by(|one, other| one.get(..9).cmp(&other.get(..9)));
        lines
    }
}
