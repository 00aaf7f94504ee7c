//! Other CRDs of the same names are applied over this project's: the manager reports what is missing, and continues as far as it
//! can; it writes nothing for an object of which a part was cut out; and once the own CRDs are back, it reports what it could not
//! report before. CRDs belong to the cluster, so no other test runs meanwhile.

use std::time::{Duration, Instant};

use api::my_app::MyApp;
use api::sample::Sample;
use e2e::process::install::apply;
use e2e::process::{Launch, Manager};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionSpec,
};
use kube::Api;
use kube::api::{ListParams, PostParams};
use serde_json::{Value, json};

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure, eventually};

const NAME: &str = "samples.example.com";
/// Whose fields are cut.
const CUT: &str = "myapps.example.com";
/// The Pod that the manager takes for its own. It is never run.
const OWN: &str = "own";
/// In which the manager checks a CRD after it has changed: the interval of its checks, and what comes after it.
const CRD_CHECK_TIMEOUT: Duration = Duration::from_secs(40);

pub async fn it_is_reported_and_reconciles_continue_until_the_own_crd_is_back(stage: Stage) -> Result<(), Failure> {
    let owned = definitions(&stage).get(NAME).await?.spec;
    let whole = definitions(&stage).get(CUT).await?.spec;
    let seen = seen(&stage, &owned, &whole).await;
    // Whatever the outcome, other tests need the own CRDs.
    replace(&stage, NAME, &owned).await?;
    replace(&stage, CUT, &whole).await?;
    seen
}

async fn seen(
    stage: &Stage,
    owned: &CustomResourceDefinitionSpec,
    whole: &CustomResourceDefinitionSpec,
) -> Result<(), Failure> {
    let install = stage.install().await?;
    apply(&stage.client, Some(&stage.name), own_pod()).await?;
    let mut manager = Launch::default().env("POD_NAME", OWN).start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    stage.sample("kept", "before").await?;
    stage.sample_kept("kept", "before", DEFAULT_TIMEOUT).await?;
    checked(&manager, "[+]crd-samples ok").await?;
    ensure(mismatch(&manager).await? == 0.0, || "the metric counts the own CRDs".to_owned())?;

    let files =
        json!({ "image": "nginx:1.25", "replicas": 0, "files": [{ "mountPath": "/x", "configMap": { "name": "x" } }] });
    stage.app_of("cut", files.clone()).await?;
    stage.app_ready("cut", DEFAULT_TIMEOUT).await?;
    let created = stage.api::<Deployment>().get("cut").await?.metadata.generation;

    replace(stage, CUT, &without_files(whole)).await?;
    replace(stage, NAME, &minimal(owned)?).await?;
    let replaced = Instant::now();
    let lacking = format!("the CRD {NAME} is not the one that this manager needs: it has no subresource status");
    checked(&manager, &format!("[-]crd-samples failed: {lacking}")).await?;
    println!("foreign_crd: noticed {:.1?} after it was applied", replaced.elapsed());
    ensure(mismatch(&manager).await? == 1.0, || "the metric does not count it".to_owned())?;
    manager.ready(DEFAULT_TIMEOUT).await?;
    says(stage, "False", "CRDMismatch").await?;

    stage.sample("kept", "meanwhile").await?;
    stage.sample("new", "new").await?;
    for (name, string) in [("kept", "meanwhile"), ("new", "new")] {
        let holds = |kept: Option<&ConfigMap>| (kept?.data.as_ref()?.get("testString")? == string).then_some(());
        stage.until::<ConfigMap, _>(name, "holds the string", DEFAULT_TIMEOUT, holds).await?;
    }
    checked(
        &manager,
        &format!("[-]crd-myapps failed: the CRD {CUT} is not the one that this manager needs: it has no .spec.files"),
    )
    .await?;
    // It has nothing that could be cut out.
    stage.app("web").await?;
    stage.app_ready("web", DEFAULT_TIMEOUT).await?;
    eventually("an Event about what was cut out", CRD_CHECK_TIMEOUT, || async {
        let events = stage.api::<Event>().list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let reported = |event: &Event| {
            let message = event.note.as_deref().unwrap_or_default();
            event.reason.as_deref() == Some("CRDMismatch") && message.contains("would lose its .spec.files")
        };
        if events.items.iter().any(reported) { Ok(()) } else { Err(format!("{} other Events", events.items.len())) }
    })
    .await?;
    let status = stage.api::<Sample>().get("new").await?.status;
    ensure(status.is_none(), || format!("the CRD has a status: {status:?}"))?;

    replace(stage, CUT, whole).await?;
    replace(stage, NAME, owned).await?;
    let restored = Instant::now();
    checked(&manager, "[+]crd-samples ok").await?;
    checked(&manager, "[+]crd-myapps ok").await?;
    let app = serde_json::to_value(stage.api::<MyApp>().get("cut").await?.spec)?;
    ensure(app["files"] == files["files"], || format!("what was cut out was stored so: {app}"))?;
    let now = stage.api::<Deployment>().get("cut").await?.metadata.generation;
    ensure(now == created, || format!("its pods were rolled without what was cut out: {created:?}, {now:?}"))?;
    stage.merge::<MyApp>("cut", json!({ "spec": { "env": [{ "name": "A", "value": "b" }] } })).await?;
    stage
        .until::<Deployment, _>("cut", "another template", DEFAULT_TIMEOUT, |live| {
            live.filter(|live| live.metadata.generation != created).map(drop)
        })
        .await?;
    stage.sample_kept("new", "new", DEFAULT_TIMEOUT).await?;
    stage.sample_kept("kept", "meanwhile", DEFAULT_TIMEOUT).await?;
    println!("foreign_crd: all is reported {:.1?} after the own CRD was applied", restored.elapsed());
    ensure(mismatch(&manager).await? == 0.0, || "the metric stays".to_owned())?;
    says(stage, "True", "Watching").await?;
    let log = manager.log();
    // The Event about the manager's own Pod is logged besides.
    let reported =
        (log.matches(&format!("runtime::crd: {lacking}")).count(), log.matches("matches this manager again").count());
    ensure(reported == (1, 2), || format!("reported {reported:?} times: {log}"))
}

fn definitions(stage: &Stage) -> Api<CustomResourceDefinition> {
    Api::all(stage.client.clone())
}

/// Replaces the spec of a CRD, whichever manager owns its fields.
async fn replace(stage: &Stage, name: &str, spec: &CustomResourceDefinitionSpec) -> Result<(), Failure> {
    let definitions = definitions(stage);
    eventually("the CRD to be replaced", DEFAULT_TIMEOUT, || async {
        let mut live = definitions.get(name).await.map_err(|error| error.to_string())?;
        live.spec = spec.clone();
        // The API server's own controllers write it, too.
        definitions.replace(name, &PostParams::default(), &live).await.map(drop).map_err(|error| error.to_string())
    })
    .await
}

/// A CRD of Samples with a string, a column, and nothing else.
fn minimal(owned: &CustomResourceDefinitionSpec) -> Result<CustomResourceDefinitionSpec, Failure> {
    let mut spec = owned.clone();
    spec.versions = serde_json::from_value(json!([{
        "name": "v1alpha1", "served": true, "storage": true,
        "additionalPrinterColumns": [{ "name": "Test String", "type": "string", "jsonPath": ".testString" }],
        "schema": { "openAPIV3Schema": { "type": "object", "properties": { "testString": { "type": "string" } } } },
    }]))?;
    Ok(spec)
}

/// The CRD of MyApps from before there were files.
fn without_files(whole: &CustomResourceDefinitionSpec) -> CustomResourceDefinitionSpec {
    let mut spec = whole.clone();
    for version in &mut spec.versions {
        let schema = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        let asked = schema.and_then(|schema| schema.properties.as_mut()?.get_mut("spec"));
        let Some(asked) = asked else { continue };
        asked.properties.as_mut().map(|fields| fields.remove("files"));
        if let Some(rules) = &mut asked.x_kubernetes_validations {
            rules.retain(|rule| !rule.rule.contains("files"));
        }
    }
    spec
}

fn own_pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": OWN },
        "spec": { "schedulerName": "none", "containers": [{ "name": "manager", "image": "a:1" }] },
    })
}

/// Waits for a line of `/readyz?verbose` that begins so.
async fn checked(manager: &Manager, line: &str) -> Result<(), Failure> {
    eventually(line, CRD_CHECK_TIMEOUT, || async {
        let (_, checks) = manager.health("/readyz?verbose").await.map_err(|error| error.to_string())?;
        if checks.lines().any(|found| found.starts_with(line)) { Ok(()) } else { Err(checks) }
    })
    .await
}

async fn mismatch(manager: &Manager) -> Result<f64, Failure> {
    manager.metric("multi_operator_crd_mismatch", &["kind=\"Sample\""]).await
}

/// Waits until the manager says so on its Pod.
async fn says(stage: &Stage, status: &str, reason: &str) -> Result<(), Failure> {
    stage
        .until::<Pod, _>(OWN, "the condition of its own Pod", CRD_CHECK_TIMEOUT, |pod| {
            let mut conditions = pod?.status.iter().flat_map(|status| status.conditions.iter().flatten());
            let reported = conditions.find(|condition| condition.type_ == "multi-operator.example.com/Watching")?;
            (reported.status == status && reported.reason.as_deref() == Some(reason)).then_some(())
        })
        .await
}
