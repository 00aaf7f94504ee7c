//! SampleDB and SampleDBSnapshot: their definitions, and what is read and written.

use api::sample_db::{
    DEFAULT_DATABASE, DeletionPolicy, LONGEST_NAME, Method, SampleDBPhase, SampleDBSpec, SampleDBStatus, VerifyMode,
};
use api::sample_db_snapshot::{
    LONGEST_SNAPSHOT_NAME, SampleDBSnapshotSpec, SampleDBSnapshotStatus, SnapshotDeletionPolicy, SnapshotPhase,
};
use serde_json::{Value, json};

const KINDS: [&str; 2] = ["SampleDB", "SampleDBSnapshot"];

fn definition(kind: &str) -> Value {
    let crd = api::crds().into_iter().find(|crd| crd.spec.names.kind == kind).expect("a definition");
    serde_json::to_value(crd).expect("JSON")
}

fn schema(kind: &str) -> Value {
    definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// Calls with every schema within a schema, and its path.
fn each(schema: &Value, path: &str, call: &mut impl FnMut(&str, &Value)) {
    call(path, schema);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        each(field, &format!("{path}.{name}"), call);
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if schema[key].is_object() {
            each(&schema[key], &format!("{path}{mark}"), call);
        }
    }
}

/// Calls with every schema of both kinds.
fn each_of_both(call: &mut impl FnMut(&str, &Value)) {
    KINDS.iter().for_each(|kind| each(&schema(kind), kind, call));
}

/// Whether a field is within one that has a type of Kubernetes' own.
fn of_kubernetes(path: &str) -> bool {
    let own = ["affinity", "imagePullSecrets", "podSecurityContext", "tolerations", "topologySpreadConstraints"];
    let within = path.strip_prefix("SampleDB.spec.").and_then(|path| path.split_once(['.', '[', '{']));
    within.is_some_and(|(field, _)| own.contains(&field))
}

#[test]
fn names_and_short_names_are_as_documented() {
    let named = |kind| {
        let names = definition(kind)["spec"]["names"].clone();
        ["plural", "singular", "shortNames", "categories"].map(|key| names[key].clone())
    };
    assert_eq!(named("SampleDB"), [json!("sampledbs"), json!("sampledb"), json!(["sdb"]), json!(["databases"])]);
    let snapshots = [json!("sampledbsnapshots"), json!("sampledbsnapshot"), json!(["sdbsnap"]), json!(["databases"])];
    assert_eq!(named("SampleDBSnapshot"), snapshots);
    for kind in KINDS {
        let version = &definition(kind)["spec"]["versions"][0];
        assert_eq!(version["subresources"], json!({ "status": {} }), "{kind}");
        assert_eq!(version["name"], "v1alpha1");
    }
}

#[test]
fn columns_show_existing_fields() {
    for kind in KINDS {
        let (schema, mut names) = (schema(kind), Vec::new());
        for column in definition(kind)["spec"]["versions"][0]["additionalPrinterColumns"].as_array().expect("columns") {
            let path = column["jsonPath"].as_str().expect("a path");
            names.push(column["name"].as_str().unwrap_or_default().to_uppercase());
            if path.starts_with(".metadata") || path.contains("[?") {
                continue;
            }
            let place = path.split('.').skip(1).fold(&schema, |schema, field| &schema["properties"][field]);
            assert!(place["type"].is_string(), "{path}");
        }
        let due: &[&str] = match kind {
            "SampleDB" => &[
                "VERSION",
                "READY",
                "PHASE",
                "PRIMARY",
                "LAST-BACKUP",
                "AGE",
                "VERIFIED",
                "ENDPOINT",
                "TARGET",
                "MESSAGE",
            ],
            _ => &["SAMPLEDB", "REASON", "PHASE", "SIZE", "VERIFIED", "STORE", "EXPIRES", "AGE", "MESSAGE"],
        };
        assert_eq!(names, due);
    }
}

#[test]
fn schemas_are_structural_and_every_rule_has_a_message() {
    let mut wrong = Vec::new();
    each_of_both(&mut |path, schema| {
        if !schema["type"].is_string() && schema["x-kubernetes-int-or-string"] != json!(true) {
            wrong.push(format!("{path} has no type"));
        }
        if ["$ref", "oneOf", "anyOf", "allOf", "not"].iter().any(|key| schema.get(key).is_some()) {
            wrong.push(format!("{path} has more than a type"));
        }
        for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
            let message = rule["message"].as_str().or(rule["messageExpression"].as_str());
            if message.is_none_or(|message| message.split(' ').count() < 6) {
                wrong.push(format!("{path}: {} has too short a message", rule["rule"]));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn own_fields_have_descriptions_and_fields_of_kubernetes_have_none() {
    let mut wrong = Vec::new();
    each_of_both(&mut |path, schema| {
        let unnamed = path.ends_with("[]") || path.ends_with("{}") || KINDS.contains(&path) || path.ends_with(".spec");
        if !unnamed && of_kubernetes(path) == schema["description"].is_string() {
            wrong.push(path.to_owned());
        }
    });
    assert!(
        wrong.is_empty(),
        "described though a type of Kubernetes, or not described though a type of this project: {}",
        wrong.join(" ")
    );
}

#[test]
fn fields_of_the_spec_are_bounded() {
    let mut wrong = Vec::new();
    each_of_both(&mut |path, schema| {
        if !path.contains(".spec") || of_kubernetes(path) || path.contains(".resources") {
            return;
        }
        let bound = match schema["type"].as_str() {
            Some("string") if schema["enum"].is_array() => "enum",
            Some("string") => "maxLength",
            Some("array") if !path.ends_with("drills") && !path.ends_with("windows") => "maxItems",
            Some("object") if schema["additionalProperties"].is_object() => "maxProperties",
            Some("integer") if !path.ends_with("replicas") => "maximum",
            _ => return,
        };
        if schema.get(bound).is_none() {
            wrong.push(format!("{path} has no {bound}"));
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_types_of_conditions_are_required_in_status() {
    let mut wrong = Vec::new();
    each_of_both(&mut |path, schema| {
        let conditions = path.contains(".status.conditions");
        let due = if path.ends_with(".status.conditions[]") { json!(["type"]) } else { Value::Null };
        if path.contains(".status") && (schema["required"] != due || (!conditions && schema["enum"].is_array())) {
            wrong.push(path.to_owned());
        }
    });
    for kind in KINDS {
        assert_eq!(schema(kind)["properties"]["status"]["default"], json!({ "observedGeneration": -1 }), "{kind}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_empty_spec_has_the_defaults_and_stays_empty() {
    let spec: SampleDBSpec = serde_json::from_value(json!({})).expect("a spec");
    assert_eq!(spec, SampleDBSpec::default());
    assert_eq!(serde_json::to_value(&spec).expect("JSON"), json!({}));
    assert_eq!(schema("SampleDB")["properties"]["spec"]["default"], json!({}));

    assert_eq!((spec.engine.version, spec.replicas, spec.bootstrap.database()), (None, None, DEFAULT_DATABASE));
    assert_eq!((spec.storage.size(), spec.backup.storage.size(), spec.service.port()), ("1Gi", "2Gi", 5432));
    let backup = &spec.backup;
    assert_eq!((backup.schedule(), backup.time_zone(), backup.method), (Some("0 2 * * *"), "Etc/UTC", Method::Logical));
    assert_eq!((backup.immediate(), backup.starting_deadline_seconds(), backup.deadline_seconds()), (true, 3600, 3600));
    assert_eq!((backup.retention.keep_last(), backup.retention.max_age()), (7, "30d"));
    assert_eq!((backup.verify.mode, backup.verify.every_nth()), (VerifyMode::Restore, 1));
    assert!(spec.upgrade.snapshot_before() && spec.upgrade.rollback_on_failure());
    assert_eq!(spec.upgrade.keep_previous_volume_for(), "24h");
    assert_eq!((spec.deletion.policy, spec.deletion.timeout_seconds()), (DeletionPolicy::Snapshot, 1800));
    assert_eq!(spec.deletion.keep_final_snapshot_for(), None, "kept until a user deletes it");
}

#[test]
fn empty_parts_are_read_as_absent() {
    let spec = json!({
        "engine": { "version": "", "image": "" }, "storage": null, "bootstrap": { "fromSnapshot": null },
        "backup": { "schedule": "", "retention": null, "storage": null, "verify": null },
        "init": null, "credentials": null, "upgrade": null, "service": null, "deletion": null, "tls": null,
    });
    let spec: SampleDBSpec = serde_json::from_value(spec).expect("a spec");
    // But for the schedule: an empty one is none, not the usual one.
    assert_eq!(serde_json::to_value(&spec).expect("JSON"), json!({ "backup": { "schedule": "" } }));
    assert_eq!(spec.backup.schedule(), None);
}

#[test]
fn fields_of_earlier_definitions_are_ignored() {
    let spec =
        json!({ "storage": { "size": "2Gi", "autogrow": { "enabled": true } }, "upgrade": { "strategy": "InPlace" } });
    let spec: SampleDBSpec = serde_json::from_value(spec).expect("a spec");
    assert_eq!(serde_json::to_value(&spec).expect("JSON"), json!({ "storage": { "size": "2Gi" } }));
    let strategy = &schema("SampleDB")["properties"]["spec"]["properties"]["upgrade"]["properties"]["strategy"];
    assert_eq!(strategy["enum"], json!(["DumpRestore"]));
}

#[test]
fn pod_settings_are_directly_in_the_spec() {
    let spec = json!({
        "resources": { "requests": { "cpu": "250m", "memory": 4_294_967_296_u64 } },
        "nodeSelector": { "disktype": "ssd" },
        "tolerations": [{ "key": "dedicated", "operator": "Exists" }],
        "podSecurityContext": { "runAsUser": 999 },
        "engine": { "version": "15", "parameters": { "work_mem": "16MB" } },
    });
    let read: SampleDBSpec = serde_json::from_value(spec.clone()).expect("a spec");
    assert_eq!(read.scheduling.pod_security_context.as_ref().and_then(|context| context.run_as_user), Some(999));
    // A quantity may be a number of any size, and is text from then on.
    let mut written = spec;
    written["resources"]["requests"]["memory"] = json!("4294967296");
    assert_eq!(serde_json::to_value(&read).expect("JSON"), written);
}

#[test]
fn unknown_values_of_a_later_manager_are_read_as_absent() {
    let status = json!({
        "phase": "FailingOver",
        "engine": { "running": "17.5", "colour": "blue" },
        "upgrade": { "step": "Teleport", "startedAt": "soon", "from": "15.18" },
        "replication": { "lag": 3 },
    });
    let status: SampleDBStatus = serde_json::from_value(status).expect("a status");
    assert_eq!((status.phase, status.upgrade.step, status.upgrade.started_at), (None, None, None));
    assert_eq!((status.engine.running.as_deref(), status.upgrade.from.as_deref()), (Some("17.5"), Some("15.18")));
    let known: SampleDBStatus = serde_json::from_value(json!({ "phase": "RollingBack" })).expect("a status");
    assert_eq!(known.phase, Some(SampleDBPhase::RollingBack));
    let snapshot: SampleDBSnapshotStatus = serde_json::from_value(json!({ "phase": "Ready" })).expect("a status");
    assert_eq!(snapshot.phase, Some(SnapshotPhase::Ready));
}

#[test]
fn incomplete_conditions_are_skipped() {
    let complete = json!({ "type": "Ready", "status": "True", "reason": "Serving", "message": "all well",
        "lastTransitionTime": "2026-11-21T10:00:00Z" });
    let status = json!({ "conditions": [{ "type": "Stalled", "reason": "LeftBehind" }, complete] });
    let status: SampleDBStatus = serde_json::from_value(status).expect("a status");
    assert_eq!(serde_json::to_value(&status.contract.conditions).expect("JSON"), json!([complete]));
}

#[test]
fn an_empty_status_has_only_the_contract() {
    let empty = json!({ "conditions": [], "observedGeneration": -1 });
    assert_eq!(serde_json::to_value(SampleDBStatus::default()).expect("JSON"), empty);
    assert_eq!(serde_json::to_value(SampleDBSnapshotStatus::default()).expect("JSON"), empty);
}

#[test]
fn final_snapshots_keep_their_files() {
    let policy = |spec: Value| serde_json::from_value::<SampleDBSnapshotSpec>(spec).expect("a spec").deletion_policy();
    assert_eq!(policy(json!({ "sampleDB": "web" })), SnapshotDeletionPolicy::Delete);
    assert_eq!(policy(json!({ "sampleDB": "web", "reason": "Final" })), SnapshotDeletionPolicy::Retain);
    let with_policy = json!({ "sampleDB": "web", "reason": "Final", "deletionPolicy": "Delete" });
    assert_eq!(policy(with_policy), SnapshotDeletionPolicy::Delete);
}

#[test]
fn rules_of_names_have_the_documented_length() {
    for (kind, longest) in [("SampleDB", LONGEST_NAME), ("SampleDBSnapshot", LONGEST_SNAPSHOT_NAME)] {
        let rule = schema(kind)["x-kubernetes-validations"][0]["rule"].to_string();
        assert!(rule.contains(&format!("{{0,{}}}", longest - 2)), "{rule}");
    }
    // yymmddHHMM and a dash fit behind the longest name of a SampleDB, and `-backup` behind that.
    assert_eq!((LONGEST_NAME + 11, LONGEST_SNAPSHOT_NAME + "-backup".len()), (LONGEST_SNAPSHOT_NAME, 63));
}
