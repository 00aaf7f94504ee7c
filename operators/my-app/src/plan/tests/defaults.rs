//! Pods get defaults with a new Deployment, or with a template that changes anyway.

use runtime::plan::meta::{DEFAULT_CONTAINER, RESTARTED_AT};

use super::*;

/// A MyApp of generation 2 with a status of the generation `observed`.
fn app_observed(spec: &Value, observed: i64, restarted_at: Option<&str>) -> Arc<MyApp> {
    let metadata = json!({ "name": "a", "namespace": "n", "uid": "u", "generation": 2,
        "annotations": restarted_at.map_or_else(|| json!({}), |at| json!({ RESTARTED_AT: at })) });
    let json = json!({ "metadata": metadata, "spec": spec, "status": { "observedGeneration": observed } });
    Arc::new(MyApp::decode(&json.to_string()).unwrap())
}

/// A Deployment of `spec` from before defaults existed, and with an edit if `edited` is true.
fn plain(spec: &Value, edited: bool) -> OwnedChild<Deployment> {
    let app = app(spec.clone(), json!({}));
    let ChildState::Owned(mut live) = live(&app, json!({ "observedGeneration": 2 })) else { unreachable!() };
    if edited {
        live.fingerprint = Fingerprint::of_nothing();
        Arc::get_mut(&mut live.view).unwrap().template.created = Template::rendered(&json!({}));
    }
    live
}

/// Whether the template that the plan applies has defaults; `None` if it applies nothing.
fn defaults(plan: &Plan<MyAppStatus>) -> Option<bool> {
    let [effect] = &plan.effects[..] else { return None };
    let Effect::Apply(apply) = effect else { panic!("{effect:?}") };
    let template = &apply.body["spec"]["template"];
    let has = [
        !template["metadata"]["annotations"][DEFAULT_CONTAINER].is_null(),
        template["spec"]["topologySpreadConstraints"].is_array(),
    ];
    assert_eq!(has[0], has[1]);
    Some(has[0])
}

fn over(app: Arc<MyApp>, live: OwnedChild<Deployment>) -> Option<bool> {
    defaults(&plan(&observed(app, ChildState::Owned(live)), NOW))
}

#[test]
fn a_manager_of_another_version_does_not_restart_pods() {
    let spec = json!({ "image": "i", "replicas": 3 });
    assert_eq!(over(app_observed(&spec, 2, None), plain(&spec, false)), None);
    assert_eq!(
        over(app_observed(&spec, 1, None), plain(&spec, false)),
        None,
        "the same for a spec that the status has not reported yet"
    );
}

#[test]
fn a_change_that_replaces_pods_adds_the_defaults() {
    let before = json!({ "image": "i", "replicas": 3 });
    let image = json!({ "image": "i:2", "replicas": 3 });
    assert_eq!(over(app_observed(&image, 1, None), plain(&before, false)), Some(true));
    assert_eq!(over(app_observed(&before, 2, Some("now")), plain(&before, false)), Some(true), "a restart");
    assert_eq!(
        defaults(&plan(&observed(app_observed(&before, -1, None), ChildState::Absent), NOW)),
        Some(true),
        "a new one"
    );
}

#[test]
fn a_change_that_replaces_no_pod_adds_no_defaults() {
    let before = json!({ "image": "i", "replicas": 1 });
    let scaled = json!({ "image": "i", "replicas": 3, "minReadySeconds": 5 });
    assert_eq!(over(app_observed(&scaled, 1, None), plain(&before, false)), Some(false));
}

#[test]
fn the_repair_of_an_edit_restores_the_previous_template() {
    let spec = json!({ "image": "i", "replicas": 3 });
    assert_eq!(
        over(app_observed(&spec, 2, None), plain(&spec, true)),
        Some(false),
        "so that its pods are not replaced"
    );
    let mut with = plain(&spec, true);
    Arc::get_mut(&mut with.view).unwrap().template.has_defaults = true;
    assert_eq!(over(app_observed(&spec, 2, None), with), Some(true));
}

#[test]
fn an_adopted_orphan_gets_no_defaults() {
    let spec = json!({ "image": "i", "replicas": 3 });
    let orphan = Some(plain(&spec, false).view);
    let seen = Observed { orphan, ..observed(app_observed(&spec, -1, None), ChildState::Absent) };
    assert_eq!(defaults(&plan(&seen, NOW)), Some(false));
}

/// A client that replaces the object removes both annotations by which the operator recognizes its own template.
#[test]
fn defaults_that_another_client_removed_are_restored() {
    let spec = json!({ "image": "i", "replicas": 3 });
    let seen = |uid: &str| {
        let mut before = plain(&spec, false);
        let view = Arc::get_mut(&mut before.view).unwrap();
        (view.template.has_defaults, view.meta.uid) = (true, uid.into());
        let mut replaced = plain(&spec, false);
        Arc::get_mut(&mut replaced.view).unwrap().carry_over(Some(&*before.view), tokio::time::Instant::now());
        over(app_observed(&spec, 2, None), replaced)
    };
    assert_eq!(seen("d"), Some(true));
    assert_eq!(seen("other"), None, "another one's");
}
