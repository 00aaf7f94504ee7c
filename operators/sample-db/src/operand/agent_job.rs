//! Pure: jobs: the agent's verbs, each in a pod of its own.

use std::collections::BTreeMap;

use agent_protocol::AgentExit;
use k8s_openapi::api::batch::v1 as batch;
use k8s_openapi::api::core::v1::{
    ConfigMapEnvSource, Container, EnvFromSource, EnvVar, PodTemplateSpec, SecretEnvSource, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use runtime::cache::Projection;
use runtime::job::{WORK, failure_policy};
use runtime::plan::Create;
use runtime::plan::meta::{Key, WHOLE, child_meta, not_for_pruning};
use runtime::projections::Job;

use super::kinds::SampleDB;
use super::labels::labels;
use super::names;
use super::pod::{self, Place};

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
    /// Exit codes of the agent after which no other pod is tried.
    pub(crate) final_exit_codes: Vec<i32>,
    /// Annotations of its pods.
    pub(crate) pod_annotations: Option<BTreeMap<String, String>>,
}

/// The exit code of the agent if another try would fail, too.
pub(crate) const FAILS_FOR_GOOD: i32 = AgentExit::Lasting as i32;

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
            final_exit_codes: vec![FAILS_FOR_GOOD],
            pod_annotations: None,
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
            pod_failure_policy: Some(failure_policy(&of.final_exit_codes)),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(pod_labels),
                    annotations: of.pod_annotations,
                    ..ObjectMeta::default()
                }),
                spec: Some(spec),
            },
            ..batch::JobSpec::default()
        }),
        status: None,
    };
    Create::new(Job::KIND, of.key, &job)
}
