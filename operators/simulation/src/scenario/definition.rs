//! What a scenario consists of.

use serde_json::Value;

use crate::api_server::state::StoredState;
use crate::happening::Happening;
use crate::random::Random;
use crate::user::UserAct;

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
    /// Draws a fault of what managers talk to besides the API server.
    pub operand_fault: Option<fn(&mut Random) -> Happening>,
    /// What of its children is not as the spec of an object of a user says, in the end.
    pub children_differ: fn(&StoredState, &str, &Value) -> Vec<String>,
    /// What a user does next.
    pub act: fn(&mut Random) -> UserAct,
    /// What users want in the end, of each object: something that can be had.
    pub wanted: fn(&mut Random) -> Vec<UserAct>,
}
