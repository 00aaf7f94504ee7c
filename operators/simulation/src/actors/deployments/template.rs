//! The hash of a pod template, and its comparison.

use serde_json::{Value, json};

use super::super::object::set;

/// The label by which the pods of a template are known.
pub(super) const HASH: &str = "pod-template-hash";

/// The characters of a hash: those of which no words are made.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The hash of a template. Real hashes differ: theirs depend on the types of Go.
pub(in crate::actors) fn hash(template: &Value, collisions: Option<i64>) -> String {
    let collisions = collisions.map(|count| count.to_string()).unwrap_or_default();
    let text = format!("{template}{collisions}");
    let fnv = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let letter = |digit: u8| ALPHABET.get(usize::from(digit) % ALPHABET.len()).copied().map_or('b', char::from);
    fnv.to_string().bytes().map(letter).collect()
}

/// The template of a ReplicaSet.
pub(super) fn with_hash(template: &Value, hash: &str) -> Value {
    let mut template = template.clone();
    set(&mut template, &["metadata", "labels", HASH], json!(hash));
    template
}

/// The selector of a ReplicaSet.
pub(super) fn selector_with_hash(selector: &Value, hash: &str) -> Value {
    let mut selector = selector.clone();
    set(&mut selector, &["matchLabels", HASH], json!(hash));
    selector
}

/// Whether both templates make the same pods.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    let [one_metadata, other_metadata] = [one, other].map(|template| plain(&template["metadata"]));
    let metadata = one_metadata.iter().zip(&other_metadata);
    let is_equal = |(one, other): (&Field<'_>, &Field<'_>)| one.0 == other.0 && content(*one).eq(content(*other));
    one["spec"] == other["spec"] && one_metadata.len() == other_metadata.len() && metadata.into_iter().all(is_equal)
}

/// A field, by name.
type Field<'a> = (&'a str, &'a Value);

/// The metadata of a template without its hash, and without empty fields.
fn plain(metadata: &Value) -> Vec<Field<'_>> {
    let fields = metadata.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value));
    fields.filter(|field| content(*field).next().is_some()).collect()
}

/// What a field of the metadata consists of: its entries, or itself if it is a scalar.
fn content<'a>((of, value): Field<'a>) -> impl Iterator<Item = Field<'a>> {
    let entries = value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value));
    let is_scalar = !value.is_null() && !value.is_object() && value.as_array().is_none_or(|list| !list.is_empty());
    entries.filter(move |(name, _)| of != "labels" || *name != HASH).chain(is_scalar.then_some(("", value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_depends_on_the_template_and_the_collisions() {
        let template = json!({ "metadata": { "labels": { "app": "a" } }, "spec": {} });
        assert_eq!(hash(&template, None), hash(&template.clone(), None));
        assert_ne!(hash(&template, None), hash(&template, Some(1)));
        assert_ne!(hash(&template, None), hash(&json!({ "spec": {} }), None));
        assert!(hash(&template, None).bytes().all(|byte| ALPHABET.contains(&byte)));
    }

    #[test]
    fn the_hash_and_empty_metadata_make_no_difference() {
        let template = json!({ "metadata": { "labels": { "app": "a" } }, "spec": { "x": {} } });
        assert!(is_same(&template, &with_hash(&template, "h")));
        let bare = json!({ "spec": { "x": {} } });
        let empty = json!({ "metadata": { "labels": {}, "creationTimestamp": null }, "spec": { "x": {} } });
        assert!(is_same(&empty, &bare));
        assert!(!is_same(&template, &json!({ "metadata": { "labels": { "app": "b" } }, "spec": { "x": {} } })));
        assert!(!is_same(&template, &json!({ "metadata": { "labels": { "app": "a" } }, "spec": {} })));
    }
}
