//! Single requests about pods, for what no cache holds: sent only while a step depends on the result.

use api::ReconcileReason;
use kube::Client;
use kube::core::DynamicObject;
use serde_json::Value;

use crate::Error;
use crate::cache::Projection;
use crate::error::innermost;
use crate::plan::{Create, DryRun, Key};
use crate::projections::Pod;

/// Creates a pod as a dry run. This takes the permission to create pods.
pub async fn dry_run(client: &Client, trial: &Create) -> DryRun {
    let path = format!("{}?dryRun=All", trial.kind.path(&trial.key.namespace));
    let request = serde_json::to_vec(&trial.body).map_err(|error| error.to_string()).and_then(|body| {
        let request = http::Request::post(path).header(http::header::CONTENT_TYPE, "application/json");
        request.body(body).map_err(|error| error.to_string())
    });
    match request {
        Ok(request) => judge(client.request(request).await),
        Err(error) => DryRun::Unknown(error),
    }
}

fn judge(answer: Result<DynamicObject, kube::Error>) -> DryRun {
    match answer {
        Ok(_) => DryRun::Accepted,
        Err(kube::Error::Api(status)) => match status.code {
            // The API server checks last whether the name is taken.
            409 => DryRun::Accepted,
            // A webhook without support for dry runs can never answer one, so it is ignored.
            400 if status.message.contains("does not support dry run") => DryRun::Accepted,
            400 | 403 | 422 => DryRun::Rejected(status.message.clone()),
            _ => DryRun::Unknown(status.message.clone()),
        },
        Err(error) => DryRun::Unknown(innermost(&error)),
    }
}

/// Reads the pod under that key, whatever its labels are.
///
/// # Errors
/// If it cannot be read now.
pub async fn get(client: &Client, key: &Key) -> Result<Option<Value>, Error> {
    let path = Pod::KIND.path_of(key);
    let request = http::Request::get(path).body(Vec::new());
    let request = request.map_err(|error| Error::transient(ReconcileReason::Unsendable, error.to_string()))?;
    match client.request::<Value>(request).await {
        Ok(pod) => Ok(Some(pod)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn answer(code: u16, message: &str) -> DryRun {
        judge(Err(kube::Error::Api(Box::new(Status { code, ..Status::failure(message, "") }))))
    }

    #[test]
    fn only_a_rejection_of_the_pod_itself_counts() {
        for code in [400, 403, 422] {
            assert_eq!(answer(code, "no"), DryRun::Rejected("no".to_owned()));
        }
        for code in [429, 500, 503] {
            assert_eq!(answer(code, "later"), DryRun::Unknown("later".to_owned()));
        }
        assert_eq!(answer(409, "pods \"a\" already exists"), DryRun::Accepted);
        assert_eq!(answer(400, "admission webhook \"w\" does not support dry run"), DryRun::Accepted);
    }
}
