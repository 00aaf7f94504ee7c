//! Pure: names of items of a list, as FieldsV1 has them, and the items that they name. Whoever writes an object may give it
//! thousands of both, so neither is gone through for each of the other.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::overlay::key_of;

/// Names items of a list.
pub(super) enum Selector {
    Keys(Map<String, Value>),
    Value(Value),
}

/// By which fields an item is told from others; none, if by all of it.
type Keys = Option<Vec<String>>;

impl Selector {
    pub(super) fn parse(path: &str) -> Option<Self> {
        let (prefix, json) = path.split_at_checked(2)?;
        match prefix {
            "k:" => serde_json::from_str(json).ok().map(Self::Keys),
            "v:" => serde_json::from_str(json).ok().map(Self::Value),
            _ => None,
        }
    }

    pub(super) fn matches(&self, item: &Value) -> bool {
        match self {
            Self::Keys(keys) => keys.iter().all(|(key, value)| *key_of(item, key) == *value),
            Self::Value(value) => item == value,
        }
    }

    /// The fields that it goes by, and the [`text`] of the items that it names.
    fn sought(&self) -> (Keys, String) {
        match self {
            Self::Keys(keys) => (Some(keys.keys().cloned().collect()), lines(keys.values().map(Value::to_string))),
            Self::Value(value) => (None, value.to_string()),
        }
    }
}

/// What an item has in these fields.
fn text(item: &Value, keys: &Keys) -> String {
    match keys {
        Some(keys) => lines(keys.iter().map(|key| key_of(item, key).to_string())),
        None => item.to_string(),
    }
}

/// JSON has no line breaks of its own.
fn lines(parts: impl Iterator<Item = String>) -> String {
    parts.fold(String::new(), |all, part| all + &part + "\n")
}

/// What a FieldsV1 says of the items that it names.
pub(super) struct Named<'a>(BTreeMap<Keys, HashMap<String, &'a Value>>);

impl<'a> Named<'a> {
    pub(super) fn by(owned: &'a Map<String, Value>) -> Self {
        let mut all: BTreeMap<Keys, HashMap<String, &Value>> = BTreeMap::new();
        for (path, below) in owned {
            let Some((keys, text)) = Selector::parse(path).map(|selector| selector.sought()) else { continue };
            all.entry(keys).or_default().entry(text).or_insert(below);
        }
        Self(all)
    }

    /// What it says of that one.
    pub(super) fn of(&self, item: &Value) -> Option<&'a Value> {
        self.0.iter().find_map(|(keys, named)| named.get(&text(item, keys)).copied())
    }
}

/// The items of a list, to be found by their names.
pub(super) struct Items<'a> {
    items: &'a [Value],
    found: BTreeMap<Keys, HashMap<String, &'a Value>>,
}

impl<'a> Items<'a> {
    pub(super) fn of(items: &'a [Value]) -> Self {
        Self { items, found: BTreeMap::new() }
    }

    /// The first one that bears that name.
    pub(super) fn named(&mut self, path: &str) -> Option<&'a Value> {
        let (keys, sought) = Selector::parse(path)?.sought();
        let items = self.items;
        let found = self.found.entry(keys).or_insert_with_key(|keys| {
            // Of two with the same keys, the last one put in stays.
            items.iter().rev().map(|item| (text(item, keys), item)).collect()
        });
        found.get(&sought).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    #[test]
    fn items_are_found_by_their_keys_and_by_their_whole_value() {
        let items = [
            json!({ "port": 53, "protocol": "UDP" }),
            json!({ "port": 53, "a": 1 }),
            json!({ "port": 53, "a": 2 }),
            json!("x"),
        ];
        let mut all = Items::of(&items);
        assert_eq!(all.named("k:{\"port\":53,\"protocol\":\"UDP\"}"), Some(&items[0]));
        assert_eq!(all.named("k:{\"port\":53,\"protocol\":\"TCP\"}"), Some(&items[1]), "the first, of the default");
        assert_eq!((all.named("v:\"x\""), all.named("f:port"), all.named("v:\"y\"")), (Some(&items[3]), None, None));
        let owned = json!({ ".": {}, "k:{\"port\":53,\"protocol\":\"TCP\"}": { "f:a": {} }, "v:\"x\"": {} });
        let named = Named::by(owned.as_object().unwrap());
        let says = items.each_ref().map(|item| named.of(item).is_some());
        assert_eq!(says, [false, true, true, true], "each of those with the same keys");
    }

    #[test]
    fn thousands_of_items_and_names_are_not_compared_each_with_each() {
        let names = || (0..20_000).map(|at| format!("k:{{\"name\":\"n{at}\"}}"));
        let items: Vec<Value> = (0..20_000).map(|at| json!({ "name": format!("n{at}") })).collect();
        let owned: Map<String, Value> = names().map(|name| (name, json!({}))).collect();
        let begun = Instant::now();
        let named = Named::by(&owned);
        assert!(items.iter().all(|item| named.of(item).is_some()));
        let mut all = Items::of(&items);
        assert!(names().all(|name| all.named(&name).is_some()));
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
}
