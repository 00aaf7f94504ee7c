//! Sample: a ConfigMap that holds the string.

use api::sample::Sample;
use e2e::cluster;
use e2e::namespace::Namespace;
use e2e::objects::ManagedKind;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use crate::manifest::sample;
use crate::writes::{lines, settled, taken_of, to, writes};

/// config/samples/sample.yaml, which is what the documentation shows.
const DOCUMENTED: &str = include_str!("../../../config/samples/sample.yaml");
const NAME: &str = "sample-resource-1";

async fn holds(ns: &Namespace, name: &str, string: &str) {
    let what = format!("the ConfigMap to hold {string:?}");
    ns.until::<ConfigMap, ()>(name, &what, |map| (map?.data.as_ref()?.get("testString")? == string).then_some(()))
        .await;
    ns.until::<Sample, ()>(name, "it to be ready", |sample| sample?.is_ready().then_some(())).await;
}

#[tokio::test]
async fn the_string_is_kept_through_edits_of_both() {
    let ns = Namespace::new("sample").await;
    let audit = cluster::audit();
    ns.apply(DOCUMENTED).await;
    holds(&ns, NAME, "first sample resource").await;
    settled(&audit, &ns).await;
    assert_eq!(writes(&audit, &ns).len(), 2, "a ConfigMap and a status:\n{}", lines(&writes(&audit, &ns)));
    let columns = ns.kubectl(&["get", "samples"]).await.ok();
    let (head, row) = columns.split_once('\n').expect("a head and a row");
    assert!(
        head.starts_with("NAME")
            && head.split("TEST STRING").nth(1).is_some_and(|rest| rest.trim_start().starts_with("READY")),
        "{head}"
    );
    assert!(row.contains("first sample resource   True"), "{row}");

    ns.patch("sample/sample-resource-1", &json!({ "testString": "second: \"quoted\" ✓" })).await;
    holds(&ns, NAME, "second: \"quoted\" ✓").await;

    for spoil in [
        json!({ "data": { "testString": "by hand" } }),
        json!({ "data": null }),
        json!({ "metadata": { "labels": null } }),
    ] {
        settled(&audit, &ns).await;
        let mark = audit.mark().expect("the audit log is there");
        ns.patch("configmap/sample-resource-1", &spoil).await;
        ns.eventually("a write of the manager", || async {
            if to(&writes(&mark, &ns), "configmaps").is_empty() { Err("none".to_owned()) } else { Ok(()) }
        })
        .await;
        holds(&ns, NAME, "second: \"quoted\" ✓").await;
        settled(&mark, &ns).await;
        let written = taken_of(writes(&mark, &ns));
        assert_eq!(to(&written, "configmaps").len(), 1, "one write restores {spoil}:\n{}", lines(&written));
    }
    // Additions of others stay.
    ns.patch("configmap/sample-resource-1", &json!({ "data": { "theirs": "stays" } })).await;
    drop(ns.kubectl(&["delete", "configmap/sample-resource-1"]).await.ok());
    holds(&ns, NAME, "second: \"quoted\" ✓").await;

    drop(ns.kubectl(&["delete", "sample/sample-resource-1"]).await.ok());
    ns.until_deleted::<ConfigMap>(NAME).await;
}

#[tokio::test]
async fn the_string_has_a_default_and_a_limit() {
    let ns = Namespace::new("sample-limits").await;
    ns.apply("apiVersion: example.com/v1alpha1\nkind: Sample\nmetadata: {name: nothing}\n").await;
    holds(&ns, "nothing", "").await;
    let longest = "ü".repeat(1024);
    ns.apply(&sample("longest", &longest)).await;
    holds(&ns, "longest", &longest).await;
    let refusal = ns.kubectl_with(&sample("longer", &"x".repeat(1025)), &["apply", "--filename", "-"]).await.refused();
    assert!(refusal.contains("testString") && refusal.contains("1024"), "{refusal}");
    assert!(ns.api::<Sample>().get_opt("longer").await.expect("Samples can be read").is_none());
}

#[tokio::test]
async fn every_name_that_the_api_takes_works() {
    let ns = Namespace::new("sample-names").await;
    for name in ["a".repeat(63), "a".repeat(64), format!("{}a", "a.".repeat(126))] {
        ns.apply(&sample(&name, "kept")).await;
        holds(&ns, &name, "kept").await;
        drop(ns.kubectl(&["delete", "configmap", &name]).await.ok());
        holds(&ns, &name, "kept").await;
    }
}
