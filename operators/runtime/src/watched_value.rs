//! A value that tasks wait for. They wake in the order in which they began to wait, so that a simulation is repeatable; those that wait
//! for a `watch` channel of tokio wake in a random order.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A value whose changes wake the tasks that wait for them.
#[derive(Debug, Default)]
pub struct WatchedValue<T> {
    state: Mutex<Versioned<T>>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Versioned<T> {
    value: T,
    /// The number of changes.
    version: u64,
}

/// Receives the changes since it was created.
#[derive(Debug)]
pub struct Changes<'a, T> {
    of: &'a WatchedValue<T>,
    seen: u64,
}

impl<T> WatchedValue<T> {
    /// A value for which nothing waits yet.
    pub fn new(value: T) -> Self {
        Self { state: Mutex::new(Versioned { value, version: 0 }), changed: Notify::new() }
    }

    /// Reads the present value. `read` must not use this value in another way.
    pub fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        read(&self.lock().value)
    }

    /// Replaces the value.
    pub fn set(&self, value: T) {
        self.modify(|before| {
            *before = value;
            true
        });
    }

    /// Modifies the value in one step. `modify` returns whether tasks wake, and so does this.
    pub fn modify(&self, modify: impl FnOnce(&mut T) -> bool) -> bool {
        let changed = {
            let mut state = self.lock();
            let changed = modify(&mut state.value);
            state.version += u64::from(changed);
            changed
        };
        if changed {
            self.changed.notify_waiters();
        }
        changed
    }

    /// Waits until the value is as wanted.
    pub async fn wait_for(&self, is_wanted: impl Fn(&T) -> bool) {
        self.until(|state| is_wanted(&state.value)).await;
    }

    /// Receives the changes from now on.
    pub fn changes(&self) -> Changes<'_, T> {
        Changes { of: self, seen: self.lock().version }
    }

    async fn until(&self, is_so: impl Fn(&Versioned<T>) -> bool) {
        loop {
            // From here on, no change is missed.
            let changed = self.changed.notified();
            if is_so(&self.lock()) {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Versioned<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Copy> WatchedValue<T> {
    /// The present value.
    pub fn get(&self) -> T {
        self.read(|value| *value)
    }
}

impl<T> Changes<'_, T> {
    /// Waits for a change that it has not received yet. Changes in the meantime count as one.
    pub async fn next(&mut self) {
        let seen = self.seen;
        self.of.until(|state| state.version != seen).await;
        self.seen = self.of.lock().version;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn tasks_wake_in_the_order_in_which_they_began_to_wait() {
        let (value, woken) = (Arc::new(WatchedValue::new(0)), Arc::new(Mutex::new(Vec::new())));
        let waiting: Vec<_> = (0..20)
            .map(|number| {
                let (value, woken) = (value.clone(), woken.clone());
                tokio::spawn(async move {
                    value.wait_for(|value| *value == 2).await;
                    woken.lock().unwrap().push(number);
                })
            })
            .collect();
        yield_now().await;
        value.set(1);
        yield_now().await;
        assert!(woken.lock().unwrap().is_empty(), "the value is not as wanted yet");
        value.set(2);
        for waiting in waiting {
            waiting.await.unwrap();
        }
        assert_eq!(*woken.lock().unwrap(), (0..20).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn changes_are_received_once_even_before_anyone_waits() {
        let value = WatchedValue::new(0);
        let mut changes = value.changes();
        value.set(1);
        value.modify(|value| {
            *value = 2;
            true
        });
        changes.next().await;
        assert_eq!(value.get(), 2);
        value.modify(|_| false);
        let next = tokio::time::timeout(std::time::Duration::ZERO, changes.next()).await;
        assert!(next.is_err(), "nothing has changed");
    }
}
