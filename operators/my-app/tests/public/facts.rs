//! The facts of objects, one per path: with defaults, and without what every MyApp has.
//!
//! Left out are labels and selectors, names of containers' ports and of volumes, and what every pod of a MyApp has: the seccomp profile
//! RuntimeDefault, no privilege escalation, the name of the default container, an even spread over zones and nodes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::container::{PortNames, container};

/// Values by paths such as `app/image`.
pub type Facts = BTreeMap<String, Value>;

/// The facts of a Deployment, its Service and its autoscaler.
pub fn facts(objects: &[Value]) -> Facts {
    let mut facts = Facts::new();
    let of_kind = |kind: &str| objects.iter().find(|object| object["kind"] == kind);
    let deployment = of_kind("Deployment").expect("a Deployment");
    let scaled = of_kind("HorizontalPodAutoscaler");
    let template = &deployment["spec"]["template"];
    let names = port_names(&template["spec"]);
    rollout(&mut facts, &deployment["spec"], scaled.is_some());
    annotations(&mut facts, "pod", &template["metadata"]);
    pod(&mut facts, &template["spec"], &names);
    if let Some(found) = of_kind("Service") {
        service(&mut facts, found, &names);
    }
    if let Some(scaler) = scaled {
        let spec = &scaler["spec"];
        facts.insert("autoscaling/min".to_owned(), or(&spec["minReplicas"], json!(1)));
        facts.insert("autoscaling/max".to_owned(), spec["maxReplicas"].clone());
        facts.insert("autoscaling/metrics".to_owned(), spec["metrics"].clone());
    }
    facts
}

/// The value, or what it is by default.
pub fn or(value: &Value, default: Value) -> Value {
    if value.is_null() { default } else { value.clone() }
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn port_names(pod: &Value) -> PortNames {
    let ports = list(&pod["containers"]).iter().flat_map(|container| list(&container["ports"]));
    ports.filter_map(|port| Some((port["name"].as_str()?.to_owned(), port["containerPort"].clone()))).collect()
}

fn rollout(facts: &mut Facts, spec: &Value, scaled: bool) {
    let mut put = |fact: &str, value: Value| facts.insert(format!("deployment/{fact}"), value);
    if !scaled {
        put("replicas", or(&spec["replicas"], json!(1)));
    }
    let strategy = &spec["strategy"];
    let type_ = or(&strategy["type"], json!("RollingUpdate"));
    if type_ == "RollingUpdate" {
        put("maxSurge", or(&strategy["rollingUpdate"]["maxSurge"], json!("25%")));
        put("maxUnavailable", or(&strategy["rollingUpdate"]["maxUnavailable"], json!("25%")));
    }
    put("strategy", type_);
    put("progressDeadlineSeconds", or(&spec["progressDeadlineSeconds"], json!(600)));
    put("minReadySeconds", or(&spec["minReadySeconds"], json!(0)));
    put("revisionHistoryLimit", or(&spec["revisionHistoryLimit"], json!(10)));
}

fn annotations(facts: &mut Facts, of: &str, metadata: &Value) {
    for (name, value) in metadata["annotations"].as_object().into_iter().flatten() {
        if name != "kubectl.kubernetes.io/default-container" {
            facts.insert(format!("{of}/annotations/{name}"), value.clone());
        }
    }
}

fn pod(facts: &mut Facts, spec: &Value, names: &PortNames) {
    facts.insert("pod/serviceAccountName".to_owned(), or(&spec["serviceAccountName"], json!("default")));
    facts.insert("pod/token".to_owned(), or(&spec["automountServiceAccountToken"], json!(true)));
    facts.insert("pod/gracePeriod".to_owned(), or(&spec["terminationGracePeriodSeconds"], json!(30)));
    let elsewhere = [
        "containers",
        "initContainers",
        "volumes",
        "serviceAccount",
        "serviceAccountName",
        "automountServiceAccountToken",
        "terminationGracePeriodSeconds",
        "securityContext",
    ];
    let defaults = [
        ("dnsPolicy", json!("ClusterFirst")),
        ("restartPolicy", json!("Always")),
        ("enableServiceLinks", json!(true)),
        ("shareProcessNamespace", json!(false)),
    ];
    for (field, value) in spec.as_object().into_iter().flatten() {
        let is_default = defaults.iter().any(|(name, default)| name == field && default == value);
        let is_spread = field == "topologySpreadConstraints" && is_ours(value);
        if !(elsewhere.contains(&&**field) || is_default || is_spread) {
            facts.insert(format!("pod/{field}"), value.clone());
        }
    }
    // The facts of containers include what they inherit.
    for (field, value) in spec["securityContext"].as_object().into_iter().flatten() {
        if !["seccompProfile", "runAsUser", "runAsGroup", "runAsNonRoot"].contains(&&**field) {
            facts.insert(format!("pod/securityContext/{field}"), value.clone());
        }
    }
    // The first one is the application, whatever it is called.
    for (at, found) in list(&spec["containers"]).iter().enumerate() {
        let name = if at == 0 { "app" } else { found["name"].as_str().unwrap_or_default() };
        container(facts, name, found, spec, names);
    }
    for found in list(&spec["initContainers"]) {
        container(facts, &format!("init/{}", found["name"].as_str().unwrap_or_default()), found, spec, names);
    }
}

/// Whether it is the spread that every MyApp has.
fn is_ours(constraints: &Value) -> bool {
    list(constraints).iter().all(|constraint| constraint["matchLabelKeys"] == json!(["pod-template-hash"]))
}

fn service(facts: &mut Facts, service: &Value, names: &PortNames) {
    facts.insert("service/name".to_owned(), service["metadata"]["name"].clone());
    annotations(facts, "service", &service["metadata"]);
    let spec = &service["spec"];
    facts.insert("service/type".to_owned(), or(&spec["type"], json!("ClusterIP")));
    for (field, value) in spec.as_object().into_iter().flatten() {
        if !["type", "ports", "selector"].contains(&&**field) {
            facts.insert(format!("service/{field}"), value.clone());
        }
    }
    let ports = list(&spec["ports"]);
    for port in ports {
        let path = format!(
            "service/ports/{}/{}",
            port["port"],
            or(&port["protocol"], json!("TCP")).as_str().unwrap_or_default()
        );
        facts.insert(format!("{path}/target"), resolved(&or(&port["targetPort"], port["port"].clone()), names));
        for field in ["name", "nodePort", "appProtocol"] {
            // `port` calls the only one so that otherwise need not have a name.
            let is_of_port = field == "name" && ports.len() == 1 && port[field] == "app";
            if !(port[field].is_null() || is_of_port) {
                facts.insert(format!("{path}/{field}"), port[field].clone());
            }
        }
    }
}

/// A port by its number.
pub fn resolved(port: &Value, names: &PortNames) -> Value {
    port.as_str().and_then(|name| names.get(name)).unwrap_or(port).clone()
}
