//! Pure: finds Events that repeat an existing one within six minutes of its last occurrence, as client-go does. They increment
//! its count.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

/// How long after its last occurrence an Event can be repeated. (client-go: tools/events/event_broadcaster.go, finishTime)
const SERIES_TTL: SignedDuration = SignedDuration::from_mins(6);
/// How many Events are remembered; beyond this, the one with the oldest occurrence is forgotten.
const MAX_SERIES: usize = 256;

/// The Events that can be repeated, by the hash of their content.
#[derive(Default)]
pub struct EventSeries(HashMap<u64, RepeatedEvent>);

/// One Event.
struct RepeatedEvent {
    name: String,
    count: u32,
    last: Timestamp,
}

impl EventSeries {
    /// Records an occurrence. Returns the name of the existing Event, and its count including this occurrence.
    pub fn repeat(&mut self, what: u64, now: Timestamp) -> Option<(String, u32)> {
        self.0.retain(|_, event| now.duration_since(event.last) < SERIES_TTL);
        let event = self.0.get_mut(&what)?;
        (event.count, event.last) = (event.count.saturating_add(1), now);
        Some((event.name.clone(), event.count))
    }

    /// Records a new Event of that name.
    pub fn begin(&mut self, what: u64, name: String, now: Timestamp) {
        if self.0.len() >= MAX_SERIES
            && let Some(oldest) = self.0.iter().min_by_key(|(_, event)| event.last).map(|(what, _)| *what)
        {
            self.0.remove(&oldest);
        }
        self.0.insert(what, RepeatedEvent { name, count: 1, last: now });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_repetition_within_six_minutes_is_counted() {
        let mut series = EventSeries::default();
        assert_eq!(series.repeat(1, at(0)), None);
        series.begin(1, "a".to_owned(), at(0));
        assert_eq!(series.repeat(2, at(1)), None, "something else");
        assert_eq!(series.repeat(1, at(359)), Some(("a".to_owned(), 2)));
        assert_eq!(
            series.repeat(1, at(718)),
            Some(("a".to_owned(), 3)),
            "each occurrence starts the six minutes again"
        );
        assert_eq!(series.repeat(1, at(1078)), None);
        assert!(series.0.is_empty());
    }

    #[test]
    fn only_so_many_are_remembered() {
        let mut series = EventSeries::default();
        (0..1000).for_each(|what| series.begin(what, what.to_string(), at(i64::try_from(what / 10).unwrap())));
        assert_eq!(series.0.len(), MAX_SERIES);
        assert_eq!(series.repeat(999, at(100)), Some(("999".to_owned(), 2)));
        assert_eq!(series.repeat(0, at(100)), None);
    }
}
