//! The objects that a MyApp names.

use std::collections::BTreeMap;

use api::my_app::RestartOn;

use super::source::{Kind, Source};
use crate::MyApp;

/// The objects, in an order of their own, and whether each may be missing.
pub(crate) fn sources(app: &MyApp) -> BTreeMap<Source, bool> {
    let mut all = BTreeMap::new();
    for (source, optional) in app.spec.restart_on.iter().filter_map(|on| source(app, on)) {
        all.entry(source).and_modify(|may_miss| *may_miss &= optional).or_insert(optional);
    }
    all
}

/// The object, and whether it may be missing.
fn source(app: &MyApp, on: &RestartOn) -> Option<(Source, bool)> {
    let (kind, of) = match (&on.config_map_ref, &on.secret_ref) {
        (Some(map), _) => (Kind::ConfigMap, map),
        (None, Some(secret)) => (Kind::Secret, secret),
        (None, None) => return None,
    };
    let source = Source { namespace: app.meta.key.namespace.clone(), kind, name: of.name.clone() };
    Some((source, of.optional == Some(true)))
}
