//! The catalog of PostgreSQL releases that is built into the program, as a ConfigMap to read and to overlay.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use sample_db::database::catalog::Catalog;

use crate::generated::{Generated, document};

/// What `config/default` puts before every name.
const PREFIX: &str = "multi-operator-";

pub(crate) fn file() -> Generated {
    let name = sample_db::CATALOG.strip_prefix(PREFIX).unwrap_or(sample_db::CATALOG);
    let map = ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        data: Some(Catalog::default().entries()),
        ..ConfigMap::default()
    };
    ("config/manager/postgres_catalog.yaml".into(), document(&map))
}
