//! Pure: the StatefulSet of the one server. Its template names a PVC and has no volumeClaimTemplates: a deleted PVC is lost data,
//! not a reason to create an empty one. Pods are replaced when the operator deletes them, not because the template changed.

use std::collections::BTreeMap;

use agent_protocol::{AccessRules, AgentCommand, PgPrepare};
use api::sample_db::Method;
use k8s_openapi::api::apps::v1 as apps;
use k8s_openapi::api::core::v1::{Container, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use runtime::apply::drift::Fingerprint;
use runtime::cache::Projection;
use runtime::plan::meta::{DEFAULT_CONTAINER, KEEP_DETAILS};
use runtime::plan::{Apply, Create, Meta};
use runtime::projections::{Pod, StatefulSet};
use serde_json::{Value, json};

use super::config;
use super::container::{CONFIGURATION, configuration_mount, fallback_argument, postgres, volumes};
use crate::database::observed::Observed;
use crate::database::ownership::adopted_uid;
use crate::database::pinned::Pinned;
use crate::database::record::VolumeRecord;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::labels::{OWNER_UID, POD_NAME, labels, owned_meta, selector};
use crate::operand::names::{self, SERVER, fingerprint};
use crate::operand::pod::{self, PGDATA, PodContext, SNAPSHOTS};
use crate::operand::scheduling::{PLACEMENT, placement};

/// Annotation of pods with a fingerprint of the parameters that they were created with.
pub(in crate::database) const PARAMETERS: &str = "multi-operator.example.com/parameters";
/// Annotation of pods with a fingerprint of what the spec said about them. It does not cover what another version of the manager
/// renders differently from the same spec, so pods do not restart because the manager's version changed.
pub(in crate::database) const TEMPLATE: &str = "multi-operator.example.com/template";
/// Annotation of a running pod with a fingerprint of the parameters' file that the kubelet has to update.
const FILE: &str = "multi-operator.example.com/parameters-file";
/// Label of the pods of an upgrade's target server: the name of its StatefulSet.
const SERVER_LABEL: &str = "multi-operator.example.com/server";

/// A fingerprint of what the spec says about the server's pod.
#[must_use]
pub(in crate::database) fn template(observed: &Observed, pinned: &Pinned) -> String {
    let db = &*observed.db;
    let mut spec = json!({
        "image": pinned.image, "claim": pinned.claim, "scheduling": *observed.scheduling(), "restartedAt": db.restarted_at,
    });
    // The pod's next start sets the new password in the server.
    if let Some(regenerated_at) = &observed.password_regenerated_at {
        spec["password"] = json!(regenerated_at);
    }
    format!("{:016x}", fingerprint(&spec.to_string()))
}

/// A fingerprint of the server's parameters.
#[must_use]
pub(in crate::database) fn parameters(db: &SampleDB) -> String {
    format!("{:016x}", fingerprint(&json!(db.spec.engine.parameters).to_string()))
}

/// The StatefulSet of the serving server.
pub(in crate::database) fn server(observed: &Observed, pinned: &Pinned, source: Option<&Snapshot>) -> Apply {
    let db = &*observed.db;
    // Only a physical snapshot is read by the init container, and only to create the data.
    let source = source.filter(|source| source.status.method == Some(Method::Physical) && !has_data(db));
    let prepare_data = match &db.status.system_identifier {
        Some(_) => PgPrepare { system_identifier: db.status.system_identifier.clone(), ..PgPrepare::default() },
        // Adopted data exists, or it is lost.
        None if is_taken_over(observed, pinned) => PgPrepare::default(),
        None => PgPrepare { initialise: true, ..PgPrepare::default() },
    };
    set(observed, pinned, names::server(db), prepare_data, source)
}

/// The pod that the StatefulSet of the serving server would create now, under another name.
pub(in crate::database) fn replacement_pod(observed: &Observed, pinned: &Pinned, source: Option<&Snapshot>) -> Create {
    let Apply { key, body, .. } = server(observed, pinned, source);
    Create::new(Pod::KIND, key.sibling(&format!("{}-probe", key.name)), &body["spec"]["template"])
}

/// The StatefulSet of the server that an upgrade leads to: on a volume of its own, and closed to all but the superuser.
pub(in crate::database) fn target_server(observed: &Observed, pinned: &Pinned) -> Apply {
    let name = names::upgrade_server(&observed.db, pinned.major);
    let prepare_data = PgPrepare { initialise: true, access: AccessRules::Closed, ..PgPrepare::default() };
    set(observed, pinned, &name, prepare_data, None)
}

/// That StatefulSet, unless the live one equals it, or equals what an earlier manager rendered from the same spec. The
/// differences to that one are applied with the next change, because a manager of another version writes nothing by itself.
/// Each earlier manager lacked what later ones did, too.
pub(in crate::database) fn unless_current(set: Apply, live: Option<(&Meta, Fingerprint)>) -> Option<Apply> {
    let set = set.if_changed(live)?;
    let mut earlier = set.clone();
    let is_earlier = live.is_some_and(|(_, live)| {
        [without_placement, without_fallback, with_frequent_probes, without_default_container].iter().any(|without| {
            without(&mut earlier.body["spec"]["template"]);
            earlier.fingerprint() == live
        })
    });
    (!is_earlier).then_some(set)
}

fn without_placement(template: &mut Value) {
    if let Some(annotations) = template["metadata"]["annotations"].as_object_mut() {
        annotations.remove(PLACEMENT);
    }
}

fn without_fallback(template: &mut Value) {
    if let Some(command) = template["spec"]["containers"][0]["command"].as_array_mut() {
        let fallback = fallback_argument();
        command.retain(|argument| argument.as_str() != fallback.as_deref());
    }
}

fn with_frequent_probes(template: &mut Value) {
    template["spec"]["containers"][0]["readinessProbe"]["periodSeconds"] = json!(2);
}

fn without_default_container(template: &mut Value) {
    if let Some(annotations) = template["metadata"]["annotations"].as_object_mut() {
        annotations.remove(DEFAULT_CONTAINER);
    }
}

/// The labels by which that StatefulSet selects its pod.
fn pod_selector(db: &SampleDB, server: &str) -> BTreeMap<String, String> {
    let mut labels = selector(db);
    // During an upgrade the target server's pods exist next to those of the old one.
    if *server != *db.meta.key.name {
        labels.insert(SERVER_LABEL.to_owned(), server.to_owned());
    }
    labels
}

/// The labels of that StatefulSet's pod, without those of its controller.
fn pod_labels(db: &SampleDB, server: &str) -> BTreeMap<String, String> {
    let mut all = labels(db);
    all.extend(pod_selector(db, server));
    all.extend([(KEEP_DETAILS.to_owned(), "true".to_owned()), (OWNER_UID.to_owned(), db.meta.uid.to_string())]);
    all
}

/// The pod of that StatefulSet with the labels by which it is watched and selected by Services, unless it has them.
pub(in crate::database) fn labeled(db: &SampleDB, live: &Pod, server: &str) -> Option<Apply> {
    let mut wanted = pod_labels(db, server);
    wanted.insert(POD_NAME.to_owned(), live.meta.key.name.to_string());
    let labels = &live.details.as_ref()?.labels;
    if wanted.iter().all(|(key, value)| labels.get(key) == Some(value)) {
        return None;
    }
    Some(Apply::part(Pod::KIND, &live.meta, "labels", &json!({ "metadata": { "labels": wanted } })))
}

/// The server's pod annotated with the fingerprint of the parameters' file, unless it is. The kubelet syncs an edited pod at
/// once, and its files with it, rather than within two minutes.
/// Source: <https://kubernetes.io/docs/tasks/configure-pod-container/configure-pod-configmap/#mounted-configmaps-are-updated-automatically>
pub(in crate::database) fn annotated(db: &SampleDB, live: &Pod) -> Option<Apply> {
    let file = format!("{:016x}", fingerprint(&config::file(db)));
    if live.details.as_ref()?.annotations.get(FILE) == Some(&file) {
        return None;
    }
    Some(Apply::part(Pod::KIND, &live.meta, "parameters", &json!({ "metadata": { "annotations": { FILE: file } } })))
}

fn set(observed: &Observed, pinned: &Pinned, name: &str, prepare_data: PgPrepare, source: Option<&Snapshot>) -> Apply {
    let db = &*observed.db;
    let context = observed.pod_context(&pinned.image);
    let annotations = [
        (TEMPLATE.to_owned(), template(observed, pinned)),
        (PARAMETERS.to_owned(), parameters(db)),
        (PLACEMENT.to_owned(), placement(&context.scheduling)),
        (DEFAULT_CONTAINER.to_owned(), SERVER.to_owned()),
    ];
    let steps = vec![prepare(observed, pinned, &context, prepare_data, source)];
    let mut spec = context.spec(steps, vec![postgres(db, &context)], volumes(db, pinned, source));
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
        metadata: owned_meta(db),
        spec: Some(apps::StatefulSetSpec {
            replicas: Some(1),
            service_name: Some(names::headless_service(db)),
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

/// The init container that checks the data, or creates it if there never was any.
fn prepare(
    observed: &Observed,
    pinned: &Pinned,
    context: &PodContext<'_>,
    prepare_data: PgPrepare,
    source: Option<&Snapshot>,
) -> Container {
    let db = &*observed.db;
    let mut mounts = vec![pod::data_mount(), configuration_mount()];
    if source.is_some() {
        mounts.push(pod::read_only_snapshots_mount());
    }
    let path =
        |source: &Snapshot| source.status.location.path.clone().unwrap_or_else(|| source.meta.key.name.to_string());
    let prepare = PgPrepare {
        data: PGDATA.into(),
        configuration: CONFIGURATION.into(),
        major: pinned.major,
        // Adopted data bears the UID of the object that it was created for.
        owner: Some(adopted_uid(db).unwrap_or(&db.meta.uid).to_owned()),
        from: source.map(|source| format!("{SNAPSHOTS}/{}", path(source)).into()),
        sha256: source.and_then(|source| source.status.sha256.clone()),
        reset_password: observed.password_regenerated_at.is_some(),
        ..prepare_data
    };
    let password = pod::secret_env("PGPASSWORD", &names::superuser_secret(db), "password");
    context.engine("prepare", prepare.argv(), vec![password], mounts)
}

/// Whether the annotation says that the volume has data.
fn is_taken_over(observed: &Observed, pinned: &Pinned) -> bool {
    let named = observed.db.annotations.get(api::sample_db::ADOPT);
    let Some((named, claim)) = named.zip(observed.claim(&pinned.claim)) else { return false };
    let empty = VolumeRecord::on(claim).is_some_and(|record| record.facts.initialization.data_created_at.is_none());
    !empty && claim.labels.get(OWNER_UID).is_some_and(|owner| **named == **owner)
}

/// Whether the data was created: from then on it is never created again.
fn has_data(db: &SampleDB) -> bool {
    db.status.initialization.data_created_at.is_some()
}
