//! An object has at most ten entries of updates: the oldest ones are merged, as `capManagersManager` of the API server does.

use std::sync::Arc;

use super::entry::{Entry, Operation};

const MOST_UPDATES: usize = 10;

/// Merges the oldest entries of updates into one per version, until there are few enough.
pub(super) fn cap(entries: &mut Vec<Entry>) {
    let mut oldest: Vec<Entry> = entries.iter().filter(|entry| entry.operation == Operation::Update).cloned().collect();
    let mut excess = oldest.len().saturating_sub(MOST_UPDATES);
    oldest.sort_by(|one, other| age(one).cmp(&age(other)));
    let mut firsts: Vec<Entry> = Vec::new();
    for entry in oldest {
        if excess == 0 {
            return;
        }
        match firsts.iter().find(|first| first.api_version == entry.api_version).cloned() {
            Some(first) => {
                merge(entries, &first, &entry);
                excess -= 1;
            }
            None => firsts.push(entry),
        }
    }
}

/// The oldest entry of a version, or what it became, takes the fields of another one, and its time.
fn merge(entries: &mut Vec<Entry>, first: &Entry, entry: &Entry) {
    let bucket = Entry { manager: "ancient-changes".to_owned(), subresource: None, ..first.clone() };
    let present = entries.iter().find(|present| present.is_same(&bucket)).cloned();
    if present.is_none() {
        entries.retain(|present| !present.is_same(first));
    }
    let fields = present.map_or_else(|| first.fields.clone(), |present| present.fields);
    entries.retain(|present| !present.is_same(&bucket) && !present.is_same(entry));
    entries.push(Entry { fields: Arc::new(fields.union(&entry.fields)), time: entry.time, ..bucket });
}

fn age(entry: &Entry) -> (i64, &str, &str, Option<&str>) {
    let second = entry.time.map_or(0, |time| time.as_second());
    (second, entry.manager.as_str(), entry.api_version.as_str(), entry.subresource.as_deref())
}
