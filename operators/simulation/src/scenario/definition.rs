//! What a scenario consists of.

use runtime::permissions::Permission;
use serde_json::Value;

use crate::api_server::state::StoredState;
use crate::happening::Happening;
use crate::random::Random;
use crate::user::UserAct;

/// The names of all reasons of these enums, and of those that all kinds share.
macro_rules! reasons {
    ($($name:ident),+) => {{
        let mut all: Vec<&'static str> = api::ReconcileReason::ALL.iter().map(|reason| reason.as_str()).collect();
        all.extend(api::PodReason::ALL.iter().map(|reason| reason.as_str()));
        $(all.extend($name::ALL.iter().map(|reason| reason.as_str()));)+
        all
    }};
}
pub(super) use reasons;

/// What a world is about.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// The controllers that the managers run.
    pub controllers: &'static str,
    /// The plurals of the kinds that users write.
    pub roots: &'static [&'static str],
    /// The plurals of the kinds that the managers write for them.
    pub children: &'static [&'static str],
    /// The plurals of the children that the managers never delete as long as their owner lives.
    pub kept: &'static [&'static str],
    /// The fields, at any depth, that differ between any two runs: names and ids that each run draws.
    pub volatile: &'static [&'static str],
    /// More writes of managers than this in one run are an unbounded retry.
    pub most_writes: usize,
    /// The reasons that the managers may give conditions and Events.
    pub reasons: fn() -> Vec<&'static str>,
    /// The permissions of its controllers.
    pub permissions: &'static [Permission],
    /// Draws a fault of what managers talk to besides the API server.
    pub operand_fault: Option<fn(&mut Random) -> Happening>,
    /// What of its children is not as the spec of an object of a user says, in the end.
    pub children_differ: fn(&StoredState, &str, &Value) -> Vec<String>,
    /// What a user does next.
    pub act: fn(&mut Random) -> UserAct,
    /// What users want in the end, of each object: something that can be had.
    pub wanted: fn(&mut Random) -> Vec<UserAct>,
}
