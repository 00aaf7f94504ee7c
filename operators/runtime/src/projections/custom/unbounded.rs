//! Pure: limits the fields of a spec whose size the CRD does not limit, such as an affinity. Some JSON takes tens of times its
//! length in memory once it is parsed, and all objects share the memory of the manager: so these fields are measured before they
//! are parsed.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::Error;
use serde_json::value::RawValue;

/// The maximum length of the JSON of all such fields of one object, in bytes.
const LONGEST: usize = 64 * 1024;

/// A field by its name, and its JSON.
type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// Rejects an object whose fields at these `paths` of the spec are too long.
pub(super) fn bound(json: &str, paths: &[&str]) -> serde_json::Result<()> {
    #[derive(Deserialize)]
    struct Wire<'a> {
        #[serde(borrow)]
        spec: Option<&'a RawValue>,
    }
    if paths.is_empty() || json.len() <= LONGEST {
        return Ok(());
    }
    let Some(spec) = serde_json::from_str::<Wire<'_>>(json)?.spec else { return Ok(()) };
    let mut lengths: Vec<(&str, usize)> = Vec::new();
    for path in paths {
        lengths.extend(length(spec, path)?.map(|length| (*path, length)));
    }
    let all: usize = lengths.iter().map(|(_, length)| length).sum();
    match lengths.into_iter().max_by_key(|(_, length)| *length) {
        Some((path, length)) if all > LONGEST => Err(serde_json::Error::custom(format!(
            "spec.{path} is too long: it has {length} bytes of JSON, and {} may have {LONGEST} in all; make it shorter",
            paths.join(", ")
        ))),
        _ => Ok(()),
    }
}

/// The length of the JSON at a path of field names, separated by dots.
fn length(spec: &RawValue, path: &str) -> serde_json::Result<Option<usize>> {
    let mut at = spec;
    for name in path.split('.') {
        // A value that is no object violates the CRD, and takes no more memory than its text.
        let fields: Option<Fields<'_>> = serde_json::from_str(at.get())?;
        match fields.as_ref().and_then(|fields| fields.get(name)) {
            Some(field) => at = field,
            None => return Ok(None),
        }
    }
    Ok(Some(at.get().len()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn bounded(spec: &Value, paths: &[&str]) -> Result<(), String> {
        bound(&json!({ "metadata": { "name": "a" }, "spec": spec }).to_string(), paths).map_err(|why| why.to_string())
    }

    #[test]
    fn unbounded_fields_are_measured_together_and_others_are_not() {
        let half = |more: usize| "x".repeat(LONGEST / 2 - 2 + more);
        let paths = ["pod.affinity", "tolerations"];
        let spec = |more| json!({ "pod": { "affinity": half(more), "annotations": half(9) }, "tolerations": half(0) });
        assert_eq!(bounded(&spec(0), &paths), Ok(()));
        let why = bounded(&spec(1), &paths).unwrap_err();
        assert!(why.starts_with("spec.pod.affinity is too long: it has 32769 bytes"), "{why}");
        assert!(why.contains("pod.affinity, tolerations may have 65536 in all; make it shorter"), "{why}");
        assert_eq!(bounded(&spec(1), &[]), Ok(()), "a kind without unbounded fields");
        let other = json!({ "pod": null, "more": half(LONGEST) });
        assert_eq!(bounded(&other, &paths), Ok(()));
        assert_eq!(bounded(&Value::Null, &paths), Ok(()));
    }
}
