//! Verifies a snapshot: restores it into a throwaway member, and compares the hash of its keys and values with that of the member that the
//! snapshot is from.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use agent_protocol::RestoreProof;

use super::choice::Candidate;
use super::output::{self, KeyHash};
use super::programs::{self, EtcdTools, RestoreTarget};
use crate::failure::{CommandFailure, Reason};
use crate::files::{self, ScratchDirectory};
use crate::progress::WaitLogger;

/// How long a restore, and the start of the member, may take each.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(3000);
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
    let directory = ScratchDirectory::new(scratch.join("verification"))?;
    let mut member = ThrowawayMember::restore(programs, snapshot, directory.path())?;
    let revision = member.wait_until_serving(programs)?;
    let Ok(restored) = programs.key_hash(&member.endpoint, 0) else {
        eprintln!("this version of etcd has no hash of keys and values: the member serves revision {revision}");
        return Ok(Proof { revision, hash: None, verification: RestoreProof::Restored });
    };
    let verification = compare(restored, source_hash(programs, source, restored.revision), &source.endpoint)?;
    Ok(Proof { revision: restored.revision, hash: Some(restored.hash), verification })
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

/// A member that was restored from a snapshot, and that only this process talks to. It ends when this is dropped.
struct ThrowawayMember {
    process: Child,
    endpoint: String,
    log: PathBuf,
}

impl ThrowawayMember {
    fn restore(programs: &EtcdTools, snapshot: &Path, directory: &Path) -> Result<Self, CommandFailure> {
        let (data, peer) = (directory.join("data"), format!("http://127.0.0.1:{}", free_port()?));
        let target =
            RestoreTarget { data_dir: &data, name: NAME, peer_url: &peer, token: NAME, timeout: RESTORE_TIMEOUT };
        programs.restore(snapshot, &target)?;
        Self::start(programs, &data, &peer, directory.join("log"))
    }

    fn start(programs: &EtcdTools, data: &Path, peer: &str, log: PathBuf) -> Result<Self, CommandFailure> {
        let endpoint = format!("http://127.0.0.1:{}", free_port()?);
        let mut command = programs
            .program("etcd")
            .arg(format!("--name={NAME}"))
            .arg(format!("--data-dir={}", data.display()))
            .arg(format!("--listen-client-urls={endpoint}"))
            .arg(format!("--advertise-client-urls={endpoint}"))
            .arg(format!("--listen-peer-urls={peer}"))
            .arg(format!("--initial-advertise-peer-urls={peer}"))
            .arg(format!("--initial-cluster={NAME}={peer}"))
            .into_command();
        let file = File::create(&log).map_err(|error| files::failed("created", &log, &error, Reason::ToolFailed))?;
        command.stdout(Stdio::null()).stderr(file);
        let process = command.spawn().map_err(|error| programs::not_started("etcd", &error))?;
        Ok(Self { process, endpoint, log })
    }

    /// Waits until it serves. Returns the revision of its key space.
    fn wait_until_serving(&mut self, programs: &EtcdTools) -> Result<i64, CommandFailure> {
        let mut progress = WaitLogger::new("a member that was restored from the snapshot serves".to_owned());
        let deadline = Instant::now() + RESTORE_TIMEOUT;
        loop {
            let failure = match programs.status_and_revision(&self.endpoint) {
                Ok((_, revision)) => {
                    progress.done("the restored member serves");
                    return Ok(revision);
                }
                Err(failure) => failure,
            };
            let ended = self.process.try_wait().is_ok_and(|status| status.is_some());
            if ended || Instant::now() >= deadline {
                return Err(self.explain(&failure));
            }
            progress.update(failure.message());
            progress.pause();
        }
    }
    /// Why it does not serve, by its log.
    fn explain(&self, failure: &CommandFailure) -> CommandFailure {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let message = format!(
            "a member that was restored from the snapshot does not serve: {}; its log ends with: {}",
            failure.message(),
            output::excerpt(&log)
        );
        CommandFailure::new(output::classify(&log, Reason::RestoreFailed), message)
    }
}

impl Drop for ThrowawayMember {
    fn drop(&mut self) {
        // It has nothing to save.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port of the loopback interface that no one uses now.
fn free_port() -> Result<u16, CommandFailure> {
    let bound = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    bound.map(|address| address.port()).map_err(|error| {
        CommandFailure::new(Reason::CannotStart, format!("no port of the loopback interface is free: {error}"))
    })
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
