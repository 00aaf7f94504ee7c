//! Pure: matches the names of list items in a FieldsV1 to the items. An object may have thousands of both, so they are matched by
//! hash.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::overlay::key_of;

/// The name of list items.
pub(super) enum Selector {
    Keys(Map<String, Value>),
    Value(Value),
}

/// The fields that identify an item; `None` if its complete value does.
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

    /// The fields that identify the items, and their [`text`].
    fn identity(&self) -> (Keys, String) {
        match self {
            Self::Keys(keys) => (Some(keys.keys().cloned().collect()), lines(keys.values().map(Value::to_string))),
            Self::Value(value) => (None, value.to_string()),
        }
    }
}

/// The values of an item in these fields.
fn text(item: &Value, keys: &Keys) -> String {
    match keys {
        Some(keys) => lines(keys.iter().map(|key| key_of(item, key).to_string())),
        None => item.to_string(),
    }
}

/// Compact JSON contains no line breaks.
fn lines(parts: impl Iterator<Item = String>) -> String {
    parts.fold(String::new(), |all, part| all + &part + "\n")
}

/// What a FieldsV1 contains for the items that it names.
pub(super) struct NamedItems<'a>(BTreeMap<Keys, HashMap<String, &'a Value>>);

impl<'a> NamedItems<'a> {
    pub(super) fn by(owned: &'a Map<String, Value>) -> Self {
        let mut all: BTreeMap<Keys, HashMap<String, &Value>> = BTreeMap::new();
        for (path, below) in owned {
            let Some((keys, text)) = Selector::parse(path).map(|selector| selector.identity()) else { continue };
            all.entry(keys).or_default().entry(text).or_insert(below);
        }
        Self(all)
    }

    /// What it contains for that item.
    pub(super) fn of(&self, item: &Value) -> Option<&'a Value> {
        self.0.iter().find_map(|(keys, named)| named.get(&text(item, keys)).copied())
    }
}

/// The items of a list, indexed by their names.
pub(super) struct ItemIndex<'a> {
    items: &'a [Value],
    found: BTreeMap<Keys, HashMap<String, &'a Value>>,
}

impl<'a> ItemIndex<'a> {
    pub(super) fn of(items: &'a [Value]) -> Self {
        Self { items, found: BTreeMap::new() }
    }

    /// The first item of that name.
    pub(super) fn named(&mut self, path: &str) -> Option<&'a Value> {
        let (keys, identity) = Selector::parse(path)?.identity();
        let items = self.items;
        let found = self.found.entry(keys).or_insert_with_key(|keys| {
            // Of two items with the same keys, the last one inserted stays.
            items.iter().rev().map(|item| (text(item, keys), item)).collect()
        });
        found.get(&identity).copied()
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
        let mut all = ItemIndex::of(&items);
        assert_eq!(all.named("k:{\"port\":53,\"protocol\":\"UDP\"}"), Some(&items[0]));
        assert_eq!(
            all.named("k:{\"port\":53,\"protocol\":\"TCP\"}"),
            Some(&items[1]),
            "the first one, by the default protocol"
        );
        assert_eq!((all.named("v:\"x\""), all.named("f:port"), all.named("v:\"y\"")), (Some(&items[3]), None, None));
        let owned = json!({ ".": {}, "k:{\"port\":53,\"protocol\":\"TCP\"}": { "f:a": {} }, "v:\"x\"": {} });
        let named = NamedItems::by(owned.as_object().unwrap());
        let says = items.each_ref().map(|item| named.of(item).is_some());
        assert_eq!(says, [false, true, true, true], "each item with the same keys");
    }

    #[test]
    fn thousands_of_items_and_names_are_not_compared_each_with_each() {
        let names = || (0..20_000).map(|at| format!("k:{{\"name\":\"n{at}\"}}"));
        let items: Vec<Value> = (0..20_000).map(|at| json!({ "name": format!("n{at}") })).collect();
        let owned: Map<String, Value> = names().map(|name| (name, json!({}))).collect();
        let begun = Instant::now();
        let named = NamedItems::by(&owned);
        assert!(items.iter().all(|item| named.of(item).is_some()));
        let mut all = ItemIndex::of(&items);
        assert!(names().all(|name| all.named(&name).is_some()));
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
}
