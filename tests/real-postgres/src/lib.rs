//! Real servers for tests: the programs of PostgreSQL's images, and what an attacker plants in a database.

pub mod attacker;
pub mod trees;
