//! What the process has seen of a child before somebody changed it.

use super::*;

#[test]
fn what_was_edited_comes_back_by_one_request_if_the_process_has_seen_it_whole() {
    let path = ["f:spec", "f:template", "f:spec", "f:containers", APP, "f:image"];
    let edited = edited(created(), "/spec/template/spec/containers/0/image", json!("nginx:by-hand"), &path);
    let mut live = deployment(&edited);
    assert!(over(&live, &sent()).unwrap().gathers, "what was there before is not known after a restart");
    live.carry_over(Some(&deployment(&created())), Instant::now());
    assert!(!over(&live, &sent()).unwrap().gathers);
}

/// The whole child is held for that, and no longer than needed.
#[test]
fn what_was_edited_is_put_back_by_a_patch_of_what_was_seen() {
    let path = ["f:spec", "f:template", "f:spec", "f:containers", APP, "f:image"];
    let mut edited = edited(created(), "/spec/template/spec/containers/0/image", json!("nginx:by-hand"), &path);
    edited["metadata"]["resourceVersion"] = json!("8");
    let theirs = entry("somebody", "Update", &json!({ "f:metadata": { "f:annotations": { "f:theirs": {} } } }));
    edited["metadata"]["managedFields"].as_array_mut().unwrap().push(theirs.clone());
    let before = deployment(&created());
    let mut live = deployment(&edited);
    live.carry_over(Some(&before), Instant::now());
    let restore = over(&live, &sent()).unwrap().restores().expect("it is known whole");
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
    assert!(over(&live, &other).unwrap().restores().is_none(), "an apply tells what is to go");
    let holds =
        |live: &Deployment| live.additions.unapplied.as_ref().is_some_and(|unapplied| unapplied.whole.is_some());
    let mut relisted = deployment(&edited);
    relisted.carry_over(None, Instant::now());
    assert!(!holds(&relisted) && !holds(&before), "nobody is known to have changed anything");
    let mut beside = created();
    beside["metadata"]["managedFields"].as_array_mut().unwrap().push(theirs);
    beside["metadata"]["annotations"] = json!({ "theirs": "" });
    let mut beside = deployment(&beside);
    assert!(holds(&beside));
    beside.carry_over(Some(&before), Instant::now());
    assert!(!holds(&beside), "what others have put beside it is no change of ours");
    assert_eq!(beside.additions, before.additions);
}

#[test]
fn a_heal_leaves_both_ways_of_owning_and_the_next_change_gathers_them() {
    let mut healed = created();
    let managed = healed["metadata"]["managedFields"].as_array_mut().unwrap();
    managed.push(entry(US, "Apply", &json!({ "f:spec": { "f:selector": {} } })));
    let live = deployment(&healed);
    assert_eq!(over(&live, &sent()), None);
    let mut another = sent();
    another["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:2");
    assert!(over(&live, &another).unwrap().gathers);

    let path = ["f:spec", "f:template", "f:spec", "f:containers", APP, "f:image"];
    let mut again = deployment(&edited(healed, "/spec/template/spec/containers/0/image", json!("nginx:2"), &path));
    again.carry_over(Some(&live), Instant::now());
    assert!(!over(&again, &sent()).unwrap().gathers, "another edit comes back by one request, too");
}

/// While others' additions are taken away by a patch, the spec may ask for a field more, and then for it no longer.
#[test]
fn what_a_later_write_of_ours_has_added_is_gathered_before_it_goes() {
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
    assert!(over(&live, &sent()).unwrap().gathers);
}

/// As by a webhook that looks at creations alone: what of the pod is then the webhook's is ours, and nothing tells it from what was sent.
#[test]
fn what_a_webhook_has_filled_in_in_a_creation_stays_where_all_was_told_to_be_as_asked() {
    let mut live = created();
    live["spec"]["template"]["spec"]["schedulerName"] = json!("volcano");
    let after_a_restart = over(&deployment(&live), &sent()).expect("what was made is not known any more");
    assert!(after_a_restart.gathers);
    let fields = |told: Reported| {
        let patch = gathering(&Deployment::KIND, &live, &sent(), told).unwrap().unwrap();
        patch["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:template"]["f:spec"].clone()
    };
    assert_eq!(fields(Reported::All)["f:schedulerName"], Value::Null, "the apply that follows would take it away");
    assert_eq!(
        fields(Reported::Something)["f:schedulerName"],
        json!({}),
        "an earlier generation may have asked for it"
    );
    let container = &fields(Reported::All)["f:containers"][APP];
    assert_eq!(container["f:image"], json!({}), "all else is ours by the apply");
    assert_eq!(container["f:ports"][PORT]["f:containerPort"], json!({}));

    let mut gathered = live.clone();
    let patch = gathering(&Deployment::KIND, &live, &sent(), Reported::All).unwrap().unwrap();
    gathered["metadata"]["managedFields"] = patch["metadata"]["managedFields"].clone();
    // The apply that follows takes what it sends at such places.
    let pod = &mut gathered["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:template"]["f:spec"];
    pod["f:terminationGracePeriodSeconds"] = json!({});
    let container = &mut pod["f:containers"][APP];
    container["f:ports"][PORT]["f:protocol"] = json!({});
    container["f:readinessProbe"]["f:periodSeconds"] = json!({});
    assert_eq!(over(&deployment(&gathered), &sent()), None, "once, and no pod is replaced");
}
