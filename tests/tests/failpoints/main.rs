//! The manager dies right after a chosen effect: again and again, while etcd's members come, go, are rolled and are
//! replaced; and after one effect of a database's life after the other. What it leaves must be such that the next one
//! finishes it.
//!
//! Needs a manager with the feature `failpoints` in the cluster (`MANAGER_FEATURES=failpoints scripts/images ...`, which
//! `scripts/test --all` does): it aborts after an effect that was performed and whose debug text contains `FAILPOINT`.
//! Each test has the manager alone. What etcd refuses for the time being (a learner that is not in sync) counts as performed
//! there, so the manager may die more often than members change; it goes on dying until all is done.

mod course;
mod manager;
mod members;
mod sample_db;

mod replacement;
mod scaling;
mod upgrade;
