//! Pure: options of etcd that the operator refuses, since no volume is large enough with them, or the members' volumes are not.
//! The API server does not reject them: OLM does not upgrade a CRD with a new rule on an existing field.

use std::sync::Arc;

use api::etcd_cluster::EtcdClusterSpec;
use etcd_sizing::{KEPT_SEGMENTS, SEGMENT, max_segments, number};

use super::member_set::MemberSet;
use super::objects;
use super::size::{self, humanize_bytes};
use super::{Explanation, Observed, claim_copies, desired};
use crate::EtcdCluster;

/// The number of log files that etcd keeps.
const LOG_FILES: &str = "max-wals";
/// The number of snapshot files that etcd keeps.
const SNAPSHOT_FILES: &str = "max-snapshots";

/// Removes refused options from the spec that the plan uses, and sets the message: running members keep their pods, and new pods
/// do not get these options.
pub fn remove_refused(observed: &mut Observed) {
    let refusals = refusals(observed);
    if refusals.is_empty() {
        return;
    }
    let mut cluster = EtcdCluster::clone(&observed.cluster);
    for (option, _) in &refusals {
        cluster.spec.options.remove(*option);
        if let Some(pod) = &mut cluster.spec.pod {
            pod.etcd_env.retain(|variable| variable.name != objects::variable_of(option));
        }
    }
    let exists = cluster.status.cluster_id.is_some() || !observed.pods.is_empty() || !observed.claims.is_empty();
    let then = if exists { "until then members keep their pods" } else { "until then nothing is created" };
    let why: Vec<String> = refusals.into_iter().map(|(_, why)| why).collect();
    observed.options_refused = Some(format!("{}; {then}", why.join("; ")));
    observed.cluster = Arc::new(cluster);
}

/// The refusal, for a cluster of which nothing exists yet.
pub(super) fn bootstrap_refusal(observed: &Observed, members: &MemberSet<'_>) -> Option<Explanation> {
    desired::options_refused(observed)
        .filter(|_| observed.cluster.status.cluster_id.is_none() && members.all.is_empty())
}

/// The refused options, and why.
fn refusals(observed: &Observed) -> Vec<(&'static str, String)> {
    let spec = &observed.cluster.spec;
    let log = specified(spec, LOG_FILES).and_then(|(field, files)| {
        let why = if files == 0 { unlimited("file of its log") } else { too_many(observed, files)? };
        Some((LOG_FILES, format!("{field} is {files}{why}")))
    });
    let snapshots = specified(spec, SNAPSHOT_FILES).filter(|(_, files)| *files == 0);
    let snapshots = snapshots.map(|(field, _)| (SNAPSHOT_FILES, format!("{field} is 0{}", unlimited("snapshot file"))));
    log.into_iter().chain(snapshots).collect()
}

fn unlimited(what: &str) -> String {
    format!(", with which etcd keeps every {what} until the volume is full; set it to 1 or more, or omit it")
}

/// Why so many log files do not fit the smallest of the members' volumes. etcd's own default is never refused.
fn too_many(observed: &Observed, files: u64) -> Option<String> {
    let volume = volume(observed)?;
    let quota = observed.cluster.spec.quota.as_deref().and_then(size::bytes);
    let most = max_segments(volume, quota).max(KEPT_SEGMENTS);
    let bytes = |bytes: u64| humanize_bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
    (files > most).then(|| {
        format!(
            ", and that many files of etcd's log, of {} each, do not fit a volume of {} together with the database; set it to \
             {most} or less, or raise spec.storage.size",
            bytes(SEGMENT),
            bytes(volume)
        )
    })
}

/// The smallest of the members' volumes, in bytes; before there are any, the size in the spec.
fn volume(observed: &Observed) -> Option<u64> {
    let cluster = &*observed.cluster;
    if desired::durable(observed) != Some(true) {
        return None;
    }
    let claims = observed.claims.iter().filter(|claim| claim_copies::is_members_observed(observed, claim));
    claims.filter_map(|claim| objects::volume(cluster, Some(claim))).min().or_else(|| objects::volume(cluster, None))
}

/// The number of files that the spec sets for an option, and the field; none if the value is not known, or no number: then etcd
/// rejects it, and the rolling update stops at its first member.
fn specified(spec: &EtcdClusterSpec, option: &str) -> Option<(String, u64)> {
    if let Some(value) = spec.options.get(option) {
        return Some((format!("spec.options {option}"), number(value)?));
    }
    let name = objects::variable_of(option);
    let variable = spec.pod.iter().flat_map(|pod| &pod.etcd_env).find(|variable| variable.name == name)?;
    Some((format!("{name} in spec.pod.etcdEnv"), number(variable.value.as_deref()?)?))
}
