//! Tests that need the cluster for themselves, some of them only from a point on.
//!
//! While one of them waits for the tests that run, no other test begins. The module's name sorts behind the others, so that
//! they wait once, at the end.

mod bad_image;
mod etcd_operator_gone;
mod killed_manager;
mod normalised;
mod repair;
