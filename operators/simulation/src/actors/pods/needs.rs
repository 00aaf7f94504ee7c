//! The objects without which a pod does not start.

use std::sync::Arc;

use serde_json::Value;

use super::super::object::{items, namespace, text};
use super::content::{Find, containers};

/// What keeps the containers of a pod from starting.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Missing {
    /// A volume cannot be mounted; the kubelet gives the reason in Events only.
    pub(super) volumes: bool,
    /// The containers whose environment cannot be read, with the message of the kubelet.
    pub(super) environment: Vec<(String, String)>,
}

impl Missing {
    /// The message about the environment of a container.
    pub(super) fn message(&self, container: &str) -> Option<&str> {
        self.environment.iter().find(|(name, _)| name == container).map(|(_, message)| message.as_str())
    }
}

/// What a pod needs and lacks.
pub(super) fn missing(pod: &Value, find: &Find<'_>) -> Missing {
    let mut mounted = items(&pod["spec"]["volumes"]).iter().flat_map(sources);
    let environment = |container: &Value| {
        let message = environment(container, find, namespace(pod))?;
        Some((text(&container["name"]).to_owned(), message))
    };
    Missing {
        volumes: mounted.any(|source| !is_mountable(source, find)),
        environment: containers(pod).iter().filter_map(environment).collect(),
    }
}

/// A reference to a ConfigMap or Secret.
#[derive(Clone, Copy)]
struct Source<'a> {
    plural: &'static str,
    value: &'a Value,
}

/// What a volume is filled with.
fn sources(volume: &Value) -> Vec<Source<'_>> {
    let projected = items(&volume["projected"]["sources"]).iter();
    let all = std::iter::once(volume).chain(projected).flat_map(|from| both(&from["configMap"], &from["secret"]));
    all.filter(|source| !source.value.is_null()).collect()
}

fn both<'a>(map: &'a Value, secret: &'a Value) -> [Source<'a>; 2] {
    [Source { plural: "configmaps", value: map }, Source { plural: "secrets", value: secret }]
}

fn is_mountable(source: Source<'_>, find: &Find<'_>) -> bool {
    // The name of a Secret is in a field of another name, unless the volume is a projected one.
    let name = source.value["secretName"].as_str().unwrap_or_else(|| text(&source.value["name"]));
    let has_items =
        |found: &Arc<Value>| items(&source.value["items"]).iter().all(|item| has_key(found, text(&item["key"])));
    source.value["optional"] == true || find(source.plural, name).as_ref().is_some_and(has_items)
}

fn has_key(object: &Value, key: &str) -> bool {
    ["data", "binaryData"].iter().any(|data| !object[*data][key].is_null())
}

/// Why the environment of a container cannot be read.
fn environment(container: &Value, find: &Find<'_>, namespace: &str) -> Option<String> {
    let whole = items(&container["envFrom"]).iter().flat_map(|from| both(&from["configMapRef"], &from["secretRef"]));
    let variables = items(&container["env"]).iter().map(|variable| &variable["valueFrom"]);
    let single = variables.flat_map(|from| both(&from["configMapKeyRef"], &from["secretKeyRef"]));
    whole.chain(single).filter(|source| !source.value.is_null()).find_map(|source| unreadable(source, find, namespace))
}

fn unreadable(source: Source<'_>, find: &Find<'_>, namespace: &str) -> Option<String> {
    if source.value["optional"] == true {
        return None;
    }
    let (name, key) = (text(&source.value["name"]), text(&source.value["key"]));
    let (kind, singular) = if source.plural == "secrets" { ("Secret", "secret") } else { ("ConfigMap", "configmap") };
    match find(source.plural, name) {
        None => Some(format!("{singular} {name:?} not found")),
        Some(found) if !key.is_empty() && !has_key(&found, key) => {
            Some(format!("couldn't find key {key} in {kind} {namespace}/{name}"))
        }
        Some(_) => None,
    }
}
