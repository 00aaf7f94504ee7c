//! Public manifests, rewritten as MyApps (docs/migrating-to-my-app.md), run where their image can be had: those of nginx, whose
//! tag here is 1.25; go-httpbin; and one that runs nothing but /bin/sleep, for which the image of nginx stands in.

use api::my_app::MyApp;
use e2e::namespace::Namespace;
use e2e::objects::runs;

const TWO: &str = include_str!("../../public/01-my-nginx.yaml");
const THREE: &str = include_str!("../../public/02-my-nginx-svc.yaml");
const HTTPBIN: &str = include_str!("../../public/10-httpbin.yaml");
const SLEEPING: &str = include_str!("../../public/11-curl.yaml");

/// Until a page with this in it comes from behind a port of the Service, as the API server finds it.
async fn serves(ns: &Namespace, service: &str, page: &str, holds: &str) {
    let path = format!("/api/v1/namespaces/{}/services/{service}/proxy/{page}", ns.name);
    ns.eventually("a page from behind the Service", || async {
        let page = ns.kubectl(&["get", "--raw", &path]).await;
        if page.success && page.stdout.contains(holds) { Ok(()) } else { Err(page.stdout + &page.stderr) }
    })
    .await;
}

/// Creates the service account that a manifest comes with, and applies the manifest.
async fn apply_with_account(ns: &Namespace, account: &str, manifest: &str) {
    drop(ns.kubectl(&["create", "serviceaccount", account]).await.ok());
    ns.apply(manifest).await;
}

#[tokio::test]
async fn applications_of_nginx_run_and_serve() {
    let ns = Namespace::new("public").await;
    for (manifest, image, name, pods) in [(TWO, "nginx", "my-nginx", 2), (THREE, "nginx:1.14.2", "my-nginx-svc", 3)] {
        ns.apply(&manifest.replace(&format!("image: {image}\n"), "image: nginx:1.25\n")).await;
        ns.until::<MyApp, ()>(name, "to run", |app| runs(app?, pods).then_some(())).await;
        serves(&ns, &format!("{name}:80"), "", "nginx").await;
    }
}

#[tokio::test]
async fn httpbin_runs_and_serves_as_it_is() {
    let ns = Namespace::new("httpbin").await;
    apply_with_account(&ns, "httpbin", HTTPBIN).await;
    ns.until::<MyApp, ()>("httpbin", "to run", |app| runs(app?, 1).then_some(())).await;
    serves(&ns, "httpbin:8000", "headers", "\"headers\"").await;
}

#[tokio::test]
async fn an_application_that_listens_nowhere_runs_without_probes() {
    let ns = Namespace::new("listens-not").await;
    apply_with_account(&ns, "curl", &SLEEPING.replace("docker.io/curlimages/curl:8.16.0", "nginx:1.25")).await;
    ns.until::<MyApp, ()>("curl", "to run", |app| runs(app?, 1).then_some(())).await;
}
