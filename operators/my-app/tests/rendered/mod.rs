//! The desired children of a MyApp that has none.

use std::sync::Arc;

use my_app::MyApp;
use my_app::plan::{Observed, OverrideLimit, plan};
use runtime::cache::Projection;
use runtime::plan::child::OwnedChild;
use runtime::plan::{Apply, ChildState, Effect};
use runtime::testing::NOW;
use serde_json::{Value, json};

/// The applies in their order. Children that refer to a Deployment or a Service are applied once it exists.
pub fn children(app: &Value) -> Vec<Value> {
    let app = Arc::new(MyApp::decode(&app.to_string()).expect("a MyApp"));
    let mut observed = Observed { limit: OverrideLimit::All, ..Observed::new(app) };
    let first = plan(&observed, NOW);
    let mut children: Vec<Apply> = first.effects.into_iter().map(applied).chain(first.independent).collect();
    observed.deployment = created(&children);
    observed.service = created(&children);
    children.extend(plan(&observed, NOW).independent);
    children.into_iter().map(|apply| apply.body).collect()
}

fn applied(effect: Effect) -> Apply {
    match effect {
        Effect::Apply(apply) => apply,
        other => panic!("{other:?} is not an apply"),
    }
}

/// One of them after it was created.
fn created<V: Projection>(children: &[Apply]) -> ChildState<V> {
    let Some(apply) = children.iter().find(|apply| apply.kind == V::KIND) else { return ChildState::Absent };
    let mut object = apply.body.clone();
    object["metadata"]["uid"] = json!("created");
    let view = Arc::new(V::decode(&object.to_string()).expect("a child"));
    ChildState::Owned(OwnedChild { fingerprint: apply.fingerprint(), view })
}
