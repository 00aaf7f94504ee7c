//! What is refused at once of an engine, a schedule, sizes and names.

use e2e::namespace::Namespace;
use serde_json::{Value, json};

use super::{Kind, refused, tried};

#[tokio::test]
async fn versions_images_and_parameters_out_of_bounds_are_refused() {
    let engine = |engine: Value| json!({ "engine": engine });
    let version: &[&str] = &["spec.engine.version", "engine.version must be a quoted PostgreSQL version"];
    let image: &[&str] = &["spec.engine.image", "engine.image must be a reference such as postgres:17.5"];
    let names: &[&str] =
        &["spec.engine.parameters", "engine.parameters must have names of PostgreSQL parameters in lower case"];
    let denied: &[&str] = &["spec.engine.parameters", "omit", "are reserved for the operator"];
    let line: &[&str] = &["a value must be one line without control characters"];
    let mut cases: Vec<(Value, &[&str])> = vec![
        (engine(json!({ "version": 17 })), &["spec.engine.version", "type string"]),
        (engine(json!({ "version": 15.18 })), &["spec.engine.version", "type string"]),
        (
            engine(json!({ "version": "17", "image": "postgres:17" })),
            &["spec.engine", "engine takes version (whose image the catalog has) or image, not both"],
        ),
        (engine(json!({ "parameters": { "max_connections": 100 } })), &["spec.engine.parameters", "type string"]),
        (engine(json!({ "parameters": { "jit": true } })), &["spec.engine.parameters", "type string"]),
        (engine(json!({ "parameters": { "work_mem": "1MB\nport = 1" } })), line),
        (engine(json!({ "parameters": { "work_mem": "1MB\u{0}" } })), line),
        (engine(json!({ "parameters": { "work_mem": "x".repeat(1025) } })), &["Too long"]),
        (engine(json!({ "parameters": { "wal_level": "minimal" } })), &["wal_level must be replica or logical"]),
        (engine(json!({ "parameters": { "wal_level": "MINIMAL" } })), &["wal_level must be replica or logical"]),
    ];
    let many: serde_json::Map<_, _> = (0..65).map(|number| (format!("a.p{number}"), json!("1"))).collect();
    cases.push((engine(json!({ "parameters": many })), &["spec.engine.parameters", "64"]));
    let wrong = [
        "latest",
        "9.6",
        "9",
        "017",
        "17.",
        "17.05",
        "17.5.1",
        "v17",
        "17.5-alpine",
        "17 ",
        " 17",
        "17\n",
        "100",
        "17.1000",
    ];
    cases.extend(wrong.map(|wrong| (engine(json!({ "version": wrong })), version)));
    let wrong = [
        "https://postgres",
        "postgres:",
        "Postgres",
        "postgres 17",
        "postgres@sha256:12",
        "postgres\n",
        ":5000/postgres",
    ];
    cases.extend(wrong.map(|wrong| (engine(json!({ "image": wrong })), image)));
    for wrong in ["Work_mem", "TimeZone", "work mem", "work-mem", "", "1a", "a.b.c", "a=b", "a'", "PORT", "work_mem\n"]
    {
        cases.push((engine(json!({ "parameters": { wrong: "1" } })), names));
    }
    let wrong = [
        "port",
        "listen_addresses",
        "data_directory",
        "hba_file",
        "include",
        "archive_command",
        "archive_mode",
        "restore_command",
        "recovery_target_time",
        "primary_conninfo",
        "synchronous_standby_names",
        "ssl",
        "ssl_passphrase_command",
        "unix_socket_directories",
        "password_encryption",
        "superuser_reserved_connections",
        "fsync",
        "full_page_writes",
        "zero_damaged_pages",
        "session_replication_role",
        "logging_collector",
        "block_size",
        "default_transaction_read_only",
    ];
    cases.extend(wrong.map(|wrong| (engine(json!({ "parameters": { "work_mem": "1MB", wrong: "1" } })), denied)));
    refused("sdb-engine", Kind::Database, &cases).await;
}

#[tokio::test]
async fn malformed_schedules_and_times_are_refused() {
    let backup = |backup: Value| json!({ "backup": backup });
    let schedule: &[&str] =
        &["spec.backup.schedule", "backup.schedule must be five fields (minute, hour, day of month"];
    let zone: &[&str] = &["spec.backup.timeZone", "backup.timeZone must be the name of a time zone"];
    let age: &[&str] = &["maxAge must be a whole number of at most 5 digits, above 0, and a unit"];
    let final_: &[&str] = &["deletion.keepFinalSnapshotFor must be a whole number of at most 5 digits and a unit"];
    let volume: &[&str] = &["upgrade.keepPreviousVolumeFor must be a whole number of at most 5 digits and a unit"];
    let wrong = [
        "nonsense",
        "* * * *",
        "0 0 2 * * *",
        "60 2 * * *",
        "0 24 * * *",
        "0 2 0 * *",
        "0 2 32 * *",
        "0 2 * 13 *",
        "0 2 * 0 *",
        "0 2 * * 8",
        "0 2 * * MONDAY",
        "*/0 * * * *",
        "5/15 * * * *",
        "1-2-3 * * * *",
        "1, * * * *",
        ", * * * *",
        "-1 * * * *",
        "@daily",
        "? * * * *",
        "0 2 L * *",
        " 0 2 * * *",
        "0 2 * * * ",
        "0\t2 * * *",
        "0 2 * * *\n",
        "CRON_TZ=UTC 0 2 * * *",
    ];
    let mut cases: Vec<_> = wrong.iter().map(|wrong| (backup(json!({ "schedule": wrong })), schedule)).collect();
    let wrong = ["", "Europe/", "/Paris", "+01:00", "../../etc/passwd", "Europe/Paris\n", "Local", "Europe Paris"];
    cases.extend(wrong.map(|wrong| (backup(json!({ "timeZone": wrong })), zone)));
    for wrong in ["", "0d", "30", "d", "30days", "1d12h", "-1d", "1.5d", "100000h", "30d\n", "P30D"] {
        cases.push((backup(json!({ "retention": { "maxAge": wrong } })), age));
    }
    for wrong in ["", "90", "90 d", "-1d", "100000d"] {
        cases.push((json!({ "deletion": { "keepFinalSnapshotFor": wrong } }), final_));
        cases.push((json!({ "upgrade": { "keepPreviousVolumeFor": wrong } }), volume));
    }
    for field in ["deadlineSeconds", "startingDeadlineSeconds"] {
        cases.push((backup(json!({ field: 9 })), &["greater than or equal to 10"]));
        cases.push((backup(json!({ field: 604_801 })), &["less than or equal to 604800"]));
    }
    cases.push((json!({ "deletion": { "timeoutSeconds": 0 } }), &["greater than or equal to 10"]));
    refused("sdb-times", Kind::Database, &cases).await;
}

#[tokio::test]
async fn sizes_out_of_bounds_are_refused() {
    let size: &[&str] =
        &["spec.storage.size", "storage.size must be a quantity of bytes from 64Mi to 1Pi, such as 10Gi"];
    let backup: &[&str] =
        &["spec.backup.storage.size", "backup.storage.size must be a quantity of bytes from 1Mi to 1Pi"];
    let class: &[&str] = &["storageClassName must be the name of a StorageClass, such as standard"];
    let mut cases: Vec<(Value, &[&str])> = Vec::new();
    for wrong in ["", "lots", "0", "-1Gi", "1Ki", "2Pi", "1.2345Gi", "1e9", "1Gi ", "1 Gi", "10GB", "1500m", "1Gi\n"] {
        cases.push((json!({ "storage": { "size": wrong } }), size));
        cases.push((json!({ "backup": { "storage": { "size": wrong } } }), backup));
    }
    cases.push((json!({ "storage": { "size": 1_073_741_824 } }), &["spec.storage.size", "type string"]));
    for wrong in ["", "Fast", "fast ", "-fast"] {
        cases.push((json!({ "storage": { "storageClassName": wrong } }), class));
        cases.push((json!({ "backup": { "storage": { "storageClassName": wrong } } }), class));
    }
    let both: &[&str] = &["backup.storage.existingClaim names an existing PVC: omit size and storageClassName"];
    cases.push((json!({ "backup": { "storage": { "existingClaim": "mine", "size": "2Gi" } } }), both));
    cases.push((json!({ "backup": { "storage": { "existingClaim": "mine", "storageClassName": "fast" } } }), both));
    let claim: &[&str] = &["backup.storage.existingClaim must be the name of a PersistentVolumeClaim"];
    cases.push((json!({ "backup": { "storage": { "existingClaim": "" } } }), claim));
    cases.push((json!({ "backup": { "storage": { "existingClaim": "../data" } } }), claim));
    refused("sdb-sizes", Kind::Database, &cases).await;
}

#[tokio::test]
async fn names_that_do_not_fit_what_is_named_after_them_are_refused() {
    let ns = Namespace::new("sdb-names").await;
    let snapshot = json!({ "sampleDB": "web" });
    let mut wrong = Vec::new();
    for (kind, spec, longest) in [(Kind::Database, json!({}), 45), (Kind::Snapshot, snapshot, 56)] {
        for name in ["a".to_owned(), "a-1".to_owned(), "a".repeat(longest)] {
            if let Err(said) = tried(&ns, kind, &name, &spec).await {
                wrong.push(format!("{name}: {said}"));
            }
        }
        for name in ["a".repeat(longest + 1), "1a".to_owned(), "a.b".to_owned()] {
            match tried(&ns, kind, &name, &spec).await {
                Err(said) if said.contains(&format!("metadata.name must be 1 to {longest} lower-case letters")) => {}
                answer => wrong.push(format!("{name}: {answer:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
