//! Pure: builds the children.

mod annotations;
mod budget;
mod claim;
mod container;
mod given;
mod image_check;
mod initial_state;
mod labels;
mod pod;
mod ports;
mod probes;
mod programs;
mod recovery;
mod restore;
mod services;
mod tls;
mod trial;
mod volume_facts;

pub(super) use annotations::{
    AUTHORITIES, CLIENT_TLS, PEER_SECRET, PLACEMENT, QUOTA, RESTARTS, RETIRING, TEMPLATE, VERSION, VOLUME,
};
pub(super) use budget::budget;
pub use claim::default_class_probe;
pub(super) use claim::{
    ClaimInputs, Retiring, adopted, claim, grown, has_unwanted_owner, held, is_larger, known_good, marked_as_retiring,
    next, policy, replaced, retired, returned, volume,
};
pub(super) use given::{quota_follows_volume, variable_of};
pub(super) use image_check::{checks, image_check, trial_labels};
pub use initial_state::InitialState;
pub(super) use initial_state::START;
pub(super) use labels::{CLUSTER_ID, MEMBER_NAME, NAMESPACE, NEXT, OWNER_UID, RETIRED, RETIRED_BY, selected};
#[cfg(test)]
pub(super) use labels::{JOINING, MEMBER_ID, MEMBER_VERSION};
pub use labels::{KNOWN_GOOD, KNOWN_GOOD_SPEC, REPLACED_BY, selector};
pub(crate) use pod::USER;
pub(super) use pod::{begun, labeled, next_image, placement, pod, pod_labels, retiring};
pub(super) use ports::CLIENT_PORT;
pub(crate) use ports::VOLUME_PORT;
pub(super) use probes::has_health_probes;
pub(super) use programs::{AGENT, AGENT_PATH, ETCD, ETCD_PATH, RECOVER, RESTORE, WAIT};
pub(super) use restore::restore_source;
pub(crate) use restore::{snapshot_mounts, snapshot_path, snapshot_volumes};
pub use services::client_service;
pub(super) use services::{clients, peers};
pub(crate) use tls::client_tls;
pub(super) use trial::{MEMBER, trial};
pub(super) use volume_facts::{VolumeFacts, has_any_record, has_yet_to_vote, is_retiring, is_to_be_retained};
