//! Pure: what was seen. Pure data, unknowns included.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use runtime::namespaces::Termination;
use runtime::plan::ChildState;
use runtime::pod::beside;
use runtime::projections::{Claim, DisruptionBudget, Pod, Running, Service};

use super::proven::Proven;
use crate::EtcdCluster;

pub mod claims;
mod etcd;

pub use etcd::{Alarm, Endpoint, Etcd, Member};

/// A cluster and what belongs to it.
#[derive(Debug)]
pub struct Observed {
    /// The object itself.
    pub cluster: Arc<EtcdCluster>,
    /// The headless Service, which gives members their names.
    pub peers: ChildState<Service>,
    /// The Service that clients use.
    pub clients: ChildState<Service>,
    /// The budget that keeps evictions from breaking quorum.
    pub budget: ChildState<DisruptionBudget>,
    /// Its pods, by name.
    pub pods: Vec<Arc<Pod>>,
    /// The pod that finds out whether an image can be pulled.
    pub pull: Option<Arc<Pod>>,
    /// Whether the API server would not take that pod. Only asked before it is made.
    pub pull_refused: bool,
    /// The pods that find out whether one as the spec asks starts.
    pub trials: Vec<Arc<Pod>>,
    /// What is known of the present pod beside which another one is to do so. Only read before that is made.
    pub beside: Option<Beside>,
    /// Its claims, by name.
    pub claims: Vec<Arc<Claim>>,
    /// What its etcd says, asked just now.
    pub etcd: Etcd,
    /// Addresses of pods that cluster DNS tells of. Only read while a pod waits to join.
    pub published: Vec<Box<str>>,
    /// The version that all members have agreed upon. Only asked while they are to run another minor version.
    pub cluster_version: Option<String>,
    /// Members that are being sent a snapshot. Only asked once one has been getting no further for long.
    pub receiving: BTreeSet<u64>,
    /// Members' names that foreign pods have. Only looked at where a member's own pod is missing.
    pub taken: BTreeSet<Box<str>>,
    /// The same, of foreign pods that are terminating or belong to an earlier cluster of this name.
    pub leaving: BTreeSet<Box<str>>,
    /// Foreign pods that bear all labels by which the Services find members.
    pub foreign: BTreeSet<Box<str>>,
    /// What was found out about members' claims by reading them by their names.
    pub found: claims::Found,
    /// What members have been seen to run with, by name. Only read of those whose pods are gone and whose claims are not retired.
    pub proven: BTreeMap<Box<str>, Proven>,
    /// Why the API server would not take a pod as the spec asks. Only asked before a member loses its pod for one, or one more gets a
    /// claim.
    pub refused: Option<String>,
    /// Why options of etcd that the spec gives are refused; the cluster here is without them.
    pub options_refused: Option<String>,
    /// A member's name that nobody has had.
    pub fresh_name: Arc<str>,
    /// Whether a claim that names no class would get one, or why that cannot be told. Only asked before storage has been
    /// decided.
    pub default_class: Option<Result<bool, String>>,
    /// Pods that bear the cluster's labels and are not its own. Only looked at before the first member is made; none if
    /// that cannot be told.
    pub strangers: Option<Vec<Stranger>>,
    /// What is being deleted together with the cluster, if anything. Only read once the cluster is being deleted.
    pub termination: Option<Termination>,
    /// Whether the namespace dictates which users pods run as (OpenShift). Only read before pods are made.
    pub namespace_assigns_uids: bool,
    /// The image of the agent, which is the manager's own.
    pub agent_image: Arc<str>,
}

/// What is known of the present pod of the member that comes next, and of the API server's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Beside {
    /// Another one can be made beside it.
    Possible(Box<beside::Present>),
    /// None can: the API server would not take it, or the present pod may keep it from its node.
    Impossible,
}

/// A pod that bears the labels of a cluster that it is not of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// Its name.
    pub name: Box<str>,
    /// Whether it goes by itself: it is being deleted, or belonged to an earlier cluster of that name.
    pub leaving: bool,
}

impl Observed {
    /// The pods that are there to stay, with how they fare.
    pub fn staying(&self) -> impl Iterator<Item = (&Pod, &Running)> {
        self.pods.iter().filter(|pod| !pod.meta.deleting).filter_map(|pod| Some((&**pod, pod.running.as_deref()?)))
    }
}
