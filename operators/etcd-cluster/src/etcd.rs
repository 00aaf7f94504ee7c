//! The etcd behind a cluster: the operator queries and changes it through its members.

pub mod act;
mod authentication;
mod channel_pool;
mod client;
mod defragmentations;
mod error;
mod grpc_client;
mod http;
pub mod responses;
mod volume_reports;

pub use client::{EtcdClient, MemberEndpoint, MemberTls, RootPassword};
pub use error::EtcdClientError;
pub use grpc_client::GrpcEtcdClient;
