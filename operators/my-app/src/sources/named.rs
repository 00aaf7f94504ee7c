//! The objects that `restartOn` of a MyApp names.

use std::collections::BTreeMap;

use api::my_app::RestartOn;

use super::source::{RestartSource, SourceKind};
use crate::MyApp;

/// The objects in a fixed order, and whether each is optional.
pub(crate) fn sources(app: &MyApp) -> BTreeMap<RestartSource, bool> {
    let mut all = BTreeMap::new();
    for (source, optional) in app.spec.restart_on.iter().filter_map(|on| source(app, on)) {
        all.entry(source).and_modify(|is_optional| *is_optional &= optional).or_insert(optional);
    }
    all
}

/// The object, and whether it is optional.
fn source(app: &MyApp, on: &RestartOn) -> Option<(RestartSource, bool)> {
    let (kind, of) = match (&on.config_map_ref, &on.secret_ref) {
        (Some(map), _) => (SourceKind::ConfigMap, map),
        (None, Some(secret)) => (SourceKind::Secret, secret),
        (None, None) => return None,
    };
    let source = RestartSource { namespace: app.meta.key.namespace.clone(), kind, name: of.name.clone() };
    Some((source, of.optional == Some(true)))
}
