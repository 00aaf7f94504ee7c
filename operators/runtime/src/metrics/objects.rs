//! Metrics of single objects, which exist as long as the object. (The recorder of the process never forgets a series.)

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::plan::meta::Key;

/// A metric family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MetricFamily {
    /// Its name.
    pub name: &'static str,
    /// Its help.
    pub help: &'static str,
    /// Whether it is a counter, not a gauge.
    pub counter: bool,
}

/// The labels of one series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SeriesKey {
    controller: &'static str,
    key: Key,
    /// One more label, if the family has one.
    label: Option<(&'static str, Cow<'static, str>)>,
}

static ALL: Mutex<BTreeMap<MetricFamily, BTreeMap<SeriesKey, f64>>> = Mutex::new(BTreeMap::new());

/// The metrics of one object of a controller.
#[derive(Clone, Copy, Debug)]
pub struct ObjectMetrics<'a> {
    /// The controller's name.
    pub controller: &'static str,
    /// The object.
    pub key: &'a Key,
}

impl ObjectMetrics<'_> {
    /// Sets a value, with one more label if the family has one.
    pub fn set(&self, family: MetricFamily, label: Option<(&'static str, &'static str)>, value: f64) {
        let label = label.map(|(name, value)| (name, Cow::Borrowed(value)));
        *lock().entry(family).or_default().entry(self.series(label)).or_default() = value;
    }

    /// Sets the only series of a family whose label value changes, and removes those with another value.
    pub fn set_only(&self, family: MetricFamily, (label, text): (&'static str, &str), value: f64) {
        let selected = self.series(Some((label, Cow::Owned(text.to_owned()))));
        let mut all = lock();
        let series = all.entry(family).or_default();
        series.retain(|of, _| of.controller != selected.controller || of.key != selected.key || *of == selected);
        *series.entry(selected).or_default() = value;
    }

    /// Sets one series of a family for each of these label values, and removes those with another value.
    pub fn set_each(&self, family: MetricFamily, label: &'static str, texts: &[&'static str], value: f64) {
        let mut all = lock();
        let series = all.entry(family).or_default();
        series.retain(|of, _| of.controller != self.controller || of.key != *self.key);
        for text in texts {
            series.insert(self.series(Some((label, Cow::Borrowed(text)))), value);
        }
    }

    /// Removes the series of a family.
    pub fn unset(&self, family: MetricFamily) {
        lock().entry(family).or_default().retain(|of, _| of.controller != self.controller || of.key != *self.key);
    }

    /// Adds to a value.
    pub fn add(&self, family: MetricFamily, more: f64) {
        *lock().entry(family).or_default().entry(self.series(None)).or_default() += more;
    }

    fn series(&self, label: Option<(&'static str, Cow<'static, str>)>) -> SeriesKey {
        SeriesKey { controller: self.controller, key: self.key.clone(), label }
    }
}

/// Removes all series of a deleted object.
pub fn forget(controller: &str, key: &Key) {
    for series in lock().values_mut() {
        series.retain(|of, _| of.controller != controller || of.key != *key);
    }
}

/// Appends all series in the text format of Prometheus. Names of objects need no escaping; from label values, characters that
/// would need escaping are removed.
pub fn append(text: &mut String) {
    for (family, all) in &*lock() {
        if all.is_empty() {
            continue;
        }
        let kind = if family.counter { "counter" } else { "gauge" };
        let _ = writeln!(text, "# HELP {} {}\n# TYPE {} {kind}", family.name, family.help, family.name);
        for (SeriesKey { key, label, .. }, value) in all {
            let label = label.as_ref().map_or_else(String::new, |(name, value)| {
                format!(",{name}=\"{}\"", value.replace(['"', '\\', '\n'], ""))
            });
            let (namespace, name) = (&key.namespace, &key.name);
            let _ = writeln!(text, "{}{{namespace=\"{namespace}\",name=\"{name}\"{label}}} {value}", family.name);
        }
    }
}

fn lock() -> MutexGuard<'static, BTreeMap<MetricFamily, BTreeMap<SeriesKey, f64>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: MetricFamily = MetricFamily { name: "thing_size", help: "How large it is", counter: false };
    const PARTS: MetricFamily = MetricFamily { name: "thing_parts_total", help: "Parts so far", counter: true };

    #[test]
    fn a_deleted_object_has_no_series() {
        let (one, other) = (Key::new("n", "one"), Key::new("n", "other"));
        for key in [&one, &other] {
            let of = ObjectMetrics { controller: "thing", key };
            of.set(SIZE, Some(("part", "head")), 2.5);
            of.add(PARTS, 1.0);
            of.add(PARTS, 1.0);
        }
        forget("thing", &one);
        let mut text = String::new();
        append(&mut text);
        // Other tests of this process record their own series.
        let text: String = text.lines().filter(|line| line.contains("thing_")).flat_map(|line| [line, "\n"]).collect();
        let expected = "# HELP thing_parts_total Parts so far\n# TYPE thing_parts_total counter\n\
            thing_parts_total{namespace=\"n\",name=\"other\"} 2\n\
            # HELP thing_size How large it is\n# TYPE thing_size gauge\n\
            thing_size{namespace=\"n\",name=\"other\",part=\"head\"} 2.5\n";
        assert_eq!(text, expected);
        only_the_last_label_value_is_kept(&one, &other);
    }

    fn only_the_last_label_value_is_kept(one: &Key, other: &Key) {
        const RELEASE: MetricFamily = MetricFamily { name: "release_info", help: "Which one", counter: false };
        let of = ObjectMetrics { controller: "release", key: one };
        of.set_only(RELEASE, ("version", "1"), 1.0);
        ObjectMetrics { controller: "release", key: other }.set_only(RELEASE, ("version", "1"), 1.0);
        of.set_only(RELEASE, ("version", "2\"}"), 1.0);
        let reported = |family| lock()[&family].keys().map(|of| of.label.clone().unwrap().1).collect::<Vec<_>>();
        assert_eq!(reported(RELEASE), ["2\"}", "1"]);
        let mut text = String::new();
        append(&mut text);
        assert!(text.contains("release_info{namespace=\"n\",name=\"one\",version=\"2}\"} 1\n"), "{text}");
        of.unset(RELEASE);
        assert_eq!(reported(RELEASE), ["1"]);
        of.set_each(RELEASE, "version", &["3", "4"], 1.0);
        of.set_each(RELEASE, "version", &["4"], 1.0);
        assert_eq!(reported(RELEASE), ["4", "1"]);
    }
}
