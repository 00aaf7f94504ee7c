//! What all actors are.

use std::time::Duration;

use jiff::Timestamp;

use crate::api_server::service::SimulatedApiServer;
use crate::random::Random;

/// How long an actor waits before it repeats a refused write, if nothing changes before.
pub(super) const RETRY: Duration = Duration::from_secs(10);

/// A component that follows the state of the API server.
pub trait Actor: Send {
    /// Its name.
    fn name(&self) -> &'static str;

    /// The plurals of the kinds that it reacts to; empty for all kinds.
    fn kinds(&self) -> &'static [&'static str];

    /// Brings what it owns up to the present state. Returns the time after which it must run again even if nothing changes.
    fn step(&mut self, server: &SimulatedApiServer, now: Timestamp, random: &mut Random) -> Option<Duration>;
}
