//! Pure: the observed state, which includes what is unknown. Pure data.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use runtime::namespaces::Termination;
use runtime::plan::ChildState;
use runtime::pod::trial_pod;
use runtime::projections::{DisruptionBudget, Pod, PodDetails, Pvc, Service};

use super::known_good::KnownGoodConfig;
use crate::{EtcdBackup, EtcdCluster, EtcdRestore};

pub mod claims;
mod etcd;
mod takeover;
mod tls;

pub use etcd::{Alarm, Authentication, Defragmentation, EndpointStatus, Etcd, ListedMember};
pub use takeover::ObservedTakeover;
pub use tls::{CertificateRenewal, DueIssuance, ObservedTls};

/// A cluster and everything that the plan depends on.
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
    /// The EtcdRestores of the cluster.
    pub restores: Vec<Arc<EtcdRestore>>,
    /// The EtcdBackups of the cluster.
    pub backups: Vec<Arc<EtcdBackup>>,
    /// Whether the EtcdRestore that is under way exists, and cannot be read.
    pub restore_unreadable: bool,
    /// Its pods, by name.
    pub pods: Vec<Arc<Pod>>,
    /// The pod of the image check.
    pub image_check: Option<Arc<Pod>>,
    /// Whether the API server rejects that pod. Only known before it is created.
    pub image_check_rejected: bool,
    /// The pods of the placement check.
    pub trials: Vec<Arc<Pod>>,
    /// Whether a trial pod can run next to the present pod. Only known before it is created.
    pub trial_feasibility: Option<TrialFeasibility>,
    /// Its PVCs, by name.
    pub claims: Vec<Arc<Pvc>>,
    /// What its etcd reports now.
    pub etcd: Etcd,
    /// Addresses that cluster DNS publishes for the headless Service. Only known while a pod waits to join.
    pub dns_addresses: Vec<Box<str>>,
    /// The cluster version. Only known while members are to run another minor version.
    pub cluster_version: Option<String>,
    /// Members to which the leader is sending a snapshot. Only known if one has made no progress for long.
    pub receiving_snapshot: BTreeSet<u64>,
    /// Members' names that foreign pods have. Only known for members without a pod.
    pub names_taken: BTreeSet<Box<str>>,
    /// The same for foreign pods that are terminating or belong to an earlier cluster of this name.
    pub names_terminating: BTreeSet<Box<str>>,
    /// Foreign pods that have all labels by which the Services select members.
    pub foreign_selected: BTreeSet<Box<str>>,
    /// What was found out about members' PVCs by reading them by name.
    pub claim_lookups: claims::ClaimLookups,
    /// The last known good configurations of members, by name. Only known for members without a pod whose PVCs are not retired.
    pub known_good: BTreeMap<Box<str>, KnownGoodConfig>,
    /// Why the API server rejects a pod of the current spec. Only known before a member loses its pod for one, or a new member
    /// gets a PVC.
    pub pod_rejected: Option<String>,
    /// Why options of etcd in the spec are refused; `cluster` is without them.
    pub options_refused: Option<String>,
    /// What is known of the Secrets of `spec.TLS`; `cluster` has the TLS that its members can have.
    pub tls: ObservedTls,
    /// Why the Secret of `spec.authentication` cannot be used.
    pub root_unusable: Option<String>,
    /// What is known of the earlier members of a cluster that is taken over.
    pub takeover: ObservedTakeover,
    /// A name that no member has had.
    pub new_member_name: Arc<str>,
    /// Whether a PVC without a class would get one, or why that is not known. Only known before storage is decided.
    pub default_class: Option<Result<bool, String>>,
    /// Foreign pods with the cluster's labels. Only known before the first member is created; none if pods cannot be listed.
    pub foreign_pods: Option<Vec<ForeignPod>>,
    /// What is being deleted together with the cluster, if anything. Only known once the cluster is being deleted.
    pub termination: Option<Termination>,
    /// Whether the namespace assigns the users that pods run as (OpenShift). Only known before pods are created.
    pub namespace_assigns_uids: bool,
    /// The image of the agent, which is the manager's own.
    pub agent_image: Arc<str>,
}

/// Whether a trial pod can run next to the present pod of a member.
#[derive(Clone, Debug, PartialEq)]
pub enum TrialFeasibility {
    /// It can: what it needs to know of the present pod.
    Possible(Box<trial_pod::PresentPod>),
    /// It cannot: the API server rejects it, or the present pod repels it from its node.
    Impossible,
}

/// A pod with the labels of a cluster that does not own it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignPod {
    /// Its name.
    pub name: Box<str>,
    /// Whether it is terminating, or belongs to an earlier cluster of that name, with which garbage collection deletes it.
    pub terminating: bool,
}

impl Observed {
    /// Whether a part of the spec is refused, or cannot be used, that every new pod would have or lack. No pod is replaced meanwhile.
    #[must_use]
    pub fn refuses_new_pods(&self) -> bool {
        self.options_refused.is_some() || self.tls.refusal.is_some() || self.tls.unusable.is_some()
    }

    /// The pods that are not terminating, with their state.
    pub fn live_pods(&self) -> impl Iterator<Item = (&Pod, &PodDetails)> {
        self.pods.iter().filter(|pod| !pod.meta.deleting).filter_map(|pod| Some((&**pod, pod.details.as_deref()?)))
    }
}
