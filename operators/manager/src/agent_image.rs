//! The image whose `/agent` runs in members' pods: the one that the flag sets, else that of this manager's own pod.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use kube::{Client, Error};
use serde::Deserialize;
use tokio::time::timeout;

use crate::own_pod;

/// The image if no other is known: scripts/images builds it, under the name that scripts/names.env sets.
const DEFAULT_IMAGE: &str = "localhost/multi-operator:dev";

/// The names that manifests give to the manager's container.
const CONTAINERS: [&str; 2] = ["manager", "etcd-operator"];

/// How long one request may take: a request to an unavailable API server may never return.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(4);
/// How long to wait before the next request.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// After this many rejections the failure is final. The first ones may be about permissions that have only just been granted.
const MAX_REJECTIONS: u32 = 5;

/// `given`, else the image of the pod that this process runs in. Waits for an unavailable API server: the image is read only at
/// start, and a wrong one would be in every new pod from then on.
pub async fn find(given: Option<&str>, client: &Client) -> Arc<str> {
    if let Some(given) = given {
        return given.into();
    }
    let own = match own_pod::key(|name| std::env::var(name).ok()) {
        Some(pod) => own_image(&format!("/api/v1/namespaces/{}/pods/{}", pod.namespace, pod.name), client).await,
        None => Err("POD_NAMESPACE and POD_NAME are not set".to_owned()),
    };
    match own {
        Ok(image) => image.into(),
        Err(why) => {
            tracing::warn!(
                "using {DEFAULT_IMAGE} as the image of the agent: the image of this manager's own pod is unknown: {why}; set \
                 --agent-image or AGENT_IMAGE"
            );
            DEFAULT_IMAGE.into()
        }
    }
}

/// The fields of a pod that are read.
#[derive(Deserialize)]
struct PodFields {
    spec: PodSpecFields,
}

#[derive(Deserialize)]
struct PodSpecFields {
    containers: Vec<ContainerFields>,
}

#[derive(Deserialize)]
struct ContainerFields {
    name: String,
    image: Option<String>,
}

impl PodFields {
    /// The image of the manager's container, else of the first one.
    fn image(self) -> Option<String> {
        let containers = self.spec.containers;
        let own = containers.iter().position(|container| CONTAINERS.contains(&container.name.as_str())).unwrap_or(0);
        containers.into_iter().nth(own)?.image.filter(|image| !image.is_empty())
    }
}

/// The image of the pod at that path.
async fn own_image(path: &str, client: &Client) -> Result<String, String> {
    let (mut rejections, mut reported) = (0, false);
    loop {
        let request = Request::get(path).body(Vec::new()).map_err(|error| format!("{path}: {error}"))?;
        let Ok(answer) = timeout(REQUEST_TIMEOUT, client.request::<PodFields>(request)).await else { continue };
        match answer {
            Ok(pod) => return pod.image().ok_or_else(|| "its container has no image".to_owned()),
            Err(Error::Api(refusal)) if (400..500).contains(&refusal.code) && refusal.code != 429 => {
                rejections += 1;
                if rejections == MAX_REJECTIONS {
                    return Err(refusal.message);
                }
            }
            Err(error) if !reported => {
                let error = runtime::Error::from(error);
                tracing::warn!(
                    "cannot read the image of this manager's own pod: {error}; retrying; set AGENT_IMAGE to start without it"
                );
                reported = true;
            }
            Err(_) => {}
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(containers: &[(&str, Option<&str>)]) -> Option<String> {
        let container = |(name, image): &(&str, Option<&str>)| ContainerFields {
            name: (*name).into(),
            image: image.map(str::to_owned),
        };
        PodFields { spec: PodSpecFields { containers: containers.iter().map(container).collect() } }.image()
    }

    #[test]
    fn the_managers_own_container_goes_first() {
        assert_eq!(image(&[("mesh", Some("m:1")), ("manager", Some("o:2"))]).as_deref(), Some("o:2"));
        assert_eq!(image(&[("mesh", Some("m:1")), ("etcd-operator", Some("o:2"))]).as_deref(), Some("o:2"));
        assert_eq!(image(&[("operator", Some("o:2")), ("mesh", Some("m:1"))]).as_deref(), Some("o:2"));
        assert_eq!(image(&[("manager", None)]), None);
        assert_eq!(image(&[]), None);
    }
}
