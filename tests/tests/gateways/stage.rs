//! What these tests have in common: a MyApp that returns each request's details, its hosts, and what to wait for.

use api::ConditionStatus;
use api::my_app::{MyApp, ROUTE_ACCEPTED};
use e2e::namespace::Namespace;
use e2e::objects::{ManagedKind, runs};

use crate::requests::{Answer, get};

/// The class of Ingresses and of Gateways that the controller serves.
pub(crate) const CLASS: &str = "traefik";
/// The pods answer every path below it with the details of the request.
pub(crate) const ANYTHING: &str = "/anything/here";

/// A host that no other test has.
pub(crate) fn host(ns: &Namespace, name: &str) -> String {
    format!("{name}.{}.example.com", ns.name)
}

/// A MyApp of this many pods, with this route. Its pods return their names at `/hostname`, and serve for as long as the
/// controller may take to learn that they are terminating, as docs/my-app.md says.
pub(crate) fn my_app(name: &str, replicas: u32, route: &str) -> String {
    format!(
        "apiVersion: example.com/v1
kind: MyApp
metadata: {{name: {name}}}
spec:
  image: docker.io/mccutchen/go-httpbin:v2.15.0
  imagePullPolicy: IfNotPresent
  replicas: {replicas}
  ports: [{{name: http, port: 80, targetPort: 8080}}]
  env: [{{name: USE_REAL_HOSTNAME, value: 'true'}}]
  preStop: {{sleep: {{seconds: 10}}}}
  route: {route}
"
    )
}

/// A Gateway for HTTP at the controller's port, which accepts routes from the namespaces that `from` says.
pub(crate) fn gateway(from: &str) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: public}}
spec:
  gatewayClassName: {CLASS}
  listeners: [{{name: http, port: 80, protocol: HTTP, allowedRoutes: {{namespaces: {from}}}}}]
"
    )
}

/// Until all pods of a MyApp run.
pub(crate) async fn run(ns: &Namespace, name: &str, pods: i32) {
    ns.until::<MyApp, ()>(name, "it to run", |app| runs(app?, pods).then_some(())).await;
}

/// Until the MyApp says that of its route as it is now; says the rest.
pub(crate) async fn routed(ns: &Namespace, name: &str, status: ConditionStatus, reason: &str) -> String {
    let what = format!("RouteAccepted={status:?} {reason}");
    ns.until::<MyApp, _>(name, &what, |app| {
        let condition = app?.condition(ROUTE_ACCEPTED)?;
        (condition.status == status && condition.reason.as_str() == reason).then(|| condition.message.clone())
    })
    .await
}

/// Until a request is answered with that code.
pub(crate) async fn answered(ns: &Namespace, host: &str, path: &str, code: u16) -> Answer {
    ns.eventually(&format!("{code} from {host}{path}"), || async {
        let answer = get(host, path).await?;
        if answer.code == code { Ok(answer) } else { Err(format!("{answer:?}")) }
    })
    .await
}

/// That a request is answered with that code at once.
///
/// # Panics
/// If it is not.
pub(crate) async fn answers(host: &str, path: &str, code: u16) -> Answer {
    let answer = get(host, path).await.unwrap_or_else(|error| panic!("{host}{path}: {error}"));
    assert_eq!(answer.code, code, "{host}{path}: {answer:?}");
    answer
}
