//! Scenarios: which kinds of objects users work with, and what they may do to them.

use crate::random::Random;
use crate::user::UserAct;

pub mod my_app;
pub mod sample;

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
    /// What a user does next.
    pub act: fn(&mut Random) -> UserAct,
    /// What users want in the end, of each object: something that can be had.
    pub wanted: fn(&mut Random) -> Vec<UserAct>,
}

/// All scenarios.
pub const ALL: [Scenario; 2] = [sample::SCENARIO, my_app::SCENARIO];

/// The scenario of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Scenario> {
    ALL.iter().find(|scenario| scenario.name == name)
}
