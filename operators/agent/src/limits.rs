//! What etcd may take of the volume of its data. That is planned by what the claim asks for, and the file system there may
//! have less: by its own needs, by its class, by a quota on the directory. So what is planned is lowered to what fits the
//! file system, and never raised: one that many volumes share has more than is meant for this one.

use std::path::Path;

use etcd_sizing::Limits;
use serde::Serialize;

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

/// What the init step leaves to operators.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Measured {
    /// The size of the file system that the data is on.
    volume_bytes: u64,
}

impl Measured {
    /// Nothing where that cannot be told.
    pub(crate) fn of(data_dir: &Path) -> Option<Self> {
        volume(data_dir).map(|volume_bytes| Self { volume_bytes })
    }
}

impl Planned {
    /// The same, lowered to what fits the file system that the data is on; says so, in one line.
    pub(crate) fn on(self, data_dir: &Path) -> Self {
        if self == Self::default() {
            return self;
        }
        let Some(volume) = volume(data_dir) else { return self };
        let fits = self.fitting(volume);
        if let Some(lowered) = self.lowered_to(fits) {
            eprintln!(
                "the file system of {} has {volume} bytes, so there is less for etcd: {lowered}",
                data_dir.display()
            );
        }
        fits
    }

    /// Pure.
    fn fitting(self, volume: u64) -> Self {
        let fits = Limits::of(volume);
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
        let words =
            lowered.filter_map(|(name, planned, fits)| Some(format!("{name} {} instead of {}", fits?, planned?)));
        let words: Vec<String> = words.collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// What etcd is told of it.
    pub(crate) fn arguments(self) -> impl Iterator<Item = String> {
        let quota = self.quota.map(|bytes| format!("--quota-backend-bytes={bytes}"));
        quota.into_iter().chain(self.snapshot_count.map(|count| format!("--snapshot-count={count}")))
    }
}

/// The size of the file system that the data directory is on, or will be, in bytes: a quota on the directory included, where
/// the file system tells of that.
fn volume(data_dir: &Path) -> Option<u64> {
    // Before its first start etcd has not made the directory.
    let volume = data_dir.parent().unwrap_or(data_dir);
    match rustix::fs::statvfs(volume) {
        Ok(told) => etcd_sizing::file_system(told.f_blocks.saturating_mul(told.f_frsize)),
        Err(error) => {
            eprintln!("the file system of {} cannot be measured: {error}", volume.display());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(volume: u64) -> Planned {
        let Limits { reserve, quota, snapshot_count } = Limits::of(volume);
        Planned { reserve: Some(reserve), quota: Some(quota), snapshot_count: Some(snapshot_count) }
    }

    #[test]
    fn what_is_planned_is_lowered_to_what_fits_and_never_raised() {
        for (asked, has) in [(2 << 30, 1 << 30), (1 << 30, 1006 << 20), (1 << 30, 64 << 20), (10 << 30, 5 << 20)] {
            assert_eq!(planned(asked).fitting(has), planned(has), "{asked} asked for, {has} there");
            assert_eq!(planned(has).fitting(asked), planned(has), "a larger file system raises nothing");
        }
    }

    #[test]
    fn what_is_not_planned_is_left_to_others() {
        let only = Planned { snapshot_count: Some(5_000), ..Planned::default() };
        let fits = only.fitting(1 << 20);
        assert_eq!(fits, Planned { snapshot_count: Some(1_000), ..Planned::default() });
        assert_eq!(fits.arguments().collect::<Vec<_>>(), ["--snapshot-count=1000"]);
        assert_eq!(Planned::default().on(Path::new("/nowhere/data")), Planned::default());
    }

    #[test]
    fn what_is_lowered_is_told_in_one_line() {
        let (asked, fits) = (planned(2 << 30), planned(2 << 30).fitting(1 << 30));
        let words = "quota 285212672 instead of 822083584, snapshot count 1024 instead of 2048";
        assert_eq!(asked.lowered_to(fits).as_deref(), Some(words));
        assert_eq!(asked.lowered_to(asked), None);
    }

    #[test]
    fn a_file_system_is_measured_and_what_cannot_be_measured_changes_nothing() {
        let here = std::env::temp_dir().join("data");
        assert!(volume(&here).is_some_and(|bytes| bytes > 1 << 20), "{here:?}");
        let planned = planned(1 << 30);
        assert_eq!(planned.on(Path::new("/nowhere/at/all")), planned);
        let left = serde_json::to_string(&Measured { volume_bytes: 7 }).unwrap();
        assert_eq!(left, r#"{"volumeBytes":7}"#, "as operators read it");
    }
}
