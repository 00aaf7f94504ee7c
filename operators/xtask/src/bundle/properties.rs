//! The properties of a schema, by their paths.

use serde_json::Value;

/// A property of a schema.
pub(crate) struct Property<'a> {
    /// Its path below its part: `storage.size`, `conditions[0].type`.
    pub path: String,
    /// Its schema.
    pub schema: &'a Value,
}

impl Property<'_> {
    /// Whether it is so deep in a part of an object that it has no descriptor, since the size of a bundle is limited: consoles make
    /// forms of the spec, and show the first level of the status.
    pub fn is_deep(&self, part: &str) -> bool {
        self.path.matches('.').count() > usize::from(part == "spec")
    }

    /// Its description in the schema. Fields that Kubernetes itself documents have none, such as those within an affinity.
    pub fn description(&self) -> Option<&str> {
        self.schema.get("description")?.as_str().filter(|text| !text.is_empty())
    }
}

/// The properties of a part, each before those within it. Properties without a description are not expanded.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_kubernetes_documents_is_listed_and_not_expanded() {
        let schema = json!({"properties": {
            "affinity": {"description": "As in a Pod.", "type": "object",
                         "properties": {"nodeAffinity": {"type": "object", "properties": {"deep": {}}}}},
        }});
        let all = properties(&schema);
        let silent: Vec<&str> = all.iter().filter(|it| it.description().is_none()).map(|it| &*it.path).collect();
        assert_eq!(silent, ["affinity.nodeAffinity"]);
    }
}
