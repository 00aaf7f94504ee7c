//! What becomes of calls between managers and etcd.

use std::time::Duration;

use super::cluster::hash;
use crate::random::Random;

/// The least and the largest time that a call or its answer is under way, in milliseconds.
const LATENCY: (u64, u64) = (1, 10);
/// The same, of a slow one. Its client may give up meanwhile.
const SLOW: (u64, u64) = (200, 4000);

/// How many of 1000 calls, or members, have a certain fate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EtcdRates {
    /// Calls that etcd does not get; their clients see a closed connection.
    pub request_lost: u64,
    /// Calls that take effect; their clients see a closed connection.
    pub answer_lost: u64,
    /// Calls that etcd does not get; their clients see nothing.
    pub silent: u64,
    /// Calls that take long.
    pub slow: u64,
    /// Members that managers do not reach, though others do.
    pub unreachable: u64,
}

impl EtcdRates {
    /// Each call takes effect and is answered, within 20 ms.
    pub const NONE: Self = Self { request_lost: 0, answer_lost: 0, silent: 0, slow: 0, unreachable: 0 };

    /// The rates of a storm: some faults happen, and others do not.
    #[must_use]
    pub fn draw(random: &mut Random) -> Self {
        let mut rate = |most: u64| if random.chance(500) { 0 } else { random.between(1, most) };
        Self {
            request_lost: rate(200),
            answer_lost: rate(200),
            silent: rate(60),
            slow: rate(200),
            unreachable: rate(600),
        }
    }
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallFate {
    Answered,
    RequestLost,
    AnswerLost,
    Silent,
    Unreachable,
}

/// What becomes of a call, and how long it takes there and back.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallHandling {
    pub(super) fate: CallFate,
    pub(super) request_latency: Duration,
    pub(super) answer_latency: Duration,
}

/// The faults between managers and etcd.
pub(super) struct EtcdFaults {
    rates: EtcdRates,
    random: Random,
    /// Decides which members are unreachable.
    storm: u64,
}

impl EtcdFaults {
    pub(super) fn new(random: Random) -> Self {
        Self { rates: EtcdRates::NONE, random, storm: 0 }
    }

    /// From now on, calls fail at these rates.
    pub(super) fn set(&mut self, rates: EtcdRates) {
        self.rates = rates;
        self.storm = self.random.number();
    }

    /// Draws what becomes of a call to an address.
    pub(super) fn draw(&mut self, address: &str) -> CallHandling {
        let Self { rates, random, storm } = self;
        let is_cut = hash(&[address, &storm.to_string()]) % 1000 < rates.unreachable;
        let (low, high) = if random.chance(rates.slow) { SLOW } else { LATENCY };
        let mut latency = || Duration::from_millis(random.between(low, high));
        let (request_latency, answer_latency) = (latency(), latency());
        let fate = match random.below(1000) {
            _ if is_cut => CallFate::Unreachable,
            drawn if drawn < rates.request_lost => CallFate::RequestLost,
            drawn if drawn < rates.request_lost + rates.answer_lost => CallFate::AnswerLost,
            drawn if drawn < rates.request_lost + rates.answer_lost + rates.silent => CallFate::Silent,
            _ => CallFate::Answered,
        };
        CallHandling { fate, request_latency, answer_latency }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rates_decide_what_becomes_of_calls() {
        let mut faults = EtcdFaults::new(Random::new(1));
        assert!((0..100).all(|_| faults.draw("10.0.0.1").fate == CallFate::Answered));
        faults.set(EtcdRates { answer_lost: 500, ..EtcdRates::NONE });
        let lost = (0..1000).filter(|_| faults.draw("10.0.0.1").fate == CallFate::AnswerLost).count();
        assert!((400..600).contains(&lost), "{lost}");
        faults.set(EtcdRates { unreachable: 500, ..EtcdRates::NONE });
        let is_cut = |faults: &mut EtcdFaults, member: u32| {
            faults.draw(&format!("10.0.0.{member}")).fate == CallFate::Unreachable
        };
        let cut: Vec<u32> = (0..200).filter(|member| is_cut(&mut faults, *member)).collect();
        assert!((50..150).contains(&cut.len()), "{cut:?}");
        assert!(cut.iter().all(|member| is_cut(&mut faults, *member)), "a storm cuts off the same members");
    }
}
