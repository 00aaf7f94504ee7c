//! Pure: the StatefulSet of the one server. Its template names the claim, and makes none: a claim that is gone is lost data, not
//! a reason for an empty one. Pods are replaced when the operator deletes them, and never because the template changed.

use std::collections::BTreeMap;
use std::time::Duration;

use agent_protocol::{AccessRules, Arguments, PgPrepare, PgReady, PgRun, Seconds};
use api::sample_db::Method;
use k8s_openapi::api::apps::v1 as apps;
use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, Container, ContainerPort, EmptyDirVolumeSource, ExecAction, PodTemplateSpec, Probe, Volume,
    VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use runtime::apply::drift::Fingerprint;
use runtime::cache::Projection;
use runtime::plan::meta::{DEFAULT_CONTAINER, WHOLE};
use runtime::plan::{Apply, Create, Meta};
use runtime::pod::{claim_volume, mount};
use runtime::projections::{Pod, StatefulSet};
use serde_json::json;

use super::config;
use crate::database::observed::Observed;
use crate::database::ownership::adopted_uid;
use crate::database::pinned::Pinned;
use crate::database::record::Record;
use crate::database::tuning;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::labels::{OWNER_UID, POD_NAME, labels, owned, selector};
use crate::operand::names::{self, PORT, SERVER, fingerprint};
use crate::operand::pod::{self, INSTALLED_AGENT, PGDATA, Place, SNAPSHOTS};
use crate::operand::scheduling::{PLACEMENT, placement};

/// Annotation of pods with a fingerprint of the parameters that they were made with.
pub(in crate::database) const PARAMETERS: &str = "multi-operator.example.com/parameters";
/// Annotation of pods with a fingerprint of what the spec said of them. What a later manager renders otherwise from the
/// same spec is none of it: pods do not restart because the manager's version changed.
pub(in crate::database) const TEMPLATE: &str = "multi-operator.example.com/template";
/// Annotation of a running pod with a fingerprint of the parameters' file that its kubelet is to bring.
const FILE: &str = "multi-operator.example.com/parameters-file";
/// Label of the pods of a server that follows another one: its StatefulSet's name.
const SERVER_LABEL: &str = "multi-operator.example.com/server";

/// Where the server's parameters are mounted.
pub(crate) const CONFIGURATION: &str = "/etc/sampledb";

/// A fingerprint of what the spec says of the server's pod.
#[must_use]
pub(in crate::database) fn template(observed: &Observed, pinned: &Pinned) -> String {
    let db = &*observed.db;
    let mut said = json!({
        "image": pinned.image, "claim": pinned.claim, "scheduling": *observed.scheduling(), "restartedAt": db.restarted_at,
    });
    // Its next start tells the server the new password.
    if let Some(remade) = &observed.system_remade {
        said["password"] = json!(remade);
    }
    format!("{:016x}", fingerprint(&said.to_string()))
}

/// A fingerprint of the server's parameters.
#[must_use]
pub(in crate::database) fn parameters(db: &SampleDB) -> String {
    format!("{:016x}", fingerprint(&json!(db.spec.engine.parameters).to_string()))
}

/// The StatefulSet of the server that serves.
pub(in crate::database) fn server(observed: &Observed, pinned: &Pinned, source: Option<&Snapshot>) -> Apply {
    let db = &*observed.db;
    // A physical snapshot is what the data are made of, where they are made.
    let source = source.filter(|source| source.status.method == Some(Method::Physical) && !has_data(db));
    let made = match &db.status.system_identifier {
        Some(_) => PgPrepare { system_identifier: db.status.system_identifier.clone(), ..PgPrepare::default() },
        // What is taken over is there, or it is lost.
        None if is_taken_over(observed, pinned) => PgPrepare::default(),
        None => PgPrepare { initialise: true, ..PgPrepare::default() },
    };
    set(observed, pinned, names::server(db), made, source)
}

/// The pod that the StatefulSet of the server that serves would make now, under another name.
pub(in crate::database) fn probe(observed: &Observed, pinned: &Pinned, source: Option<&Snapshot>) -> Create {
    let Apply { key, body, .. } = server(observed, pinned, source);
    Create::new(Pod::KIND, key.sibling(&format!("{}-probe", key.name)), &body["spec"]["template"])
}

/// The StatefulSet of the server that is to follow: on data of its own, and closed to all but the superuser.
pub(in crate::database) fn successor(observed: &Observed, pinned: &Pinned) -> Apply {
    let name = names::upgrade_server(&observed.db, pinned.major);
    let made = PgPrepare { initialise: true, access: AccessRules::Closed, ..PgPrepare::default() };
    set(observed, pinned, &name, made, None)
}

/// That StatefulSet, unless it is as rendered, or as an earlier manager rendered it from the same spec: what that one said
/// otherwise of its pods comes with the next change, since a manager of another version writes nothing by itself.
pub(in crate::database) fn unless(set: Apply, live: Option<(&Meta, Fingerprint)>) -> Option<Apply> {
    let set = set.unless(live)?;
    let mut unplaced = set.clone();
    if let Some(placed) = unplaced.body["spec"]["template"]["metadata"]["annotations"].as_object_mut() {
        placed.remove(PLACEMENT);
    }
    let mut untried = unplaced.clone();
    if let Some(command) = untried.body["spec"]["template"]["spec"]["containers"][0]["command"].as_array_mut() {
        let tried = tried();
        command.retain(|argument| argument.as_str() != tried.as_deref());
    }
    let mut frequent = untried.clone();
    frequent.body["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]["periodSeconds"] = json!(2);
    let mut unnamed = frequent.clone();
    if let Some(named) = unnamed.body["spec"]["template"]["metadata"]["annotations"].as_object_mut() {
        named.remove(DEFAULT_CONTAINER);
    }
    let all = [unplaced, untried, frequent, unnamed];
    let is_earlier = live.is_some_and(|(_, live)| all.iter().any(|earlier| live == earlier.fingerprint()));
    (!is_earlier).then_some(set)
}

/// The labels by which that StatefulSet finds its pod.
fn pod_selector(db: &SampleDB, server: &str) -> BTreeMap<String, String> {
    let mut labels = selector(db);
    // One that follows another has pods beside that one's.
    if *server != *db.meta.key.name {
        labels.insert(SERVER_LABEL.to_owned(), server.to_owned());
    }
    labels
}

/// The labels of that StatefulSet's pod, but for those of its controller.
fn pod_labels(db: &SampleDB, server: &str) -> BTreeMap<String, String> {
    let mut all = labels(db);
    all.extend(pod_selector(db, server));
    all.extend([(WHOLE.to_owned(), "true".to_owned()), (OWNER_UID.to_owned(), db.meta.uid.to_string())]);
    all
}

/// The pod of that StatefulSet with the labels by which it is watched, and found by Services, unless it has them.
pub(in crate::database) fn labeled(db: &SampleDB, live: &Pod, server: &str) -> Option<Apply> {
    let mut wanted = pod_labels(db, server);
    wanted.insert(POD_NAME.to_owned(), live.meta.key.name.to_string());
    let labels = &live.running.as_ref()?.labels;
    if wanted.iter().all(|(key, value)| labels.get(key) == Some(value)) {
        return None;
    }
    Some(Apply::part(Pod::KIND, &live.meta, "labels", &json!({ "metadata": { "labels": wanted } })))
}

/// The server's pod with a note of the parameters' file, unless it has it: an edited pod is looked at by its kubelet, which
/// brings its files then, rather than within two minutes.
/// Source: <https://kubernetes.io/docs/tasks/configure-pod-container/configure-pod-configmap/#mounted-configmaps-are-updated-automatically>
pub(in crate::database) fn noted(db: &SampleDB, live: &Pod) -> Option<Apply> {
    let file = format!("{:016x}", fingerprint(&config::file(db)));
    if live.running.as_ref()?.annotations.get(FILE) == Some(&file) {
        return None;
    }
    Some(Apply::part(Pod::KIND, &live.meta, "parameters", &json!({ "metadata": { "annotations": { FILE: file } } })))
}

fn set(observed: &Observed, pinned: &Pinned, name: &str, made: PgPrepare, source: Option<&Snapshot>) -> Apply {
    let db = &*observed.db;
    let place = observed.place(&pinned.image);
    let annotations = [
        (TEMPLATE.to_owned(), template(observed, pinned)),
        (PARAMETERS.to_owned(), parameters(db)),
        (PLACEMENT.to_owned(), placement(&place.scheduling)),
        (DEFAULT_CONTAINER.to_owned(), SERVER.to_owned()),
    ];
    let steps = vec![prepare(observed, pinned, &place, made, source)];
    let mut spec = place.spec(steps, vec![postgres(db, &place)], volumes(db, pinned, source));
    // A shutdown waits for a checkpoint.
    spec.termination_grace_period_seconds = Some(120);
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(pod_labels(db, name)),
            annotations: Some(annotations.into()),
            ..ObjectMeta::default()
        }),
        spec: Some(spec),
    };
    let set = apps::StatefulSet {
        metadata: owned(db),
        spec: Some(apps::StatefulSetSpec {
            replicas: Some(1),
            service_name: Some(names::peers(db)),
            selector: LabelSelector { match_labels: Some(pod_selector(db, name)), ..LabelSelector::default() },
            update_strategy: Some(apps::StatefulSetUpdateStrategy {
                type_: Some("OnDelete".to_owned()),
                rolling_update: None,
            }),
            template,
            ..apps::StatefulSetSpec::default()
        }),
        status: None,
    };
    Apply::new(StatefulSet::KIND, db.meta.key.sibling(name), &set)
}

/// The init step that looks at the data, or makes them: that only as long as there have never been any.
fn prepare(
    observed: &Observed,
    pinned: &Pinned,
    place: &Place<'_>,
    made: PgPrepare,
    source: Option<&Snapshot>,
) -> Container {
    let db = &*observed.db;
    let mut mounts = vec![pod::data_mount(), configuration_mount()];
    if source.is_some() {
        mounts.push(pod::snapshots_to_read());
    }
    let path =
        |source: &Snapshot| source.status.location.path.clone().unwrap_or_else(|| source.meta.key.name.to_string());
    let prepare = PgPrepare {
        data: PGDATA.into(),
        configuration: CONFIGURATION.into(),
        major: pinned.major,
        // Data that are taken over bear the note of whom they were made for.
        owner: Some(adopted_uid(db).unwrap_or(&db.meta.uid).to_owned()),
        from: source.map(|source| format!("{SNAPSHOTS}/{}", path(source)).into()),
        sha256: source.and_then(|source| source.status.sha256.clone()),
        reset_password: observed.system_remade.is_some(),
        ..made
    };
    let password = pod::secret_env("PGPASSWORD", &names::system_secret(db), "password");
    place.engine("prepare", prepare.argv(), vec![password], mounts)
}

/// Whether a person says of the volume that it has data.
fn is_taken_over(observed: &Observed, pinned: &Pinned) -> bool {
    let named = observed.db.annotations.get(api::sample_db::ADOPT);
    let Some((named, claim)) = named.zip(observed.claim(&pinned.claim)) else { return false };
    let empty = Record::on(claim).is_some_and(|record| record.facts.initialization.data_created_at.is_none());
    !empty && claim.labels.get(OWNER_UID).is_some_and(|owner| **named == **owner)
}

/// Whether the data have been made: from then on they are what they are.
fn has_data(db: &SampleDB) -> bool {
    db.status.initialization.data_created_at.is_some()
}

fn postgres(db: &SampleDB, place: &Place<'_>) -> Container {
    let reserve = u64::try_from(tuning::reserve(db)).ok();
    let run = PgRun { data: PGDATA.into(), reserve, configuration: Some(CONFIGURATION.into()), ..PgRun::default() };
    let mounts = vec![pod::data_mount(), configuration_mount(), mount("shm", "/dev/shm")];
    let ask = |wait: u64| {
        let ready = PgReady { data: Some(PGDATA.into()), reserve, wait: Seconds(Duration::from_secs(wait)) };
        Some(ExecAction { command: Some(ready.command(INSTALLED_AGENT)) })
    };
    let probe = Probe {
        exec: ask(0),
        // Each takes the node some 90 ms of a processor, most of it to start a process in the container.
        period_seconds: Some(5),
        timeout_seconds: Some(5),
        failure_threshold: Some(3),
        ..Probe::default()
    };
    Container {
        ports: Some(vec![ContainerPort {
            name: Some("postgresql".to_owned()),
            container_port: PORT,
            protocol: Some("TCP".to_owned()),
            ..ContainerPort::default()
        }]),
        // Recovery after a crash takes as long as it takes.
        startup_probe: Some(Probe {
            // The first one waits for it, rather than the kubelet for the second.
            exec: ask(3),
            period_seconds: Some(1),
            failure_threshold: Some(3600),
            ..probe.clone()
        }),
        readiness_probe: Some(probe),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..place.engine(SERVER, run.argv(), Vec::new(), mounts)
    }
}

/// With which the agent starts a server with what it served with last, if it does not start with what is there.
fn tried() -> Option<String> {
    PgRun { configuration: Some(CONFIGURATION.into()), ..PgRun::default() }.argv().pop()
}

fn configuration_mount() -> VolumeMount {
    mount("configuration", CONFIGURATION)
}

fn volumes(db: &SampleDB, pinned: &Pinned, source: Option<&Snapshot>) -> Vec<Volume> {
    let memory = EmptyDirVolumeSource {
        medium: Some("Memory".to_owned()),
        // Parallel queries share memory there, of which a container has 64 MiB by itself.
        size_limit: Some(Quantity("512Mi".to_owned())),
    };
    let map = ConfigMapVolumeSource { name: names::configuration(db), ..ConfigMapVolumeSource::default() };
    let mut volumes = vec![
        claim_volume("data", &pinned.claim),
        Volume { name: "configuration".to_owned(), config_map: Some(map), ..Volume::default() },
        Volume { name: "shm".to_owned(), empty_dir: Some(memory), ..Volume::default() },
    ];
    let claim = source.and_then(|source| source.status.location.claim.as_deref());
    volumes.extend(claim.map(|claim| claim_volume("snapshots", claim)));
    volumes
}
