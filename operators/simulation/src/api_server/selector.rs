//! Which objects of a collection a request is about: selectors of labels and of fields.

use serde_json::Value;

use super::errors::{bad_request, unmodelled};
use super::request::{ApiError, ListOptions};

#[cfg(test)]
mod tests;

/// The selectors of a list or a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectionSelector {
    labels: Vec<Requirement>,
    fields: Vec<FieldRequirement>,
}

/// What a label has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    /// The values; `None` if the label need only exist.
    values: Option<Vec<String>>,
    negated: bool,
}

/// What a field of the metadata has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldRequirement {
    field: &'static str,
    value: String,
    negated: bool,
}

impl CollectionSelector {
    /// The selector of these parameters.
    ///
    /// # Errors
    /// Of a selector that cannot be read, and of fields other than name and namespace.
    pub fn parse(options: &ListOptions) -> Result<Self, ApiError> {
        let labels = options.labels.as_deref().unwrap_or_default();
        let fields = options.fields.as_deref().unwrap_or_default();
        Ok(Self {
            labels: terms(labels).into_iter().map(Requirement::parse).collect::<Result<_, _>>()?,
            fields: terms(fields).into_iter().map(FieldRequirement::parse).collect::<Result<_, _>>()?,
        })
    }

    /// It selects everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// It selects one name, so that there is no other page.
    #[must_use]
    pub fn names_one(&self) -> bool {
        self.fields.iter().any(|field| field.field == "name" && !field.negated)
    }

    /// It selects that object.
    #[must_use]
    pub fn matches(&self, object: &Value) -> bool {
        let metadata = object.get("metadata");
        let label = |key: &str| metadata?.get("labels")?.get(key)?.as_str();
        let field = |name: &str| metadata.and_then(|metadata| metadata.get(name)?.as_str()).unwrap_or_default();
        self.labels.iter().all(|requirement| requirement.accepts(label(&requirement.key)))
            && self.fields.iter().all(|of| (field(of.field) == of.value) != of.negated)
    }
}

impl Requirement {
    fn parse(term: &str) -> Result<Self, ApiError> {
        let unreadable = || bad_request(format!("unable to parse requirement: {term:?}"));
        let (key, values, negated) = if let Some((head, list)) = term.split_once('(') {
            let list = list.strip_suffix(')').ok_or_else(unreadable)?;
            let values = list.split(',').map(|value| value.trim().to_owned()).collect();
            let (key, operator) = head.trim().split_once(char::is_whitespace).ok_or_else(unreadable)?;
            match operator.trim() {
                "in" => (key, Some(values), false),
                "notin" => (key, Some(values), true),
                _ => return Err(unreadable()),
            }
        } else if let Some((key, value, negated)) = equation(term) {
            (key, Some(vec![value.to_owned()]), negated)
        } else if let Some(key) = term.strip_prefix('!') {
            (key.trim(), None, true)
        } else {
            (term, None, false)
        };
        if key.is_empty() || key.contains(|c: char| c.is_whitespace() || "=!<>()".contains(c)) {
            return Err(unreadable());
        }
        Ok(Self { key: key.to_owned(), values, negated })
    }

    /// A label with that value passes; `None` if the object has no such label.
    fn accepts(&self, label: Option<&str>) -> bool {
        let meets = match &self.values {
            None => label.is_some(),
            Some(values) => label.is_some_and(|label| values.iter().any(|value| value == label)),
        };
        meets != self.negated
    }
}

impl FieldRequirement {
    fn parse(term: &str) -> Result<Self, ApiError> {
        let (path, value, negated) =
            equation(term).ok_or_else(|| bad_request(format!("invalid field selector: {term:?}")))?;
        let field = match path {
            "metadata.name" => "name",
            "metadata.namespace" => "namespace",
            _ => return Err(unmodelled(format!("the field selector {term}"))),
        };
        Ok(Self { field, value: value.to_owned(), negated })
    }
}

/// The two sides of a term with `=`, `==` or `!=`, and whether it is the last.
fn equation(term: &str) -> Option<(&str, &str, bool)> {
    let (left, right) = term.split_once('=')?;
    let (left, negated) = left.strip_suffix('!').map_or((left, false), |left| (left, true));
    let right = if negated { right } else { right.strip_prefix('=').unwrap_or(right) };
    Some((left.trim(), right.trim(), negated))
}

/// The terms between commas that are in no parentheses.
fn terms(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let split = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    split.map(str::trim).filter(|term| !term.is_empty()).collect()
}
