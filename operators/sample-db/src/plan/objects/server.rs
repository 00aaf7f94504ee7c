//! The StatefulSet of the one server. Its template names the claim, and makes none: a claim that is gone is lost data, not
//! a reason for an empty one. Pods are replaced when the operator deletes them, and never because the template changed.

use std::collections::BTreeMap;

use api::sample_db::Method;
use k8s_openapi::api::apps::v1 as apps;
use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, Container, ContainerPort, EmptyDirVolumeSource, ExecAction, PodTemplateSpec, Probe, Volume,
    VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use runtime::cache::View;
use runtime::plan::drift::Fingerprint;
use runtime::plan::meta::{DEFAULT_CONTAINER, WHOLE};
use runtime::plan::{Apply, Create, Meta};
use runtime::views::{Pod, StatefulSet};
use serde_json::json;

use super::pod::{self, AGENT_DIR, PGDATA, Place, SNAPSHOTS, words};
use super::{OWNER_UID, PLACEMENT, POD_NAME, PORT, adopted_uid, config, labels, owned, placement, selector};
use crate::plan::record::Record;
use crate::plan::wish::Wish;
use crate::plan::{Observed, names, tuning};
use crate::{SampleDB, Snapshot};

/// Annotation of pods with a fingerprint of the parameters that they were made with.
pub(in crate::plan) const PARAMETERS: &str = "multi-operator.example.com/parameters";
/// Annotation of pods with a fingerprint of what the spec said of them. What a later manager renders otherwise from the
/// same spec is none of it: pods do not restart because the manager's version changed.
pub(in crate::plan) const TEMPLATE: &str = "multi-operator.example.com/template";
/// Annotation of a running pod with a fingerprint of the parameters' file that its kubelet is to bring.
const FILE: &str = "multi-operator.example.com/parameters-file";
/// Label of the pods of a server that follows another one: its StatefulSet's name.
const SERVER_LABEL: &str = "multi-operator.example.com/server";
/// The container of the server.
pub(crate) const SERVER: &str = "postgres";
/// Where the server's parameters are mounted.
pub(crate) const CONFIGURATION: &str = "/etc/sampledb";

/// A fingerprint of what the spec says of the server's pod.
#[must_use]
pub(in crate::plan) fn template(observed: &Observed, wish: &Wish) -> String {
    let db = &*observed.db;
    let mut said = json!({
        "image": wish.image, "claim": wish.claim, "scheduling": *observed.scheduling(), "restartedAt": db.restarted_at,
    });
    // Its next start tells the server the new password.
    if let Some(remade) = &observed.system_remade {
        said["password"] = json!(remade);
    }
    format!("{:016x}", fingerprint(&said.to_string()))
}

/// A fingerprint of the server's parameters.
#[must_use]
pub(in crate::plan) fn parameters(db: &SampleDB) -> String {
    format!("{:016x}", fingerprint(&json!(db.spec.engine.parameters).to_string()))
}

/// FNV-1a, 64 bits: the same for ever, as a hash of Rust's own is not.
/// Source: <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>
pub(in crate::plan) fn fingerprint(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// The StatefulSet of the server that serves.
pub(in crate::plan) fn server(observed: &Observed, wish: &Wish, source: Option<&Snapshot>) -> Apply {
    let db = &*observed.db;
    // A physical snapshot is what the data are made of, where they are made.
    let source = source.filter(|source| source.status.method == Some(Method::Physical) && !has_data(db));
    let made = match &db.status.system_identifier {
        Some(identifier) => vec![format!("--system-identifier={identifier}")],
        // What is taken over is there, or it is lost.
        None if is_taken_over(observed, wish) => Vec::new(),
        None => vec!["--initialise".to_owned()],
    };
    set(observed, wish, names::server(db), made, source)
}

/// The pod that the StatefulSet of the server that serves would make now, under another name.
pub(in crate::plan) fn probe(observed: &Observed, wish: &Wish, source: Option<&Snapshot>) -> Create {
    let Apply { key, body, .. } = server(observed, wish, source);
    Create::new(Pod::KIND, key.sibling(&format!("{}-probe", key.name)), &body["spec"]["template"])
}

/// The StatefulSet of the server that is to follow: on data of its own, and closed to all but the superuser.
pub(in crate::plan) fn successor(observed: &Observed, wish: &Wish) -> Apply {
    let name = names::upgrade_server(&observed.db, wish.major);
    set(observed, wish, &name, words(&["--initialise", "--access=closed"]), None)
}

/// That StatefulSet, unless it is as rendered, or as an earlier manager rendered it from the same spec: what that one said
/// otherwise of its pods comes with the next change, since a manager of another version writes nothing by itself.
pub(in crate::plan) fn unless(set: Apply, live: Option<(&Meta, Fingerprint)>) -> Option<Apply> {
    let set = set.unless(live)?;
    let mut unplaced = set.clone();
    if let Some(placed) = unplaced.body["spec"]["template"]["metadata"]["annotations"].as_object_mut() {
        placed.remove(PLACEMENT);
    }
    let mut untried = unplaced.clone();
    if let Some(command) = untried.body["spec"]["template"]["spec"]["containers"][0]["command"].as_array_mut() {
        let tried = tried();
        command.retain(|argument| *argument != tried);
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
pub(in crate::plan) fn labeled(db: &SampleDB, live: &Pod, server: &str) -> Option<Apply> {
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
pub(in crate::plan) fn noted(db: &SampleDB, live: &Pod) -> Option<Apply> {
    let file = format!("{:016x}", fingerprint(&config::file(db)));
    if live.running.as_ref()?.annotations.get(FILE) == Some(&file) {
        return None;
    }
    Some(Apply::part(Pod::KIND, &live.meta, "parameters", &json!({ "metadata": { "annotations": { FILE: file } } })))
}

fn set(observed: &Observed, wish: &Wish, name: &str, made: Vec<String>, source: Option<&Snapshot>) -> Apply {
    let db = &*observed.db;
    let place = observed.place(&wish.image);
    let annotations = [
        (TEMPLATE.to_owned(), template(observed, wish)),
        (PARAMETERS.to_owned(), parameters(db)),
        (PLACEMENT.to_owned(), placement(&place.scheduling)),
        (DEFAULT_CONTAINER.to_owned(), SERVER.to_owned()),
    ];
    let steps = vec![prepare(observed, wish, &place, made, source)];
    let mut spec = place.spec(steps, vec![postgres(db, &place)], volumes(db, wish, source));
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
    wish: &Wish,
    place: &Place<'_>,
    made: Vec<String>,
    source: Option<&Snapshot>,
) -> Container {
    let db = &*observed.db;
    let mut arguments = words(&["pg-prepare", "--pgdata", PGDATA, "--configuration", CONFIGURATION]);
    // Data that are taken over bear the note of whom they were made for.
    let owner = adopted_uid(db).unwrap_or(&db.meta.uid);
    arguments.extend([format!("--major={}", wish.major), format!("--owner={owner}")]);
    arguments.extend(made);
    let mut mounts = vec![pod::data_mount(), configuration_mount()];
    if let Some(source) = source {
        let path = source.status.location.path.as_deref().unwrap_or(&source.meta.key.name);
        arguments.push(format!("--from={SNAPSHOTS}/{path}"));
        arguments.extend(source.status.sha256.iter().map(|sum| format!("--sha256={sum}")));
        mounts.push(pod::snapshots_to_read());
    }
    if observed.system_remade.is_some() {
        arguments.push("--reset-password".to_owned());
    }
    let password = pod::secret_env("PGPASSWORD", &names::system_secret(db), "password");
    place.engine("prepare", arguments, vec![password], mounts)
}

/// Whether a person says of the volume that it has data.
fn is_taken_over(observed: &Observed, wish: &Wish) -> bool {
    let named = observed.db.annotations.get(api::sample_db::ADOPT);
    let Some((named, claim)) = named.zip(observed.claim(&wish.claim)) else { return false };
    let empty = Record::on(claim).is_some_and(|record| record.facts.initialization.data_created_at.is_none());
    !empty && claim.labels.get(OWNER_UID).is_some_and(|owner| **named == **owner)
}

/// Whether the data have been made: from then on they are what they are.
fn has_data(db: &SampleDB) -> bool {
    db.status.initialization.data_created_at.is_some()
}

fn postgres(db: &SampleDB, place: &Place<'_>) -> Container {
    let mut arguments = words(&["pg-run", "--pgdata", PGDATA]);
    let reserve = format!("--reserve={}", tuning::reserve(db));
    arguments.extend([reserve.clone(), tried()]);
    let mounts = vec![pod::data_mount(), configuration_mount(), pod::mount("shm", "/dev/shm")];
    let ask = |more: &[&str]| {
        let mut command = vec![format!("{AGENT_DIR}/agent"), "pg-ready".to_owned()];
        command.extend(words(&["--pgdata", PGDATA, &reserve]));
        command.extend(words(more));
        Some(ExecAction { command: Some(command) })
    };
    let probe = Probe {
        exec: ask(&[]),
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
            exec: ask(&["--wait=3"]),
            period_seconds: Some(1),
            failure_threshold: Some(3600),
            ..probe.clone()
        }),
        readiness_probe: Some(probe),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..place.engine(SERVER, arguments, Vec::new(), mounts)
    }
}

/// With which the agent starts a server with what it served with last, if it does not start with what is there.
fn tried() -> String {
    format!("--configuration={CONFIGURATION}")
}

fn configuration_mount() -> VolumeMount {
    pod::mount("configuration", CONFIGURATION)
}

fn volumes(db: &SampleDB, wish: &Wish, source: Option<&Snapshot>) -> Vec<Volume> {
    let memory = EmptyDirVolumeSource {
        medium: Some("Memory".to_owned()),
        // Parallel queries share memory there, of which a container has 64 MiB by itself.
        size_limit: Some(Quantity("512Mi".to_owned())),
    };
    let map = ConfigMapVolumeSource { name: names::configuration(db), ..ConfigMapVolumeSource::default() };
    let mut volumes = vec![
        pod::of_claim("data", &wish.claim),
        Volume { name: "configuration".to_owned(), config_map: Some(map), ..Volume::default() },
        Volume { name: "shm".to_owned(), empty_dir: Some(memory), ..Volume::default() },
    ];
    let claim = source.and_then(|source| source.status.location.claim.as_deref());
    volumes.extend(claim.map(|claim| pod::of_claim("snapshots", claim)));
    volumes
}
