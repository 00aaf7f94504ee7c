//! `agent etcd-restore`: restores a snapshot into the data directory of the first member of a new cluster. `agent etcd-verify`:
//! finds out whether that can be done.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use agent_protocol::{BucketArgs, EtcdVerifyResult, EtcdVerifySnapshot};

use super::{bucket_keys, store, verification};
use crate::bucket::Bucket;
use crate::cli::RestoreOptions;
use crate::etcd::data::{self, StartMarker};
use crate::etcd::plan::start;
use crate::etcd::programs::{EtcdTools, RestoreTarget};
use crate::failure::{CommandFailure, Reason};
use crate::files;

/// How long a restore may take.
const TIMEOUT: Duration = Duration::from_secs(6 * 3600);
/// How many names a message lists: a termination message ends after 4 KiB.
const LISTED: usize = 8;

/// Restores it, unless there is data.
pub(crate) fn restore(options: &RestoreOptions) -> Result<(), CommandFailure> {
    let (member, data_dir) = (options.member.identity(), &options.member.data_dir);
    if data::present(data_dir)? {
        eprintln!("there is data in {}: nothing is restored", data_dir.display());
        return Ok(());
    }
    // As before a start of etcd: a member that has lost its data must not come back with that of the snapshot.
    let previous = StartMarker::new(&options.state).previous_run(data_dir)?;
    start(&member, false, options.member.expect, previous)?;
    let tools = EtcdTools::find()?;
    fetch(&options.bucket, &options.snapshot, options.sha256.as_deref())?;
    let unfinished = files::sibling(data_dir, ".restoring");
    let failed = |what: &str, path: &Path, error| files::failed(what, path, &error, Reason::ToolFailed);
    files::remove(&unfinished).map_err(|error| failed("removed", &unfinished, error))?;
    eprintln!("restoring {}", options.snapshot.display());
    let target = RestoreTarget {
        data_dir: &unfinished,
        name: member.name,
        peer_url: &member.url.to_string(),
        token: &options.token,
        timeout: TIMEOUT,
    };
    if let Err(failure) = tools.restore(&options.snapshot, &target) {
        // The space is needed for the next attempt.
        let _ = files::remove(&unfinished);
        return Err(failure);
    }
    // An etcd that exited before it created its log has left directories without one.
    files::remove(data_dir).map_err(|error| failed("removed", data_dir, error))?;
    fs::rename(&unfinished, data_dir)
        .and_then(|()| files::sync_directory(data_dir.parent().unwrap_or(Path::new("/"))))
        .map_err(|error| failed("written", data_dir, error))
}

/// Verifies a snapshot by restoring it into a throwaway member.
pub(crate) fn verify(options: &EtcdVerifySnapshot) -> Result<EtcdVerifyResult, CommandFailure> {
    let tools = EtcdTools::find()?;
    let (bytes, sha256) = fetch(&options.bucket, &options.snapshot, options.sha256.as_deref())?;
    eprintln!("restoring {} into a throwaway member", options.snapshot.display());
    let revision = verification::served_revision(&tools, &options.snapshot, &options.scratch)?;
    Ok(EtcdVerifyResult { revision, bytes: i64::try_from(bytes).unwrap_or(i64::MAX), sha256 })
}

/// Downloads a snapshot if it is in a bucket, and checks it. Returns its size and SHA-256.
fn fetch(bucket: &BucketArgs, snapshot: &Path, sha256: Option<&str>) -> Result<(u64, String), CommandFailure> {
    if let Some(bucket) = Bucket::open(bucket)? {
        download(&bucket, snapshot)?;
    }
    check(snapshot, sha256)
}

/// Downloads a snapshot, and its description if there is one.
fn download(bucket: &Bucket, to: &Path) -> Result<(), CommandFailure> {
    let url = bucket.url(bucket.key());
    eprintln!("downloading {url}");
    if !bucket.download(bucket.key(), to, TIMEOUT)? {
        return Err(CommandFailure::new(Reason::SnapshotMissing, format!("there is no snapshot {url}")));
    }
    let description = to.with_extension("json");
    let written = match bucket.text(&bucket_keys::description(bucket.key()))? {
        Some(text) => files::write(&description, &text),
        None => files::remove(&description),
    };
    written.map_err(|error| files::failed("written", &description, &error, Reason::ToolFailed))
}

/// What is in the directory of a snapshot that does not exist, or in the nearest one above it: a name may be misspelled.
fn present_instead(snapshot: &Path) -> String {
    let names = |directory: &Path| -> Option<Vec<String>> {
        let entries = fs::read_dir(directory).ok()?.flatten();
        Some(entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
    };
    let Some((directory, mut names)) = snapshot.ancestors().skip(1).find_map(|of| Some((of, names(of)?))) else {
        return String::new();
    };
    names.retain(|name| !name.starts_with('.') && Path::new(name).extension().is_none_or(|of| of != "json"));
    // Names of scheduled backups end with their time: the newest ones first.
    names.sort_by(|one, other| other.cmp(one));
    let more = if names.len() > LISTED { ", ..." } else { "" };
    names.truncate(LISTED);
    let has = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    format!("; {} has {has}{more}", directory.display())
}

/// Checks that the snapshot is as it was written, as far as that is known.
fn check(snapshot: &Path, sha256: Option<&str>) -> Result<(u64, String), CommandFailure> {
    let found = files::digest(snapshot, false).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::IsADirectory => {
            let message = format!("there is no snapshot {}{}", snapshot.display(), present_instead(snapshot));
            CommandFailure::new(Reason::SnapshotMissing, message)
        }
        _ => files::failed("read", snapshot, &error, Reason::ToolFailed),
    })?;
    let described = store::read(&snapshot.with_extension("json"))?.map(|manifest| manifest.backup.sha256);
    match sha256.map(str::to_owned).or(described) {
        Some(expected) if expected != found.1 => {
            let message = format!(
                "{} has the SHA-256 {}, and not {expected}: it is not what was written",
                snapshot.display(),
                found.1
            );
            Err(CommandFailure::new(Reason::ChecksumMismatch, message))
        }
        _ => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_checked_by_the_given_checksum_or_by_its_description() {
        let directory = std::env::temp_dir().join(format!("agent-restore-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let snapshot = directory.join("s.db");
        let reason = |sha256| check(&snapshot, sha256).err().map(|failure| failure.reason());
        assert_eq!(reason(None), Some(Reason::SnapshotMissing));
        fs::write(&snapshot, "abc").unwrap();
        let right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(
            (reason(None), reason(Some(right)), reason(Some("00"))),
            (None, None, Some(Reason::ChecksumMismatch))
        );
        let describe =
            |sha256| fs::write(directory.join("s.json"), format!(r#"{{"owner": "u", "sha256": "{sha256}"}}"#));
        describe("00").unwrap();
        assert_eq!(reason(None), Some(Reason::ChecksumMismatch));
        describe(right).unwrap();
        assert_eq!(reason(None), None);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn of_a_missing_snapshot_the_message_says_what_there_is() {
        let directory = std::env::temp_dir().join(format!("agent-instead-{}", std::process::id()));
        fs::create_dir_all(directory.join("nightly")).unwrap();
        assert_eq!(
            present_instead(&directory.join("nightly/a.db")),
            format!("; {}/nightly has nothing", directory.display())
        );
        for name in (0..9).flat_map(|day| [format!("n-{day}.db"), format!("n-{day}.json"), format!(".n-{day}.part")]) {
            fs::write(directory.join("nightly").join(name), "").unwrap();
        }
        let listed = "n-8.db, n-7.db, n-6.db, n-5.db, n-4.db, n-3.db, n-2.db, n-1.db, ...";
        assert_eq!(
            present_instead(&directory.join("nightly/a.db")),
            format!("; {}/nightly has {listed}", directory.display())
        );
        assert_eq!(present_instead(&directory.join("nigthly/a.db")), format!("; {} has nightly", directory.display()));
        fs::remove_dir_all(&directory).unwrap();
    }
}
