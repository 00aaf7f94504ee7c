//! The API server is asked about the pod that is to replace the one that serves.

use super::server::{applied, says, settled, stand, standing};
use super::*;

#[test]
fn a_pod_that_serves_is_not_deleted_for_one_that_the_api_server_does_not_take() {
    let mut seen = standing(&json!({}), &settled());
    assert_eq!(trial(&seen, now()), None, "nothing is to be replaced");
    seen.asked = says(|answer| answer.parameters.restart = vec!["shared_buffers".to_owned()]);
    let asked = trial(&seen, now()).unwrap();
    assert_eq!((asked.kind.kind, &*asked.key.name), ("Pod", "shop-probe"));
    let mut fresh = observed(&json!({}), &settled());
    fresh.claims = vec![claim("u-1", "c-1")];
    let template = applied(&plan(&fresh, now()), "StatefulSet", "shop").body["spec"]["template"].clone();
    assert_eq!(asked.body["spec"], template["spec"]);
    assert_eq!(asked.body["metadata"]["labels"], template["metadata"]["labels"]);
    assert_eq!(done(&plan(&seen, now())), ["delete Pod shop-0"]);

    seen.replacement = DryRun::Rejected("exceeded quota: small".to_owned());
    stays(&seen, "exceeded quota: small; correct the spec");
}

/// The present pod stays, and that is told with these words.
pub(super) fn stays(seen: &Observed, words: &str) {
    let told = plan(seen, now());
    assert_eq!(done(&told), Vec::<String>::new());
    let status = told.status.unwrap();
    assert_eq!(reason(&status, "Ready"), (ConditionStatus::True, "Running".to_owned()));
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "PodRefused".to_owned()));
    let message = &status.contract.condition("Stalled").unwrap().message;
    assert!(message.contains(&format!("the present one stays: {words}")), "{message}");
}

#[test]
fn while_the_api_server_does_not_say_whether_it_takes_the_new_pod_it_is_waited_for() {
    let mut seen = standing(&json!({}), &settled());
    seen.asked = says(|answer| answer.parameters.restart = vec!["shared_buffers".to_owned()]);
    seen.replacement = DryRun::Unknown("failed calling webhook".to_owned());
    let told = plan(&seen, now());
    assert_eq!(done(&told), Vec::<String>::new());
    assert_eq!(reason(&told.status.unwrap(), "Reconciling").1, "ServerRestarting");
}

#[test]
fn the_stateful_set_does_not_get_a_template_whose_pod_is_rejected() {
    let mut seen = standing(&json!({}), &settled());
    seen.db = observed(&json!({ "nodeSelector": { "a": "b" } }), &settled()).db;
    assert_eq!(done(&plan(&seen, now())), ["apply StatefulSet shop"]);
    assert!(trial(&seen, now()).unwrap().body["spec"]["nodeSelector"]["a"] == "b", "it is asked before");
    seen.replacement = DryRun::Rejected("no".to_owned());
    let told = plan(&seen, now());
    assert_eq!(done(&told), Vec::<String>::new());
    assert_eq!(reason(&told.status.unwrap(), "Stalled").1, "PodRefused");
    // It would be made of the template, too, if the present one were lost.
    seen.pods.clear();
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new());
}

#[test]
fn for_a_pod_that_does_not_serve_nothing_is_asked() {
    let mut seen = standing(&json!({}), &settled());
    seen.asked = Asked::Nothing;
    seen.db = observed(&json!({ "nodeSelector": { "a": "b" } }), &settled()).db;
    let pods = seen.pods.clone();
    stand(&mut seen);
    seen.pods = pods;
    assert!(trial(&seen, now()).is_some());
    let mut running = seen.pods[0].running.clone().unwrap();
    running.ready = false;
    let mut pod = Pod::whole(r#"{"metadata": {"namespace": "n", "name": "shop-0", "uid": "p-1"}}"#).unwrap();
    pod.running = Some(running);
    seen.pods = vec![Arc::new(pod)];
    assert_eq!((trial(&seen, now()), done(&plan(&seen, now()))), (None, vec!["delete Pod shop-0".to_owned()]));
}
