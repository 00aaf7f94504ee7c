//! `agent etcd-backup` takes a backup of an etcd cluster, verifies it, and removes older ones; `agent etcd-restore` restores one.
//!
//! | file | contents |
//! |---|---|
//! | `choice.rs` | from which member the snapshot is taken; pure |
//! | `store.rs` | where backups are stored, and the store that is a directory |
//! | `bucket_store.rs`, `bucket_keys.rs` | the store that is a bucket; the keys in it, pure |
//! | `retention.rs` | which backups are removed; pure |
//! | `restore.rs` | restores a snapshot into the data directory of a first member |
//! | `verification.rs` | restores a snapshot into a throwaway member, and compares the hashes |

mod bucket_keys;
mod bucket_store;
mod choice;
pub(crate) mod restore;
mod retention;
mod store;
mod verification;

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use agent_protocol::{EtcdBackupResult, EtcdTakeBackup, StoredBackup, count};

use crate::bucket::Bucket;
use crate::etcd::output::Candidate;
use crate::etcd::programs::EtcdTools;
use crate::failure::{CommandFailure, Reason};
use crate::files;
use crate::progress::WaitLogger;
use bucket_store::BucketStore;
use store::{BackupDirectory, BackupStore, Manifest};

/// How long to retry while no member answers.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// How many backups the result lists at most.
const LISTED: usize = 8;
/// How many bytes of JSON they may take in total: the kubelet truncates a termination message after 4096 bytes.
const LISTED_BYTES: usize = 3000;

/// Takes a backup, or reports the one that an earlier run has completed.
pub(crate) fn back_up(options: &EtcdTakeBackup) -> Result<EtcdBackupResult, CommandFailure> {
    let programs = EtcdTools::find_for_clients(options.client_tls.as_deref(), options.root_secret.as_deref())?;
    match Bucket::open(&options.bucket)? {
        Some(bucket) => back_up_to(&BucketStore::new(bucket, options)?, &programs, options),
        None => back_up_to(&BackupDirectory::open(&options.to, &options.owner)?, &programs, options),
    }
}

fn back_up_to(
    store: &impl BackupStore,
    programs: &EtcdTools,
    options: &EtcdTakeBackup,
) -> Result<EtcdBackupResult, CommandFailure> {
    let present = store.complete()?;
    let reused = present.is_some();
    let entry = match present {
        Some(present) => {
            eprintln!("the backup {} exists", present.name);
            present
        }
        None => take(programs, store, options)?,
    };
    let now = seconds(SystemTime::now());
    let (mut all, removed) = store.prune(options.keep, options.keep_for, now)?;
    let (number, bytes) = (count(all.len()), all.iter().map(|backup| backup.bytes).sum());
    fit(&mut all);
    Ok(EtcdBackupResult { backup: entry, reused, backups: all, count: number, bytes, removed: count(removed) })
}

/// Leaves as many of the newest backups as fit into the result.
fn fit(all: &mut Vec<StoredBackup>) {
    let mut bytes = 0;
    let fitting = all.iter().take(LISTED).take_while(|backup| {
        bytes += serde_json::to_vec(backup).map_or(LISTED_BYTES, |json| json.len());
        bytes <= LISTED_BYTES
    });
    let number = fitting.count();
    all.truncate(number);
}

/// Takes a new backup from the best member that lets it.
fn take(
    programs: &EtcdTools,
    store: &impl BackupStore,
    options: &EtcdTakeBackup,
) -> Result<StoredBackup, CommandFailure> {
    let taken_at = seconds(SystemTime::now());
    let partial = store.begin()?;
    let taken = save(programs, &partial, options).and_then(|from| {
        let (bytes, sha256) = files::digest(&partial, true)
            .map_err(|error| files::failed("read", &partial, &error, Reason::ToolFailed))?;
        let proof = verification::verify(programs, &partial, &options.scratch, &from)?;
        let entry = StoredBackup {
            name: store.name().to_owned(),
            taken_at,
            revision: proof.revision,
            bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
            sha256,
            version: from.version.clone(),
            cluster_id: format!("{:x}", from.cluster_id),
            member: from.endpoint.clone(),
            verification: proof.verification,
            path: None,
        };
        store.complete_with(Manifest { owner: options.owner.clone(), hash: proof.hash, backup: entry })
    });
    if taken.is_err() {
        store.discard();
    }
    taken
}

/// Saves a snapshot of one member. Returns which one.
fn save(programs: &EtcdTools, to: &Path, options: &EtcdTakeBackup) -> Result<Candidate, CommandFailure> {
    let mut last = None;
    for member in candidates(programs, &options.endpoints)? {
        eprintln!("taking a snapshot of {} (etcd {})", member.endpoint, member.version);
        let snapshot = programs.etcdctl(&member.endpoint).arg("snapshot").arg("save").arg(to).into_command();
        match programs.run_for(snapshot, *options.timeout, "the snapshot is saved") {
            Ok(_) => return Ok(member),
            // No other member could store it either.
            Err(failure) if failure.reason() == Reason::NoSpace => return Err(failure),
            Err(failure) => {
                eprintln!("{}: {}", member.endpoint, failure.message());
                last = Some(failure);
            }
        }
    }
    Err(last.unwrap_or_else(|| CommandFailure::new(Reason::ConnectionFailed, "no member can be backed up")))
}

/// The members in the order in which they are tried.
fn candidates(programs: &EtcdTools, endpoints: &[String]) -> Result<Vec<Candidate>, CommandFailure> {
    let mut progress = WaitLogger::new("a member of the cluster answers".to_owned());
    let deadline = Instant::now() + CONNECT_TIMEOUT;
    loop {
        let answers = query(programs, endpoints);
        match choice::order(&answers) {
            Err(failure) if failure.reason() == Reason::ConnectionFailed && Instant::now() < deadline => {
                progress.update(failure.message());
                progress.pause();
            }
            ordered => return ordered,
        }
    }
}

/// Queries all endpoints at once: one that is down must not delay the others.
fn query(programs: &EtcdTools, endpoints: &[String]) -> Vec<Result<Candidate, String>> {
    thread::scope(|scope| {
        let queries: Vec<_> = endpoints
            .iter()
            .map(|endpoint| scope.spawn(|| programs.status(endpoint).map_err(|failure| failure.message().to_owned())))
            .collect();
        queries.into_iter().map(|query| query.join().unwrap_or_else(|_| Err("the query failed".to_owned()))).collect()
    })
}

fn seconds(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).ok().and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_fits_into_a_termination_message() {
        let backup = |length: usize| StoredBackup {
            name: "n".repeat(62),
            member: format!("http://{}:2379", "m".repeat(length)),
            sha256: "a".repeat(64),
            cluster_id: "f".repeat(16),
            version: "3.6.16".to_owned(),
            taken_at: 1_795_952_598,
            revision: 1 << 40,
            bytes: 1 << 40,
            ..StoredBackup::default()
        };
        let listed = |length| {
            let mut all = vec![backup(length); 20];
            fit(&mut all);
            let one = backup(length);
            let result =
                EtcdBackupResult { backup: one, reused: false, backups: all, count: 20, bytes: 1 << 50, removed: 3 };
            assert!(serde_json::to_vec(&result).unwrap().len() < 4096);
            result.backups.len()
        };
        assert_eq!(listed(30), LISTED);
        assert!((4..LISTED).contains(&listed(240)), "{}", listed(240));
    }
}
