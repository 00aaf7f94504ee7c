//! Pure: the two ConfigMaps: connection details for applications and Jobs, and the server's parameters.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use k8s_openapi::api::core::v1 as core;
use runtime::cache::Projection;
use runtime::plan::Apply;
use runtime::projections::ConfigMap;

use crate::database::tuning::effective_parameters;
use crate::operand::kinds::SampleDB;
use crate::operand::labels::owned_meta;
use crate::operand::names;

/// The connection details, under plain names and under those of the environment variables of libpq.
pub(in crate::database) fn connection(db: &SampleDB) -> Apply {
    let port = db.spec.service.port().to_string();
    let pairs = [
        ("host", "PGHOST", names::host(db)),
        ("port", "PGPORT", port),
        ("dbname", "PGDATABASE", names::database(db).to_owned()),
        ("sslmode", "PGSSLMODE", "disable".to_owned()),
    ];
    let data = pairs
        .into_iter()
        .flat_map(|(plain, variable, value)| [(plain.to_owned(), value.clone()), (variable.to_owned(), value)]);
    config_map(db, &names::connection_config_map(db), data.collect())
}

/// Parameters that the operator requires, whatever the spec says about others.
pub(crate) const OWN_PARAMETERS: [(&str, &str); 3] =
    [("listen_addresses", "*"), ("password_encryption", "scram-sha-256"), ("wal_level", "replica")];

/// The server's parameters: the required ones, limits that fit the volume, and those of the spec.
pub(in crate::database) fn configuration(db: &SampleDB) -> Apply {
    config_map(db, &names::server_config_map(db), BTreeMap::from([("operator.conf".to_owned(), file(db))]))
}

/// The file of the server's parameters.
pub(in crate::database) fn file(db: &SampleDB) -> String {
    let wanted = effective_parameters(db);
    let mut parameters: BTreeMap<&str, &str> = OWN_PARAMETERS.into();
    parameters.extend(wanted.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    parameters.into_iter().fold(String::new(), |mut text, (name, value)| {
        // In PostgreSQL's configuration, quotes and backslashes are doubled.
        let _ = writeln!(text, "{name} = '{}'", value.replace('\\', "\\\\").replace('\'', "''"));
        text
    })
}

fn config_map(db: &SampleDB, name: &str, data: BTreeMap<String, String>) -> Apply {
    let map = core::ConfigMap { metadata: owned_meta(db), data: Some(data), ..core::ConfigMap::default() };
    Apply::new(ConfigMap::KIND, db.meta.key.sibling(name), &map)
}
