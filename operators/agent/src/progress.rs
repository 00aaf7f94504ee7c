//! What is said while waiting: for a person who reads the log of a pod that does not come up.

use std::thread;
use std::time::{Duration, Instant};

const REMINDER: Duration = Duration::from_secs(30);

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Progress {
    goal: String,
    /// Why it is not so yet; empty before that is known.
    state: String,
    since: Instant,
    said: Instant,
}

impl Progress {
    /// Says what is waited for from now on.
    pub(crate) fn towards(goal: String) -> Self {
        eprintln!("waiting until {goal}");
        let now = Instant::now();
        Self { goal, state: String::new(), since: now, said: now }
    }

    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// Says why the wait goes on, if it is another reason than before or has not been said for long.
    pub(crate) fn still(&mut self, state: &str) {
        if state != self.state {
            state.clone_into(&mut self.state);
            self.say();
        }
        self.remind();
    }

    /// Says that the wait is over.
    pub(crate) fn done(&self, what: &str) {
        eprintln!("{what} (after {:.1} s)", self.since.elapsed().as_secs_f32());
    }

    pub(crate) fn remind(&mut self) {
        if self.said.elapsed() >= REMINDER {
            self.say();
        }
    }

    /// How long nothing needs to be said.
    pub(crate) fn silence(&self) -> Duration {
        REMINDER.saturating_sub(self.said.elapsed())
    }

    /// Sleeps: shortly at first, since most waits are short.
    pub(crate) fn pause(&self) {
        thread::sleep(pause(self.since.elapsed()));
    }

    fn say(&mut self) {
        let reason = if self.state.is_empty() { "no answer so far" } else { &self.state };
        eprintln!("still waiting until {} ({:.0} s): {reason}", self.goal, self.since.elapsed().as_secs_f32());
        self.said = Instant::now();
    }
}

/// A twentieth of what has been waited, so that what is waited for is noticed hardly later than it could be.
fn pause(waited: Duration) -> Duration {
    (waited / 20).clamp(FIRST_PAUSE, LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_second() {
        let after = |seconds| pause(Duration::from_secs(seconds)).as_millis();
        assert_eq!([after(0), after(2), after(6), after(20), after(600)], [100, 100, 300, 1000, 1000]);
    }
}
