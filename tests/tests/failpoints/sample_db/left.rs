//! What there is in a namespace, by name, that databases use.

use std::fmt::Debug;

use api::sample_db_snapshot::{SampleDBSnapshot, SnapshotReason, VerificationPhase};
use e2e::namespace::Namespace;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service};
use kube::api::ListParams;
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;

async fn names<K>(ns: &Namespace) -> Result<Vec<String>, String>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let all = ns.api::<K>().list(&ListParams::default()).await.map_err(|error| error.to_string())?;
    Ok(all.items.iter().map(ResourceExt::name_any).collect())
}

/// Waits until exactly these PVCs exist, and no Job or pod of a Job.
pub async fn claims_alone(ns: &Namespace, claims: &[&str]) {
    ns.eventually("nothing to be left of what is over", || async {
        let (jobs, there, pods) = (names::<Job>(ns).await?, names::<PersistentVolumeClaim>(ns).await?, pods(ns).await?);
        let of_jobs: Vec<_> = pods.iter().filter(|(_, job)| *job).map(|(pod, _)| pod).collect();
        match jobs.is_empty() && of_jobs.is_empty() && there == claims {
            true => Ok(()),
            false => Err(format!("Jobs {jobs:?}, their pods {of_jobs:?}, claims {there:?}")),
        }
    })
    .await;
}

/// The pods, and whether they are of Jobs.
async fn pods(ns: &Namespace) -> Result<Vec<(String, bool)>, String> {
    let all = ns.api::<Pod>().list(&ListParams::default()).await.map_err(|error| error.to_string())?;
    let of_job = |pod: &Pod| pod.labels().contains_key("batch.kubernetes.io/job-name");
    Ok(all.items.iter().map(|pod| (pod.name_any(), of_job(pod))).collect())
}

/// Waits until a database is deleted with all that it owns, except its snapshots and their volume.
pub async fn nothing_of(ns: &Namespace, name: &str) {
    let of = |names: Vec<String>| {
        let own = |other: &String| *other == name || other.starts_with(&format!("{name}-"));
        let stays = |other: &String| *other == format!("{name}-snapshots") || *other == format!("{name}-writer");
        let data = |other: &String| other.starts_with(&format!("data-{name}-"));
        names.into_iter().filter(move |other| data(other) || own(other) && !stays(other)).collect::<Vec<_>>()
    };
    ns.eventually("nothing to be left of a deleted database", || async {
        let pods = pods(ns).await?.into_iter().map(|(pod, _)| pod).collect();
        let left = [
            names::<api::sample_db::SampleDB>(ns).await?,
            names::<StatefulSet>(ns).await?,
            names::<Job>(ns).await?,
            pods,
            names::<PersistentVolumeClaim>(ns).await?,
            names::<Secret>(ns).await?,
            names::<ConfigMap>(ns).await?,
            names::<Service>(ns).await?,
        ];
        let left: Vec<_> = left.into_iter().flat_map(of).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
}

/// The snapshots of this database for this reason; each is verified.
pub async fn verified(ns: &Namespace, name: &str, reason: SnapshotReason) -> Vec<String> {
    let all = ns.api::<SampleDBSnapshot>().list(&ListParams::default()).await.expect("snapshots can be listed");
    let of = all.items.iter().filter(|snapshot| snapshot.spec.sample_db == name && snapshot.spec.reason == reason);
    of.map(|snapshot| {
        let verdict = snapshot.status.as_ref().and_then(|status| status.verification.phase);
        assert_eq!(verdict, Some(VerificationPhase::Passed), "{snapshot:?}");
        snapshot.name_any()
    })
    .collect()
}
