//! What becomes of a request and of a watch on their way between a client and the API server.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::random::Random;

/// The least and the largest time that a request or its response is under way, in milliseconds.
const LATENCY: (u64, u64) = (1, 10);
/// The least and the largest delay of a late request, in milliseconds. Its client may have given up, and may have been killed.
const DELAY: (u64, u64) = (500, 45_000);
/// When a watch is interrupted at the latest after it was opened, in milliseconds.
const INTERRUPTED_WITHIN: u64 = 60_000;

/// How many of 1000 requests or watches have a certain fate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Requests that are rejected: 409, 429, 500 or 503.
    pub refused: u64,
    /// Requests that the API server does not get; their clients see a connection error.
    pub request_lost: u64,
    /// Requests that take effect; their clients see a connection error.
    pub answer_lost: u64,
    /// Requests that take effect twice; their clients get the second response.
    pub duplicated: u64,
    /// Requests that take effect up to 45 s later, whether or not their clients still wait.
    pub late: u64,
    /// Requests that the API server does not get; their clients see nothing.
    pub silent: u64,
    /// Watches that end with a connection error.
    pub watch_reset: u64,
    /// Watches that end early without an error.
    pub watch_ended: u64,
    /// Watches that stop to deliver events, without an error.
    pub watch_frozen: u64,
    /// Watches that deliver events late.
    pub watch_lagging: u64,
    /// How late these deliver events at most.
    pub lag: Duration,
}

impl Rates {
    /// Each request takes effect and is answered, within 20 ms.
    pub const NONE: Self = Self {
        refused: 0,
        request_lost: 0,
        answer_lost: 0,
        duplicated: 0,
        late: 0,
        silent: 0,
        watch_reset: 0,
        watch_ended: 0,
        watch_frozen: 0,
        watch_lagging: 0,
        lag: Duration::ZERO,
    };
}

impl Rates {
    /// The rates of a storm: some faults happen, and of these some much more often than usual.
    #[must_use]
    pub fn draw(random: &mut Random) -> Self {
        let usual = Self::default();
        let mut rate = |usual: u64| if random.chance(500) { 0 } else { usual * random.between(1, 10) };
        let mut rates = Self {
            refused: rate(usual.refused),
            request_lost: rate(usual.request_lost),
            answer_lost: rate(usual.answer_lost),
            duplicated: rate(usual.duplicated),
            late: rate(usual.late),
            silent: rate(usual.silent),
            watch_reset: rate(usual.watch_reset).min(300),
            watch_ended: rate(usual.watch_ended).min(300),
            watch_frozen: rate(usual.watch_frozen).min(300),
            watch_lagging: rate(usual.watch_lagging).min(1000),
            lag: usual.lag,
        };
        rates.lag *= u32::try_from(random.between(1, 4)).unwrap_or(1);
        rates
    }
}

impl Default for Rates {
    /// Of everything enough that it happens in each run, and little enough that a manager makes progress.
    fn default() -> Self {
        Self {
            refused: 10,
            request_lost: 10,
            answer_lost: 10,
            duplicated: 5,
            late: 5,
            silent: 3,
            watch_reset: 60,
            watch_ended: 40,
            watch_frozen: 30,
            watch_lagging: 150,
            lag: Duration::from_secs(5),
        }
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It takes effect and is answered.
    Answered,
    /// It is rejected with that code. With the code 500, it may take effect all the same, as when etcd answers too late.
    Refused {
        /// The status code of HTTP.
        code: u16,
        /// Whether it takes effect.
        takes_effect: bool,
    },
    /// The API server does not get it, and the client sees a connection error.
    RequestLost,
    /// It takes effect, and the client sees a connection error.
    AnswerLost,
    /// It takes effect twice, and the client gets the second response.
    Duplicated,
    /// It takes effect that much later, whether or not the client still waits.
    Late(Duration),
    /// The API server does not get it, and the client gets no response.
    Silent,
}

/// What becomes of a request, and how long it is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handling {
    /// How long the request is under way.
    pub request_latency: Duration,
    /// How long its response is under way.
    pub answer_latency: Duration,
    /// What becomes of it.
    pub fate: Fate,
}

/// How a watch is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// By a connection error.
    Reset,
    /// It ends as if its time had passed, but without a bookmark.
    End,
    /// It delivers nothing any more.
    Freeze,
}

/// What becomes of a watch that has been opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchFate {
    /// How much later than they happen it delivers events.
    pub lag: Duration,
    /// After what time it is interrupted, if it is.
    pub interruption: Option<(Duration, Interruption)>,
}

/// What goes wrong between clients and the API server.
#[derive(Clone, Debug)]
pub struct Faults {
    /// How often what happens to single requests and watches.
    pub rates: Rates,
    /// Until when no client reaches the API server.
    pub away_until: Option<Instant>,
    /// Until when the clients of these users do not reach the API server.
    pub cut_off_until: BTreeMap<String, Instant>,
    /// Whether requests that do not reach the API server get no response, and watches freeze. Otherwise, connections are refused
    /// and reset.
    pub outages_are_silent: bool,
    /// How often all watches were cut.
    pub(super) watch_cuts: u64,
    random: Random,
}

impl Faults {
    /// No faults yet; those to come are determined by `random`.
    #[must_use]
    pub fn new(random: Random) -> Self {
        Self {
            rates: Rates::NONE,
            away_until: None,
            cut_off_until: BTreeMap::new(),
            outages_are_silent: false,
            watch_cuts: 0,
            random,
        }
    }

    /// Whether the clients of `user` do not reach the API server at `now`.
    #[must_use]
    pub fn is_away(&self, user: &str, now: Instant) -> bool {
        let all = self.away_until.is_some_and(|until| now < until);
        all || self.cut_off_until.get(user).is_some_and(|until| now < *until)
    }

    /// How a watch of `user` is interrupted at `now`, if it is, that was opened after watches were cut for the `cuts`th time.
    pub(super) fn interrupts(&self, user: &str, cuts: u64, now: Instant) -> Option<Interruption> {
        if self.watch_cuts > cuts {
            return Some(Interruption::Reset);
        }
        let how = if self.outages_are_silent { Interruption::Freeze } else { Interruption::Reset };
        self.is_away(user, now).then_some(how)
    }

    /// What becomes of a request of `user` that is sent at `now`. Only one that `changes` an existing object may be rejected with
    /// a conflict: for others, 409 means that the object exists.
    pub fn request(&mut self, user: &str, changes: bool, now: Instant) -> Handling {
        // The same numbers are drawn for each request, so that an outage does not change what comes after it.
        let (request_latency, answer_latency) = (self.milliseconds(LATENCY), self.milliseconds(LATENCY));
        let drawn = self.drawn(changes);
        let fate = match (self.is_away(user, now), self.outages_are_silent) {
            (false, _) => drawn,
            (true, false) => Fate::RequestLost,
            (true, true) => Fate::Silent,
        };
        Handling { request_latency, answer_latency, fate }
    }

    fn drawn(&mut self, changes: bool) -> Fate {
        let (drawn, code, delay) = (self.random.below(1000), self.random.below(4), self.milliseconds(DELAY));
        let takes_effect = self.random.chance(500);
        let refused = match code {
            0 if changes => Fate::Refused { code: 409, takes_effect: false },
            1 => Fate::Refused { code: 429, takes_effect: false },
            2 => Fate::Refused { code: 503, takes_effect: false },
            _ => Fate::Refused { code: 500, takes_effect },
        };
        let rates = &self.rates;
        let fates = [
            (rates.refused, refused),
            (rates.request_lost, Fate::RequestLost),
            (rates.answer_lost, Fate::AnswerLost),
            (rates.duplicated, Fate::Duplicated),
            (rates.late, Fate::Late(delay)),
            (rates.silent, Fate::Silent),
        ];
        select(drawn, &fates).unwrap_or(Fate::Answered)
    }

    /// What becomes of a watch that is opened.
    pub fn watch(&mut self) -> WatchFate {
        let (drawn, after) = (self.random.below(1000), self.milliseconds((0, INTERRUPTED_WITHIN)));
        let most = u64::try_from(self.rates.lag.as_millis()).unwrap_or(u64::MAX);
        let (latency, lag) = (self.milliseconds(LATENCY), self.milliseconds((0, most)));
        let lag = if self.random.chance(self.rates.watch_lagging) { lag } else { Duration::ZERO };
        let rates = &self.rates;
        let interruptions = [
            (rates.watch_reset, Interruption::Reset),
            (rates.watch_ended, Interruption::End),
            (rates.watch_frozen, Interruption::Freeze),
        ];
        let interruption = select(drawn, &interruptions).map(|interruption| (after, interruption));
        WatchFate { lag: latency + lag, interruption }
    }

    fn milliseconds(&mut self, (low, high): (u64, u64)) -> Duration {
        Duration::from_millis(self.random.between(low, high))
    }
}

/// The choice that the number `drawn` of 0 to 999 falls on, given the share of each.
fn select<T: Copy>(drawn: u64, choices: &[(u64, T)]) -> Option<T> {
    let mut end = 0;
    choices.iter().find_map(|(share, choice)| {
        end += share;
        (drawn < end).then_some(*choice)
    })
}

#[cfg(test)]
mod tests;
