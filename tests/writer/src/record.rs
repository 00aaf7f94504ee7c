//! What has been written, as far as etcd has said so.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// What has been written.
#[derive(Debug, Default)]
pub struct Record {
    /// Numbers that were acknowledged, each with the revision that it was given.
    pub acknowledged: BTreeMap<u64, i64>,
    /// Numbers that were not: etcd may have them or not.
    pub unacknowledged: Vec<u64>,
    /// How often each error was answered.
    pub errors: BTreeMap<String, u64>,
    last: Option<Instant>,
    longest: Duration,
}

impl Record {
    /// The number to write next. Each is tried once.
    pub fn next(&self) -> u64 {
        (self.acknowledged.len() + self.unacknowledged.len()) as u64
    }

    /// That number was acknowledged just now.
    pub fn acknowledge(&mut self, number: u64, revision: i64) {
        self.acknowledged.insert(number, revision);
        self.longest = self.longest_refusal();
        self.last = Some(Instant::now());
    }

    /// That number was not acknowledged.
    pub fn fail(&mut self, number: u64, error: String) {
        self.unacknowledged.push(number);
        *self.errors.entry(error).or_default() += 1;
    }

    /// The longest time between two acknowledgements, or since the last.
    pub fn longest_refusal(&self) -> Duration {
        self.longest.max(self.last.map_or(Duration::ZERO, |last| last.elapsed()))
    }

    /// Forgets the time for which writing was held by ourselves.
    pub fn resume(&mut self) {
        self.last = self.last.map(|_| Instant::now());
    }

    /// How far it is.
    pub fn progress(&self) -> Value {
        json!({
            "acknowledged": self.acknowledged.len(),
            "unacknowledged": self.unacknowledged.len(),
            "longest_refusal_ms": u64::try_from(self.longest_refusal().as_millis()).unwrap_or(u64::MAX),
            "errors": self.errors,
            "authorities": authorities(),
        })
    }
}

/// How many authorities the next connection with TLS accepts: mounted files change some time after their Secret.
fn authorities() -> usize {
    std::fs::read_to_string("/tls/ca.crt").map_or(0, |text| text.matches("BEGIN CERTIFICATE").count())
}
