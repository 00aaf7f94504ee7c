//! Specs, and steps.

use proptest::prelude::*;
use runtime::cache::Projection;
use runtime::plan::ResourceKind;
use runtime::projections::{Autoscaler, Deployment, DisruptionBudget, HttpRoute, Ingress, Service};
use serde_json::{Value, json};

/// Something that happens.
#[derive(Clone, Debug)]
pub enum Step {
    /// The user edits the spec, or these fields of it alone.
    Edit { spec: Value, only: &'static [&'static str] },
    /// The stores receive that many events, and what the operator wrote itself; then it reconciles.
    Reconcile { sees: usize },
    /// The operator cannot observe, since a watch fails.
    Blind,
    /// All desired pods become ready, and the stores receive it.
    Calm,
    /// The Deployment's controller syncs; a quota may refuse it pods.
    Sync { rejected: bool },
    /// The kubelet gets to that pod.
    Kubelet(usize, State),
    /// The labels of that pod are edited, so that its ReplicaSet releases it.
    Release(usize),
    /// The rollout has had its time.
    TimeOut,
    /// A user edits owned fields of a child.
    HandEdit(ResourceKind),
    /// A user edits owned labels of a child, which changes no generation.
    HandLabel(ResourceKind),
    /// A user deletes a child.
    HandDelete(ResourceKind),
    /// A user deletes a child that has a finalizer, or that finalizer is removed.
    Leave(ResourceKind),
    /// A foreign object takes the name of a child, or is deleted.
    ForeignObject(ResourceKind),
    /// An admission webhook refuses each write of a kind from now on, or no more.
    Webhook(ResourceKind),
    /// The autoscaler syncs, if it does not hang, and requests that many pods.
    Scale(Scaled, i64),
    /// A Gateway's controller reports on the HTTPRoute.
    Gateway { verdict: Verdict, about: About },
    /// The Ingress is given an address, or loses it.
    Address(bool),
    /// The CRD of HTTPRoutes is created or deleted.
    Crd(bool),
    /// The manager notices that, or its discovery fails for a while.
    Discover { fails: bool },
    /// The content of what `restartOn` names: it is changed, or deleted.
    Source(&'static str, Option<u8>),
    /// It is time to read it, and the API server answers so from now on.
    Read(Answer),
    /// How the API server answers dry runs from now on.
    DryRun(Answer),
}

/// How a container is.
#[derive(Clone, Copy, Debug)]
pub enum State {
    Ready,
    PullFails,
    Ended,
    EndsAgain,
}

/// What an autoscaler reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaled {
    Works,
    /// It works, and reports the generation.
    WorksNow,
    Blind,
    BlindNow,
    NoTarget,
}

/// What the controller of a Gateway reports of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Accepted,
    Refused,
    Unresolved,
    Conflicted,
    Silent,
}

/// Of what it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The route as it is, and the Gateway that it names.
    Now,
    /// The route of a generation before.
    Before,
    /// Another Gateway.
    Other,
    /// Another listener of the Gateway.
    Listener,
}

/// How the API server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Yes,
    No,
    Nothing,
}

impl Step {
    /// A reconcile with stores that are up to date.
    pub fn see_all() -> Self {
        Self::Reconcile { sees: usize::MAX }
    }

    /// That pod becomes ready.
    pub fn ready(pod: usize) -> Self {
        Self::Kubelet(pod, State::Ready)
    }

    /// The Deployment's controller syncs.
    pub fn sync() -> Self {
        Self::Sync { rejected: false }
    }

    /// The user edits all of it.
    pub fn edit(spec: Value) -> Self {
        Self::Edit { spec, only: &[] }
    }
}

/// Fields of a valid combination.
const FIELDS: [&[&str]; 9] = [
    &["image"],
    &["replicas", "autoscaling"],
    &["port", "service", "route"],
    &["disruptionBudget"],
    &["rollback"],
    &["paused"],
    &["podOverrides"],
    &["restartOn"],
    &[],
];

pub fn spec() -> impl Strategy<Value = Value> {
    let budget = prop_oneof![3 => Just(Value::Null), 1 => Just(json!({ "minAvailable": 1 }))];
    let rollback = prop_oneof![Just(json!("None")), Just(json!("Automatic"))];
    let paused = prop::bool::weighted(0.08);
    let restart_on = prop_oneof![
        4 => Just(json!([])),
        1 => Just(json!([{ "configMapRef": { "name": "settings" } }])),
        1 => Just(json!([{ "configMapRef": { "name": "settings" } }, { "secretRef": { "name": "keys", "optional": true } }])),
    ];
    (0..3, number(), ways_in(), budget, rollback, paused, overrides(), restart_on).prop_map(
        |(image, (replicas, autoscaling), (port, service, route), budget, rollback, paused, overrides, restart_on)| {
            json!({
                "image": format!("app:{image}"), "replicas": replicas, "autoscaling": autoscaling, "port": port,
                "service": service, "route": route, "disruptionBudget": budget, "rollback": rollback,
                "progressDeadlineSeconds": 10, "paused": paused, "podOverrides": overrides, "restartOn": restart_on,
            })
        },
    )
}

/// Replicas, or an autoscaler.
fn number() -> impl Strategy<Value = (Value, Value)> {
    prop_oneof![
        5 => (0..3).prop_map(|replicas| (json!(replicas), Value::Null)),
        1 => Just((Value::Null, Value::Null)),
        2 => (1..3, 0..2, prop::bool::ANY).prop_map(|(min, more, cpu)| {
            let cpu = if cpu { json!("50%") } else { Value::Null };
            (Value::Null, json!({ "min": min, "max": min + more, "cpu": cpu }))
        }),
    ]
}

/// Port, Service and route.
fn ways_in() -> impl Strategy<Value = (Value, Value, Value)> {
    let port = prop_oneof![Just(json!(80)), Just(json!(81))];
    let service = prop_oneof![
        3 => Just(Value::Null),
        1 => Just(json!({ "type": "NodePort" })),
        1 => Just(json!({ "type": "LoadBalancer", "annotations": { "pool": "blue" } })),
    ];
    let gateway = prop_oneof![
        2 => Just(json!({ "name": "public" })),
        1 => Just(json!({ "name": "public", "namespace": "infra" })),
        1 => Just(json!({ "name": "public", "sectionName": "https" })),
        1 => Just(json!({ "name": "other" })),
    ];
    let host = || prop_oneof![Just("a.example.com"), Just("b.example.com")];
    let route = prop_oneof![
        3 => Just(Value::Null),
        2 => host().prop_map(|host| json!({ "host": host })),
        1 => host().prop_map(|host| json!({ "host": host, "ingressClassName": "haproxy" })),
        4 => (host(), gateway).prop_map(|(host, gateway)| json!({ "host": host, "gateway": gateway })),
    ];
    prop_oneof![
        1 => Just((Value::Null, Value::Null, Value::Null)),
        3 => (port, service, route),
    ]
}

/// Some of them are no pod, or more than the manager allows.
fn overrides() -> impl Strategy<Value = Value> {
    prop_oneof![
        14 => Just(Value::Null),
        3 => Just(json!({ "metadata": { "labels": { "team": "a" } } })),
        3 => Just(json!({ "metadata": { "labels": { "team": "b" } }, "spec": { "nodeSelector": { "disk": "ssd" } } })),
        1 => Just(json!({ "spec": { "tolerations": [{ "operators": "Exists" }] } })),
        1 => Just(json!({ "spec": { "hostPID": true } })),
    ]
}

fn child() -> impl Strategy<Value = ResourceKind> {
    prop_oneof![Just(Deployment::KIND), Just(Service::KIND), Just(DisruptionBudget::KIND), independent(), independent()]
}

fn independent() -> impl Strategy<Value = ResourceKind> {
    prop_oneof![Just(Autoscaler::KIND), Just(Ingress::KIND), Just(HttpRoute::KIND)]
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![3 => Just(Answer::Yes), 1 => Just(Answer::No), 1 => Just(Answer::Nothing)]
}

/// What happens to what belongs to a MyApp.
fn inside() -> impl Strategy<Value = Step> {
    let state = prop_oneof![
        6 => Just(State::Ready),
        1 => Just(State::PullFails),
        1 => Just(State::Ended),
        1 => Just(State::EndsAgain),
    ];
    prop_oneof![
        18 => prop::bool::weighted(0.15).prop_map(|rejected| Step::Sync { rejected }),
        18 => (0..4_usize, state).prop_map(|(pod, state)| Step::Kubelet(pod, state)),
        1 => (0..4_usize).prop_map(Step::Release),
        4 => Just(Step::TimeOut),
        2 => child().prop_map(Step::HandEdit),
        1 => child().prop_map(Step::HandLabel),
        2 => child().prop_map(Step::HandDelete),
        1 => child().prop_map(Step::Leave),
        1 => Just(Step::ForeignObject(Service::KIND)),
        1 => independent().prop_map(Step::ForeignObject),
        1 => child().prop_map(Step::Webhook),
    ]
}

/// What other controllers report.
fn outside() -> impl Strategy<Value = Step> {
    let scaled = prop_oneof![
        Just(Scaled::Works),
        Just(Scaled::WorksNow),
        Just(Scaled::Blind),
        Just(Scaled::BlindNow),
        Just(Scaled::NoTarget),
    ];
    let verdict = prop_oneof![
        4 => Just(Verdict::Accepted),
        1 => Just(Verdict::Refused),
        1 => Just(Verdict::Unresolved),
        1 => Just(Verdict::Conflicted),
        1 => Just(Verdict::Silent),
    ];
    let about = prop_oneof![
        4 => Just(About::Now),
        1 => Just(About::Before),
        1 => Just(About::Other),
        1 => Just(About::Listener),
    ];
    let source = prop_oneof![Just("settings"), Just("keys")];
    prop_oneof![
        4 => (scaled, 1..4_i64).prop_map(|(scaled, number)| Step::Scale(scaled, number)),
        6 => (verdict, about).prop_map(|(verdict, about)| Step::Gateway { verdict, about }),
        2 => prop::bool::weighted(0.8).prop_map(Step::Address),
        2 => prop::bool::weighted(0.7).prop_map(Step::Crd),
        4 => prop::bool::weighted(0.15).prop_map(|fails| Step::Discover { fails }),
        3 => (source, prop::option::weighted(0.7, 0..3_u8)).prop_map(|(source, content)| Step::Source(source, content)),
        3 => answer().prop_map(Step::Read),
        3 => answer().prop_map(Step::DryRun),
    ]
}

pub fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (spec(), prop::sample::select(&FIELDS[..])).prop_map(|(spec, only)| Step::Edit { spec, only }),
        20 => (0..8_usize).prop_map(|sees| Step::Reconcile { sees }),
        14 => Just(Step::see_all()),
        1 => Just(Step::Blind),
        8 => Just(Step::Calm),
        32 => inside(),
        20 => outside(),
    ]
}
