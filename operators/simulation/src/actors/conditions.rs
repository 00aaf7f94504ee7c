//! The conditions in the status of workloads.

use serde_json::{Value, json};

use super::object::{items, set as set_field};

/// The condition of that type.
pub fn find<'a>(status: &'a Value, type_: &str) -> Option<&'a Value> {
    items(&status["conditions"]).iter().find(|condition| condition["type"] == type_)
}

/// Whether the condition of that type has that reason.
pub fn has_reason(status: &Value, type_: &str, reason: &str) -> bool {
    find(status, type_).is_some_and(|condition| condition["reason"] == reason)
}

/// The condition of that type, if it is True.
pub fn find_true<'a>(status: &'a Value, type_: &str) -> Option<&'a Value> {
    find(status, type_).filter(|condition| condition["status"] == "True")
}

/// Whether the condition of that type is True.
#[cfg(test)]
pub fn is_true(status: &Value, type_: &str) -> bool {
    find_true(status, type_).is_some()
}

/// Sets a condition as the controllers of workloads do: one with the same status and reason stays as it is, with its message, and
/// one with the same status keeps its transition time.
pub fn set(status: &mut Value, mut condition: Value) {
    let type_ = condition["type"].as_str().unwrap_or_default().to_owned();
    if let Some(present) = find(status, &type_)
        && present["status"] == condition["status"]
    {
        if present["reason"] == condition["reason"] {
            return;
        }
        set_field(&mut condition, &["lastTransitionTime"], present["lastTransitionTime"].clone());
    }
    replace(status, &type_, Some(condition));
}

/// Removes the condition of that type.
pub fn remove(status: &mut Value, type_: &str) {
    if find(status, type_).is_some() {
        replace(status, type_, None);
    }
}

fn replace(status: &mut Value, type_: &str, condition: Option<Value>) {
    let others = items(&status["conditions"]).iter().filter(|present| present["type"] != type_).cloned();
    let conditions: Vec<Value> = others.chain(condition).collect();
    if conditions.is_empty() {
        super::object::remove(status, &["conditions"]);
    } else {
        set_field(status, &["conditions"], json!(conditions));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(status: &str, reason: &str, at: &str) -> Value {
        json!({ "type": "T", "status": status, "reason": reason, "message": at, "lastTransitionTime": at })
    }

    #[test]
    fn the_transition_time_changes_with_the_status_only() {
        let mut status = Value::Null;
        set(&mut status, condition("True", "A", "1"));
        set(&mut status, condition("True", "A", "2"));
        assert_eq!(status["conditions"], json!([condition("True", "A", "1")]));
        set(&mut status, condition("True", "B", "3"));
        assert_eq!(
            find(&status, "T").map(|one| (&one["message"], &one["lastTransitionTime"])),
            Some((&json!("3"), &json!("1")))
        );
        set(&mut status, condition("False", "B", "4"));
        assert_eq!(status["conditions"], json!([condition("False", "B", "4")]));
        assert!(has_reason(&status, "T", "B") && !is_true(&status, "T"));
        remove(&mut status, "T");
        assert_eq!(status, json!({}));
    }
}
