//! Jobs: the agent's verbs, each in a pod of its own.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1 as batch;
use k8s_openapi::api::core::v1::{
    ConfigMapEnvSource, Container, EnvFromSource, EnvVar, PodTemplateSpec, SecretEnvSource, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use runtime::cache::View;
use runtime::plan::Create;
use runtime::plan::meta::{Key, WHOLE, child_meta, not_for_pruning};
use runtime::views::Job;

use super::labels;
use super::pod::{self, Place};
use crate::SampleDB;
use crate::plan::names;
use crate::plan::words::WORK;

/// What a Job is to do, and for whom.
pub(crate) struct JobOf {
    /// Its namespace and name.
    pub(crate) key: Key,
    /// The labels of it and of its pods.
    pub(crate) labels: BTreeMap<String, String>,
    /// Whom it goes with.
    pub(crate) owners: Option<Vec<OwnerReference>>,
    /// The agent's verb and flags.
    pub(crate) arguments: Vec<String>,
    /// Variables.
    pub(crate) env: Vec<EnvVar>,
    /// The ConfigMap and the Secret whose entries are variables too.
    pub(crate) env_from: Option<(String, String)>,
    /// Volumes, and where they stand.
    pub(crate) volumes: Vec<(Volume, VolumeMount)>,
    /// After how many seconds it is given up.
    pub(crate) deadline_seconds: i64,
    /// How many pods may fail before it is given up; those that a drain or an eviction ended do not count.
    pub(crate) retries: i32,
    /// After how many seconds one that has ended goes by itself; unless it goes with somebody.
    pub(crate) linger: Option<i32>,
}

impl JobOf {
    /// One of a database's own, which goes with it, and comes to its server as the superuser.
    pub(crate) fn of_database(db: &SampleDB, name: &str, arguments: Vec<String>, deadline_seconds: i64) -> Self {
        let mut labels = labels(db);
        labels.insert(pod::DATABASE.to_owned(), db.meta.key.name.to_string());
        Self {
            key: db.meta.key.sibling(name),
            labels,
            owners: child_meta(&SampleDB::KIND, &db.meta).owner_references,
            arguments,
            env: Vec::new(),
            env_from: Some((names::connection(db), names::system_secret(db))),
            volumes: Vec::new(),
            deadline_seconds,
            retries: 0,
            linger: None,
        }
    }
}

/// The Job.
pub(crate) fn job(of: JobOf, place: &Place<'_>) -> Create {
    let (volumes, mounts): (Vec<Volume>, Vec<VolumeMount>) = of.volumes.into_iter().unzip();
    let env_from = of.env_from.map(|(map, secret)| {
        let map = ConfigMapEnvSource { name: map, optional: None };
        let secret = SecretEnvSource { name: secret, optional: None };
        vec![
            EnvFromSource { config_map_ref: Some(map), ..EnvFromSource::default() },
            EnvFromSource { secret_ref: Some(secret), ..EnvFromSource::default() },
        ]
    });
    let work = Container { env_from, ..place.engine(WORK, of.arguments, of.env, mounts) };
    let mut spec = place.spec(Vec::new(), vec![work], volumes);
    spec.restart_policy = Some("Never".to_owned());
    let mut pod_labels = of.labels.clone();
    pod_labels.insert(WHOLE.to_owned(), "true".to_owned());
    let annotations = of.owners.is_none().then(not_for_pruning);
    let metadata =
        ObjectMeta { labels: Some(of.labels), annotations, owner_references: of.owners, ..ObjectMeta::default() };
    let job = batch::Job {
        metadata,
        spec: Some(batch::JobSpec {
            active_deadline_seconds: Some(of.deadline_seconds),
            backoff_limit: Some(of.retries),
            ttl_seconds_after_finished: of.linger,
            pod_failure_policy: Some(failures()),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(pod_labels), ..ObjectMeta::default() }),
                spec: Some(spec),
            },
            ..batch::JobSpec::default()
        }),
        status: None,
    };
    Create::new(Job::KIND, of.key, &job)
}

/// With which the agent ends if another try would fail, too (`operators/agent/src/failure.rs`).
const FAILS_FOR_GOOD: i32 = 5;

/// Disruptions do not count, and what fails for good is not tried again.
fn failures() -> batch::PodFailurePolicy {
    let disrupted = batch::PodFailurePolicyOnPodConditionsPattern {
        type_: "DisruptionTarget".to_owned(),
        status: "True".to_owned(),
    };
    let rule = batch::PodFailurePolicyRule {
        action: "Ignore".to_owned(),
        on_pod_conditions: Some(vec![disrupted]),
        ..batch::PodFailurePolicyRule::default()
    };
    let for_good = batch::PodFailurePolicyRule {
        action: "FailJob".to_owned(),
        on_exit_codes: Some(batch::PodFailurePolicyOnExitCodesRequirement {
            container_name: Some(WORK.to_owned()),
            operator: "In".to_owned(),
            values: vec![FAILS_FOR_GOOD],
        }),
        ..batch::PodFailurePolicyRule::default()
    };
    batch::PodFailurePolicy { rules: vec![rule, for_good] }
}
