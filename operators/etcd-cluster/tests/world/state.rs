//! Reads of a world.

use runtime::cache::Projection as _;
use runtime::projections::Pod;
use serde_json::Value;

use crate::bench::Bench;
use crate::faults::name_of;
use crate::raft::Cluster;

impl Bench {
    /// The cluster id: latched now, or before status was lost.
    pub fn cluster_id(&self) -> Option<&str> {
        self.status()["clusterID"].as_str().or(self.latched.as_deref())
    }

    /// The last written status.
    pub fn status(&self) -> &Value {
        &self.object()["status"]
    }

    /// The cluster whose id is latched.
    pub fn cluster(&self) -> Option<&Cluster> {
        let id = u64::from_str_radix(self.cluster_id()?, 16).ok()?;
        self.etcds.clusters.get(&id)
    }

    /// All pods, by name.
    pub fn pods(&self) -> Vec<String> {
        self.world.all(Pod::KIND).map(|(key, _)| key.name.to_string()).collect()
    }

    /// The ids of its members, in order.
    pub fn ids(&self) -> Vec<u64> {
        self.cluster().expect("it is latched").members.iter().map(|member| member.id).collect()
    }

    /// The names of its members, in order.
    pub fn members(&self) -> Vec<String> {
        self.cluster().expect("it is latched").members.iter().map(|member| name_of(member).to_owned()).collect()
    }

    /// The index by which a step picks that pod.
    pub fn place_of(&self, name: &str) -> usize {
        self.pods().iter().position(|pod| pod == name).expect("it has a pod")
    }
}
