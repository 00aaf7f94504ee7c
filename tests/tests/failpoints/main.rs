//! The manager dies right after a chosen effect, again and again, while etcd's members come, go, are rolled and are
//! replaced; what it leaves must be such that the next one finishes it.
//!
//! Needs a manager with the feature `failpoints` in the cluster (`MANAGER_FEATURES=failpoints scripts/images ...`, which
//! `scripts/test --all` does): it aborts after an effect that was performed and whose debug text contains `FAILPOINT`.
//! Each test has the manager alone.

mod course;
mod manager;
mod members;

mod replacement;
mod scaling;
mod upgrade;
