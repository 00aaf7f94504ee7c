//! The children of a MyApp that has none yet.

use std::sync::Arc;

use my_app::MyApp;
use my_app::plan::{Contents, Limit, Observed, plan};
use runtime::cache::View;
use runtime::plan::seen::{Live, Served};
use runtime::plan::{Apply, Effect, Seen};
use runtime::testing::NOW;
use serde_json::{Value, json};

/// They are applied one after another: those that name a Deployment or a Service come once that is there.
pub fn children(app: &Value) -> Vec<Value> {
    let mut observed = Observed {
        app: Arc::new(MyApp::decode(&app.to_string()).expect("a MyApp")),
        deployment: Seen::Absent,
        service: Seen::Absent,
        budget: Seen::Absent,
        autoscaler: Seen::Absent,
        ingress: Seen::Absent,
        http_route: Served::Seen(Seen::Absent),
        troubles: Vec::new(),
        starting: Vec::new(),
        orphan: None,
        limit: Limit::All,
        contents: Contents::default(),
        refused: None,
        stand: None,
    };
    let first = plan(&observed, NOW);
    let mut children: Vec<Apply> = first.effects.into_iter().map(applied).chain(first.aside).collect();
    observed.deployment = made(&children);
    observed.service = made(&children);
    children.extend(plan(&observed, NOW).aside);
    children.into_iter().map(|apply| apply.body).collect()
}

fn applied(effect: Effect) -> Apply {
    match effect {
        Effect::Apply(apply) => apply,
        other => panic!("{other:?} is no apply"),
    }
}

/// One of them, as it is once it is there.
fn made<V: View>(children: &[Apply]) -> Seen<V> {
    let Some(apply) = children.iter().find(|apply| apply.kind == V::KIND) else { return Seen::Absent };
    let mut object = apply.body.clone();
    object["metadata"]["uid"] = json!("made");
    let view = Arc::new(V::decode(&object.to_string()).expect("a child"));
    Seen::Ours(Live { fingerprint: apply.fingerprint(), view })
}
