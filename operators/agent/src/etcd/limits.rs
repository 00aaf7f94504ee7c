//! What etcd may take of the volume of its data. That is planned by what the claim asks for, and the file system there may
//! have less: by its own needs, by its class, by a quota on the directory. So what is planned is lowered to what fits the
//! file system, and not raised: one that many volumes share has more than is meant for this one.
//!
//! But a database keeps the size that it has. One that is larger than its quota would refuse every write, so it may grow by
//! a tenth, as far as there is room. And where there is none beside the reserve and the log, a larger quota of the spec's
//! own does not hold either: etcd is to refuse writes before its volume is full once more, since it cannot take deletions
//! and compactions after that.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use agent_protocol::EtcdWaitResult;
use etcd_sizing::{Limits, largest_request};

/// The quota that etcd has by itself.
const ETCDS_OWN: u64 = 2 << 30;
/// The variable by which etcd takes its quota. It must not have the flag beside it.
pub(crate) const QUOTA_VARIABLE: &str = "ETCD_QUOTA_BACKEND_BYTES";
/// The variable by which etcd takes the size of the largest request.
pub(crate) const REQUEST_VARIABLE: &str = "ETCD_MAX_REQUEST_BYTES";

/// What is planned for a member. What is not there, others decide: the spec, or etcd by its defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Planned {
    /// How many bytes to hold back beside the data.
    pub(crate) reserve: Option<u64>,
    /// How large the database may grow, in bytes.
    pub(crate) quota: Option<u64>,
    /// After how many entries etcd takes a snapshot.
    pub(crate) snapshot_count: Option<u64>,
}

/// What the init step leaves to operators; nothing where that cannot be measured.
pub(crate) fn measured(data_dir: &Path) -> Option<EtcdWaitResult> {
    let database_bytes = Database::of(data_dir).bytes;
    volume(data_dir).map(|volume_bytes| EtcdWaitResult { volume_bytes, database_bytes })
}

impl Planned {
    /// The same, lowered to what fits the file system that the data is on, where requests have up to so many bytes; says so, in
    /// one line.
    pub(crate) fn on(self, data_dir: &Path, request: u64) -> Self {
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

    /// The same, for the database that is there. `room` is what there is beside the reserve and the log, and nothing where the
    /// reserve is not there; `given` is the quota that etcd's own arguments ask for.
    pub(crate) fn beside(self, data_dir: &Path, room: u64, given: Option<u64>) -> Self {
        let database = Database::of(data_dir);
        let quota = match self.quota {
            Some(planned) => Some(planned.max(etcd_sizing::never_below(database.with(room), room))),
            None if room > 0 => None,
            None => volume(data_dir).and_then(|volume| without_room(volume, database, given)),
        };
        if let Some(quota) = quota.filter(|_| quota != self.quota) {
            let instead = self.quota.or(given).map_or_else(String::new, |planned| format!(" instead of {planned}"));
            let why = if self.quota.is_some() { "its database is that large" } else { "its volume has no room left" };
            eprintln!("{}: {why}, so until its next start etcd gets quota {quota}{instead}", data_dir.display());
        }
        Self { quota, ..self }
    }

    /// Whether a database has reached its quota before etcd starts, so that it takes no writes that need room.
    pub(crate) fn is_reached(self, data_dir: &Path) -> bool {
        self.quota.is_some_and(|quota| quota <= Database::of(data_dir).bytes)
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

/// The quota in place of the spec's own, where that is larger. Pure.
fn without_room(volume: u64, database: Database, given: Option<u64>) -> Option<u64> {
    let fits = etcd_sizing::quota(volume).max(database.written);
    (database.bytes > 0 && fits < given.unwrap_or(ETCDS_OWN)).then_some(fits)
}

/// The quota that etcd's own arguments or environment ask for; arguments come first, and the last of them counts.
pub(crate) fn given_quota(command: &[OsString], variable: Option<&OsStr>) -> Option<u64> {
    match given(command, "quota-backend-bytes=", variable)?.parse::<i64>().ok()? {
        0 => None,
        // Then there is no bound.
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

/// A database before etcd has it open; of no size where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Database {
    /// How long its file is.
    bytes: u64,
    /// What of that has been written: the rest would still take room.
    written: u64,
}

impl Database {
    /// What it takes at least: what has not been written yet counts only where there is room for it.
    fn with(self, room: u64) -> u64 {
        if room > 0 { self.bytes } else { self.written }
    }

    fn of(data_dir: &Path) -> Self {
        std::fs::metadata(data_dir.join("member/snap/db")).map_or_else(
            |_| Self::default(),
            |file| Self { bytes: file.len(), written: file.blocks().saturating_mul(512).min(file.len()) },
        )
    }
}

/// What is free beside the next segment of the log, in bytes; nothing where that cannot be measured.
pub(crate) fn room(data_dir: &Path) -> u64 {
    let free = crate::held_room::free(data_dir.parent().unwrap_or(data_dir)).unwrap_or(0);
    free.saturating_sub(etcd_sizing::SEGMENT)
}

/// The size of the file system that the data directory is on, or will be, in bytes: a quota on the directory included, where
/// the file system reports of that.
fn volume(data_dir: &Path) -> Option<u64> {
    // Before its first start etcd has not made the directory.
    let volume = data_dir.parent().unwrap_or(data_dir);
    match rustix::fs::statvfs(volume) {
        Ok(stats) => etcd_sizing::file_system(stats.f_blocks.saturating_mul(stats.f_frsize)),
        Err(error) => {
            eprintln!("the file system of {} cannot be measured: {error}", volume.display());
            None
        }
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
