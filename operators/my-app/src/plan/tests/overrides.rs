//! With rejected overrides, the Deployment is not changed, and the condition reports why.

use std::time::Duration;

use super::*;

fn spec(overrides: &Value) -> Value {
    json!({ "image": "i:2", "replicas": 3, "port": 80, "podOverrides": overrides })
}

/// Three ready pods of a Deployment without overrides, and a MyApp that now has these overrides.
fn with_pods(overrides: &Value) -> Observed {
    let before = app(json!({ "image": "i:2", "replicas": 3 }), json!({}));
    let running =
        live(&before, json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3 }));
    observed(app(spec(overrides), json!({ "image": "i:2" })), running)
}

fn kinds(plan: &Plan<MyAppStatus>) -> Vec<&str> {
    plan.effects.iter().map(|effect| if let Effect::Apply(apply) = effect { apply.kind.kind } else { "" }).collect()
}

#[test]
fn invalid_overrides_stall_the_app_while_its_pods_serve() {
    let plan = plan(&with_pods(&json!({ "spec": { "containers": [{ "name": "app", "imagge": "x" }] } })), NOW);
    assert_eq!(kinds(&plan), ["Service"], "other children are applied");
    assert_eq!(status(&plan).phase, Some(MyAppPhase::Degraded));
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
fn overrides_beyond_the_limit_create_no_pod() {
    let app = app(spec(&json!({ "spec": { "hostPID": true } })), json!({}));
    let plan = plan(&Observed { limit: OverrideLimit::Placement, ..observed(app, ChildState::Absent) }, NOW);
    assert_eq!((kinds(&plan), status(&plan).phase), (vec!["Service"], Some(MyAppPhase::Pending)));
    assert_eq!(ready(&plan).0, "PodOverridesNotAllowed");
}

#[test]
fn a_rejected_pod_is_reported_with_the_message_and_retried() {
    let overrides = json!({ "spec": { "priorityClassName": "none" } });
    let rejected = rejected("no PriorityClass with name none was found", false);
    let seen = Observed { dry_run_failure: Some(rejected), ..with_pods(&overrides) };
    let plan = plan(&seen, NOW);
    assert_eq!((kinds(&plan), plan.next), (vec!["Service"], Requeue::After(Duration::from_secs(15))));
    let (reason, message) = ready(&plan);
    assert_eq!(reason, "Rejected");
    assert!(message.contains("no PriorityClass with name none was found"), "{message}");
}

/// For example, while a webhook for pods is unavailable.
#[test]
fn a_dry_run_without_an_answer_delays_only_the_deployment() {
    let overrides = json!({ "metadata": { "labels": { "team": "a" } } });
    let unanswered = || Some(rejected("failed calling webhook \"w\"", true));
    let seen = Observed { dry_run_failure: unanswered(), ..with_pods(&overrides) };
    let waits = plan(&seen, NOW);
    assert_eq!((kinds(&waits), waits.next), (vec!["Service"], Requeue::After(Duration::from_secs(15))));
    assert_eq!((status(&waits).phase, status(&waits).ready.as_deref()), (Some(MyAppPhase::Progressing), Some("3/3")));
    let message = "3 of 3 pods are ready; cannot check pods with spec.podOverrides: failed calling webhook \"w\"; \
                   the Deployment is not changed";
    assert_eq!(ready(&waits), ("APIServerError", message));
    let contract = &status(&waits).contract;
    assert!(contract.is_true(condition_type::RECONCILING) && !contract.is_true(condition_type::STALLED));

    let created = plan(
        &Observed { dry_run_failure: unanswered(), ..observed(app(spec(&overrides), json!({})), ChildState::Absent) },
        NOW,
    );
    assert_eq!((kinds(&created), status(&created).phase), (vec!["Service"], Some(MyAppPhase::Progressing)));
}

fn rejected(message: &str, is_transient: bool) -> DryRunFailure {
    DryRunFailure { is_transient, message: message.to_owned(), due: Duration::from_secs(15) }
}

#[test]
fn a_new_template_has_a_dry_run() {
    let overrides = json!({ "metadata": { "labels": { "team": "a" } }, "spec": { "initContainers": [{ "name": "init", "image": "i" }] } });
    let seen = with_pods(&overrides);
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
    view.template.created = Template::rendered(&apply.body);
    let in_force = observed(seen.app, ChildState::Owned(live));
    assert!(!plan(&in_force, NOW).effects.is_empty());
    assert_eq!(super::dry_run_pod(&in_force, NOW), None, "the number of pods does not change the pod");
    assert_eq!(super::dry_run_pod(&three(3, 3, 2).0, NOW), None, "without overrides, there is no dry run");
}

/// After a restart, the manager does not know how the API server has changed its writes.
#[test]
fn the_template_of_a_created_deployment_has_no_dry_run() {
    let overrides = json!({ "metadata": { "labels": { "team": "a" } } });
    let created = plan(&observed(app(spec(&overrides), json!({})), ChildState::Absent), NOW);
    let Effect::Apply(apply) = &created.effects[0] else { panic!("an apply comes first") };
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
    assert_eq!(dry_run_pod(&same, NOW), None, "the number of pods does not change the pod");
    assert!(dry_run_pod(&scaled(&json!({ "metadata": { "labels": { "team": "b" } } })), NOW).is_some());
}

/// A FieldsV1 of all fields. The items of a list are keyed by name if they have names; other lists are atomic.
fn fields(value: &Value) -> Value {
    let map = value.as_object().into_iter().flatten().map(|(name, below)| (format!("f:{name}"), fields(below)));
    let items = value.as_array().into_iter().flatten().filter_map(|item| {
        let name = item.get("name")?;
        Some((format!("k:{}", json!({ "name": name })), fields(item)))
    });
    map.chain(items).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn a_paused_app_has_no_dry_run() {
    let mut spec = spec(&json!({ "spec": { "hostPID": true } }));
    spec["paused"] = json!(true);
    assert_eq!(dry_run_pod(&observed(app(spec, json!({})), ChildState::Absent), NOW), None);
}
