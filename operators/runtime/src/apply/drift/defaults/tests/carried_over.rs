//! What the process observed of a child before another manager changed it.

use super::*;

#[test]
fn an_edit_is_restored_by_one_request_if_the_process_observed_the_child_before() {
    let path = ["f:spec", "f:template", "f:spec", "f:containers", APP, "f:image"];
    let edited = edited(created(), "/spec/template/spec/containers/0/image", json!("nginx:by-hand"), &path);
    let mut live = deployment(&edited);
    assert!(over(&live, &sent()).unwrap().migrates_ownership, "the earlier state is not known after a restart");
    live.carry_over(Some(&deployment(&created())), Instant::now());
    assert!(!over(&live, &sent()).unwrap().migrates_ownership);
}

/// The complete child is kept for that, and no longer than needed.
#[test]
fn an_edit_is_restored_by_a_patch_of_the_observed_child() {
    let path = ["f:spec", "f:template", "f:spec", "f:containers", APP, "f:image"];
    let mut edited = edited(created(), "/spec/template/spec/containers/0/image", json!("nginx:by-hand"), &path);
    edited["metadata"]["resourceVersion"] = json!("8");
    let theirs = entry("somebody", "Update", &json!({ "f:metadata": { "f:annotations": { "f:theirs": {} } } }));
    edited["metadata"]["managedFields"].as_array_mut().unwrap().push(theirs.clone());
    let before = deployment(&created());
    let mut live = deployment(&edited);
    live.carry_over(Some(&before), Instant::now());
    let restore = over(&live, &sent()).unwrap().restore_patch().expect("the complete child is known");
    let [seen, made] = [&edited, &created()].map(|object| object["spec"]["template"]["spec"]["containers"].clone());
    let (path, metadata) = ("/spec/template/spec/containers", &edited["metadata"]);
    let steps = json!([
        { "op": "test", "path": "/metadata/uid", "value": metadata["uid"] },
        { "op": "test", "path": "/metadata/ownerReferences", "value": metadata["ownerReferences"] },
        { "op": "test", "path": path, "value": seen },
        { "op": "replace", "path": path, "value": made },
    ]);
    assert_eq!((restore.patch, restore.version), (steps, json!("8")));

    let mut other = sent();
    other["spec"]["minReadySeconds"] = json!(3);
    assert!(over(&live, &other).unwrap().restore_patch().is_none(), "an apply removes fields");
    let holds =
        |live: &Deployment| live.additions.unapplied.as_ref().is_some_and(|unapplied| unapplied.live_json.is_some());
    let mut relisted = deployment(&edited);
    relisted.carry_over(None, Instant::now());
    assert!(!holds(&relisted) && !holds(&before), "no change by others is known");
    let mut foreign = created();
    foreign["metadata"]["managedFields"].as_array_mut().unwrap().push(theirs);
    foreign["metadata"]["annotations"] = json!({ "theirs": "" });
    let mut foreign = deployment(&foreign);
    assert!(holds(&foreign));
    foreign.carry_over(Some(&before), Instant::now());
    assert!(!holds(&foreign), "an addition by others is no change of our fields");
    assert_eq!(foreign.additions, before.additions);
}

#[test]
fn a_restoring_apply_leaves_both_kinds_of_ownership_and_the_next_change_migrates_them() {
    let mut repaired_live = created();
    let managed = repaired_live["metadata"]["managedFields"].as_array_mut().unwrap();
    managed.push(entry(US, "Apply", &json!({ "f:spec": { "f:selector": {} } })));
    let live = deployment(&repaired_live);
    assert_eq!(over(&live, &sent()), None);
    let mut another = sent();
    another["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:2");
    assert!(over(&live, &another).unwrap().migrates_ownership);

    let path = ["f:spec", "f:template", "f:spec", "f:containers", APP, "f:image"];
    let mut again =
        deployment(&edited(repaired_live, "/spec/template/spec/containers/0/image", json!("nginx:2"), &path));
    again.carry_over(Some(&live), Instant::now());
    assert!(!over(&again, &sent()).unwrap().migrates_ownership, "another edit is restored by one request, too");
}

/// While a patch removes additions of others, the spec may ask for one more field, and later no longer.
#[test]
fn ownership_of_a_later_patch_is_migrated_before_its_field_is_removed() {
    let mut more = sent();
    more["spec"]["template"]["spec"]["containers"][0]["workingDir"] = json!("/srv");
    let at = |live: &mut Value, time: &str| live["metadata"]["managedFields"][0]["time"] = json!(time);
    let (mut before, mut patched) = (created(), created());
    at(&mut before, "2026-11-25T10:00:00Z");
    at(&mut patched, "2026-11-25T10:00:09Z");
    patched["spec"]["template"]["spec"]["containers"][0]["workingDir"] = json!("/srv");
    let ours = &mut patched["metadata"]["managedFields"][0]["fieldsV1"];
    ours["f:spec"]["f:template"]["f:spec"]["f:containers"][APP]["f:workingDir"] = json!({});
    let mut live = deployment(&patched);
    live.carry_over(Some(&deployment(&before)), Instant::now());
    assert_eq!(over(&live, &more), None);
    assert!(over(&live, &sent()).unwrap().migrates_ownership);
}

/// As by a webhook for creations only: we own what it filled in, and nothing distinguishes that from what was sent.
#[test]
fn fields_that_a_webhook_filled_in_stay_if_everything_was_reported_as_desired() {
    let mut live = created();
    live["spec"]["template"]["spec"]["schedulerName"] = json!("volcano");
    let after_a_restart = over(&deployment(&live), &sent()).expect("the result of the creation is no longer known");
    assert!(after_a_restart.migrates_ownership);
    let fields = |reported: Reported| {
        let patch = ownership_migration(&Deployment::KIND, &live, &sent(), reported).unwrap().unwrap();
        patch["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:template"]["f:spec"].clone()
    };
    assert_eq!(fields(Reported::All)["f:schedulerName"], Value::Null, "the apply that follows would remove it");
    assert_eq!(
        fields(Reported::Something)["f:schedulerName"],
        json!({}),
        "an earlier generation may have asked for it"
    );
    let container = &fields(Reported::All)["f:containers"][APP];
    assert_eq!(container["f:image"], json!({}), "an apply owns all other fields");
    assert_eq!(container["f:ports"][PORT]["f:containerPort"], json!({}));

    let mut migrated = live.clone();
    let patch = ownership_migration(&Deployment::KIND, &live, &sent(), Reported::All).unwrap().unwrap();
    migrated["metadata"]["managedFields"] = patch["metadata"]["managedFields"].clone();
    // The apply that follows owns the defaults that it sends.
    let pod = &mut migrated["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:template"]["f:spec"];
    pod["f:terminationGracePeriodSeconds"] = json!({});
    let container = &mut pod["f:containers"][APP];
    container["f:ports"][PORT]["f:protocol"] = json!({});
    container["f:readinessProbe"]["f:periodSeconds"] = json!({});
    assert_eq!(over(&deployment(&migrated), &sent()), None, "once, and no pod is replaced");
}
