//! Public manifests, rewritten as MyApps (docs/migrating-to-my-app.md): the API server takes each, and what is rendered from it.

use std::path::Path;

use e2e::process::Launch;
use e2e::process::install::apply;
use serde_json::{Value, json};

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure};

/// A substitute for alpine, of which the manifest uses the shell only.
const IMAGE: &str = "nginx:1.25";

/// The MyApps of tests/public, each with a name of its own: some of the originals are called the same.
fn apps() -> Result<Vec<Value>, Failure> {
    let mut apps = Vec::new();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("public"))? {
        let path = entry?.path();
        let mut app: Value = serde_yaml_ng::from_str(&std::fs::read_to_string(&path)?)?;
        let (number, _) =
            path.file_stem().and_then(|name| name.to_str()?.split_once('-')).ok_or("a file without number")?;
        app["metadata"]["name"] = json!(format!("{}-{number}", app["metadata"]["name"].as_str().unwrap_or_default()));
        apps.push(app);
    }
    Ok(apps)
}

/// Creates what a MyApp needs in addition: the service account, without which the API server creates no pod, not even in a dry
/// run, and the objects that restart the pods.
async fn create_needed(stage: &Stage, app: &Value) -> Result<(), Failure> {
    let spec = &app["spec"];
    let restart_on = spec["restartOn"].as_array().into_iter().flatten();
    let objects =
        restart_on.flat_map(|on| [("ConfigMap", &on["configMapRef"]["name"]), ("Secret", &on["secretRef"]["name"])]);
    for (kind, name) in objects.chain([("ServiceAccount", &spec["serviceAccountName"])]) {
        if !name.is_null() && name != "default" {
            let object = json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": name } });
            apply(&stage.client, Some(&stage.name), object).await?;
        }
    }
    Ok(())
}

pub async fn each_is_taken_and_rendered(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let mut manager = Launch::default().env("POD_OVERRIDES", "all").start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    let mut names = Vec::new();
    for mut app in apps()? {
        create_needed(&stage, &app).await?;
        names.push(app["metadata"]["name"].as_str().unwrap_or_default().to_owned());
        // As it is: whether the schema and its rules take it.
        app["spec"]["paused"] = json!(true);
        apply(&stage.client, Some(&stage.name), app.clone()).await?;
        // Without pods, whose images are not here: the API server judges the pods' template all the same.
        let spec = app["spec"].as_object_mut().ok_or("a MyApp without a spec")?;
        spec.remove("autoscaling");
        spec.insert("replicas".to_owned(), json!(0));
        spec.insert("paused".to_owned(), json!(false));
        apply(&stage.client, Some(&stage.name), app).await?;
    }
    ensure(names.len() == 27, || format!("there are {} files in tests/public", names.len()))?;
    for name in &names {
        stage.app_ready(name, DEFAULT_TIMEOUT).await?;
    }
    Ok(())
}

pub async fn a_sidecar_runs_next_to_the_application(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let mut manager = Launch::default().env("POD_OVERRIDES", "all").start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    let mut app: Value =
        serde_yaml_ng::from_str(&include_str!("../../public/05-log-sidecar.yaml").replace("alpine:latest", IMAGE))?;
    app["metadata"]["name"] = json!("logging");
    apply(&stage.client, Some(&stage.name), app).await?;
    stage.app_ready("logging", 4 * DEFAULT_TIMEOUT).await?;
    let arguments = ["--namespace", &stage.name, "logs", "deployment/logging", "--container=logshipper"];
    let logs = super::stage::eventually("what the application logs, from its sidecar", DEFAULT_TIMEOUT, || async {
        let answer = e2e::kubectl::kubectl(&arguments).await;
        if answer.success && answer.stdout.contains("logging") {
            Ok(answer.stdout)
        } else {
            Err(answer.stdout + &answer.stderr)
        }
    });
    logs.await.map(drop)
}
