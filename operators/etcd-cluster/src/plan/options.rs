//! Pure: options of etcd that are refused, since no volume is large enough with them, or the members' volumes are not. The API
//! does not refuse them: OLM upgrades no CRD with a new rule on a field that was there before.

use std::sync::Arc;

use api::etcd_cluster::EtcdClusterSpec;
use etcd_sizing::{KEPT_SEGMENTS, SEGMENT, most_segments, number};

use super::objects;
use super::roster::Roster;
use super::size::{self, words};
use super::{Explanation, Observed, claim_copies, wish};
use crate::EtcdCluster;

/// How many files of its log etcd keeps.
const LOG_FILES: &str = "max-wals";
/// How many of its snapshots it keeps.
const SNAPSHOT_FILES: &str = "max-snapshots";

/// Takes what is refused out of the spec that is planned with, and says why: members that run keep their pods, and those that
/// need one do without these options.
pub fn leave_out(observed: &mut Observed) {
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
    let begun = cluster.status.cluster_id.is_some() || !observed.pods.is_empty() || !observed.claims.is_empty();
    let then = if begun { "until then members keep the pods that they have" } else { "until then nothing is created" };
    let why: Vec<String> = refusals.into_iter().map(|(_, why)| why).collect();
    observed.options_refused = Some(format!("{}; {then}", why.join("; ")));
    observed.cluster = Arc::new(cluster);
}

/// What is refused, of a cluster that nothing has been made of.
pub(super) fn keep_from_beginning(observed: &Observed, roster: &Roster<'_>) -> Option<Explanation> {
    wish::options_refused(observed).filter(|_| observed.cluster.status.cluster_id.is_none() && roster.nodes.is_empty())
}

/// The options that are refused, and why.
fn refusals(observed: &Observed) -> Vec<(&'static str, String)> {
    let spec = &observed.cluster.spec;
    let log = given(spec, LOG_FILES).and_then(|(field, files)| {
        let why = if files == 0 { endless("file of its log") } else { too_many(observed, files)? };
        Some((LOG_FILES, format!("{field} is {files}{why}")))
    });
    let snapshots = given(spec, SNAPSHOT_FILES).filter(|(_, files)| *files == 0);
    let snapshots = snapshots.map(|(field, _)| (SNAPSHOT_FILES, format!("{field} is 0{}", endless("snapshot file"))));
    log.into_iter().chain(snapshots).collect()
}

fn endless(what: &str) -> String {
    format!(", with which etcd keeps every {what} until the volume is full: set it to 1 or more, or leave it out")
}

/// Why so many files of the log do not fit the smallest of the members' volumes. etcd's own default is never refused.
fn too_many(observed: &Observed, files: u64) -> Option<String> {
    let volume = volume(observed)?;
    let quota = observed.cluster.spec.quota.as_deref().and_then(size::bytes);
    let most = most_segments(volume, quota).max(KEPT_SEGMENTS);
    let bytes = |bytes: u64| words(i64::try_from(bytes).unwrap_or(i64::MAX));
    (files > most).then(|| {
        format!(
            ", and so many files of etcd's log, of {} each, do not fit a volume of {} beside the database: set it to {most} or \
             less, or raise spec.storage.size",
            bytes(SEGMENT),
            bytes(volume)
        )
    })
}

/// The smallest of the members' volumes, in bytes; before there are any, what the spec asks for.
fn volume(observed: &Observed) -> Option<u64> {
    let cluster = &*observed.cluster;
    if wish::durable(observed) != Some(true) {
        return None;
    }
    let claims = observed.claims.iter().filter(|claim| claim_copies::is_members_observed(observed, claim));
    claims.filter_map(|claim| objects::volume(cluster, Some(claim))).min().or_else(|| objects::volume(cluster, None))
}

/// The number of files that the spec gives for an option, and the field in which it does; none where that cannot be told, or is
/// no number: then etcd says so, and the roll stops at its first member.
fn given(spec: &EtcdClusterSpec, option: &str) -> Option<(String, u64)> {
    if let Some(value) = spec.options.get(option) {
        return Some((format!("spec.options {option}"), number(value)?));
    }
    let name = objects::variable_of(option);
    let variable = spec.pod.iter().flat_map(|pod| &pod.etcd_env).find(|variable| variable.name == name)?;
    Some((format!("{name} in spec.pod.etcdEnv"), number(variable.value.as_deref()?)?))
}
