//! The Secrets that the operator makes, for a password that comes from outside: plans know none.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;

use super::{SUPERUSER, free};
use crate::SampleDB;
use crate::plan::names;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretOf {
    /// The applications': the owner of the database.
    App,
    /// The superuser's, for the operator's own Jobs.
    System,
}

/// The Secret, with that password: letters and digits, so that it stands in a URI as it is.
#[must_use]
pub fn secret(db: &SampleDB, of: SecretOf, password: &str) -> Secret {
    let (name, user) = match of {
        SecretOf::App => (names::app_secret(db), names::database(db)),
        SecretOf::System => (names::system_secret(db), SUPERUSER),
    };
    let (host, port, database) = (names::host(db), db.spec.service.port(), names::database(db));
    let mut data = BTreeMap::from([("username", user.to_owned()), ("password", password.to_owned())]);
    match of {
        SecretOf::App => data.extend([
            ("host", host.clone()),
            ("port", port.to_string()),
            ("dbname", database.to_owned()),
            ("uri", format!("postgresql://{user}:{password}@{host}:{port}/{database}")),
            ("jdbc-uri", format!("jdbc:postgresql://{host}:{port}/{database}?user={user}&password={password}")),
            ("pgpass", format!("{host}:{port}:{database}:{user}:{password}")),
        ]),
        SecretOf::System => data.extend([("PGUSER", user.to_owned()), ("PGPASSWORD", password.to_owned())]),
    }
    let mut metadata = free(db);
    metadata.name = Some(name);
    metadata.namespace = Some(db.meta.key.namespace.to_string());
    Secret {
        metadata,
        type_: Some("kubernetes.io/basic-auth".to_owned()),
        string_data: Some(data.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ..Secret::default()
    }
}
