//! What MyApps cost that are created.

use api::my_app::{MyApp, Phase};
use e2e::cluster;
use e2e::namespace::Namespace;
use e2e::objects::phase;

use crate::writes::{calls, lines, settled, writes};

#[tokio::test]
async fn many_at_once_without_pods_cost_two_writes_each() {
    const MANY: usize = 20;
    let ns = Namespace::new("zero").await;
    let audit = cluster::audit();
    let one = |i| {
        format!(
            "apiVersion: example.com/v1\nkind: MyApp\nmetadata: {{name: app-{i}}}\nspec: {{replicas: 0, image: nginx:1.25}}\n"
        )
    };
    ns.apply(&(0..MANY).map(one).collect::<Vec<_>>().join("---\n")).await;
    for i in 0..MANY {
        let name = format!("app-{i}");
        ns.until::<MyApp, _>(&name, "a MyApp without pods to be done", |app| {
            (phase(app?) == Some(Phase::ScaledToZero)).then_some(())
        })
        .await;
    }
    settled(&audit, &ns).await;
    let written = writes(&audit, &ns);
    for i in 0..MANY {
        let name = format!("app-{i}");
        let its: Vec<_> = written.iter().filter(|call| call.name == name).cloned().collect();
        assert!(matches!(its.len(), 1..=2), "{name} cost {} writes:\n{}", its.len(), lines(&its));
    }
    let reads = calls(&audit, &ns).into_iter().filter(|call| !call.is_write()).collect::<Vec<_>>();
    println!("{MANY} MyApps: {} writes, {} reads", written.len(), reads.len());
    assert!(reads.is_empty(), "what is created needs no look:\n{}", lines(&reads));
}
