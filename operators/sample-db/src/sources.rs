//! The SQL of the initial configuration, read by name to find out whether it exists and has changed. Only its checksum leaves
//! this module.

use api::sample_db::{SqlKeyRef, SqlSource};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use runtime::cache::Projection;
use runtime::plan::Key;
use runtime::{Error, projections};
use sha2::{Digest, Sha256};

use crate::database::InitSources;
use crate::operand::kinds::SampleDB;
use crate::queries::{ApiQueries, SECRET, get_object};

/// Reads all sources of a database.
pub(crate) async fn read(api: &impl ApiQueries, db: &SampleDB) -> InitSources {
    let mut sum = Sha256::new();
    if db.spec.init.sql_from.is_empty() {
        return InitSources::Digest(String::new());
    }
    for source in &db.spec.init.sql_from {
        match content(api, &db.meta.key, source).await {
            Ok(Some(text)) => sum.update(Sha256::digest(text)),
            Ok(None) => return InitSources::Missing(missing(source)),
            Err(error) => return InitSources::Unknown(format!("{} cannot be read: {error}", missing(source))),
        }
    }
    InitSources::Digest(sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

async fn content(api: &impl ApiQueries, db: &Key, source: &SqlSource) -> Result<Option<Vec<u8>>, Error> {
    if let Some(SqlKeyRef { name, key }) = &source.config_map_key_ref {
        let found: Option<ConfigMap> = get_object(api, projections::ConfigMap::KIND, &db.sibling(name)).await?;
        let Some(map) = found else { return Ok(None) };
        let text = map.data.and_then(|mut data| data.remove(key)).map(String::into_bytes);
        return Ok(text.or_else(|| map.binary_data.and_then(|mut data| data.remove(key)).map(|bytes| bytes.0)));
    }
    let Some(SqlKeyRef { name, key }) = &source.secret_key_ref else { return Ok(Some(Vec::new())) };
    let found: Option<Secret> = get_object(api, SECRET, &db.sibling(name)).await?;
    Ok(found.and_then(|secret| secret.data).and_then(|mut data| data.remove(key)).map(|bytes| bytes.0))
}

fn missing(source: &SqlSource) -> String {
    let of = |kind: &str, of: &SqlKeyRef| {
        format!("the entry {} of the {kind} {} (init.sqlFrom) is missing", of.key, of.name)
    };
    match (&source.config_map_key_ref, &source.secret_key_ref) {
        (Some(map), _) => of("ConfigMap", map),
        (None, Some(secret)) => of("Secret", secret),
        (None, None) => "an entry of init.sqlFrom names neither a ConfigMap nor a Secret".to_owned(),
    }
}
