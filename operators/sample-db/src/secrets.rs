//! Secrets: read by name, again after a minute or so, and made with random passwords. What is in them goes no further.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use runtime::plan::Key;

use crate::database::SecretSeen;
use crate::database::objects::{SecretOf, entries};
use crate::database::ownership::is_own;
use crate::operand::kinds::SampleDB;
use crate::operand::names;
use crate::password::Password;
use crate::queries::{ApiQueries, SECRET, whole};
use crate::remembered::Remembered;

mod change;

/// How long what was read is taken for true. With the pass that follows, an edit is in force within 90 s.
const FRESH: SignedDuration = SignedDuration::from_secs(55);
/// Annotation of a Secret that was made anew for data that are older: when.
pub const REMADE: &str = "multi-operator.example.com/remade";
/// The longest password that is taken: what PostgreSQL's programs read from a file, with room to spare.
const LONGEST: usize = 512;

/// A usable Secret as one database sees it; another database that names the same Secret has an entry of its own.
#[derive(Clone)]
struct CachedSecret {
    /// The Secret's name, and whether the spec gives it.
    name: String,
    given: bool,
    /// The uid of the database.
    uid: Box<str>,
    seen: SecretSeen,
    password: Password,
    remade: Option<String>,
}

/// What a look at a Secret gave.
pub(crate) struct Look {
    /// What is known of it.
    pub(crate) seen: SecretSeen,
    /// The password, if it can be used.
    pub(crate) password: Option<Password>,
    /// When it was made again, if it was made for data that are older.
    pub(crate) remade: Option<String>,
}

/// The usable Secrets that were read lately, by the database, and which of its two each is.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Remembered<(Key, SecretOf), CachedSecret>);

impl Secrets {
    /// What is known of one of a database's Secrets.
    pub(crate) async fn read(&self, api: &impl ApiQueries, db: &SampleDB, of: SecretOf, now: Timestamp) -> Look {
        let key = key(db, of);
        let given = is_given(db, of);
        let is_of = |held: &CachedSecret| *held.name == *key.name && held.given == given && held.uid == db.meta.uid;
        let fresh = self.0.get(&cache_key(db, of), FRESH, now).filter(is_of);
        if let Some(CachedSecret { seen, password, remade, .. }) = fresh {
            return Look { seen, password: Some(password), remade };
        }
        let only = |seen| Look { seen, password: None, remade: None };
        let found = match whole::<Secret>(api, SECRET, &key).await {
            Ok(found) => found,
            Err(error) => return only(SecretSeen::Unknown(error.to_string())),
        };
        self.forget(db, of);
        let Some(found) = found else { return only(SecretSeen::Absent) };
        let password = match judge(db, of, &found) {
            Ok(password) => password,
            Err(seen) => return only(seen),
        };
        let remade = found.metadata.annotations.as_ref().and_then(|all| all.get(REMADE)).cloned();
        let stands = |(name, wanted): (&str, String)| {
            found.data.as_ref().and_then(|data| data.get(name)).is_some_and(|value| value.0 == wanted.into_bytes())
        };
        let seen = match given || entries(db, of, password.text()).into_iter().all(stands) {
            true => SecretSeen::Usable,
            false => SecretSeen::Outdated,
        };
        let held = CachedSecret {
            name: key.name.to_string(),
            given,
            uid: db.meta.uid.clone(),
            seen: seen.clone(),
            password: password.clone(),
            remade: remade.clone(),
        };
        self.0.put(cache_key(db, of), held, FRESH, now);
        Look { seen, password: Some(password), remade }
    }

    /// Has it be read again.
    pub(crate) fn forget(&self, db: &SampleDB, of: SecretOf) {
        self.0.remove(&cache_key(db, of));
    }
}

/// The key of the cache: the database, and which of its two Secrets.
fn cache_key(db: &SampleDB, of: SecretOf) -> (Key, SecretOf) {
    (db.meta.key.clone(), of)
}

/// Whether it is one that the spec names: nothing of it is changed.
fn is_given(db: &SampleDB, of: SecretOf) -> bool {
    of == SecretOf::App && db.spec.credentials.secret_ref.is_some()
}

fn key(db: &SampleDB, of: SecretOf) -> Key {
    db.meta.key.sibling(&match of {
        SecretOf::App => names::app_secret(db),
        SecretOf::System => names::system_secret(db),
    })
}

/// The password of a Secret that is the database's, and can be used.
fn judge(db: &SampleDB, of: SecretOf, found: &Secret) -> Result<Password, SecretSeen> {
    let given = is_given(db, of);
    if !given && !found.metadata.labels.as_ref().is_some_and(|labels| is_own(db, labels)) {
        return Err(SecretSeen::Foreign);
    }
    let malformed = |why: String| Err(SecretSeen::Malformed(why));
    let entry = |name: &str| found.data.as_ref().and_then(|data| data.get(name)).map(|bytes| bytes.0.as_slice());
    let Some(password) = entry("password") else { return malformed("has no entry password".to_owned()) };
    let password = match usable(password) {
        Ok(password) => Password(password.into()),
        Err(why) => return malformed(format!("has a password that cannot be used: {why}")),
    };
    let user = names::database(db);
    match entry("username") {
        _ if !given => Ok(password),
        Some(name) if name == user.as_bytes() => Ok(password),
        Some(_) => malformed(format!("has another entry username than {user}, the database's owner")),
        None => malformed("has no entry username".to_owned()),
    }
}

fn usable(password: &[u8]) -> Result<&str, &'static str> {
    let text = std::str::from_utf8(password).map_err(|_| "it is not UTF-8")?;
    match text {
        "" => Err("it is empty"),
        _ if text.len() > LONGEST => Err("it is longer than 512 bytes"),
        _ if text.chars().any(char::is_control) => Err("it has a line break or another control character"),
        _ => Ok(text),
    }
}

#[cfg(test)]
mod tests;
