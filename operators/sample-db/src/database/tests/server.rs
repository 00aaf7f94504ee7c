//! What follows from the server's pod, and from what the server reports.

use runtime::projections::{ConfigMap, Service, StatefulSet};

use super::*;
use crate::database::login::LoginCheck;
use crate::database::server_info::{ParameterDiff, ServerInfo};

/// What a plan applies.
pub(super) fn applied<'a>(plan: &'a DbPlan, kind: &str, name: &str) -> &'a Apply {
    let is = |apply: &&Apply| apply.kind.kind == kind && *apply.key.name == *name;
    let applies = plan.effects.iter().filter_map(|effect| match effect {
        Effect::Apply(apply) => Some(apply),
        _ => None,
    });
    let mut applies = applies.chain(&plan.independent);
    applies.find(is).unwrap_or_else(|| panic!("no {kind} {name}"))
}

/// A projection of what was applied, as the API server would have it.
pub(super) fn live<V: Projection>(plan: &DbPlan, name: &str) -> ChildState<V> {
    live_of(applied(plan, V::KIND.kind, name), name)
}

fn live_of<V: Projection>(apply: &Apply, name: &str) -> ChildState<V> {
    let mut object = apply.body.clone();
    object["metadata"]["uid"] = json!(name);
    object["metadata"]["generation"] = json!(1);
    if V::KIND.kind == "StatefulSet" {
        object["status"] = json!({ "observedGeneration": 1 });
    }
    let view = Arc::new(V::decode(&object.to_string()).unwrap());
    ChildState::Owned(runtime::plan::child::OwnedChild { view, fingerprint: apply.fingerprint() })
}

/// A database with children and a running pod; nothing is left to do.
pub(super) fn standing(spec: &Value, status: &Value) -> Observed {
    let mut seen = observed(spec, status);
    seen.claims = vec![claim("u-1", "c-1")];
    stand(&mut seen);
    seen.probe = says(|_| ());
    seen
}

/// Children and pod as the plan renders them now.
pub(super) fn stand(seen: &mut Observed) {
    (seen.server, seen.configuration) = (ChildState::Absent, ChildState::Absent);
    (seen.peers, seen.read_write, seen.connection) = (ChildState::Absent, ChildState::Absent, ChildState::Absent);
    let created = plan(seen, now());
    seen.peers = live::<Service>(&created, "shop-pods");
    seen.read_write = live::<Service>(&created, "shop-rw");
    seen.connection = live::<ConfigMap>(&created, "shop-connection");
    seen.configuration = live::<ConfigMap>(&created, "shop-configuration");
    let server = crate::operand::names::server(&seen.db).to_owned();
    seen.server = live::<StatefulSet>(&created, &server);
    seen.pods = vec![pod_of(&created, &server, true)];
}

/// The pod of a StatefulSet that a plan applies.
pub(super) fn pod_of(plan: &DbPlan, server: &str, ready: bool) -> Arc<Pod> {
    let template = &applied(plan, "StatefulSet", server).body["spec"]["template"];
    let mut pod = json!({ "metadata": template["metadata"].clone(), "status": {
        "podIP": "10.0.0.1", "conditions": [{ "type": "Ready", "status": if ready { "True" } else { "False" } }] } });
    let name = format!("{server}-0");
    for (key, value) in [("namespace", "n"), ("name", &*name), ("uid", "p-1")] {
        pod["metadata"][key] = json!(value);
    }
    pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] = json!(name);
    Arc::new(Pod::decode(&pod.to_string()).unwrap())
}

/// The server's pod, terminating: its containers still run.
pub(super) fn terminating_pod(seen: &Observed) -> Arc<Pod> {
    let mut pod = Pod::decode(
        &json!({ "metadata": { "namespace": "n", "name": "shop-0", "uid": "p-1",
        "deletionTimestamp": "2027-01-15T07:59:58Z" } })
        .to_string(),
    )
    .unwrap();
    pod.details.clone_from(&seen.pods[0].details);
    Arc::new(pod)
}

/// A report of the server.
pub(super) fn says(but: impl FnOnce(&mut ServerInfo)) -> ServerProbe {
    let mut answer = ServerInfo {
        system_identifier: "7".to_owned(),
        version: "17.12".to_owned(),
        login: LoginCheck::Ok,
        parameters: ParameterDiff::default(),
        bytes: 1 << 20,
        room: None,
        attempt: None,
    };
    but(&mut answer);
    ServerProbe::Answered(Box::new(answer))
}

pub(super) fn settled() -> Value {
    let mut status = initialised();
    status["backup"] = json!({ "lastScheduled": "2027-01-15T07:59:00Z" });
    status
}

/// What an earlier manager rendered differently is applied when the StatefulSet changes anyway.
#[test]
fn an_upgrade_of_the_manager_writes_no_stateful_set() {
    const NAMED: &str = "kubectl.kubernetes.io/default-container";
    let period = |template: &Value| template["spec"]["containers"][0]["readinessProbe"]["periodSeconds"].clone();
    let mut seen = observed(&json!({}), &settled());
    seen.claims = vec![claim("u-1", "c-1")];
    let mut earlier = applied(&plan(&seen, now()), "StatefulSet", "shop").clone();
    stand(&mut seen);
    seen.probe = says(|_| ());
    let template = &mut earlier.body["spec"]["template"];
    assert!(template["metadata"]["annotations"].as_object_mut().unwrap().remove(scheduling::PLACEMENT).is_some());
    seen.server = live_of(&earlier, "shop");
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new(), "of which no placement was noted");
    let template = &mut earlier.body["spec"]["template"];
    assert_eq!(period(template), 5);
    let command = template["spec"]["containers"][0]["command"].as_array_mut().unwrap();
    assert_eq!(command.pop(), Some(json!("--configuration=/etc/sampledb")));
    seen.server = live_of(&earlier, "shop");
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new(), "with parameters that have no stand-ins");
    let template = &mut earlier.body["spec"]["template"];
    template["spec"]["containers"][0]["readinessProbe"]["periodSeconds"] = json!(2);
    seen.server = live_of(&earlier, "shop");
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new(), "with these, and frequent probes");
    let annotations = earlier.body["spec"]["template"]["metadata"]["annotations"].as_object_mut().unwrap();
    assert_eq!(annotations.remove(NAMED), Some(json!("postgres")));
    seen.server = live_of(&earlier, "shop");
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new(), "with these, and no default container");

    seen.db = observed(&json!({ "nodeSelector": { "a": "b" } }), &settled()).db;
    let changed = plan(&seen, now());
    let template = &applied(&changed, "StatefulSet", "shop").body["spec"]["template"];
    assert_eq!(template["metadata"]["annotations"][NAMED], "postgres");
    assert_eq!(period(template), 5);
}

#[test]
fn a_serving_database_is_left_alone() {
    let plan = plan(&standing(&json!({}), &settled()), now());
    assert_eq!(done(&plan), Vec::<String>::new());
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "Ready"), (ConditionStatus::True, "Running".to_owned()));
    assert_eq!(reason(&status, "UpToDate"), (ConditionStatus::True, "Current".to_owned()));
    assert_eq!((status.phase, status.ready.as_deref()), (Some(SampleDBPhase::Running), Some("1/1")));
}

#[test]
fn a_terminating_pod_is_not_ready() {
    let mut seen = standing(&json!({}), &settled());
    seen.pods = vec![terminating_pod(&seen)];
    let plan = plan(&seen, now());
    assert_eq!(done(&plan), Vec::<String>::new());
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "Ready"), (ConditionStatus::False, "ServerStarting".to_owned()));
    assert_eq!((status.ready.as_deref(), status.ready_replicas), (Some("0/1"), Some(0)));
}

#[test]
fn blocked_clients_are_allowed_and_the_password_of_the_secret_is_set() {
    let mut seen = standing(&json!({}), &settled());
    seen.probe = says(|answer| answer.login = LoginCheck::Blocked);
    assert_eq!(done(&plan(&seen, now())), ["AllowConnections"]);
    seen.probe = says(|answer| answer.login = LoginCheck::BadPassword);
    assert_eq!(done(&plan(&seen, now())), ["SetPassword"]);
    seen.probe = says(|answer| answer.system_identifier = "8".to_owned());
    let strange = plan(&seen, now());
    assert!(strange.effects.is_empty());
    assert_eq!(reason(&strange.status.unwrap(), "Stalled").1, "ForeignData");
}

#[test]
fn a_lost_superusers_secret_is_recreated_and_set_at_the_servers_next_start() {
    let mut seen = standing(&json!({}), &settled());
    seen.superuser_secret = SecretState::Absent;
    assert_eq!(done(&plan(&seen, now())), ["CreateSecret(System)"]);
    (seen.superuser_secret, seen.password_regenerated_at, seen.probe) =
        (SecretState::Usable, Some("today".to_owned()), ServerProbe::BadPassword);
    let planned = plan(&seen, now());
    assert_eq!(done(&planned), ["apply StatefulSet shop"]);
    assert!(applied(&planned, "StatefulSet", "shop").body.to_string().contains("--reset-password"));
    let pods = seen.pods.clone();
    stand(&mut seen);
    seen.pods = pods;
    assert_eq!(done(&plan(&seen, now())), ["delete Pod shop-0"]);
}

#[test]
fn a_restart_waits_for_a_backup_and_for_the_statefulset_controller() {
    let mut seen = standing(&json!({}), &settled());
    seen.probe = says(|answer| answer.parameters.restart = vec!["shared_buffers".to_owned()]);
    seen.snapshots = vec![snapshot("shop-x", "Manual", &json!({ "phase": "Running" }))];
    assert!(plan(&seen, now()).effects.is_empty());
    seen.snapshots.clear();
    assert_eq!(done(&plan(&seen, now())), ["delete Pod shop-0"]);
}

#[test]
fn sql_that_failed_runs_again_once_it_changed() {
    let spec = json!({ "init": { "sqlFrom": [{ "configMapKeyRef": { "name": "sql", "key": "a" } }] } });
    let mut status = initialised();
    status["initialization"] = json!({ "dataCreatedAt": "2026-01-01T00:00:00Z" });
    let mut seen = observed(&spec, &status);
    seen.claims = vec![held_claim("u-1", "c-1")];
    stand(&mut seen);
    seen.init_sources = InitSources::Missing("the entry a of the ConfigMap sql (init.sqlFrom) is missing".to_owned());
    let planned = plan(&seen, now());
    assert_eq!(
        (done(&planned).len(), reason(&planned.status.unwrap(), "Stalled").1.as_str()),
        (0, "InitSourceMissing")
    );
    seen.init_sources = InitSources::Digest("one".to_owned());
    let begun = plan(&seen, now());
    assert_eq!(done(&begun), ["create Job shop-init"]);
    let noted = begun.status.unwrap().initialization;
    assert_eq!(noted.sql_digest.as_deref(), Some("one"));
    let job = json!({ "metadata": { "namespace": "n", "name": "shop-init", "uid": "j" }, "status": { "conditions": [
        { "type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "no" }] } });
    let failed = |digest: &str, noted: &api::sample_db::InitializationStatus| {
        let mut status = status.clone();
        status["initialization"] = serde_json::to_value(noted).unwrap();
        let mut seen = observed(&spec, &status);
        seen.claims = vec![held_claim("u-1", "c-1")];
        stand(&mut seen);
        seen.jobs = vec![Arc::new(runtime::projections::Job::decode(&job.to_string()).unwrap())];
        seen.init_sources = InitSources::Digest(digest.to_owned());
        plan(&seen, now())
    };
    let planned = failed("one", &noted).status.unwrap();
    assert_eq!(reason(&planned, "Stalled").1, "InitFailed");
    assert_eq!(planned.initialization.failed_digest.as_deref(), Some("one"));
    assert!(done(&failed("one", &planned.initialization)).is_empty());
    assert_eq!(done(&failed("two", &planned.initialization)), ["delete Job shop-init"]);
}

#[test]
fn entries_derived_from_an_edited_password_are_updated() {
    let mut seen = standing(&json!({}), &settled());
    seen.app_secret = SecretState::Outdated;
    assert_eq!(done(&plan(&seen, now())), ["UpdateSecret(App)"]);
}

#[test]
fn a_pod_that_does_not_start_is_recreated_once_its_template_changed() {
    let mut seen = standing(&json!({}), &settled());
    let failing = |revision: &str| {
        let running = seen.pods[0].details.as_ref().unwrap();
        let mut pod = json!({ "metadata": { "namespace": "n", "name": "shop-0", "uid": "p-1", "labels": running.labels,
            "annotations": running.annotations }, "status": {} });
        pod["metadata"]["labels"]["controller-revision-hash"] = json!(revision);
        pod["status"]["containerStatuses"] = json!([{ "name": "postgres", "image": "i", "restartCount": 9, "state": {
            "waiting": { "reason": "CrashLoopBackOff", "message": "back-off" } }, "lastState": { "terminated": {
            "exitCode": 1, "message": "FATAL: it is broken" } } }]);
        Arc::new(Pod::decode(&pod.to_string()).unwrap())
    };
    let (old, new) = (failing("shop-1"), failing("shop-2"));
    let ChildState::Owned(live) = &seen.server else { panic!("no server") };
    let status = json!({ "observedGeneration": 1, "updateRevision": "shop-2" });
    let server = json!({ "metadata": { "namespace": "n", "name": "shop", "uid": "shop", "generation": 1 },
        "status": status });
    let view = Arc::new(StatefulSet::decode(&server.to_string()).unwrap());
    seen.server = ChildState::Owned(runtime::plan::child::OwnedChild { view, fingerprint: live.fingerprint });
    seen.pods = vec![old];
    assert_eq!(done(&plan(&seen, now())), ["delete Pod shop-0"]);
    seen.pods = vec![new];
    let planned = plan(&seen, now());
    assert!(planned.effects.is_empty());
    let message = planned.status.unwrap().contract.condition("Stalled").unwrap().message.clone();
    assert!(message.contains("it is broken"), "{message}");
}
