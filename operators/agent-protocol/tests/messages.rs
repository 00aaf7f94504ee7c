//! Termination messages, as agents of all releases so far have written them.

use agent_protocol::{
    AgentExit, EtcdWaitResult, FailureMessage, FailureReason, Measurement, PgDumpResult, PgPrepareResult,
    PgUpgradeResult, PgVerifyResult, PgVersionResult, VolumeReport, count,
};
use serde_json::{from_str, json, to_string, to_value};

#[test]
fn a_failure_is_written_and_read() {
    let failure = |reason| FailureMessage { reason, message: "so".into(), closed: None };
    assert_eq!(to_string(&failure(FailureReason::DataMissing)).unwrap(), r#"{"reason":"DataMissing","message":"so"}"#);
    let closed = FailureMessage { closed: Some(true), ..failure(FailureReason::NoSpace) };
    let text = r#"{"reason":"NoSpace","message":"so","closed":true}"#;
    assert_eq!(to_string(&closed).unwrap(), text);
    assert_eq!(from_str::<FailureMessage>(text).unwrap(), closed);
    let late: FailureMessage = from_str(r#"{"reason":"DNSTimeout","message":"so"}"#).unwrap();
    assert_eq!((late.reason, late.reason.to_string().as_str()), (FailureReason::DnsTimeout, "DNSTimeout"));
    let newer: FailureMessage = from_str(r#"{"reason":"OfTomorrow","message":"so","hint":1}"#).unwrap();
    assert_eq!(newer, failure(FailureReason::Unknown));
    assert!(from_str::<FailureMessage>(r#"{"level":"fatal","msg":"so"}"#).is_err(), "a line of etcd's log");
}

#[test]
fn exit_codes_stay_what_pod_failure_policies_name() {
    let codes =
        [FailureReason::DataMissing, FailureReason::DnsTimeout, FailureReason::SqlFailed, FailureReason::NoSpace];
    assert_eq!(codes.map(|reason| reason.exit() as u8), [3, 4, 5, 1]);
    assert_eq!((FailureReason::WrongUser.exit(), AgentExit::Usage as u8), (AgentExit::Lasting, 2));
}

#[test]
fn results_are_written_as_ever() {
    let prepared = PgPrepareResult {
        system_identifier: Some("7".into()),
        version: Some("17.12".into()),
        initialised: true,
        access: "open".into(),
        ..PgPrepareResult::default()
    };
    let written = json!({ "systemIdentifier": "7", "version": "17.12", "initialised": true, "access": "open",
        "passwordSet": false, "freeBytes": null, "volumeBytes": null, "inodes": null, "freeInodes": null });
    assert_eq!(to_value(prepared).unwrap(), written);
    let volume = Measurement { free_bytes: Some(3), used_bytes: Some(7), ..Measurement::default() };
    let taken =
        PgDumpResult { name: "one".into(), kind: "Logical".into(), bytes: Some(9), volume, ..PgDumpResult::default() };
    let written = json!({ "name": "one", "kind": "Logical", "bytes": 9, "files": 0, "sha256": null, "engineVersion": null,
        "systemIdentifier": null, "schemaVersion": null, "databases": 0, "databaseNames": null, "notCovered": [],
        "remarks": [], "tables": null, "rows": null, "completedAt": null, "reused": false, "seconds": 0.0, "freeBytes": 3,
        "usedBytes": 7 });
    assert_eq!(to_value(&taken).unwrap(), written);
    assert_eq!(serde_json::from_value::<PgDumpResult>(written).unwrap(), taken);
    let verified = to_value(PgVerifyResult::default()).unwrap();
    assert!(verified.get("checks").is_none() && verified.get("freeBytes").is_none(), "{verified}");
    assert_eq!(count(u64::MAX), i64::MAX);
}

#[test]
fn an_older_agent_says_less_and_a_newer_one_more() {
    let measured: EtcdWaitResult = from_str(r#"{"volumeBytes":7}"#).unwrap();
    assert_eq!(measured, EtcdWaitResult { volume_bytes: 7, database_bytes: 0 });
    assert_eq!(to_string(&measured).unwrap(), r#"{"volumeBytes":7,"databaseBytes":0}"#);
    let report: VolumeReport =
        from_str(r#"{"volumeBytes":1000,"freeBytes":300,"files":50000,"freeFiles":400,"x":1}"#).unwrap();
    assert_eq!(to_string(&report).unwrap(), r#"{"volumeBytes":1000,"freeBytes":300,"files":50000,"freeFiles":400}"#);
    let version: PgVersionResult = from_str(r#"{"version":"17.12","of":"tomorrow"}"#).unwrap();
    assert_eq!(version.version.as_deref(), Some("17.12"));
    let copy: PgUpgradeResult =
        from_str(r#"{"systemIdentifier":"8","fromSystemIdentifier":"7","closedAt":5}"#).unwrap();
    assert_eq!((copy.from_system_identifier.as_deref(), copy.closed_at), (Some("7"), Some(5)));
    assert_eq!(from_str::<PgDumpResult>("{}").unwrap(), PgDumpResult::default());
}
