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
    pause: Duration,
}

impl Progress {
    /// Says what is waited for from now on.
    pub(crate) fn towards(goal: String) -> Self {
        eprintln!("waiting until {goal}");
        let now = Instant::now();
        Self { goal, state: String::new(), since: now, said: now, pause: FIRST_PAUSE }
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
    pub(crate) fn pause(&mut self) {
        thread::sleep(self.pause);
        self.pause = longer(self.pause);
    }

    fn say(&mut self) {
        let reason = if self.state.is_empty() { "no answer so far" } else { &self.state };
        eprintln!("still waiting until {} ({:.0} s): {reason}", self.goal, self.since.elapsed().as_secs_f32());
        self.said = Instant::now();
    }
}

fn longer(pause: Duration) -> Duration {
    pause.mul_f32(1.5).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_second() {
        let pauses: Vec<_> = std::iter::successors(Some(FIRST_PAUSE), |pause| Some(longer(*pause))).take(8).collect();
        assert_eq!(pauses[0].as_millis(), 100);
        assert!((149..=151).contains(&pauses[1].as_millis()));
        assert_eq!(pauses[7], LONGEST_PAUSE);
    }
}
