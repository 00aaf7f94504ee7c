//! Overrides that are refused leave the Deployment as it is, and the condition says why.

use std::time::Duration;

use super::*;

fn spec(overrides: &Value) -> Value {
    json!({ "image": "i:2", "replicas": 3, "port": 80, "podOverrides": overrides })
}

/// Three ready pods of a Deployment without overrides, and a MyApp that has these now.
fn beside_pods(overrides: &Value) -> Observed {
    let before = app(json!({ "image": "i:2", "replicas": 3 }), json!({}));
    let running =
        live(&before, json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3 }));
    observed(app(spec(overrides), json!({ "image": "i:2" })), running)
}

fn kinds(plan: &Plan<MyAppStatus>) -> Vec<&str> {
    plan.effects.iter().map(|effect| if let Effect::Apply(apply) = effect { apply.kind.kind } else { "" }).collect()
}

#[test]
fn overrides_that_are_no_pod_stall_the_app_while_its_pods_serve() {
    let plan = plan(&beside_pods(&json!({ "spec": { "containers": [{ "name": "app", "imagge": "x" }] } })), NOW);
    assert_eq!(kinds(&plan), ["Service"], "what has no part in it goes on");
    assert_eq!(status(&plan).phase, Some(Phase::Degraded));
    let (reason, message) = ready(&plan);
    assert_eq!(reason, "PodOverridesInvalid");
    assert!(
        message.starts_with("3 of 3 pods are ready; spec.podOverrides.spec.containers[0].imagge: unknown field"),
        "{message}"
    );
    assert!(
        message.ends_with("; the Deployment is not changed") && status(&plan).contract.is_true(condition_type::STALLED)
    );
}

#[test]
fn overrides_beyond_the_limit_make_no_pod() {
    let app = app(spec(&json!({ "spec": { "hostPID": true } })), json!({}));
    let plan = plan(&Observed { limit: Limit::Placement, ..observed(app, ChildState::Absent) }, NOW);
    assert_eq!((kinds(&plan), status(&plan).phase), (vec!["Service"], Some(Phase::Pending)));
    assert_eq!(ready(&plan).0, "PodOverridesNotAllowed");
}

#[test]
fn a_pod_that_the_api_server_refuses_is_told_in_its_words_and_asked_about_again() {
    let overrides = json!({ "spec": { "priorityClassName": "none" } });
    let refused = refused("no PriorityClass with name none was found", false);
    let seen = Observed { dry_run_failure: Some(refused), ..beside_pods(&overrides) };
    let plan = plan(&seen, NOW);
    assert_eq!((kinds(&plan), plan.next), (vec!["Service"], Requeue::After(Duration::from_secs(15))));
    let (reason, message) = ready(&plan);
    assert_eq!(reason, "Rejected");
    assert!(message.contains("no PriorityClass with name none was found"), "{message}");
}

/// As with a webhook for pods that is down.
#[test]
fn a_pod_that_the_api_server_says_nothing_of_is_waited_for_and_nothing_else_is() {
    let overrides = json!({ "metadata": { "labels": { "team": "a" } } });
    let unanswered = || Some(refused("failed calling webhook \"w\"", true));
    let seen = Observed { dry_run_failure: unanswered(), ..beside_pods(&overrides) };
    let waits = plan(&seen, NOW);
    assert_eq!((kinds(&waits), waits.next), (vec!["Service"], Requeue::After(Duration::from_secs(15))));
    assert_eq!((status(&waits).phase, status(&waits).ready.as_deref()), (Some(Phase::Progressing), Some("3/3")));
    let message = "3 of 3 pods are ready; cannot check pods with spec.podOverrides: failed calling webhook \"w\"; \
                   the Deployment is not changed";
    assert_eq!(ready(&waits), ("APIServerError", message));
    let contract = &status(&waits).contract;
    assert!(contract.is_true(condition_type::RECONCILING) && !contract.is_true(condition_type::STALLED));

    let made = plan(
        &Observed { dry_run_failure: unanswered(), ..observed(app(spec(&overrides), json!({})), ChildState::Absent) },
        NOW,
    );
    assert_eq!((kinds(&made), status(&made).phase), (vec!["Service"], Some(Phase::Progressing)));
}

fn refused(message: &str, is_transient: bool) -> DryRunFailure {
    DryRunFailure { is_transient, message: message.to_owned(), due: Duration::from_secs(15) }
}

#[test]
fn it_is_asked_about_pods_whose_template_is_not_in_force() {
    let overrides = json!({ "metadata": { "labels": { "team": "a" } }, "spec": { "initContainers": [{ "name": "init", "image": "i" }] } });
    let seen = beside_pods(&overrides);
    let pod = dry_run_pod(&seen, NOW).expect("a pod");
    assert_eq!((pod.kind.kind, &*pod.key.name), ("Pod", "a-podoverrides"));
    assert_eq!(
        (&pod.body["spec"]["initContainers"][0]["name"], &pod.body["metadata"]["labels"]["team"]),
        (&json!("init"), &json!("a"))
    );
    assert_eq!(pod.body["metadata"]["ownerReferences"][0]["controller"], true);

    let Effect::Apply(apply) = &plan(&seen, NOW).effects[0] else { panic!("an apply comes first") };
    let ChildState::Owned(mut live) = seen.deployment else { unreachable!() };
    let view = Arc::get_mut(&mut live.view).unwrap();
    view.template.made = Template::rendered(&apply.body);
    let in_force = observed(seen.app, ChildState::Owned(live));
    assert!(!plan(&in_force, NOW).effects.is_empty());
    assert_eq!(super::dry_run_pod(&in_force, NOW), None, "another number of pods is no other pod");
    assert_eq!(super::dry_run_pod(&three(3, 3, 2).0, NOW), None, "without overrides, nothing is asked");
}

/// As after a restart of the manager, which has learned nothing of what the API server made of its writes.
#[test]
fn it_is_not_asked_about_pods_of_a_deployment_that_a_creation_made() {
    let overrides = json!({ "metadata": { "labels": { "team": "a" } } });
    let made = plan(&observed(app(spec(&overrides), json!({})), ChildState::Absent), NOW);
    let Effect::Apply(apply) = &made.effects[0] else { panic!("an apply comes first") };
    let mut object = apply.body.clone();
    object["metadata"]["uid"] = json!("d");
    object["spec"]["template"]["spec"]["restartPolicy"] = json!("Always");
    object["spec"]["template"]["spec"]["containers"][0]["terminationMessagePolicy"] = json!("File");
    let [labels, spec] = ["/metadata/labels", "/spec"].map(|path| fields(object.pointer(path).unwrap()));
    object["metadata"]["managedFields"] = json!([{ "manager": "multi-operator-my-app", "operation": "Update",
        "fieldsV1": { "f:metadata": { "f:labels": labels }, "f:spec": spec } }]);
    let view = Arc::new(Deployment::decode(&object.to_string()).unwrap());
    let scaled = |overrides: &Value| {
        let mut spec = super::overrides::spec(overrides);
        spec["replicas"] = json!(4);
        let live = OwnedChild { fingerprint: view.fingerprint, view: view.clone() };
        observed(app(spec, json!({})), ChildState::Owned(live))
    };
    let same = scaled(&overrides);
    assert!(!plan(&same, NOW).effects.is_empty());
    assert_eq!(dry_run_pod(&same, NOW), None, "another number of pods is no other pod");
    assert!(dry_run_pod(&scaled(&json!({ "metadata": { "labels": { "team": "b" } } })), NOW).is_some());
}

/// A FieldsV1 of all that there is; of a list of objects, by their names, or else as a whole.
fn fields(value: &Value) -> Value {
    let map = value.as_object().into_iter().flatten().map(|(name, below)| (format!("f:{name}"), fields(below)));
    let items = value.as_array().into_iter().flatten().filter_map(|item| {
        let name = item.get("name")?;
        Some((format!("k:{}", json!({ "name": name })), fields(item)))
    });
    map.chain(items).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn a_paused_app_asks_for_nothing() {
    let mut spec = spec(&json!({ "spec": { "hostPID": true } }));
    spec["paused"] = json!(true);
    assert_eq!(dry_run_pod(&observed(app(spec, json!({})), ChildState::Absent), NOW), None);
}
