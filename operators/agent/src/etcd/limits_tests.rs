//! Limits, by arithmetic and by files of the tests' own.

use etcd_sizing::LARGEST_REQUEST;

use super::*;

fn planned(volume: u64) -> VolumeLimits {
    let Limits { reserve, quota, snapshot_count } = Limits::of(volume, LARGEST_REQUEST);
    VolumeLimits { reserve: Some(reserve), quota: Some(quota), snapshot_count: Some(snapshot_count) }
}

#[test]
fn what_is_planned_is_lowered_to_what_fits_and_never_raised() {
    for (asked, has) in [(2 << 30, 1 << 30), (1 << 30, 1006 << 20), (1 << 30, 64 << 20), (10 << 30, 5 << 20)] {
        assert_eq!(planned(asked).fitting(has, LARGEST_REQUEST), planned(has), "{asked} asked for, {has} there");
        assert_eq!(planned(has).fitting(asked, LARGEST_REQUEST), planned(has), "a larger file system raises nothing");
    }
}

#[test]
fn what_is_not_planned_is_left_to_others() {
    let only = VolumeLimits { snapshot_count: Some(5_000), ..VolumeLimits::default() };
    let fits = only.fitting(1 << 20, LARGEST_REQUEST);
    assert_eq!(fits, VolumeLimits { snapshot_count: Some(10), ..VolumeLimits::default() });
    assert_eq!(fits.arguments().collect::<Vec<_>>(), ["--snapshot-count=10"]);
    assert_eq!(only.fitting(1 << 30, 64 << 10), only, "of small requests more may come between two snapshots");
    assert_eq!(
        VolumeLimits::default().fitting_volume(Path::new("/nowhere/data"), LARGEST_REQUEST),
        VolumeLimits::default()
    );
}

#[test]
fn what_is_lowered_is_logged_in_one_line() {
    let (asked, fits) = (planned(24 << 30), planned(24 << 30).fitting(1 << 30, LARGEST_REQUEST));
    let message = "quota 285212672 instead of 8589934592, snapshot count 213 instead of 5354";
    assert_eq!(asked.lowered_to(fits).as_deref(), Some(message));
    assert_eq!(asked.lowered_to(asked), None);
}

#[test]
fn a_file_system_is_measured_and_what_cannot_be_measured_changes_nothing() {
    let here = std::env::temp_dir().join("data");
    assert!(volume(&here).is_some_and(|bytes| bytes > 1 << 20), "{here:?}");
    let planned = planned(1 << 30);
    assert_eq!(planned.fitting_volume(Path::new("/nowhere/at/all"), LARGEST_REQUEST), planned);
    let left = serde_json::to_string(&EtcdWaitResult { volume_bytes: 7, database_bytes: 5 }).unwrap();
    assert_eq!(left, r#"{"volumeBytes":7,"databaseBytes":5}"#, "as operators read it");
}

/// A directory with a database of that many bytes.
fn with_database(name: &str, bytes: u64) -> std::path::PathBuf {
    let data = std::env::temp_dir().join(format!("agent-limits-{name}-{}", std::process::id())).join("data");
    let _ = std::fs::remove_dir_all(data.parent().unwrap());
    std::fs::create_dir_all(data.join("member/snap")).unwrap();
    std::fs::File::create(data.join("member/snap/db")).unwrap().set_len(bytes).unwrap();
    data
}

#[test]
fn a_database_that_is_larger_than_its_quota_may_grow_by_a_tenth() {
    let data = with_database("large", 1_000_000);
    let quota_of = |quota, space| VolumeLimits { quota, ..planned(1 << 30) }.fitting_database(&data, space, None).quota;
    assert_eq!(quota_of(Some(500_000), 1 << 30), Some(1_100_000));
    assert_eq!(quota_of(Some(2_000_000), 1 << 30), Some(2_000_000));
    assert_eq!(quota_of(Some(500_000), 20_000), Some(1_010_000), "half of it is for the log");
    assert_eq!(quota_of(Some(500_000), 0), Some(500_000), "nothing of it has been written");
    assert_eq!(quota_of(None, 1), None, "the spec's own");
    let reached = |quota| VolumeLimits { quota, ..VolumeLimits::default() }.is_reached(&data);
    assert!(reached(Some(1_000_000)) && !reached(Some(1_000_001)) && !reached(None));
    let no_data = Path::new("/nowhere/data");
    assert_eq!(planned(1 << 30).fitting_database(no_data, 1, None), planned(1 << 30));
    std::fs::remove_dir_all(data.parent().unwrap()).unwrap();
}

#[test]
fn without_space_a_quota_of_the_specs_own_is_lowered_to_what_fits_or_exists() {
    let database = |bytes| DatabaseFile { bytes, written: bytes };
    let gib = 1 << 30;
    assert_eq!(without_space(gib, database(600 << 20), Some(8 * gib)), Some(600 << 20), "no write more");
    assert_eq!(without_space(gib, database(100 << 20), Some(8 * gib)), Some(272 << 20));
    assert_eq!(without_space(gib, database(100 << 20), None), Some(272 << 20), "of etcd's own 2 GiB");
    assert_eq!(without_space(gib, database(100 << 20), Some(200 << 20)), None, "it is never raised");
    assert_eq!(without_space(100 * gib, database(100 << 20), Some(8 * gib)), None, "others fill that disk");
    assert_eq!(without_space(gib, DatabaseFile::default(), Some(8 * gib)), None, "nothing is there yet");
    let sparse = DatabaseFile { bytes: 600 << 20, written: 590 << 20 };
    assert_eq!(without_space(gib, sparse, Some(u64::MAX)), Some(590 << 20), "there is no space to write the rest");
}

#[test]
fn the_quota_of_etcds_own_arguments_is_read_as_etcd_reads_it() {
    let given = |line: &str, variable: Option<&str>| {
        let command: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        given_quota(&command, variable.map(OsStr::new))
    };
    assert_eq!(given("etcd --name=x", None), None);
    assert_eq!(given("etcd --quota-backend-bytes=5 -quota-backend-bytes=7 --x", Some("9")), Some(7), "the last one");
    assert_eq!(given("etcd", Some("9")), Some(9));
    assert_eq!(given("etcd", Some("0")), None, "its default");
    assert_eq!(given("etcd", Some("-1")), Some(u64::MAX), "no bound");
    assert_eq!(given("etcd --quota-backend-bytes=much", None), None);
    let request = |line: &str, variable: Option<&str>| {
        let command: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        given_request(&command, variable.map(OsStr::new))
    };
    assert_eq!([request("etcd", None), request("etcd", Some("0"))], [LARGEST_REQUEST; 2]);
    assert_eq!([request("etcd --max-request-bytes=7", Some("9")), request("etcd", Some("9"))], [7, 9]);
}
