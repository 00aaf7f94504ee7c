//! Pure: the children, as they should be.

mod annotations;
mod budget;
mod claim;
mod container;
mod facts;
mod given;
mod labels;
mod pod;
mod ports;
mod probes;
mod programs;
mod pull;
mod services;
mod start;
mod trial;

pub(super) use annotations::{PLACEMENT, QUOTA, RESTARTS, RETIRING, TEMPLATE, VERSION, VOLUME};
pub(super) use budget::budget;
pub use claim::probe_claim;
pub(super) use claim::{
    Known, adopted, claim, grown, held, is_larger, is_owned_in_vain, marked_as_retiring, next, policy, proven, retired,
    volume,
};
pub(super) use facts::{Facts, has_yet_to_vote, is_retiring};
pub(super) use given::{quota_follows_volume, variable_of};
pub(super) use labels::{CLUSTER_ID, NAMESPACE, NEXT, NODE, OWNER_UID, RETIRED, RETIRED_BY, selected};
#[cfg(test)]
pub(super) use labels::{JOINING, MEMBER_ID, MEMBER_VERSION};
pub use labels::{PROVEN, PROVEN_SPEC, selector};
pub(super) use pod::{begun, labeled, next_image, placement, pod, pod_labels, retiring};
pub(super) use ports::CLIENT_PORT;
pub(crate) use ports::VOLUME_PORT;
pub(super) use probes::is_asked_for_health;
pub(super) use programs::{AGENT, AGENT_PATH, ETCD, ETCD_PATH, WAIT};
pub(super) use pull::{pull, trial_labels, tries};
pub use services::client_service;
pub(super) use services::{clients, peers};
pub(super) use start::START;
pub use start::Start;
pub(super) use trial::{MEMBER, trial};
