//! Behaviours of the manager that is deployed in the cluster. One file a behaviour; all run side by side.

mod create;
mod writes;
