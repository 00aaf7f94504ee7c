//! What an apply makes of the live object: a port of `typed.Merge` of structured-merge-diff, with the rule that an applied
//! value wins.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::items::element;
use crate::api_server::field_set::PathElement;
use crate::api_server::field_types::{FieldType, ListType, Shape};

/// The live value with the applied one over it; `None` if there is neither.
pub(super) fn merge(types: &FieldType, live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    match types.shape(applied).or_else(|| types.shape(live)) {
        None | Some(Shape::Leaf) => applied.or(live).cloned(),
        Some(Shape::Map(types)) => {
            let [old, new] = [live, applied].map(|value| value.and_then(Value::as_object));
            if old.is_none_or(Map::is_empty) && new.is_none_or(Map::is_empty) {
                return applied.or(live).cloned();
            }
            Some(Value::Object(merge_maps(types, old, new)))
        }
        Some(Shape::List(list, items)) => {
            let [old, new] =
                [live, applied].map(|value| value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice));
            if old.is_empty() && new.is_empty() {
                return applied.or(live).cloned();
            }
            Some(Value::Array(Lists::new(list, items, old, new).merge()))
        }
    }
}

fn merge_maps(
    types: &FieldType,
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
) -> Map<String, Value> {
    let names: BTreeSet<&String> = old.into_iter().chain(new).flat_map(Map::keys).collect();
    let merged = |name: &String| {
        let [old, new] = [old, new].map(|map| map.and_then(|map| map.get(name)));
        Some((name.clone(), merge(types.field(name), old, new)?))
    };
    names.into_iter().filter_map(merged).collect()
}

/// The merge of two lists whose items are identified one by one. The applied items keep their order. A live item that is not applied comes
/// before the applied one that it stood before.
struct Lists<'a> {
    items: &'a FieldType,
    live: Vec<(PathElement, &'a Value)>,
    applied: Vec<(PathElement, &'a Value)>,
    /// Live items; null for those that are there twice.
    live_items: BTreeMap<PathElement, &'a Value>,
    applied_items: BTreeMap<PathElement, &'a Value>,
    /// The elements of both that are yet to come, in the applied order.
    shared: VecDeque<PathElement>,
    done: BTreeSet<PathElement>,
    merged: Vec<Value>,
}

impl<'a> Lists<'a> {
    fn new(list: &ListType, items: &'a FieldType, live: &'a [Value], applied: &'a [Value]) -> Self {
        let [live, mut applied] = [live, applied].map(|values| {
            let indexed = values.iter().enumerate();
            indexed.map(|(index, item)| (element(list, item, index), item)).collect::<Vec<_>>()
        });
        let mut live_items = BTreeMap::new();
        for (element, item) in &live {
            live_items.entry(element.clone()).and_modify(|item| *item = &Value::Null).or_insert(*item);
        }
        let mut applied_items = BTreeMap::new();
        applied.retain(|(element, item)| applied_items.insert(element.clone(), *item).is_none());
        let shared = applied.iter().map(|(element, _)| element).filter(|element| live_items.contains_key(*element));
        let shared = shared.cloned().collect();
        Self { items, live, applied, live_items, applied_items, shared, done: BTreeSet::new(), merged: Vec::new() }
    }

    fn merge(mut self) -> Vec<Value> {
        let (mut old, mut new) = (0, 0);
        loop {
            match (self.live.get(old).cloned(), self.applied.get(new).cloned()) {
                (None, None) => return self.merged,
                (Some((live, _)), Some((applied, _))) if live == applied => {
                    self.take(&applied);
                    old += 1;
                    new += 1;
                    self.shared.pop_front();
                }
                // It is applied too, but not the one that comes next.
                (Some((live, _)), Some(_))
                    if self.applied_items.contains_key(&live)
                        && self.shared.front().is_some_and(|next| *next != live) =>
                {
                    old += 1;
                }
                (Some((live, item)), _) if !self.applied_items.contains_key(&live) => {
                    self.merged.extend(merge(self.items, Some(item), None));
                    old += 1;
                }
                (live, applied) => {
                    old += usize::from(live.is_some_and(|(live, _)| self.done.contains(&live)));
                    if let Some((applied, _)) = applied {
                        self.take(&applied);
                        new += 1;
                        if self.shared.front() == Some(&applied) {
                            self.shared.pop_front();
                        }
                    }
                }
            }
        }
    }

    /// Adds an applied item, merged with the live one.
    fn take(&mut self, element: &PathElement) {
        let [live, applied] = [&self.live_items, &self.applied_items].map(|items| items.get(element).copied());
        self.merged.extend(merge(self.items, live, applied));
        self.done.insert(element.clone());
    }
}
