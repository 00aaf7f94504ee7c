//! Verifies a snapshot: restores it into a throwaway member, and compares the hash of its keys and values with that of the member that the
//! snapshot is from.

use std::path::Path;
use std::thread;
use std::time::Duration;

use agent_protocol::RestoreProof;

use crate::etcd::loopback_member::{LoopbackMember, MemberStart, free_port};
use crate::etcd::output::{Candidate, KeyHash};
use crate::etcd::programs::{EtcdTools, RestoreTarget};
use crate::failure::{CommandFailure, Reason};
use crate::files::ScratchDirectory;

/// How long a restore, and the start of the member, may take each.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(3000);
/// The directory with its data.
const DIRECTORY: &str = "verification";
/// The name of the throwaway member.
const NAME: &str = "verification";
/// How often the member that the snapshot is from is asked for its hash.
const SOURCE_ATTEMPTS: u32 = 3;

/// What a verification found.
pub(super) struct Proof {
    pub(super) revision: i64,
    pub(super) hash: Option<u32>,
    pub(super) verification: RestoreProof,
}

/// Verifies the snapshot of that member.
pub(super) fn verify(
    programs: &EtcdTools,
    snapshot: &Path,
    scratch: &Path,
    source: &Candidate,
) -> Result<Proof, CommandFailure> {
    let directory = ScratchDirectory::new(scratch.join(DIRECTORY))?;
    let (member, revision) = serve(programs, snapshot, directory.path())?;
    let restored = match programs.key_hash(member.endpoint(), 0) {
        Ok(restored) => restored,
        Err(failure) => {
            eprintln!(
                "the member serves revision {revision}, and no hash of its keys and values: {}",
                failure.message()
            );
            return Ok(Proof { revision, hash: None, verification: RestoreProof::Restored });
        }
    };
    let verification = compare(restored, source_hash(programs, source, restored.revision), &source.endpoint)?;
    Ok(Proof { revision: restored.revision, hash: Some(restored.hash), verification })
}

/// The revision that a throwaway member serves that is restored from the snapshot.
pub(super) fn served_revision(programs: &EtcdTools, snapshot: &Path, scratch: &Path) -> Result<i64, CommandFailure> {
    let directory = ScratchDirectory::new(scratch.join(DIRECTORY))?;
    serve(programs, snapshot, directory.path()).map(|(_, revision)| revision)
}

/// A throwaway member that is restored from the snapshot, and the revision that it serves.
fn serve(programs: &EtcdTools, snapshot: &Path, directory: &Path) -> Result<(LoopbackMember, i64), CommandFailure> {
    let mut member = restore(programs, snapshot, directory)?;
    let revision =
        member.wait_until_serving(programs, "a member that was restored from the snapshot", RESTORE_TIMEOUT)?;
    Ok((member, revision.map_or_else(|| programs.snapshot_revision(snapshot), Ok)?))
}

/// Restores it into a throwaway member, and starts that.
fn restore(programs: &EtcdTools, snapshot: &Path, directory: &Path) -> Result<LoopbackMember, CommandFailure> {
    let (data_dir, peer_url) = (directory.join("data"), format!("http://127.0.0.1:{}", free_port()?));
    let target =
        RestoreTarget { data_dir: &data_dir, name: NAME, peer_url: &peer_url, token: NAME, timeout: RESTORE_TIMEOUT };
    programs.restore(snapshot, &target)?;
    let start =
        MemberStart { name: NAME, data_dir: &data_dir, peer_url: &peer_url, log: directory.join("log"), alone: false };
    LoopbackMember::start(programs, start)
}

/// The hash of the source up to that revision, if it still has that.
fn source_hash(programs: &EtcdTools, source: &Candidate, revision: i64) -> Option<KeyHash> {
    for _ in 0..SOURCE_ATTEMPTS {
        match programs.key_hash(&source.endpoint, revision) {
            Ok(hash) => return Some(hash),
            Err(failure) => eprintln!("{}: {}", source.endpoint, failure.message()),
        }
        thread::sleep(Duration::from_secs(1));
    }
    None
}

/// What the two hashes say.
fn compare(restored: KeyHash, source: Option<KeyHash>, endpoint: &str) -> Result<RestoreProof, CommandFailure> {
    match source {
        Some(source) if source.compacted != restored.compacted => {
            eprintln!("{endpoint} has compacted its history meanwhile: its hash cannot be compared");
            Ok(RestoreProof::Restored)
        }
        Some(source) if source.hash != restored.hash => {
            let message = format!(
                "the restored snapshot has the hash {} at revision {}, and {endpoint} has {}: the snapshot is not what the member holds",
                restored.hash, restored.revision, source.hash
            );
            Err(CommandFailure::new(Reason::CountMismatch, message))
        }
        Some(_) => Ok(RestoreProof::HashCompared),
        None => Ok(RestoreProof::Restored),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hashes_up_to_the_same_compaction_are_compared() {
        let restored = KeyHash { revision: 9, hash: 1, compacted: 5 };
        let of = |hash, compacted| Some(KeyHash { revision: 12, hash, compacted });
        assert_eq!(compare(restored, of(1, 5), "a").unwrap(), RestoreProof::HashCompared);
        assert_eq!(compare(restored, of(2, 8), "a").unwrap(), RestoreProof::Restored);
        assert_eq!(compare(restored, None, "a").unwrap(), RestoreProof::Restored);
        assert_eq!(compare(restored, of(2, 5), "a").unwrap_err().reason(), Reason::CountMismatch);
    }
}
