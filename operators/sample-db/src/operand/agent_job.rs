//! Pure: Jobs, each of which runs one of the agent's commands.

use std::collections::BTreeMap;

use agent_protocol::AgentExit;
use k8s_openapi::api::core::v1::{
    ConfigMapEnvSource, Container, EnvFromSource, EnvVar, SecretEnvSource, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use runtime::cache::Projection;
use runtime::job::WORK;
use runtime::job::template::{self, JobTemplate};
use runtime::plan::Create;
use runtime::plan::meta::{Key, child_meta};

use super::kinds::SampleDB;
use super::labels::labels;
use super::names;
use super::pod::{self, PodContext};

/// What a Job does, and for which object.
pub(crate) struct JobParams {
    /// Its namespace and name.
    pub(crate) key: Key,
    /// The labels of the Job and of its pods.
    pub(crate) labels: BTreeMap<String, String>,
    /// The owners with which it is deleted.
    pub(crate) owners: Option<Vec<OwnerReference>>,
    /// The agent's command with its flags.
    pub(crate) arguments: Vec<String>,
    /// Environment variables.
    pub(crate) env: Vec<EnvVar>,
    /// The ConfigMap and the Secret whose entries become environment variables.
    pub(crate) env_from: Option<(String, String)>,
    /// Volumes with their mounts.
    pub(crate) volumes: Vec<(Volume, VolumeMount)>,
    /// After how many seconds the Job fails.
    pub(crate) deadline_seconds: i64,
    /// How many pods may fail before the Job fails. Pods that a drain or an eviction ended do not count.
    pub(crate) retries: i32,
    /// After how many seconds the Job is deleted once it has ended, unless it is deleted with an owner.
    pub(crate) ttl_seconds: Option<i32>,
    /// Exit codes of the agent after which the Job creates no other pod.
    pub(crate) final_exit_codes: Vec<i32>,
    /// Annotations of its pods.
    pub(crate) pod_annotations: Option<BTreeMap<String, String>>,
}

/// The exit code of the agent if another attempt would fail, too.
pub(crate) const FAILS_PERMANENTLY: i32 = AgentExit::Lasting as i32;

impl JobParams {
    /// A Job of a database, which owns it. It connects to the server as the superuser.
    pub(crate) fn of_database(db: &SampleDB, name: &str, arguments: Vec<String>, deadline_seconds: i64) -> Self {
        let mut labels = labels(db);
        labels.insert(pod::DATABASE.to_owned(), db.meta.key.name.to_string());
        Self {
            key: db.meta.key.sibling(name),
            labels,
            owners: child_meta(&SampleDB::KIND, &db.meta).owner_references,
            arguments,
            env: Vec::new(),
            env_from: Some((names::connection_config_map(db), names::superuser_secret(db))),
            volumes: Vec::new(),
            deadline_seconds,
            retries: 0,
            ttl_seconds: None,
            final_exit_codes: vec![FAILS_PERMANENTLY],
            pod_annotations: None,
        }
    }
}

/// The Job.
pub(crate) fn job(params: JobParams, context: &PodContext<'_>) -> Create {
    let (volumes, mounts): (Vec<Volume>, Vec<VolumeMount>) = params.volumes.into_iter().unzip();
    let env_from = params.env_from.map(|(map, secret)| {
        let map = ConfigMapEnvSource { name: map, optional: None };
        let secret = SecretEnvSource { name: secret, optional: None };
        vec![
            EnvFromSource { config_map_ref: Some(map), ..EnvFromSource::default() },
            EnvFromSource { secret_ref: Some(secret), ..EnvFromSource::default() },
        ]
    });
    let work = Container { env_from, ..context.engine(WORK, params.arguments, params.env, mounts) };
    let spec = context.spec(Vec::new(), vec![work], volumes);
    template::create(JobTemplate {
        key: params.key,
        labels: params.labels,
        owners: params.owners,
        pod: spec,
        pod_annotations: params.pod_annotations,
        deadline_seconds: params.deadline_seconds,
        retries: params.retries,
        ttl_seconds: params.ttl_seconds,
        final_exit_codes: params.final_exit_codes,
    })
}
