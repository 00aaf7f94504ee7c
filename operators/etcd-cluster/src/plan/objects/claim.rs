//! Pure: the PVC of a member, which has the member's name.

use std::collections::BTreeMap;

use api::UNSAVED_DATA;
use api::etcd_cluster::OnDelete;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::cache::Projection;
use runtime::plan::Apply;
use runtime::plan::meta::{MANAGER, argocd_no_prune_annotations, child_meta};
use runtime::projections::Pvc;

use serde_json::json;

use super::annotations::{PEER_SECRET, RETIRING};
use super::labels::{
    JOINING, KNOWN_GOOD, KNOWN_GOOD_SPEC, MEMBER_NAME, NAMESPACE, NEXT, OWNER_UID, REPLACED_BY, RETIRED, RETIRED_BY,
    member_labels,
};
use super::volume_facts::{RETIRES, RETIRES_RETAINED, VolumeFacts, has_yet_to_vote};
use crate::EtcdCluster;
use crate::plan::known_good::KnownGoodConfig;
use crate::plan::member_set::MemberSet;
use crate::plan::size::bytes;
use crate::plan::tls;

/// The size of volumes if the spec has none.
const DEFAULT_SIZE: &str = "1Gi";

/// The inputs of a PVC.
#[derive(Clone, Debug, Default)]
pub(in crate::plan) struct ClaimInputs<'a> {
    /// The live PVC, if it exists.
    pub(in crate::plan) live: Option<&'a Pvc>,
    /// The PVC of another member, whose data has to fit, if it does not exist yet.
    pub(in crate::plan) peer: Option<&'a Pvc>,
    /// What its volume holds.
    pub(in crate::plan) facts: Option<VolumeFacts>,
    /// Whether its member has never voted.
    pub(in crate::plan) joining: bool,
}

impl<'a> ClaimInputs<'a> {
    /// The inputs of a PVC that does not exist yet: it is no smaller than all others, whose data has to fit.
    pub(in crate::plan) fn for_new_claim(members: &MemberSet<'a>, joining: bool) -> Self {
        let size = |claim: &&Pvc| claim.requested.as_deref().and_then(bytes);
        let others = members.all.iter().filter_map(|member| member.claim).filter(|claim| size(claim).is_some());
        Self { live: None, peer: others.min_by_key(size), facts: None, joining }
    }

    fn of(live: &'a Pvc) -> Self {
        Self { live: Some(live), peer: None, facts: VolumeFacts::of(live), joining: has_yet_to_vote(live) }
    }
}

/// The PVC of `member`. Only a PVC that is deleted with the cluster has an owner reference: garbage collection would delete a
/// retained one.
///
/// A live PVC keeps its size in this write; see [`grown`]. Its other fields must not depend on whether its StorageClass allows
/// expansion.
pub(in crate::plan) fn claim(cluster: &EtcdCluster, member: &str, inputs: ClaimInputs<'_>) -> Apply {
    let mut labels = member_labels(cluster, member);
    labels.extend(inputs.facts.into_iter().flat_map(VolumeFacts::labels));
    labels.extend(inputs.joining.then(|| (JOINING.to_owned(), "true".to_owned())));
    labels.insert(OWNER_UID.to_owned(), cluster.meta.uid.to_string());
    labels.insert(NAMESPACE.to_owned(), cluster.meta.key.namespace.to_string());
    let owned = child_meta(&EtcdCluster::KIND, &cluster.meta);
    let owner_references = if policy(cluster) == OnDelete::Delete { owned.owner_references } else { None };
    let mut annotations = owner_references.is_none().then(argocd_no_prune_annotations);
    if let Some(secret) = tls::peer_secret(cluster) {
        annotations.get_or_insert_default().insert(PEER_SECRET.to_owned(), secret.to_owned());
    }
    let metadata = ObjectMeta { labels: Some(labels), annotations, owner_references, ..ObjectMeta::default() };
    let claim =
        PersistentVolumeClaim { metadata, spec: Some(spec(cluster, inputs.live.or(inputs.peer))), status: None };
    let mut apply = Apply::new(Pvc::KIND, cluster.meta.key.sibling(member), &claim);
    if let Some(requested) = inputs.live.and_then(|live| live.requested.as_deref()) {
        apply.body["spec"]["resources"]["requests"]["storage"] = requested.into();
    }
    apply
}

/// Raises the size that a PVC requests, if the spec has a larger one: a separate write, since the API server rejects it if the
/// StorageClass does not allow expansion.
pub(in crate::plan) fn grown(cluster: &EtcdCluster, live: &Pvc) -> Option<Apply> {
    let wanted = requested_size(cluster, Some(live))?;
    let grows = bytes(&wanted)? > bytes(live.requested.as_deref()?)?;
    grows.then(|| {
        Apply::part(
            Pvc::KIND,
            &live.meta,
            "size",
            &json!({ "spec": { "resources": { "requests": { "storage": wanted } } } }),
        )
    })
}

/// Retires the PVC of a removed member: a separate write, so that it succeeds even if the API server rejects the spec of PVCs.
pub(in crate::plan) fn retired(live: &Pvc) -> Apply {
    Apply::part(
        Pvc::KIND,
        &live.meta,
        "retired",
        &json!({ "metadata": { "labels": { RETIRED: "true", RETIRED_BY: MANAGER } } }),
    )
}

/// Retires the PVC of a member whose cluster begins again from a snapshot. The field manager is the same, so that one write takes back
/// either.
pub(in crate::plan) fn replaced(live: &Pvc, restore_uid: &str) -> Apply {
    let labels = json!({ RETIRED: "true", RETIRED_BY: MANAGER, REPLACED_BY: restore_uid });
    Apply::part(Pvc::KIND, &live.meta, "retired", &json!({ "metadata": { "labels": labels } }))
}

/// Makes such a PVC that of a member again.
pub(in crate::plan) fn returned(live: &Pvc) -> Apply {
    Apply::part(Pvc::KIND, &live.meta, "retired", &json!({}))
}

/// The mark of the PVC of a member that is about to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::plan) enum Retiring {
    /// None: the member stays.
    No,
    /// The policy decides whether the PVC is retained.
    ByPolicy,
    /// The PVC is retained.
    Retain,
}

/// Marks a PVC, or unmarks it. To unmark it, the label is set to false, since another field manager may own it, too, for example
/// after the PVC was restored from a backup.
pub(in crate::plan) fn marked_as_retiring(live: &Pvc, retiring: Retiring) -> Apply {
    let mark = match retiring {
        Retiring::No => "false",
        Retiring::ByPolicy => RETIRES,
        Retiring::Retain => RETIRES_RETAINED,
    };
    Apply::part(Pvc::KIND, &live.meta, "retire", &json!({ "metadata": { "labels": { RETIRING: mark } } }))
}

/// Whether a PVC has an owner reference, so that garbage collection would delete it with the cluster, though it is to be
/// retained.
pub(in crate::plan) fn has_unwanted_owner(cluster: &EtcdCluster, live: &Pvc) -> bool {
    policy(cluster) == OnDelete::Retain && live.meta.controlled_by(&cluster.meta.uid)
}

/// Records the known good configuration of a member on its PVC.
pub(in crate::plan) fn known_good(live: &Pvc, known_good: &KnownGoodConfig) -> Apply {
    let spec = serde_json::to_string(known_good).unwrap_or_default();
    let (labels, annotations) = (json!({ KNOWN_GOOD: known_good.fingerprint() }), json!({ KNOWN_GOOD_SPEC: spec }));
    let record = json!({ "metadata": { "labels": labels, "annotations": annotations } });
    Apply::part(Pvc::KIND, &live.meta, "proven", &record)
}

/// Records the configuration of a member's next pod on its PVC, or removes that record.
pub(in crate::plan) fn next(live: &Pvc, mark: Option<&str>) -> Apply {
    let record = mark.map_or_else(|| json!({}), |mark| json!({ "metadata": { "labels": { NEXT: mark } } }));
    Apply::part(Pvc::KIND, &live.meta, "next", &record)
}

/// Adds the finalizer that protects a PVC as long as its volume may have data of its own, or removes it: a separate write, so
/// that it succeeds even if the API server rejects the spec of PVCs.
pub(in crate::plan) fn held(live: &Pvc, hold: bool) -> Apply {
    let finalizers: &[&str] = if hold { &[UNSAVED_DATA] } else { &[] };
    Apply::part(Pvc::KIND, &live.meta, "held", &json!({ "metadata": { "finalizers": finalizers } }))
}

/// Adopts a PVC for this cluster, with the record of its data. A copy does not become the PVC of a member.
pub(in crate::plan) fn adopted(cluster: &EtcdCluster, live: &Pvc) -> Apply {
    let mut apply = claim(cluster, &live.meta.key.name, ClaimInputs::of(live));
    if let Some(member) = live.labels.get(MEMBER_NAME) {
        apply.body["metadata"]["labels"][MEMBER_NAME] = member.as_str().into();
    }
    apply.seen = Some(live.meta.uid.clone());
    apply
}

/// A PVC for a dry run only: how the API server completes it shows whether there is a default StorageClass.
pub fn default_class_probe(cluster: &EtcdCluster) -> Apply {
    claim(cluster, &format!("{}-probe", cluster.meta.key.name), ClaimInputs::default())
}

/// What happens to the volumes of removed members, and to all volumes when the cluster is deleted.
pub(in crate::plan) fn policy(cluster: &EtcdCluster) -> OnDelete {
    cluster.spec.storage.as_ref().map(|storage| storage.on_delete).unwrap_or_default()
}

fn spec(cluster: &EtcdCluster, live: Option<&Pvc>) -> PersistentVolumeClaimSpec {
    let given = cluster.spec.pod.as_ref().and_then(|pod| pod.persistent_volume_claim_spec.clone());
    if let Some(spec) = given {
        let modes = spec.access_modes.or_else(|| Some(vec!["ReadWriteOnce".to_owned()]));
        let resources = spec.resources.map(|mut resources| {
            let sizes = resources.requests.iter_mut().filter_map(|requests| requests.get_mut("storage"));
            sizes.for_each(|size| *size = Quantity(never_less(size.0.clone(), live)));
            resources
        });
        return PersistentVolumeClaimSpec { access_modes: modes, resources, ..spec };
    }
    let storage = cluster.spec.storage.clone().unwrap_or_default();
    let size = never_less(storage.size.unwrap_or_else(|| DEFAULT_SIZE.to_owned()), live);
    PersistentVolumeClaimSpec {
        access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
        storage_class_name: storage.storage_class_name,
        resources: Some(VolumeResourceRequirements {
            requests: Some(BTreeMap::from([("storage".to_owned(), Quantity(size))])),
            limits: None,
        }),
        ..PersistentVolumeClaimSpec::default()
    }
}

/// The size of a member's volume by its PVC, in bytes: that of the spec, unless the PVC reports less.
pub(in crate::plan) fn volume(cluster: &EtcdCluster, live: Option<&Pvc>) -> Option<u64> {
    let requested = bytes(&requested_size(cluster, live)?)?;
    let has = live.and_then(|claim| bytes(claim.capacity.as_deref()?));
    Some(has.map_or(requested, |has| has.min(requested)))
}

/// Whether a PVC requests more than the spec does.
pub(in crate::plan) fn is_larger(cluster: &EtcdCluster, live: &Pvc) -> bool {
    let size = |live| requested_size(cluster, live).as_deref().and_then(bytes);
    size(Some(live)) > size(None)
}

/// The size in the spec, but never less than a live PVC requests already.
fn requested_size(cluster: &EtcdCluster, live: Option<&Pvc>) -> Option<String> {
    let requests = spec(cluster, live).resources?.requests?;
    Some(requests.get("storage")?.0.clone())
}

/// The size to request, no less than a live PVC does already.
fn never_less(wanted: String, live: Option<&Pvc>) -> String {
    match live {
        Some(live) => live.never_less(&wanted).to_owned(),
        None => wanted,
    }
}
