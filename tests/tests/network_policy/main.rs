//! NetworkPolicies, on a cluster that enforces them (`scripts/network-policy up`): what has to get through does, and nothing
//! else. Where something is shut out, the same request comes through once the one thing is changed that the policy asks for.

mod clients;
mod confined;
mod manager;
mod needed;
mod probe;
mod scraping;
mod stage;
