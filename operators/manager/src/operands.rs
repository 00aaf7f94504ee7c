//! What the manager talks to besides the API server: the operands.

use etcd_cluster::etcd::{EtcdClient, GrpcEtcdClient};

/// The clients of the operands. The program reaches them over the network, and a simulation in memory.
pub trait OperandClients {
    /// The client of etcd.
    type Etcd: EtcdClient;

    /// A client of etcd without connections.
    fn etcd(&self) -> Self::Etcd;
}

/// The clients of the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct NetworkClients;

impl OperandClients for NetworkClients {
    type Etcd = GrpcEtcdClient;

    fn etcd(&self) -> GrpcEtcdClient {
        GrpcEtcdClient::new()
    }
}
