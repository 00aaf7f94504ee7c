//! Pure: the claim of one member's volume, which bears the member's name.

use std::collections::BTreeMap;

use api::UNSAVED_DATA;
use api::etcd_cluster::OnDelete;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::cache::Projection;
use runtime::plan::Apply;
use runtime::plan::meta::{MANAGER, child_meta, not_for_pruning};
use runtime::projections::Claim;

use serde_json::json;

use super::annotations::RETIRING;
use super::facts::{Facts, has_yet_to_vote};
use super::labels::{
    JOINING, NAMESPACE, NEXT, NODE, OWNER_UID, PROVEN, PROVEN_SPEC, RETIRED, RETIRED_BY, member_labels,
};
use crate::EtcdCluster;
use crate::plan::proven::Proven;
use crate::plan::roster::Roster;
use crate::plan::size::bytes;

/// How large volumes are that nobody gave a size.
const DEFAULT_SIZE: &str = "1Gi";

/// What is known of a claim before it is applied.
#[derive(Clone, Debug, Default)]
pub(in crate::plan) struct Known<'a> {
    /// The claim, if it is there.
    pub(in crate::plan) live: Option<&'a Claim>,
    /// Another one, of which it is to hold the data, if it is not there yet.
    pub(in crate::plan) peer: Option<&'a Claim>,
    /// What its volume holds.
    pub(in crate::plan) facts: Option<Facts>,
    /// Whether its member has yet to vote for the first time.
    pub(in crate::plan) joining: bool,
}

impl<'a> Known<'a> {
    /// Of a claim that is not there yet: it is no smaller than those of all others, whose data it is to hold.
    pub(in crate::plan) fn beside(roster: &Roster<'a>, joining: bool) -> Self {
        let size = |claim: &&Claim| claim.requested.as_deref().and_then(bytes);
        let others = roster.nodes.iter().filter_map(|node| node.claim).filter(|claim| size(claim).is_some());
        Self { live: None, peer: others.min_by_key(size), facts: None, joining }
    }

    fn of(live: &'a Claim) -> Self {
        Self { live: Some(live), peer: None, facts: Facts::of(live), joining: has_yet_to_vote(live) }
    }
}

/// The claim of `member`, with what is known of its volume. Only what is deleted with the cluster has it as owner: garbage
/// collection would take a retained one away.
///
/// A claim that is there keeps its size in this write; see [`grown`]. Whatever else a claim has to tell must not depend on
/// whether its StorageClass lets volumes grow.
pub(in crate::plan) fn claim(cluster: &EtcdCluster, member: &str, known: Known<'_>) -> Apply {
    let mut labels = member_labels(cluster, member);
    labels.extend(known.facts.into_iter().flat_map(Facts::labels));
    labels.extend(known.joining.then(|| (JOINING.to_owned(), "true".to_owned())));
    labels.insert(OWNER_UID.to_owned(), cluster.meta.uid.to_string());
    labels.insert(NAMESPACE.to_owned(), cluster.meta.key.namespace.to_string());
    let owned = child_meta(&EtcdCluster::KIND, &cluster.meta);
    let owner_references = if policy(cluster) == OnDelete::Delete { owned.owner_references } else { None };
    let annotations = owner_references.is_none().then(not_for_pruning);
    let metadata = ObjectMeta { labels: Some(labels), annotations, owner_references, ..ObjectMeta::default() };
    let claim = PersistentVolumeClaim { metadata, spec: Some(spec(cluster, known.live.or(known.peer))), status: None };
    let mut apply = Apply::new(Claim::KIND, cluster.meta.key.sibling(member), &claim);
    if let Some(requested) = known.live.and_then(|live| live.requested.as_deref()) {
        apply.body["spec"]["resources"]["requests"]["storage"] = requested.into();
    }
    apply
}

/// The size that a claim is to request, if that is more than it does: a write of its own, since the API server refuses it
/// where the StorageClass does not let volumes grow.
pub(in crate::plan) fn grown(cluster: &EtcdCluster, live: &Claim) -> Option<Apply> {
    let asked = asked(cluster, Some(live))?;
    let grows = bytes(&asked)? > bytes(live.requested.as_deref()?)?;
    grows.then(|| {
        Apply::part(
            Claim::KIND,
            &live.meta,
            "size",
            &json!({ "spec": { "resources": { "requests": { "storage": asked } } } }),
        )
    })
}

/// The mark of a claim whose member is no more. A write of its own, that a spec which the API server refuses for claims keeps
/// none from being retired.
pub(in crate::plan) fn retired(live: &Claim) -> Apply {
    Apply::part(
        Claim::KIND,
        &live.meta,
        "retired",
        &json!({ "metadata": { "labels": { RETIRED: "true", RETIRED_BY: MANAGER } } }),
    )
}

/// The mark of a claim whose member is about to be removed; or that it is not. Not by leaving it out: somebody else may own it, too, as
/// whoever restored the claim from a backup.
pub(in crate::plan) fn marked_as_retiring(live: &Claim, retires: bool) -> Apply {
    let mark = json!({ "metadata": { "labels": { RETIRING: retires.to_string() } } });
    Apply::part(Claim::KIND, &live.meta, "retire", &mark)
}

/// Whether garbage collection would take a claim away with the cluster, which is to be retained.
pub(in crate::plan) fn is_owned_in_vain(cluster: &EtcdCluster, live: &Claim) -> bool {
    policy(cluster) == OnDelete::Retain && live.meta.controlled_by(&cluster.meta.uid)
}

/// The note on a claim of what its member has been seen to run with.
pub(in crate::plan) fn proven(live: &Claim, proven: &Proven) -> Apply {
    let spec = serde_json::to_string(proven).unwrap_or_default();
    let note = json!({ "metadata": { "labels": { PROVEN: proven.mark() }, "annotations": { PROVEN_SPEC: spec } } });
    Apply::part(Claim::KIND, &live.meta, "proven", &note)
}

/// The note on a claim of what its member's next pod is made of; or that there is none.
pub(in crate::plan) fn next(live: &Claim, mark: Option<&str>) -> Apply {
    let note = mark.map_or_else(|| json!({}), |mark| json!({ "metadata": { "labels": { NEXT: mark } } }));
    Apply::part(Claim::KIND, &live.meta, "next", &note)
}

/// The finalizer that keeps a claim as long as its volume holds data that others may not have; or that there is none. A write
/// of its own, that a spec which the API server refuses for claims keeps none from being released.
pub(in crate::plan) fn held(live: &Claim, hold: bool) -> Apply {
    let finalizers: &[&str] = if hold { &[UNSAVED_DATA] } else { &[] };
    Apply::part(Claim::KIND, &live.meta, "held", &json!({ "metadata": { "finalizers": finalizers } }))
}

/// The same claim as this cluster's, whoever it was made for, and what its volume holds is kept in mind; a copy does not become a member's.
pub(in crate::plan) fn adopted(cluster: &EtcdCluster, live: &Claim) -> Apply {
    let mut apply = claim(cluster, &live.meta.key.name, Known::of(live));
    if let Some(member) = live.labels.get(NODE) {
        apply.body["metadata"]["labels"][NODE] = member.as_str().into();
    }
    apply.seen = Some(live.meta.uid.clone());
    apply
}

/// A claim that nobody will ever make: from how the API server would complete it one sees whether there is a default
/// StorageClass.
pub fn probe_claim(cluster: &EtcdCluster) -> Apply {
    claim(cluster, &format!("{}-probe", cluster.meta.key.name), Known::default())
}

/// What becomes of volumes of members that are removed, and of all when the cluster is deleted.
pub(in crate::plan) fn policy(cluster: &EtcdCluster) -> OnDelete {
    cluster.spec.storage.as_ref().map(|storage| storage.on_delete).unwrap_or_default()
}

fn spec(cluster: &EtcdCluster, live: Option<&Claim>) -> PersistentVolumeClaimSpec {
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

/// How large a member's volume is by its claim, in bytes: what the spec asks for, unless the claim reports less.
pub(in crate::plan) fn volume(cluster: &EtcdCluster, live: Option<&Claim>) -> Option<u64> {
    let asked = bytes(&asked(cluster, live)?)?;
    let has = live.and_then(|claim| bytes(claim.capacity.as_deref()?));
    Some(has.map_or(asked, |has| has.min(asked)))
}

/// Whether a claim asks for more than the spec does now.
pub(in crate::plan) fn is_larger(cluster: &EtcdCluster, live: &Claim) -> bool {
    let asked = |live| asked(cluster, live).as_deref().and_then(bytes);
    asked(Some(live)) > asked(None)
}

/// The size that the spec asks for, but never less than a live claim requests already.
fn asked(cluster: &EtcdCluster, live: Option<&Claim>) -> Option<String> {
    let requests = spec(cluster, live).resources?.requests?;
    Some(requests.get("storage")?.0.clone())
}

/// The size to request, no less than a live claim does already.
fn never_less(wanted: String, live: Option<&Claim>) -> String {
    match live {
        Some(live) => live.never_less(&wanted).to_owned(),
        None => wanted,
    }
}
