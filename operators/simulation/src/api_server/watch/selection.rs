//! Pure: which objects a watch selects.

use serde_json::Value;

use crate::api_server::errors::unmodelled;
use crate::api_server::request::{ApiError, ApiRequest, ListOptions};
use crate::api_server::state::ObjectKey;

/// The objects of a namespace, or all, that fulfill all requirements.
pub(super) struct Selection {
    namespace: Option<String>,
    labels: Vec<Requirement>,
    fields: Vec<Requirement>,
}

/// A requirement of a label or field.
#[derive(Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    /// One of these values; any if `None`.
    values: Option<Vec<String>>,
    /// It is to be false.
    negated: bool,
}

impl Selection {
    /// The objects that a request selects.
    ///
    /// # Errors
    /// With the code 501 if a selector is not modelled.
    pub(super) fn of(request: &ApiRequest, options: &ListOptions) -> Result<Self, ApiError> {
        let parse = |text: &Option<String>| -> Result<Vec<Requirement>, ApiError> {
            terms(text.as_deref().unwrap_or_default()).map(requirement).collect()
        };
        let fields = parse(&options.fields)?;
        let unknown = fields.iter().find(|field| !matches!(&*field.key, "metadata.name" | "metadata.namespace"));
        if let Some(field) = unknown {
            return Err(unmodelled(format!("a selector of the field {}", field.key)));
        }
        if request.name.is_some() || options.limit.is_some() || options.after.is_some() {
            return Err(unmodelled("a watch of one object, or with a limit"));
        }
        Ok(Self { namespace: request.namespace.clone(), labels: parse(&options.labels)?, fields })
    }

    /// Whether an object with that key may be selected.
    pub(super) fn has_key(&self, (namespace, _): &ObjectKey) -> bool {
        self.namespace.as_ref().is_none_or(|selected| selected == namespace)
    }

    /// Whether the labels and fields of an object are selected.
    pub(super) fn matches(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        let field = |key: &str| key.strip_prefix("metadata.").and_then(|key| metadata[key].as_str());
        self.labels.iter().all(|wanted| wanted.is_met(metadata["labels"][&wanted.key].as_str()))
            && self.fields.iter().all(|wanted| wanted.is_met(field(&wanted.key)))
    }
}

impl Requirement {
    fn is_met(&self, value: Option<&str>) -> bool {
        let found = value.is_some_and(|value| match &self.values {
            Some(values) => values.iter().any(|wanted| wanted == value),
            None => true,
        });
        found != self.negated
    }
}

/// The requirements of a selector, as texts: separated by commas that are not in parentheses.
fn terms(selector: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    let separated = selector.split(move |character| {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    });
    separated.map(str::trim).filter(|term| !term.is_empty())
}

fn requirement(term: &str) -> Result<Requirement, ApiError> {
    let is_key = |key: &str| !key.is_empty() && !key.contains([' ', '(', ')', '=', '!', ',', '<', '>']);
    let of = |key: &str, values: Option<Vec<String>>, negated: bool| {
        let key = key.trim();
        if is_key(key) {
            return Ok(Requirement { key: key.to_owned(), values, negated });
        }
        Err(unmodelled(format!("the selector {term}")))
    };
    let one = |value: &str| Some(vec![value.trim().to_owned()]);
    let set = |set: &str| set.trim().strip_prefix('(')?.strip_suffix(')').map(split_values);
    if let Some((key, values)) = term.split_once(" notin ").and_then(|(key, values)| Some((key, set(values)?))) {
        return of(key, Some(values), true);
    }
    if let Some((key, values)) = term.split_once(" in ").and_then(|(key, values)| Some((key, set(values)?))) {
        return of(key, Some(values), false);
    }
    if let Some((key, value)) = term.split_once("!=") {
        return of(key, one(value), true);
    }
    if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        return of(key, one(value), false);
    }
    match term.strip_prefix('!') {
        Some(key) => of(key, None, true),
        None => of(term, None, false),
    }
}

fn split_values(values: &str) -> Vec<String> {
    values.split(',').map(|value| value.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches(selector: &str, labels: &Value) -> bool {
        let labels_wanted = terms(selector).map(requirement).collect::<Result<_, _>>().unwrap();
        let selection = Selection { namespace: None, labels: labels_wanted, fields: Vec::new() };
        selection.matches(&json!({ "metadata": { "labels": labels } }))
    }

    #[test]
    fn labels_are_compared_as_kubernetes_does() {
        let labels = json!({ "a": "1", "b": "2" });
        for selector in ["a=1", "a==1,b=2", "a", "!c", "c!=1", "a in (1, 3),b", "c notin (1)", "a notin (2,3)", ""] {
            assert!(matches(selector, &labels), "{selector}");
        }
        for selector in ["a=2", "a=1,b=1", "c", "!a", "a!=1", "a in (2,3)", "c in (1)", "a notin (1)"] {
            assert!(!matches(selector, &labels), "{selector}");
        }
        assert!(matches("!a", &Value::Null), "an object without labels");
    }

    #[test]
    fn other_selectors_are_an_error() {
        for selector in ["a > 1", "a in 1", "=1", "a b"] {
            assert!(requirement(selector).is_err(), "{selector}");
        }
    }
}
