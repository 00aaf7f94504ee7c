//! Pure: which announcements repeat an Event that is there already, so that it is counted on instead of another one being made: as
//! client-go does, what is said again within six minutes of the last time.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

/// How long after it was last said the same is no repetition any more. (client-go: tools/events/event_broadcaster.go, finishTime)
const ENDS: SignedDuration = SignedDuration::from_mins(6);
/// Events that are remembered; beyond it the one that was repeated longest ago is not.
const REMEMBERED: usize = 256;

/// Events that may be repeated, by what they say.
#[derive(Default)]
pub struct Series(HashMap<u64, Said>);

/// One of them.
struct Said {
    name: String,
    count: u32,
    last: Timestamp,
}

impl Series {
    /// Something is said. Returns the name of the Event that says so already, and how often it has been said with this time.
    pub fn repeat(&mut self, what: u64, now: Timestamp) -> Option<(String, u32)> {
        self.0.retain(|_, said| now.duration_since(said.last) < ENDS);
        let said = self.0.get_mut(&what)?;
        (said.count, said.last) = (said.count.saturating_add(1), now);
        Some((said.name.clone(), said.count))
    }

    /// An Event of that name has been made to say it.
    pub fn begin(&mut self, what: u64, name: String, now: Timestamp) {
        if self.0.len() >= REMEMBERED
            && let Some(oldest) = self.0.iter().min_by_key(|(_, said)| said.last).map(|(what, _)| *what)
        {
            self.0.remove(&oldest);
        }
        self.0.insert(what, Said { name, count: 1, last: now });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn what_is_said_again_within_six_minutes_is_counted() {
        let mut series = Series::default();
        assert_eq!(series.repeat(1, at(0)), None);
        series.begin(1, "a".to_owned(), at(0));
        assert_eq!(series.repeat(2, at(1)), None, "something else");
        assert_eq!(series.repeat(1, at(359)), Some(("a".to_owned(), 2)));
        assert_eq!(series.repeat(1, at(718)), Some(("a".to_owned(), 3)), "each time counts anew");
        assert_eq!(series.repeat(1, at(1078)), None);
        assert!(series.0.is_empty());
    }

    #[test]
    fn only_so_many_are_remembered() {
        let mut series = Series::default();
        (0..1000).for_each(|what| series.begin(what, what.to_string(), at(i64::try_from(what / 10).unwrap())));
        assert_eq!(series.0.len(), REMEMBERED);
        assert_eq!(series.repeat(999, at(100)), Some(("999".to_owned(), 2)));
        assert_eq!(series.repeat(0, at(100)), None);
    }
}
