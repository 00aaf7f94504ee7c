//! How full members' volumes are, by the word of their agents: asked beside the passes, which wait for no answer. So a port that a
//! network policy closes, or that earlier pods do not have, costs no pass any time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::http;
use agent_protocol::VolumeReport;

/// How often a volume is asked for, which is a little more often than members of a cluster at rest are.
const AGAIN: Duration = Duration::from_secs(8);
/// The same, of one that has not told.
const SILENT: Duration = Duration::from_secs(60);
/// How long one is remembered that nobody asks for.
const KEPT: Duration = Duration::from_secs(300);

/// What has been told, by address.
#[derive(Clone, Debug, Default)]
pub(super) struct Rooms(Arc<Mutex<BTreeMap<Box<str>, Told>>>);

#[derive(Clone, Copy, Debug)]
struct Told {
    asked: Instant,
    room: Option<VolumeReport>,
}

impl Told {
    fn is_fresh(&self, now: Instant) -> bool {
        now.duration_since(self.asked) < if self.room.is_some() { AGAIN } else { SILENT }
    }
}

impl Rooms {
    /// What the member at `address` told last. If that is some time ago, it is asked again, for a later pass.
    pub(super) fn of(&self, address: &str) -> Option<VolumeReport> {
        let (room, is_due) = self.turn(address, Instant::now());
        if is_due {
            let (rooms, address) = (self.clone(), Box::from(address));
            tokio::spawn(async move {
                let room = http::room(&address).await;
                rooms.lock().insert(address, Told { asked: Instant::now(), room });
            });
        }
        room
    }

    /// What is known, and whether it is time to ask again, which then counts as done.
    fn turn(&self, address: &str, now: Instant) -> (Option<VolumeReport>, bool) {
        let mut all = self.lock();
        all.retain(|_, told| now.duration_since(told.asked) < KEPT);
        match all.get(address).copied() {
            Some(told) if told.is_fresh(now) => (told.room, false),
            before => {
                let room = before.and_then(|told| told.room);
                all.insert(address.into(), Told { asked: now, room });
                (room, true)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Box<str>, Told>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_asked_for_seldom_and_silent_ones_more_seldom() {
        let rooms = Rooms::default();
        let start = Instant::now();
        let turn = |seconds: u64| rooms.turn("10.0.0.1", start + Duration::from_secs(seconds));
        assert_eq!([turn(0), turn(10), turn(59), turn(60)], [(None, true), (None, false), (None, false), (None, true)]);
        let room = Some(VolumeReport { free_bytes: 7, ..VolumeReport::default() });
        rooms.lock().insert("10.0.0.1".into(), Told { asked: start + Duration::from_secs(61), room });
        assert_eq!([turn(62), turn(70), turn(71)], [(room, false), (room, true), (room, false)]);
        assert_eq!(turn(500), (None, true), "that is too long ago");
    }

    #[tokio::test]
    async fn no_pass_waits_for_an_answer() {
        let rooms = Rooms::default();
        // Nobody is there, and nobody says so.
        let begun = Instant::now();
        assert_eq!(rooms.of("192.0.2.1"), None);
        assert!(begun.elapsed() < Duration::from_millis(500));
    }
}
