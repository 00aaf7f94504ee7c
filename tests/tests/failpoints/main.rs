//! The manager crashes right after a chosen effect: repeatedly, while etcd's members are added, removed, rolled and replaced; and
//! after each effect of a database's life in turn. The next manager must be able to finish what it leaves.
//!
//! Needs a manager with the feature `failpoints` in the cluster (`MANAGER_FEATURES=failpoints scripts/images ...`, which
//! `scripts/test --all` does): it aborts after an effect that was performed and whose debug text contains `FAILPOINT`. Each test
//! has the manager alone. A change that etcd rejects for the time being (a learner that is not in sync) counts as performed
//! there, so the manager may crash more often than members change; it continues to crash until all is done.

mod manager;
mod members;
mod sample_db;
mod scenario;

mod replacement;
mod scaling;
mod upgrade;
