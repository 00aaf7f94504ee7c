//! A descriptor for every property of a kind, from the schema's own words: consoles make forms and pages of them.

use serde_json::{Value, json};

use super::hints;

/// A property of a schema.
pub(crate) struct Property<'a> {
    /// Where it stands below its part: `storage.size`, `conditions[0].type`.
    pub path: String,
    /// Its schema.
    pub schema: &'a Value,
}

impl Property<'_> {
    /// What the schema says of it. Nothing is said of what Kubernetes documents itself, the inside of an affinity, say.
    pub fn description(&self) -> Option<&str> {
        self.schema.get("description")?.as_str().filter(|text| !text.is_empty())
    }
}

/// The parts of an object that descriptors speak of, with the CSV's name for each.
pub(crate) const PARTS: [(&str, &str); 2] = [("spec", "specDescriptors"), ("status", "statusDescriptors")];

/// The properties of a part, each before those within it. What has no description is not looked into.
pub(crate) fn properties(part: &Value) -> Vec<Property<'_>> {
    let mut found = Vec::new();
    collect(part, "", &mut found);
    found
}

fn collect<'a>(schema: &'a Value, prefix: &str, found: &mut Vec<Property<'a>>) {
    let within = schema.get("properties").and_then(Value::as_object);
    for (name, schema) in within.into_iter().flatten() {
        let property = Property { path: format!("{prefix}{name}"), schema };
        let (path, documented) = (property.path.clone(), property.description().is_some());
        found.push(property);
        if documented {
            collect(schema, &format!("{path}."), found);
            if let Some(items) = schema.get("items") {
                collect(items, &format!("{path}[0]."), found);
            }
        }
    }
}

/// The descriptors of a part of an object's schema; of one that it does not have, none.
pub(crate) fn descriptors(schema: &Value, part: &str) -> Vec<Value> {
    let Some(part_schema) = schema.pointer(&format!("/properties/{part}")) else { return Vec::new() };
    let described = properties(part_schema).into_iter().filter_map(|property| {
        let description = property.description()?;
        Some(json!({
            "description": one_line(description),
            "displayName": display_name(&property.path),
            "path": property.path,
            "x-descriptors": hints::hints(part, &property),
        }))
    });
    described.collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What people call it: the words of its last name. `storageClassName` is Storage Class Name, `DNSTimeout` DNS Timeout.
fn display_name(path: &str) -> String {
    let letters: Vec<char> = path.rsplit('.').next().unwrap_or(path).chars().collect();
    let mut words = String::new();
    for (place, &letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|place| letters.get(place));
        let ends_a_word = before.is_some_and(|before| !before.is_ascii_uppercase());
        let begins_a_word = letters.get(place + 1).is_some_and(char::is_ascii_lowercase);
        if letter.is_ascii_uppercase() && before.is_some() && (ends_a_word || begins_a_word) {
            words.push(' ');
        }
        words.push(if place == 0 { letter.to_ascii_uppercase() } else { letter });
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({"properties": {
            "spec": {"properties": {
                "affinity": {"description": "As in a Pod.", "type": "object",
                             "properties": {"nodeAffinity": {"type": "object", "properties": {"deep": {}}}}},
                "checks": {"description": "What\nto ask.", "type": "array",
                           "items": {"properties": {"sql": {"description": "The question.", "type": "string"}}}},
            }},
        }})
    }

    #[test]
    fn every_documented_property_has_one() {
        let made = descriptors(&schema(), "spec");
        let paths: Vec<&str> = made.iter().map(|made| made["path"].as_str().unwrap()).collect();
        assert_eq!(paths, ["affinity", "checks", "checks[0].sql"]);
        assert_eq!(made[1]["description"], "What to ask.");
        assert!(descriptors(&schema(), "status").is_empty());
    }

    #[test]
    fn what_kubernetes_documents_is_listed_and_not_looked_into() {
        let schema = schema();
        let all = properties(&schema["properties"]["spec"]);
        let silent: Vec<&str> = all.iter().filter(|it| it.description().is_none()).map(|it| &*it.path).collect();
        assert_eq!(silent, ["affinity.nodeAffinity"]);
    }

    #[test]
    fn names_are_words() {
        assert_eq!(display_name("storage.storageClassName"), "Storage Class Name");
        assert_eq!(display_name("pod.ClusterDomain"), "Cluster Domain");
        assert_eq!(display_name("pod.DNSTimeoutInSecond"), "DNS Timeout In Second");
        assert_eq!(display_name("clusterID"), "Cluster ID");
        assert_eq!(display_name("TLS"), "TLS");
    }
}
