//! How a console should show a property: x-descriptors of OpenShift, which others read too.

use serde_json::Value;

use super::properties::Property;

const UI: &str = "urn:alm:descriptor:com.tectonic.ui:";
const KUBERNETES: &str = "urn:alm:descriptor:io.kubernetes:";

/// Fields that name an object of Kubernetes, by the end of their paths.
const NAMES: [(&str, &str); 12] = [
    ("storageClassName", "StorageClass"),
    ("secretRef.name", "Secret"),
    ("secretKeyRef.name", "Secret"),
    ("configMapRef.name", "ConfigMap"),
    ("configMapKeyRef.name", "ConfigMap"),
    ("peerSecret", "Secret"),
    ("serverSecret", "Secret"),
    ("operatorSecret", "Secret"),
    ("existingClaim", "PersistentVolumeClaim"),
    ("credentialsSecret", "Secret"),
    ("connectionConfigMap", "ConfigMap"),
    ("serviceName", "Service"),
];

/// Fields of the spec that few people set, by the first name of their paths or the one after `pod`.
const ADVANCED: [&str; 9] = [
    "affinity",
    "imagePullSecrets",
    "nodeSelector",
    "podSecurityContext",
    "priorityClassName",
    "securityContext",
    "tolerations",
    "topologySpreadConstraints",
    "persistentVolumeClaimSpec",
];

/// The text in the description of a field that is rejected so far.
const NOT_SUPPORTED: &str = "Not supported yet";

/// The x-descriptors of a property of `part`, the most specific first.
pub(crate) fn hints(part: &str, property: &Property<'_>) -> Vec<String> {
    let path = property.path.as_str();
    let mut hints = vec![if part == "status" { shown(property) } else { entered(property) }];
    hints.extend(group(path));
    if part == "spec" {
        let own = path.strip_prefix("pod.").unwrap_or(path).split(['.', '[']).next().unwrap_or_default();
        if ADVANCED.contains(&own) {
            hints.push(format!("{UI}advanced"));
        }
        if property.description().is_some_and(|text| text.contains(NOT_SUPPORTED)) {
            hints.push(format!("{UI}hidden"));
        }
        hints.extend(choices(property.schema));
    }
    hints
}

/// How a field of the status is shown.
fn shown(property: &Property<'_>) -> String {
    match property.path.as_str() {
        "conditions" => "urn:alm:descriptor:io.kubernetes.conditions".to_owned(),
        "phase" => "urn:alm:descriptor:io.kubernetes.phase".to_owned(),
        "reason" => "urn:alm:descriptor:io.kubernetes.phase:reason".to_owned(),
        "members" => format!("{UI}podStatuses"),
        path => named(path).unwrap_or_else(|| format!("{UI}text")),
    }
}

/// How a field of the spec is entered.
fn entered(property: &Property<'_>) -> String {
    let path = property.path.as_str();
    let type_ = property.schema.get("type").and_then(Value::as_str).unwrap_or_default();
    match type_ {
        "boolean" => format!("{UI}booleanSwitch"),
        "integer" if ["replicas", "size"].contains(&path) => format!("{UI}podCount"),
        "integer" | "number" => format!("{UI}number"),
        "object" if path.rsplit('.').next() == Some("resources") => format!("{UI}resourceRequirements"),
        "object" if property.schema.get("properties").is_some() => format!("{UI}fieldGroup:{path}"),
        "array" if property.schema.pointer("/items/properties").is_some() => format!("{UI}arrayFieldGroup:{path}"),
        _ => named(path).unwrap_or_else(|| format!("{UI}text")),
    }
}

fn named(path: &str) -> Option<String> {
    let kind = NAMES.iter().find(|(end, _)| path == *end || path.ends_with(&format!(".{end}")))?.1;
    Some(format!("{KUBERNETES}{kind}"))
}

/// The group that a property within another belongs to.
fn group(path: &str) -> Option<String> {
    let (parent, _) = path.rsplit_once('.')?;
    Some(match parent.strip_suffix("[0]") {
        Some(list) => format!("{UI}arrayFieldGroup:{list}"),
        None => format!("{UI}fieldGroup:{parent}"),
    })
}

/// The values that a field may take, where they are few.
fn choices(schema: &Value) -> Vec<String> {
    let values = schema.get("enum").and_then(Value::as_array);
    let words = values.into_iter().flatten().filter_map(Value::as_str);
    words.map(|word| format!("{UI}select:{word}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(part: &str, path: &str, schema: &Value) -> Vec<String> {
        hints(part, &Property { path: path.to_owned(), schema })
    }

    #[test]
    fn a_field_is_entered_by_its_type_and_name() {
        let first = |path, schema: Value| of("spec", path, &schema).swap_remove(0);
        assert!(first("replicas", json!({"type": "integer"})).ends_with("ui:podCount"));
        assert!(first("port", json!({"type": "integer"})).ends_with("ui:number"));
        assert!(first("paused", json!({"type": "boolean"})).ends_with("ui:booleanSwitch"));
        assert!(first("storage.storageClassName", json!({"type": "string"})).ends_with("kubernetes:StorageClass"));
        assert!(first("credentials.secretRef.name", json!({"type": "string"})).ends_with("kubernetes:Secret"));
        assert!(first("pod.resources", json!({"type": "object"})).ends_with("ui:resourceRequirements"));
    }

    #[test]
    fn groups_choices_and_what_is_rarely_wanted_are_marked() {
        let policy = of("spec", "upgrade.policy", &json!({"type": "string", "enum": ["Auto", "Manual"]}));
        assert!(policy.contains(&format!("{UI}fieldGroup:upgrade")));
        assert!(policy.contains(&format!("{UI}select:Manual")));
        assert!(of("spec", "pod.tolerations", &json!({})).contains(&format!("{UI}advanced")));
        let refused = of("spec", "tls", &json!({"description": "TLS. Not supported yet: rejected."}));
        assert!(refused.contains(&format!("{UI}hidden")));
        let item = of("status", "conditions[0].type", &json!({}));
        assert_eq!(item, [format!("{UI}text"), format!("{UI}arrayFieldGroup:conditions")]);
    }
}
