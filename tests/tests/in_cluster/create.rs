//! What MyApps cost that are created.

use api::my_app::{MyApp, MyAppPhase};
use e2e::cluster;
use e2e::namespace::Namespace;
use e2e::objects::{ManagedKind, phase};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::networking::v1::Ingress;

use crate::manifest::my_app;
use crate::writes::{calls, lines, settled, to, writes};

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
            (phase(app?) == Some(MyAppPhase::ScaledToZero)).then_some(())
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
    assert!(reads.is_empty(), "a create needs no read:\n{}", lines(&reads));
}

/// Before the first apply of such a child, the operator reads its name and, since it comes after the Service or the Deployment
/// that it names, its owner. It makes no other request.
#[tokio::test]
async fn children_other_than_pods_cost_two_reads_each_at_most() {
    const MANY: usize = 5;
    let ns = Namespace::new("looks").await;
    let audit = cluster::audit();
    let one = |i| {
        let route = "route: {host: web.example.com, ingressClassName: none}";
        let number = if i == 0 { "autoscaling: {max: 2}" } else { "replicas: 0" };
        my_app(
            &format!("app-{i}"),
            &format!("{{{number}, image: nginx:1.25, port: 80, disruptionBudget: {{maxUnavailable: 1}}, {route}}}"),
        )
    };
    ns.apply(&(0..MANY).map(one).collect::<Vec<_>>().join("---\n")).await;
    for i in 0..MANY {
        let name = format!("app-{i}");
        ns.until::<MyApp, _>(&name, "it to be ready", |app| app?.is_ready().then_some(())).await;
        ns.until::<Ingress, _>(&name, "it to be created", |created| created.map(|_| ())).await;
    }
    ns.until::<HorizontalPodAutoscaler, _>("app-0", "it to be created", |created| created.map(|_| ())).await;
    settled(&audit, &ns).await;
    let reads: Vec<_> = calls(&audit, &ns).into_iter().filter(|call| call.verb == "get").collect();
    let count = |resource: &str| reads.iter().filter(|call| call.resource == resource).count();
    let [ingresses, scalers, owners] = ["ingresses", "horizontalpodautoscalers", "myapps"].map(count);
    println!("{MANY} Ingresses and an autoscaler: {} reads, {owners} of them of owners", reads.len());
    assert_eq!([ingresses, scalers, ingresses + scalers + owners], [MANY, 1, reads.len()], "{}", lines(&reads));
    assert!(owners <= MANY + 1, "{}", lines(&reads));
    let written = writes(&audit, &ns);
    for resource in ["deployments", "services", "poddisruptionbudgets", "ingresses"] {
        assert_eq!(to(&written, resource).len(), MANY, "{resource}: one write each:\n{}", lines(&written));
    }
    assert_eq!(to(&written, "horizontalpodautoscalers").len(), 1, "{}", lines(&written));
}
