//! A descriptor for every property of a kind that is not too deep in it, from the schema's descriptions: consoles build forms and pages from them.

use serde_json::{Value, json};

use super::hints;
use super::properties::properties;

/// How many bytes of a description a form shows, in whole sentences; the schema has all of it.
const SUMMARY: usize = 120;

/// The parts of an object that have descriptors, with the CSV's name for each.
pub(crate) const PARTS: [(&str, &str); 2] = [("spec", "specDescriptors"), ("status", "statusDescriptors")];

/// The descriptors of a part of an object's schema; none if it lacks that part.
pub(crate) fn descriptors(schema: &Value, part: &str) -> Vec<Value> {
    let Some(part_schema) = schema.pointer(&format!("/properties/{part}")) else { return Vec::new() };
    let shown = properties(part_schema).into_iter().filter(|property| !property.is_deep(part));
    let described = shown.filter_map(|property| {
        let description = property.description()?;
        Some(json!({
            "description": summary(description),
            "displayName": display_name(&property.path),
            "path": property.path,
            "x-descriptors": hints::hints(part, &property),
        }))
    });
    described.collect()
}

/// The first sentences of a text, in one line.
fn summary(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.len() <= SUMMARY {
        return text;
    }
    let ends: Vec<usize> = text.match_indices(". ").map(|(at, _)| at + 1).collect();
    let end = ends.iter().rfind(|end| **end <= SUMMARY).or(ends.first()).copied();
    text[..end.unwrap_or(text.len())].to_owned()
}

/// The display name of a property: the words of its last name. `storageClassName` is Storage Class Name, `DNSTimeout` DNS
/// Timeout.
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
                           "items": {"properties": {"sql": {"description": "The question.", "type": "string",
                               "properties": {"of": {"description": "e"}}}}}},
                "env": {"description": "a", "properties": {"from": {"description": "b", "properties": {
                    "secret": {"description": "c", "properties": {"key": {"description": "d", "type": "string"}}}}}}},
            }},
            "status": {"properties": {"backup": {"description": "a", "properties": {"last": {"description": "b", "properties": {
                "name": {"description": "c", "type": "string"}}}}}}},
        }})
    }

    #[test]
    fn a_long_description_is_cut_after_a_sentence() {
        let (first, second) = (format!("{}.", "a".repeat(80)), format!("{}.", "b".repeat(60)));
        assert_eq!(summary(&format!("{first}\n{second}")), first);
        assert_eq!(summary(&format!("One. Two. {second} {second}")), format!("One. Two. {second}"));
        let long = "c".repeat(200);
        assert_eq!(
            (summary(&long), summary("Such as 3.6.16. Default: none.")),
            (long, "Such as 3.6.16. Default: none.".to_owned())
        );
    }

    #[test]
    fn every_documented_property_has_one_unless_it_is_deep() {
        let made = descriptors(&schema(), "spec");
        let paths: Vec<&str> = made.iter().map(|made| made["path"].as_str().unwrap()).collect();
        assert_eq!(paths, ["affinity", "checks", "checks[0].sql", "env", "env.from"]);
        assert_eq!(made[1]["description"], "What to ask.");
        let reported = descriptors(&schema(), "status");
        let paths: Vec<&str> = reported.iter().map(|made| made["path"].as_str().unwrap()).collect();
        assert_eq!(paths, ["backup"]);
        assert!(descriptors(&schema(), "metadata").is_empty());
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
