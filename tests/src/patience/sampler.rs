//! The thread that measures how slow the machine is, one a process: whatever runtimes tests have, and however many run.

use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::pace::Pace;

/// How many rounds a sample has. Shorter work would not show a load: a thread that has slept gets a processor at once, and keeps
/// it for a time slice of about 3 ms. (With four busy loops on two cores, 2 ms of work took 2.2 ms in the median, and 8 ms of
/// work 33 ms.)
const ROUNDS: u32 = 8_000_000;
/// The pause between samples: with 8 ms of work, less than 1 % of a core.
const PAUSE: Duration = Duration::from_secs(1);

/// What is known of the machine's speed; the first call begins to measure it.
pub(super) fn pace() -> MutexGuard<'static, Pace> {
    static PACE: OnceLock<Mutex<Pace>> = OnceLock::new();
    let mut begins = false;
    let pace = PACE.get_or_init(|| {
        begins = true;
        Mutex::new(Pace::new(Instant::now()))
    });
    if begins {
        thread::spawn(move || measure(pace));
    }
    pace.lock().unwrap_or_else(PoisonError::into_inner)
}

fn measure(pace: &Mutex<Pace>) {
    loop {
        let begun = Instant::now();
        black_box(work(black_box(ROUNDS)));
        let now = Instant::now();
        pace.lock().unwrap_or_else(PoisonError::into_inner).sample(now, now - begun);
        thread::sleep(PAUSE);
    }
}

/// FNV-1a over a counter. Each round needs the result of the one before, so that it takes as long in every build profile.
fn work(rounds: u32) -> u64 {
    let (mut hash, mut round) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while round < rounds {
        hash = (hash ^ u64::from(round & 255)).wrapping_mul(0x0100_0000_01b3);
        round += 1;
    }
    hash
}
