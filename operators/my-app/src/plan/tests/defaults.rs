//! What pods get by themselves comes with a Deployment that is made, or whose template changes anyway.

use runtime::plan::meta::{DEFAULT_CONTAINER, RESTARTED_AT};

use super::*;

/// A MyApp at the generation 2, of which status tells since `told`.
fn app_told(spec: &Value, told: i64, restarted_at: Option<&str>) -> Arc<MyApp> {
    let metadata = json!({ "name": "a", "namespace": "n", "uid": "u", "generation": 2,
        "annotations": restarted_at.map_or_else(|| json!({}), |at| json!({ RESTARTED_AT: at })) });
    let json = json!({ "metadata": metadata, "spec": spec, "status": { "observedGeneration": told } });
    Arc::new(MyApp::decode(&json.to_string()).unwrap())
}

/// A Deployment that was made of `spec` before there were defaults, and edited by hand since if told so.
fn plain(spec: &Value, edited: bool) -> OwnedChild<Deployment> {
    let made_of = app(spec.clone(), json!({}));
    let ChildState::Owned(mut live) = live(&made_of, json!({ "observedGeneration": 2 })) else { unreachable!() };
    if edited {
        live.fingerprint = Fingerprint::of_nothing();
        Arc::get_mut(&mut live.view).unwrap().template.made = Template::rendered(&json!({}));
    }
    live
}

/// Whether the template that is applied has defaults; `None` if nothing is.
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
fn a_manager_of_another_version_writes_nothing() {
    let spec = json!({ "image": "i", "replicas": 3 });
    assert_eq!(over(app_told(&spec, 2, None), plain(&spec, false)), None);
    assert_eq!(
        over(app_told(&spec, 1, None), plain(&spec, false)),
        None,
        "nor does it for a spec that it has yet to tell of"
    );
}

#[test]
fn they_come_with_what_replaces_the_pods_anyway() {
    let before = json!({ "image": "i", "replicas": 3 });
    let image = json!({ "image": "i:2", "replicas": 3 });
    assert_eq!(over(app_told(&image, 1, None), plain(&before, false)), Some(true));
    assert_eq!(over(app_told(&before, 2, Some("now")), plain(&before, false)), Some(true), "a restart");
    assert_eq!(
        defaults(&plan(&observed(app_told(&before, -1, None), ChildState::Absent), NOW)),
        Some(true),
        "a new one"
    );
}

#[test]
fn they_do_not_come_with_what_replaces_no_pod() {
    let before = json!({ "image": "i", "replicas": 1 });
    let scaled = json!({ "image": "i", "replicas": 3, "minReadySeconds": 5 });
    assert_eq!(over(app_told(&scaled, 1, None), plain(&before, false)), Some(false));
}

#[test]
fn an_edit_by_hand_goes_back_to_what_was_there() {
    let spec = json!({ "image": "i", "replicas": 3 });
    assert_eq!(over(app_told(&spec, 2, None), plain(&spec, true)), Some(false), "so its pods need not be replaced");
    let mut with = plain(&spec, true);
    Arc::get_mut(&mut with.view).unwrap().template.has_defaults = true;
    assert_eq!(over(app_told(&spec, 2, None), with), Some(true));
}

#[test]
fn an_orphan_is_taken_over_as_it_is() {
    let spec = json!({ "image": "i", "replicas": 3 });
    let orphan = Some(plain(&spec, false).view);
    let seen = Observed { orphan, ..observed(app_told(&spec, -1, None), ChildState::Absent) };
    assert_eq!(defaults(&plan(&seen, NOW)), Some(false));
}

/// Who replaces the whole of it takes away both, by which alone an earlier one's template is known.
#[test]
fn what_somebody_took_away_comes_back() {
    let spec = json!({ "image": "i", "replicas": 3 });
    let seen = |uid: &str| {
        let mut before = plain(&spec, false);
        let view = Arc::get_mut(&mut before.view).unwrap();
        (view.template.has_defaults, view.meta.uid) = (true, uid.into());
        let mut replaced = plain(&spec, false);
        Arc::get_mut(&mut replaced.view).unwrap().carry_over(Some(&*before.view), std::time::Instant::now());
        over(app_told(&spec, 2, None), replaced)
    };
    assert_eq!(seen("d"), Some(true));
    assert_eq!(seen("other"), None, "another one's");
}
