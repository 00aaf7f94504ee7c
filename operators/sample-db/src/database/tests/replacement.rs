//! Dry runs of the pod that is to replace the serving one.

use super::server::{applied, says, settled, stand, standing};
use super::*;

#[test]
fn a_serving_pod_is_not_deleted_for_one_that_the_api_server_rejects() {
    let mut seen = standing(&json!({}), &settled());
    assert_eq!(replacement_pod(&seen, now()), None, "nothing is to be replaced");
    seen.probe = says(|answer| answer.parameters.restart = vec!["shared_buffers".to_owned()]);
    let asked = replacement_pod(&seen, now()).unwrap();
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

/// The present pod stays, and the message contains that text.
pub(super) fn stays(seen: &Observed, text: &str) {
    let planned = plan(seen, now());
    assert_eq!(done(&planned), Vec::<String>::new());
    let status = planned.status.unwrap();
    assert_eq!(reason(&status, "Ready"), (ConditionStatus::True, "Running".to_owned()));
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "PodRefused".to_owned()));
    let message = &status.contract.condition("Stalled").unwrap().message;
    assert!(message.contains(&format!("the present one is kept: {text}")), "{message}");
}

#[test]
fn a_restart_waits_until_the_api_server_says_whether_it_accepts_the_new_pod() {
    let mut seen = standing(&json!({}), &settled());
    seen.probe = says(|answer| answer.parameters.restart = vec!["shared_buffers".to_owned()]);
    seen.replacement = DryRun::Unknown("failed calling webhook".to_owned());
    let planned = plan(&seen, now());
    assert_eq!(done(&planned), Vec::<String>::new());
    assert_eq!(reason(&planned.status.unwrap(), "Reconciling").1, "ServerRestarting");
}

#[test]
fn the_stateful_set_does_not_get_a_template_whose_pod_is_rejected() {
    let mut seen = standing(&json!({}), &settled());
    seen.db = observed(&json!({ "nodeSelector": { "a": "b" } }), &settled()).db;
    assert_eq!(done(&plan(&seen, now())), ["apply StatefulSet shop"]);
    assert!(replacement_pod(&seen, now()).unwrap().body["spec"]["nodeSelector"]["a"] == "b", "it is asked before");
    seen.replacement = DryRun::Rejected("no".to_owned());
    let planned = plan(&seen, now());
    assert_eq!(done(&planned), Vec::<String>::new());
    assert_eq!(reason(&planned.status.unwrap(), "Stalled").1, "PodRefused");
    // A lost pod would be recreated from the template, too.
    seen.pods.clear();
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new());
}

#[test]
fn no_dry_run_is_needed_for_a_pod_that_does_not_serve() {
    let mut seen = standing(&json!({}), &settled());
    seen.probe = ServerProbe::Skipped;
    seen.db = observed(&json!({ "nodeSelector": { "a": "b" } }), &settled()).db;
    let pods = seen.pods.clone();
    stand(&mut seen);
    seen.pods = pods;
    assert!(replacement_pod(&seen, now()).is_some());
    let mut running = seen.pods[0].details.clone().unwrap();
    running.ready = false;
    let mut pod = Pod::with_details(r#"{"metadata": {"namespace": "n", "name": "shop-0", "uid": "p-1"}}"#).unwrap();
    pod.details = Some(running);
    seen.pods = vec![Arc::new(pod)];
    assert_eq!(
        (replacement_pod(&seen, now()), done(&plan(&seen, now()))),
        (None, vec!["delete Pod shop-0".to_owned()])
    );
}

#[test]
fn nothing_is_tried_while_nothing_is_done() {
    let template = |mut spec: Value| {
        spec["nodeSelector"] = json!({ "a": "b" });
        let mut seen = standing(&json!({}), &settled());
        seen.db = observed(&spec, &settled()).db;
        (replacement_pod(&seen, now()).is_some(), !done(&plan(&seen, now())).is_empty())
    };
    assert_eq!(template(json!({})), (true, true));
    assert_eq!(template(json!({ "paused": true })), (false, false));
}
