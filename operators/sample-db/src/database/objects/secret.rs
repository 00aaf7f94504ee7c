//! Pure: the Secrets that the operator creates. The password comes from outside: plans contain none.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;

use crate::operand::kinds::SampleDB;
use crate::operand::labels::unowned_meta;
use crate::operand::names::{self, SUPERUSER};

/// The role of a Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecretRole {
    /// The application's: the owner of the database.
    App,
    /// The superuser's, for the operator's own Jobs.
    System,
}

/// The Secret's entries for that password.
#[must_use]
pub fn entries(db: &SampleDB, of: SecretRole, password: &str) -> BTreeMap<&'static str, String> {
    let user = match of {
        SecretRole::App => names::database(db),
        SecretRole::System => SUPERUSER,
    };
    let (host, port, database) = (names::host(db), db.spec.service.port(), names::database(db));
    let mut data = BTreeMap::from([("username", user.to_owned()), ("password", password.to_owned())]);
    let (url, pass) = (in_url(password), password.replace('\\', "\\\\").replace(':', "\\:"));
    match of {
        SecretRole::App => data.extend([
            ("host", host.clone()),
            ("port", port.to_string()),
            ("dbname", database.to_owned()),
            ("uri", format!("postgresql://{user}:{url}@{host}:{port}/{database}")),
            ("jdbc-uri", format!("jdbc:postgresql://{host}:{port}/{database}?user={user}&password={url}")),
            ("pgpass", format!("{host}:{port}:{database}:{user}:{pass}")),
        ]),
        SecretRole::System => data.extend([("PGUSER", user.to_owned()), ("PGPASSWORD", password.to_owned())]),
    }
    data
}

/// A password as part of a URL (RFC 3986, unreserved characters).
fn in_url(password: &str) -> String {
    let sign = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    password.bytes().map(sign).collect()
}

/// The Secret for that password.
#[must_use]
pub fn secret(db: &SampleDB, of: SecretRole, password: &str) -> Secret {
    let mut metadata = unowned_meta(db);
    metadata.name = Some(match of {
        SecretRole::App => names::app_secret(db),
        SecretRole::System => names::superuser_secret(db),
    });
    metadata.namespace = Some(db.meta.key.namespace.to_string());
    Secret {
        metadata,
        type_: Some("kubernetes.io/basic-auth".to_owned()),
        string_data: Some(entries(db, of, password).into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ..Secret::default()
    }
}

#[cfg(test)]
mod tests {
    use runtime::cache::Projection;

    use super::*;

    #[test]
    fn a_password_is_escaped_as_each_form_requires() {
        let db = r#"{"metadata": {"namespace": "n", "name": "shop"}, "spec": {}}"#;
        let entries = entries(&SampleDB::decode(db).unwrap(), SecretRole::App, "a:b\\/\u{fc}");
        assert_eq!(entries["uri"], "postgresql://app:a%3Ab%5C%2F%C3%BC@shop-rw.n.svc:5432/app");
        assert_eq!(entries["pgpass"], "shop-rw.n.svc:5432:app:app:a\\:b\\\\/\u{fc}");
    }
}
