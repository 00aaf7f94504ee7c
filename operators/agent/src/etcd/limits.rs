//! How much of the data's volume etcd may use. The operator plans that by the PVC's request, and the file system may be smaller:
//! by its own overhead, by its class, or by a quota on the directory. So the agent lowers the plan to what fits the file system.
//! It never raises it, because a file system that many volumes share has more space than this volume should use.
//!
//! A database keeps the size that it has. etcd would reject every write to one that is larger than its quota, so such a database
//! may grow by a tenth, as far as there is space. If there is no space in addition to the reserve and the log, the agent also
//! lowers a larger quota of the spec's own: etcd must reject writes before its volume is full again, since on a full volume it
//! cannot apply deletions and compactions.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use agent_protocol::EtcdWaitResult;
use etcd_sizing::{Limits, largest_request};

/// etcd's default quota.
const DEFAULT_QUOTA: u64 = 2 << 30;
/// The environment variable with etcd's quota. etcd does not accept it together with the flag.
pub(crate) const QUOTA_VARIABLE: &str = "ETCD_QUOTA_BACKEND_BYTES";
/// The environment variable with the size of etcd's largest request.
pub(crate) const REQUEST_VARIABLE: &str = "ETCD_MAX_REQUEST_BYTES";

/// How much of the volume a member uses. The spec, or etcd by its defaults, decides on what is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VolumeLimits {
    /// How many bytes to reserve next to the data.
    pub(crate) reserve: Option<u64>,
    /// How large the database may grow, in bytes.
    pub(crate) quota: Option<u64>,
    /// After how many entries etcd takes a snapshot.
    pub(crate) snapshot_count: Option<u64>,
}

/// What the init step reports to the operator; none if it cannot be measured.
pub(crate) fn measured(data_dir: &Path) -> Option<EtcdWaitResult> {
    let database_bytes = DatabaseFile::of(data_dir).bytes;
    volume(data_dir).map(|volume_bytes| EtcdWaitResult { volume_bytes, database_bytes })
}

impl VolumeLimits {
    /// The same, lowered to what fits the data's file system if requests have up to so many bytes. Logs that in one line.
    pub(crate) fn fitting_volume(self, data_dir: &Path, request: u64) -> Self {
        if self == Self::default() {
            return self;
        }
        let Some(volume) = volume(data_dir) else { return self };
        let fits = self.fitting(volume, request);
        if let Some(lowered) = self.lowered_to(fits) {
            eprintln!(
                "the file system of {} has {volume} bytes, so there is less for etcd: {lowered}",
                data_dir.display()
            );
        }
        fits
    }

    /// The same, for the existing database. `space` is the free space in addition to the reserve and the log, 0 without the
    /// reserve; `given` is the quota in etcd's own arguments.
    pub(crate) fn fitting_database(self, data_dir: &Path, space: u64, given: Option<u64>) -> Self {
        let database = DatabaseFile::of(data_dir);
        let quota = match self.quota {
            Some(planned) => Some(planned.max(etcd_sizing::min_quota(database.size_with(space), space))),
            None if space > 0 => None,
            None => volume(data_dir).and_then(|volume| without_space(volume, database, given)),
        };
        if let Some(quota) = quota.filter(|_| quota != self.quota) {
            let instead = self.quota.or(given).map_or_else(String::new, |planned| format!(" instead of {planned}"));
            let why = if self.quota.is_some() { "its database is that large" } else { "its volume has no space left" };
            eprintln!("{}: {why}, so until its next start etcd gets quota {quota}{instead}", data_dir.display());
        }
        Self { quota, ..self }
    }

    /// Whether a database has reached its quota before etcd starts, so that etcd rejects writes that need space.
    pub(crate) fn is_reached(self, data_dir: &Path) -> bool {
        self.quota.is_some_and(|quota| quota <= DatabaseFile::of(data_dir).bytes)
    }

    /// Pure.
    fn fitting(self, volume: u64, request: u64) -> Self {
        let fits = Limits::of(volume, request);
        Self {
            reserve: self.reserve.map(|planned| planned.min(fits.reserve)),
            quota: self.quota.map(|planned| planned.min(fits.quota)),
            snapshot_count: self.snapshot_count.map(|planned| planned.min(fits.snapshot_count)),
        }
    }

    fn lowered_to(self, fits: Self) -> Option<String> {
        let each = [
            ("reserve", self.reserve, fits.reserve),
            ("quota", self.quota, fits.quota),
            ("snapshot count", self.snapshot_count, fits.snapshot_count),
        ];
        let lowered = each.into_iter().filter(|(_, planned, fits)| planned != fits);
        let parts =
            lowered.filter_map(|(name, planned, fits)| Some(format!("{name} {} instead of {}", fits?, planned?)));
        let parts: Vec<String> = parts.collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// The arguments that etcd gets.
    pub(crate) fn arguments(self) -> impl Iterator<Item = String> {
        let quota = self.quota.map(|bytes| format!("--quota-backend-bytes={bytes}"));
        quota.into_iter().chain(self.snapshot_count.map(|count| format!("--snapshot-count={count}")))
    }
}

/// The quota that replaces the spec's own, if that is larger. Pure.
fn without_space(volume: u64, database: DatabaseFile, given: Option<u64>) -> Option<u64> {
    let fits = etcd_sizing::quota(volume).max(database.written);
    (database.bytes > 0 && fits < given.unwrap_or(DEFAULT_QUOTA)).then_some(fits)
}

/// The quota in etcd's own arguments or environment. Arguments take precedence, and the last one counts.
pub(crate) fn given_quota(command: &[OsString], variable: Option<&OsStr>) -> Option<u64> {
    match given(command, "quota-backend-bytes=", variable)?.parse::<i64>().ok()? {
        0 => None,
        // A negative number means no bound.
        bytes => Some(u64::try_from(bytes).unwrap_or(u64::MAX)),
    }
}

/// How large a request may be, in bytes, by etcd's own arguments or environment.
pub(crate) fn given_request(command: &[OsString], variable: Option<&OsStr>) -> u64 {
    largest_request(given(command, "max-request-bytes=", variable).as_deref())
}

fn given(command: &[OsString], flag: &str, variable: Option<&OsStr>) -> Option<String> {
    let of = |argument: &OsString| {
        let argument = argument.to_str()?.trim_start_matches('-');
        argument.strip_prefix(flag).map(str::to_owned)
    };
    command.iter().rev().find_map(of).or_else(|| variable?.to_str().map(str::to_owned))
}

/// A database file before etcd opens it; of size 0 if there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DatabaseFile {
    /// The length of the file.
    bytes: u64,
    /// How much of that has been written: the rest would still take space.
    written: u64,
}

impl DatabaseFile {
    /// The space that it takes at least: what has not been written yet counts only if there is space for it.
    fn size_with(self, space: u64) -> u64 {
        if space > 0 { self.bytes } else { self.written }
    }

    fn of(data_dir: &Path) -> Self {
        std::fs::metadata(data_dir.join("member/snap/db")).map_or_else(
            |_| Self::default(),
            |file| Self { bytes: file.len(), written: file.blocks().saturating_mul(512).min(file.len()) },
        )
    }
}

/// The free space in addition to the log's next segment, in bytes; 0 if it cannot be measured.
pub(crate) fn space(data_dir: &Path) -> u64 {
    let free = crate::held_space::free(data_dir.parent().unwrap_or(data_dir)).unwrap_or(0);
    free.saturating_sub(etcd_sizing::SEGMENT)
}

/// The size of the file system that the data directory is on, or will be, in bytes. It includes a quota on the directory if the
/// file system reports that.
fn volume(data_dir: &Path) -> Option<u64> {
    // Before its first start, etcd has not created the directory.
    let volume = data_dir.parent().unwrap_or(data_dir);
    match rustix::fs::statvfs(volume) {
        Ok(stats) => etcd_sizing::known_size(stats.f_blocks.saturating_mul(stats.f_frsize)),
        Err(error) => {
            eprintln!("the file system of {} cannot be measured: {error}", volume.display());
            None
        }
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
