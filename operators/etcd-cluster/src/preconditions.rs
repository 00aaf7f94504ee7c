//! The preconditions of removing a member, by live reads, because caches may be behind.

use api::ReconcileReason;
use kube::Client;
use kube::core::{DynamicObject, ObjectList};
use runtime::Error;
use runtime::cache::Projection;
use runtime::plan::{Key, ResourceKind};
use runtime::projections::Pod;

/// Checks that none of these objects exists. A terminating PVC does not count.
///
/// # Errors
/// Transient, if one exists or cannot be read.
pub(crate) async fn must_be_absent(client: &Client, absent: &[(ResourceKind, Key)]) -> Result<(), Error> {
    for (kind, key) in absent {
        let stays = |object: DynamicObject| kind.kind == Pod::KIND.kind || object.metadata.deletion_timestamp.is_none();
        if found(client, *kind, key).await?.is_some_and(stays) {
            return Err(Error::transient(ReconcileReason::Conflict, format!("{} {key} still exists", kind.kind)));
        }
    }
    Ok(())
}

/// Checks that all of these pods exist and none is terminating.
///
/// # Errors
/// Transient, if one does not, or cannot be read.
pub(crate) async fn must_stay(client: &Client, pods: &[Key]) -> Result<(), Error> {
    for key in pods {
        if found(client, Pod::KIND, key).await?.is_none_or(|pod| pod.metadata.deletion_timestamp.is_some()) {
            return Err(Error::transient(ReconcileReason::Conflict, format!("pod {key} is terminating or deleted")));
        }
    }
    Ok(())
}

/// The object under that key, if it exists.
async fn found(client: &Client, kind: ResourceKind, key: &Key) -> Result<Option<DynamicObject>, Error> {
    let path = format!("{}?fieldSelector=metadata.name%3D{}&limit=1", kind.path(&key.namespace), key.name);
    let request = http::Request::get(path)
        .body(Vec::new())
        .map_err(|error| Error::transient(ReconcileReason::Unsendable, error.to_string()))?;
    let found: ObjectList<DynamicObject> = client.request(request).await?;
    Ok(found.items.into_iter().next())
}
