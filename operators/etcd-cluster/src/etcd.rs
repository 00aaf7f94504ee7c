//! The live etcd behind a cluster: asked and changed through its members.

mod act;
mod client;
mod fault;
mod http;
mod live;
mod look;
mod pool;
mod rooms;

pub use client::{EtcdClient, Place};
pub use live::Live;
