//! NetworkPolicies, on a cluster that enforces them (`scripts/network-policy up`): the needed connections work, and no others.
//! For each blocked connection, the same request works once the one thing is changed that the policy requires.

mod clients;
mod confined;
mod manager;
mod needed;
mod probe;
mod scraping;
mod stage;
