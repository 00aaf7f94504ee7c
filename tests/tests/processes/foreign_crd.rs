//! Another CRD of the same name is applied over ours: people can see what is missing, the work goes on as far as it can, and
//! what could not be said is said once ours is back. The CRD is the whole cluster's, so no other test runs meanwhile.

use std::time::{Duration, Instant};

use api::sample::Sample;
use e2e::process::install::apply;
use e2e::process::{Launch, Manager};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionSpec,
};
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};

use super::stage::{Failure, SOON, Stage, ensure, eventually};

const NAME: &str = "samples.example.com";
/// The Pod that the manager takes for its own. It is never run.
const OWN: &str = "own";
/// In which a CRD is looked at after it has changed: the pause since the last look, and what comes after it.
const LOOKED: Duration = Duration::from_secs(40);

pub async fn it_is_told_and_the_work_goes_on_until_ours_is_back(stage: Stage) -> Result<(), Failure> {
    let ours = definitions(&stage).get(NAME).await?.spec;
    let seen = seen(&stage, &ours).await;
    // Whatever was seen, other tests need ours.
    replace(&stage, &ours).await?;
    seen
}

async fn seen(stage: &Stage, ours: &CustomResourceDefinitionSpec) -> Result<(), Failure> {
    let install = stage.install().await?;
    apply(&stage.client, Some(&stage.name), own_pod()).await?;
    let mut manager = Launch::default().env("POD_NAME", OWN).start(&install)?;
    manager.leads(SOON).await?;
    stage.sample("kept", "before").await?;
    stage.sample_kept("kept", "before", SOON).await?;
    checked(&manager, "[+]crd-samples ok").await?;
    ensure(mismatch(&manager).await? == 0.0, || "the metric tells of ours".to_owned())?;

    replace(stage, &minimal(ours)?).await?;
    let replaced = Instant::now();
    let lacking = format!("the CRD {NAME} is not the one that this manager needs: it has no subresource status");
    checked(&manager, &format!("[-]crd-samples failed: {lacking}")).await?;
    println!("foreign_crd: noticed {:.1?} after it was applied", replaced.elapsed());
    ensure(mismatch(&manager).await? == 1.0, || "the metric does not tell".to_owned())?;
    manager.ready(SOON).await?;
    says(stage, "False", "CRDMismatch").await?;

    stage.sample("kept", "meanwhile").await?;
    stage.sample("new", "new").await?;
    for (name, string) in [("kept", "meanwhile"), ("new", "new")] {
        let holds = |kept: Option<&ConfigMap>| (kept?.data.as_ref()?.get("testString")? == string).then_some(());
        stage.until::<ConfigMap, _>(name, "holds the string", SOON, holds).await?;
    }
    stage.app("web").await?;
    stage.app_ready("web", SOON).await?;
    let status = stage.api::<Sample>().get("new").await?.status;
    ensure(status.is_none(), || format!("the CRD has a status: {status:?}"))?;

    replace(stage, ours).await?;
    let restored = Instant::now();
    checked(&manager, "[+]crd-samples ok").await?;
    stage.sample_kept("new", "new", SOON).await?;
    stage.sample_kept("kept", "meanwhile", SOON).await?;
    println!("foreign_crd: all is said {:.1?} after ours was applied", restored.elapsed());
    ensure(mismatch(&manager).await? == 0.0, || "the metric stays".to_owned())?;
    says(stage, "True", "Watching").await?;
    let log = manager.log();
    let told = (log.matches(&lacking).count(), log.matches("has all that this manager needs again").count());
    ensure(told == (1, 1), || format!("told {told:?} times: {log}"))
}

fn definitions(stage: &Stage) -> Api<CustomResourceDefinition> {
    Api::all(stage.client.clone())
}

/// Puts that in the place of what the CRD says, whoever has said it.
async fn replace(stage: &Stage, spec: &CustomResourceDefinitionSpec) -> Result<(), Failure> {
    let definitions = definitions(stage);
    eventually("the CRD to be replaced", SOON, || async {
        let mut live = definitions.get(NAME).await.map_err(|error| error.to_string())?;
        live.spec = spec.clone();
        // The API server's own controllers write it as well.
        definitions.replace(NAME, &PostParams::default(), &live).await.map(drop).map_err(|error| error.to_string())
    })
    .await
}

/// A CRD of Samples with a string, a column, and nothing else.
fn minimal(ours: &CustomResourceDefinitionSpec) -> Result<CustomResourceDefinitionSpec, Failure> {
    let mut spec = ours.clone();
    spec.versions = serde_json::from_value(json!([{
        "name": "v1alpha1", "served": true, "storage": true,
        "additionalPrinterColumns": [{ "name": "Test String", "type": "string", "jsonPath": ".testString" }],
        "schema": { "openAPIV3Schema": { "type": "object", "properties": { "testString": { "type": "string" } } } },
    }]))?;
    Ok(spec)
}

fn own_pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": OWN },
        "spec": { "schedulerName": "nobody", "containers": [{ "name": "manager", "image": "a:1" }] },
    })
}

/// Waits for a line of `/readyz?verbose` that begins so.
async fn checked(manager: &Manager, line: &str) -> Result<(), Failure> {
    eventually(line, LOOKED, || async {
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
        .until::<Pod, _>(OWN, "the condition of its own Pod", LOOKED, |pod| {
            let mut conditions = pod?.status.iter().flat_map(|status| status.conditions.iter().flatten());
            let told = conditions.find(|condition| condition.type_ == "multi-operator.example.com/Watching")?;
            (told.status == status && told.reason.as_deref() == Some(reason)).then_some(())
        })
        .await
}
