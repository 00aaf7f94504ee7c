//! What can happen to a MyApp, drawn at random.

use proptest::prelude::*;
use runtime::cache::Projection;
use runtime::plan::ResourceKind;
use runtime::projections::{Deployment, DisruptionBudget, HttpRoute, Ingress, Service};
use serde_json::{Value, json};

/// Something that happens.
#[derive(Clone, Debug)]
pub enum Step {
    /// The user edits the spec.
    Edit(Value),
    /// The user requests a restart.
    Restart(u8),
    /// The stores receive that many events, then the operator reconciles, and crashes after that many writes.
    Reconcile { sees: usize, lives: Option<usize> },
    /// The Deployment's own controller gets that far.
    Rollout { ready: i32 },
    /// What `restartOn` names changes, or cannot be read for a while.
    Content(Option<u8>),
    /// A user edits an owned field of a child.
    HandEdit(Child),
    /// A user adds to a part of a child that the operator owns completely.
    HandAdd(Child),
    /// A user deletes a child.
    HandDelete(Child),
    /// The user deletes the MyApp and creates it again at once.
    Recreate,
    /// A foreign Service of that name is created, if there is none.
    ForeignObject,
}

#[derive(Clone, Copy, Debug)]
pub enum Child {
    Deployment,
    Service,
    Budget,
    Ingress,
    HttpRoute,
}

impl Child {
    pub fn kind(self) -> ResourceKind {
        match self {
            Self::Deployment => Deployment::KIND,
            Self::Service => Service::KIND,
            Self::Budget => DisruptionBudget::KIND,
            Self::Ingress => Ingress::KIND,
            Self::HttpRoute => HttpRoute::KIND,
        }
    }
}

pub fn spec() -> impl Strategy<Value = Value> {
    let replicas = prop_oneof![Just(Value::Null), (0..4).prop_map(Value::from)];
    let port = prop_oneof![Just(Value::Null), Just(json!(80)), Just(json!(8080))];
    let budget =
        prop_oneof![Just(Value::Null), Just(json!({ "minAvailable": 1 })), Just(json!({ "maxUnavailable": "25%" }))];
    let env =
        prop_oneof![Just(json!([])), Just(json!([{ "name": "A", "value": "1" }])), Just(json!([{ "name": "A" }]))];
    let strategy = prop_oneof![
        3 => Just(Value::Null),
        1 => Just(json!({ "type": "Recreate" })),
        1 => Just(json!({ "rollingUpdate": { "maxSurge": 1, "maxUnavailable": "10%" } })),
    ];
    let files = prop_oneof![
        2 => Just(json!([])),
        1 => Just(json!([{ "mountPath": "/etc/app", "configMap": { "name": "settings" } }])),
        1 => Just(json!([{ "mountPath": "/etc/app", "secret": { "name": "keys" } }])),
    ];
    let service = prop_oneof![
        2 => Just(Value::Null),
        1 => Just(json!({ "type": "NodePort" })),
        1 => Just(json!({ "type": "LoadBalancer", "annotations": { "pool": "blue" } })),
    ];
    let route = prop_oneof![
        3 => Just(Value::Null),
        1 => Just(json!({ "host": "a.b" })),
        1 => Just(json!({ "host": "a.b", "tlsSecret": "a" })),
        1 => Just(json!({ "host": "a.b", "gateway": { "name": "public" } })),
    ];
    let restart_on = prop_oneof![2 => Just(json!([])), 1 => Just(json!([{ "configMapRef": { "name": "settings" } }]))];
    let pods = (overrides(), restart_on);
    let ways_in = (service, route);
    (0..3, replicas, port, budget, env, prop::bool::weighted(0.1), strategy, files, ways_in, pods).prop_map(
        |(image, replicas, port, budget, env, paused, strategy, files, (service, route), (overrides, restart_on))| {
            json!({
                "image": format!("app:{image}"), "replicas": replicas, "port": port, "disruptionBudget": budget,
                "env": env, "paused": paused, "strategy": strategy, "files": files, "service": service,
                "route": route, "podOverrides": overrides, "restartOn": restart_on,
            })
        },
    )
}

/// Some of them are refused.
fn overrides() -> impl Strategy<Value = Value> {
    let spread = json!([{ "maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule" }]);
    prop_oneof![
        4 => Just(Value::Null),
        1 => Just(json!({ "metadata": { "labels": { "team": "a" } }, "spec": { "tolerations": [{ "operator": "Exists" }] } })),
        1 => Just(json!({ "metadata": { "annotations": { "a": "b" } }, "spec": { "topologySpreadConstraints": spread } })),
        1 => Just(json!({ "spec": { "topologySpreadConstraints": [], "schedulerName": "other" } })),
        1 => Just(json!({ "spec": { "unknown": 1 } })),
        1 => Just(json!({ "spec": { "hostNetwork": true } })),
    ]
}

fn child() -> impl Strategy<Value = Child> {
    prop_oneof![
        Just(Child::Deployment),
        Just(Child::Service),
        Just(Child::Budget),
        Just(Child::Ingress),
        Just(Child::HttpRoute),
    ]
}

pub fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => spec().prop_map(Step::Edit),
        1 => any::<u8>().prop_map(Step::Restart),
        8 => (0..6_usize, prop::option::of(0..4_usize)).prop_map(|(sees, lives)| Step::Reconcile { sees, lives }),
        3 => (0..4).prop_map(|ready| Step::Rollout { ready }),
        1 => prop::option::of(0..3_u8).prop_map(Step::Content),
        1 => child().prop_map(Step::HandEdit),
        1 => child().prop_map(Step::HandAdd),
        1 => child().prop_map(Step::HandDelete),
        1 => Just(Step::Recreate),
        1 => Just(Step::ForeignObject),
    ]
}

/// Edits that the API server accepts, and that an apply would not revert or for which it would be rejected.
pub fn add_to(child: Child, spec: &mut Value) {
    match child {
        Child::Service => {
            spec["type"] = json!("LoadBalancer");
            spec["selector"]["x"] = json!("y");
            if let Some(ports) = spec["ports"].as_array_mut() {
                ports[0]["port"] = json!(81);
                ports.push(json!({ "name": "more", "port": 82, "protocol": "UDP" }));
            }
        }
        Child::Deployment => {
            spec["minReadySeconds"] = json!(3);
            spec["template"]["spec"]["serviceAccountName"] = json!("root");
            spec["template"]["spec"]["containers"][0]["command"] = json!(["sleep"]);
            spec["template"]["spec"]["containers"][0]["lifecycle"] =
                json!({ "preStop": { "sleep": { "seconds": 1 } } });
        }
        Child::Budget => {
            drop(spec.as_object_mut().map(|spec| spec.remove("minAvailable")));
            spec["maxUnavailable"] = json!(3);
        }
        Child::Ingress => {
            spec["tls"] = json!([{ "secretName": "theirs" }]);
            spec["defaultBackend"] = json!({ "service": { "name": "theirs" } });
        }
        Child::HttpRoute => spec["hostnames"] = json!(["theirs.example.com"]),
    }
}
