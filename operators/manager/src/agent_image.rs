//! The image whose `/agent` runs in members' pods: as told, else the one that this manager itself runs from.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use kube::{Client, Error};
use serde::Deserialize;
use tokio::time::timeout;

use crate::own_pod;

/// What is taken when nothing better is known: what scripts/images makes, by the name that scripts/names.env gives it.
const DEFAULT: &str = "localhost/multi-operator:dev";

/// The manager's own container, by the names that it has in manifests.
const CONTAINERS: [&str; 2] = ["manager", "etcd-operator"];

/// How long an answer may take: what is on its way to an API server that is away may never come back.
const LIMIT: Duration = Duration::from_secs(4);
/// How long until it is asked again.
const AGAIN: Duration = Duration::from_secs(1);
/// After so many refusals it is no right that was granted a moment ago.
const REFUSALS: u32 = 5;

/// `given`, else the image of the pod that this process runs in. Waits for an API server that is away: it is asked at
/// start only, and a wrong image would be in every new member's pod from then on.
pub async fn find(given: Option<&str>, client: &Client) -> Arc<str> {
    if let Some(given) = given {
        return given.into();
    }
    let own = match own_pod::key(|name| std::env::var(name).ok()) {
        Some(pod) => ask(&format!("/api/v1/namespaces/{}/pods/{}", pod.namespace, pod.name), client).await,
        None => Err("POD_NAMESPACE and POD_NAME are not set".to_owned()),
    };
    match own {
        Ok(image) => image.into(),
        Err(why) => {
            tracing::warn!(
                "etcd members and databases take their agent from {DEFAULT}, since the image of this manager's own pod \
                 cannot be told: {why}; --agent-image or AGENT_IMAGE names another"
            );
            DEFAULT.into()
        }
    }
}

/// No more of a pod than is asked for.
#[derive(Deserialize)]
struct Pod {
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    containers: Vec<Container>,
}

#[derive(Deserialize)]
struct Container {
    name: String,
    image: Option<String>,
}

impl Pod {
    /// The image of the manager's container, else of the first.
    fn image(self) -> Option<String> {
        let containers = self.spec.containers;
        let own = containers.iter().position(|container| CONTAINERS.contains(&container.name.as_str())).unwrap_or(0);
        containers.into_iter().nth(own)?.image.filter(|image| !image.is_empty())
    }
}

async fn ask(path: &str, client: &Client) -> Result<String, String> {
    let (mut refusals, mut told) = (0, false);
    loop {
        let request = Request::get(path).body(Vec::new()).map_err(|error| format!("{path}: {error}"))?;
        let Ok(answer) = timeout(LIMIT, client.request::<Pod>(request)).await else { continue };
        match answer {
            Ok(pod) => return pod.image().ok_or_else(|| "its container names none".to_owned()),
            Err(Error::Api(refusal)) if (400..500).contains(&refusal.code) && refusal.code != 429 => {
                refusals += 1;
                if refusals == REFUSALS {
                    return Err(refusal.message);
                }
            }
            Err(error) if !told => {
                let error = runtime::Error::from(error);
                tracing::warn!(
                    "waiting to learn the image of this manager's own pod (AGENT_IMAGE spares that): {error}"
                );
                told = true;
            }
            Err(_) => {}
        }
        tokio::time::sleep(AGAIN).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(containers: &[(&str, Option<&str>)]) -> Option<String> {
        let container =
            |(name, image): &(&str, Option<&str>)| Container { name: (*name).into(), image: image.map(str::to_owned) };
        Pod { spec: Spec { containers: containers.iter().map(container).collect() } }.image()
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
