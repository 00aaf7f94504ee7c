//! Pure: the Secrets that the operator makes, for a password that comes from outside: plans know none.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;

use crate::operand::kinds::SampleDB;
use crate::operand::labels::free;
use crate::operand::names::{self, SUPERUSER};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecretOf {
    /// The applications': the owner of the database.
    App,
    /// The superuser's, for the operator's own Jobs.
    System,
}

/// What stands in the Secret, with that password.
#[must_use]
pub fn entries(db: &SampleDB, of: SecretOf, password: &str) -> BTreeMap<&'static str, String> {
    let user = match of {
        SecretOf::App => names::database(db),
        SecretOf::System => SUPERUSER,
    };
    let (host, port, database) = (names::host(db), db.spec.service.port(), names::database(db));
    let mut data = BTreeMap::from([("username", user.to_owned()), ("password", password.to_owned())]);
    let (url, pass) = (in_url(password), password.replace('\\', "\\\\").replace(':', "\\:"));
    match of {
        SecretOf::App => data.extend([
            ("host", host.clone()),
            ("port", port.to_string()),
            ("dbname", database.to_owned()),
            ("uri", format!("postgresql://{user}:{url}@{host}:{port}/{database}")),
            ("jdbc-uri", format!("jdbc:postgresql://{host}:{port}/{database}?user={user}&password={url}")),
            ("pgpass", format!("{host}:{port}:{database}:{user}:{pass}")),
        ]),
        SecretOf::System => data.extend([("PGUSER", user.to_owned()), ("PGPASSWORD", password.to_owned())]),
    }
    data
}

/// A password as it stands in a URL (RFC 3986, unreserved characters).
fn in_url(password: &str) -> String {
    let sign = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    password.bytes().map(sign).collect()
}

/// The Secret, with that password.
#[must_use]
pub fn secret(db: &SampleDB, of: SecretOf, password: &str) -> Secret {
    let mut metadata = free(db);
    metadata.name = Some(match of {
        SecretOf::App => names::app_secret(db),
        SecretOf::System => names::system_secret(db),
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
    fn a_password_stands_in_each_form_as_that_wants_it() {
        let db = r#"{"metadata": {"namespace": "n", "name": "shop"}, "spec": {}}"#;
        let entries = entries(&SampleDB::decode(db).unwrap(), SecretOf::App, "a:b\\/\u{fc}");
        assert_eq!(entries["uri"], "postgresql://app:a%3Ab%5C%2F%C3%BC@shop-rw.n.svc:5432/app");
        assert_eq!(entries["pgpass"], "shop-rw.n.svc:5432:app:app:a\\:b\\\\/\u{fc}");
    }
}
