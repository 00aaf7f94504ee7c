//! What the manager talks to besides the API server: the operands.

use std::sync::Arc;

use etcd_cluster::etcd::{EtcdClient, GrpcEtcdClient};
use sample_db::{LivePostgres, PostgresClient};

/// The clients of the operands. The program reaches them over the network, and a simulation in memory.
pub trait OperandClients {
    /// The client of etcd.
    type Etcd: EtcdClient;

    /// A client of etcd without connections.
    fn etcd(&self) -> Self::Etcd;

    /// A client of PostgreSQL.
    fn postgres(&self) -> Arc<dyn PostgresClient>;
}

/// The clients of the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct NetworkClients;

impl OperandClients for NetworkClients {
    type Etcd = GrpcEtcdClient;

    fn etcd(&self) -> GrpcEtcdClient {
        GrpcEtcdClient::new()
    }

    fn postgres(&self) -> Arc<dyn PostgresClient> {
        Arc::new(LivePostgres)
    }
}
