//! The children of a MyApp that has none yet.

use std::sync::Arc;

use my_app::MyApp;
use my_app::plan::{Contents, Limit, Observed, plan};
use runtime::cache::Projection;
use runtime::plan::child::{OwnedChild, Served};
use runtime::plan::{Apply, ChildState, Effect};
use runtime::testing::NOW;
use serde_json::{Value, json};

/// They are applied one after another: those that name a Deployment or a Service come once that is there.
pub fn children(app: &Value) -> Vec<Value> {
    let mut observed = Observed {
        app: Arc::new(MyApp::decode(&app.to_string()).expect("a MyApp")),
        deployment: ChildState::Absent,
        service: ChildState::Absent,
        budget: ChildState::Absent,
        autoscaler: ChildState::Absent,
        ingress: ChildState::Absent,
        http_route: Served::Child(ChildState::Absent),
        failing_pods: Vec::new(),
        starting: Vec::new(),
        orphan: None,
        limit: Limit::All,
        contents: Contents::default(),
        dry_run_failure: None,
        standstill: None,
    };
    let first = plan(&observed, NOW);
    let mut children: Vec<Apply> = first.effects.into_iter().map(applied).chain(first.independent).collect();
    observed.deployment = made(&children);
    observed.service = made(&children);
    children.extend(plan(&observed, NOW).independent);
    children.into_iter().map(|apply| apply.body).collect()
}

fn applied(effect: Effect) -> Apply {
    match effect {
        Effect::Apply(apply) => apply,
        other => panic!("{other:?} is no apply"),
    }
}

/// One of them, as it is once it is there.
fn made<V: Projection>(children: &[Apply]) -> ChildState<V> {
    let Some(apply) = children.iter().find(|apply| apply.kind == V::KIND) else { return ChildState::Absent };
    let mut object = apply.body.clone();
    object["metadata"]["uid"] = json!("made");
    let view = Arc::new(V::decode(&object.to_string()).expect("a child"));
    ChildState::Owned(OwnedChild { fingerprint: apply.fingerprint(), view })
}
