//! What becomes of calls between managers and operands.

use std::time::Duration;

use crate::etcd::hash;
use crate::random::Random;

/// The least and the largest time that a call or its answer is under way, in milliseconds.
const LATENCY: (u64, u64) = (1, 10);
/// The same, of a slow one. Its client may give up meanwhile.
const SLOW: (u64, u64) = (200, 4000);

/// How many of 1000 calls, or servers, have a certain fate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallRates {
    /// Calls that the operand does not get; their clients see a closed connection.
    pub request_lost: u64,
    /// Calls that take effect; their clients see a closed connection.
    pub answer_lost: u64,
    /// Calls that the operand does not get; their clients see nothing.
    pub silent: u64,
    /// Calls that take long.
    pub slow: u64,
    /// Servers that managers do not reach, though others do.
    pub unreachable: u64,
}

impl CallRates {
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
pub(crate) enum CallFate {
    Answered,
    RequestLost,
    AnswerLost,
    Silent,
    Unreachable,
}

/// What becomes of a call, and how long it takes there and back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallHandling {
    pub(crate) fate: CallFate,
    pub(crate) request_latency: Duration,
    pub(crate) answer_latency: Duration,
}

/// The faults between managers and one sort of operands.
pub(crate) struct CallFaults {
    rates: CallRates,
    random: Random,
    /// Decides which servers are unreachable.
    storm: u64,
}

impl CallFaults {
    pub(crate) fn new(random: Random) -> Self {
        Self { rates: CallRates::NONE, random, storm: 0 }
    }

    /// From now on, calls fail at these rates.
    pub(crate) fn set(&mut self, rates: CallRates) {
        self.rates = rates;
        self.storm = self.random.number();
    }

    /// Draws what becomes of a call to an address.
    pub(crate) fn draw(&mut self, address: &str) -> CallHandling {
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
        let mut faults = CallFaults::new(Random::new(1));
        assert!((0..100).all(|_| faults.draw("10.0.0.1").fate == CallFate::Answered));
        faults.set(CallRates { answer_lost: 500, ..CallRates::NONE });
        let lost = (0..1000).filter(|_| faults.draw("10.0.0.1").fate == CallFate::AnswerLost).count();
        assert!((400..600).contains(&lost), "{lost}");
        faults.set(CallRates { unreachable: 500, ..CallRates::NONE });
        let is_cut = |faults: &mut CallFaults, member: u32| {
            faults.draw(&format!("10.0.0.{member}")).fate == CallFate::Unreachable
        };
        let cut: Vec<u32> = (0..200).filter(|member| is_cut(&mut faults, *member)).collect();
        assert!((50..150).contains(&cut.len()), "{cut:?}");
        assert!(cut.iter().all(|member| is_cut(&mut faults, *member)), "a storm cuts off the same servers");
    }
}
