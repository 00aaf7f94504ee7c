//! Log lines during a wait, for an administrator who reads the log of a pod that does not start.

use std::thread;
use std::time::{Duration, Instant};

const HEARTBEAT: Duration = Duration::from_secs(30);

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct WaitLogger {
    goal: String,
    /// Why the goal is not reached yet; empty before that is known.
    state: String,
    since: Instant,
    logged: Instant,
}

impl WaitLogger {
    /// Logs what the agent waits for from now on.
    pub(crate) fn new(goal: String) -> Self {
        eprintln!("waiting until {goal}");
        let now = Instant::now();
        Self { goal, state: String::new(), since: now, logged: now }
    }

    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// Logs what it waits for, if the reason has changed or was last logged a while ago.
    pub(crate) fn update(&mut self, state: &str) {
        if state != self.state {
            state.clone_into(&mut self.state);
            self.log();
        }
        self.heartbeat();
    }

    /// Logs that the wait is over.
    pub(crate) fn done(&self, what: &str) {
        eprintln!("{what} (after {:.1} s)", self.since.elapsed().as_secs_f32());
    }

    pub(crate) fn heartbeat(&mut self) {
        if self.logged.elapsed() >= HEARTBEAT {
            self.log();
        }
    }

    /// How long until the next line is due.
    pub(crate) fn until_heartbeat(&self) -> Duration {
        HEARTBEAT.saturating_sub(self.logged.elapsed())
    }

    /// Sleeps: shortly at first, since most waits are short.
    pub(crate) fn pause(&self) {
        thread::sleep(pause(self.since.elapsed()));
    }

    fn log(&mut self) {
        let reason = if self.state.is_empty() { "no answer so far" } else { &self.state };
        eprintln!("still waiting until {} ({:.0} s): {reason}", self.goal, self.since.elapsed().as_secs_f32());
        self.logged = Instant::now();
    }
}

/// A twentieth of the time waited so far, so that the end of a wait is noticed with little delay.
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
