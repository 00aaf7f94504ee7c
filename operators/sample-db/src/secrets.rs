//! The Secrets of databases: read by name, cached for about a minute, and created with random passwords. Passwords leave this
//! module only as [`Password`].

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use runtime::plan::Key;

use crate::database::SecretState;
use crate::database::objects::{SecretRole, entries};
use crate::database::ownership::is_own;
use crate::operand::kinds::SampleDB;
use crate::operand::names;
use crate::password::Password;
use crate::queries::{ApiQueries, SECRET, get_object};
use crate::saslprep::{PREPARED_DIFFERENTLY, is_prepared_alike};
use crate::ttl_cache::TtlCache;

mod change;

/// How long a Secret is used without another read. Together with the next reconcile, an edit takes effect within 90 s.
const CACHE_TTL: SignedDuration = SignedDuration::from_secs(55);
/// Annotation of a Secret that was created again for existing data: when.
pub const PASSWORD_REGENERATED_AT: &str = "multi-operator.example.com/remade";
/// The longest password that is accepted: PostgreSQL's programs read longer ones from a file, but some of older versions
/// truncate.
const MAX_BYTES: usize = 512;

/// A usable Secret as one database reads it. Another database that names the same Secret has an entry of its own.
#[derive(Clone)]
struct CachedSecret {
    /// The Secret's name, and whether the spec names it.
    name: String,
    user_provided: bool,
    /// The uid of the database.
    uid: Box<str>,
    state: SecretState,
    password: Password,
    regenerated_at: Option<String>,
}

/// What is known of a Secret.
pub(crate) struct SecretRead {
    /// Whether it can be used.
    pub(crate) state: SecretState,
    /// The password, if it can be used.
    pub(crate) password: Option<Password>,
    /// When it was created again for existing data.
    pub(crate) regenerated_at: Option<String>,
}

/// The usable Secrets that were read lately, by database and role.
#[derive(Clone, Default)]
pub(crate) struct Secrets(TtlCache<(Key, SecretRole), CachedSecret>);

impl Secrets {
    /// Reads one of a database's Secrets.
    pub(crate) async fn read(
        &self,
        api: &impl ApiQueries,
        db: &SampleDB,
        of: SecretRole,
        now: Timestamp,
    ) -> SecretRead {
        let key = key(db, of);
        let user_provided = is_user_provided(db, of);
        let is_current = |cached: &CachedSecret| {
            *cached.name == *key.name && cached.user_provided == user_provided && cached.uid == db.meta.uid
        };
        let cached = self.0.get(&cache_key(db, of), CACHE_TTL, now).filter(is_current);
        if let Some(CachedSecret { state, password, regenerated_at, .. }) = cached {
            return SecretRead { state, password: Some(password), regenerated_at };
        }
        let only = |state| SecretRead { state, password: None, regenerated_at: None };
        let found = match get_object::<Secret>(api, SECRET, &key).await {
            Ok(found) => found,
            Err(error) => return only(SecretState::Unknown(error.to_string())),
        };
        self.forget(db, of);
        let Some(found) = found else { return only(SecretState::Absent) };
        let password = match validate(db, of, &found) {
            Ok(password) => password,
            Err(state) => return only(state),
        };
        let regenerated_at =
            found.metadata.annotations.as_ref().and_then(|all| all.get(PASSWORD_REGENERATED_AT)).cloned();
        let is_current = |(name, wanted): (&str, String)| {
            found.data.as_ref().and_then(|data| data.get(name)).is_some_and(|value| value.0 == wanted.into_bytes())
        };
        let state = match user_provided || entries(db, of, password.text()).into_iter().all(is_current) {
            true => SecretState::Usable,
            false => SecretState::Outdated,
        };
        let cached = CachedSecret {
            name: key.name.to_string(),
            user_provided,
            uid: db.meta.uid.clone(),
            state: state.clone(),
            password: password.clone(),
            regenerated_at: regenerated_at.clone(),
        };
        self.0.put(cache_key(db, of), cached, CACHE_TTL, now);
        SecretRead { state, password: Some(password), regenerated_at }
    }

    /// Drops the cached Secret, so that the next call reads it.
    pub(crate) fn forget(&self, db: &SampleDB, of: SecretRole) {
        self.0.remove(&cache_key(db, of));
    }
}

/// The key of the cache.
fn cache_key(db: &SampleDB, of: SecretRole) -> (Key, SecretRole) {
    (db.meta.key.clone(), of)
}

/// Whether the spec names the Secret: the operator does not write to it.
fn is_user_provided(db: &SampleDB, of: SecretRole) -> bool {
    of == SecretRole::App && db.spec.credentials.secret_ref.is_some()
}

fn key(db: &SampleDB, of: SecretRole) -> Key {
    db.meta.key.sibling(&match of {
        SecretRole::App => names::app_secret(db),
        SecretRole::System => names::superuser_secret(db),
    })
}

/// Returns the password of a Secret if it belongs to the database and can be used.
fn validate(db: &SampleDB, of: SecretRole, found: &Secret) -> Result<Password, SecretState> {
    let user_provided = is_user_provided(db, of);
    if !user_provided && !found.metadata.labels.as_ref().is_some_and(|labels| is_own(db, labels)) {
        return Err(SecretState::Foreign);
    }
    let malformed = |why: String| Err(SecretState::Malformed(why));
    let entry = |name: &str| found.data.as_ref().and_then(|data| data.get(name)).map(|bytes| bytes.0.as_slice());
    let Some(password) = entry("password") else { return malformed("has no entry password".to_owned()) };
    let password = match usable(password, may_be_in_force(db, of)) {
        Ok(password) => Password(password.into()),
        Err(why) => {
            return malformed(format!(
                "has a password that cannot be used: {why}; set another password in the entry password"
            ));
        }
    };
    let user = names::database(db);
    match entry("username") {
        _ if !user_provided => Ok(password),
        Some(name) if name == user.as_bytes() => Ok(password),
        Some(_) => malformed(format!("has another entry username than {user}, the database's owner")),
        None => malformed("has no entry username".to_owned()),
    }
}

/// Whether the server may have the application's password already: an earlier manager also set those that are prepared
/// differently, and a database that serves with one keeps serving. A server that has another password does not get such a one.
fn may_be_in_force(db: &SampleDB, of: SecretRole) -> bool {
    of == SecretRole::App && db.status.initialization.completed_at.is_some()
}

fn usable(password: &[u8], in_force: bool) -> Result<&str, &'static str> {
    let text = std::str::from_utf8(password).map_err(|_| "it is not UTF-8")?;
    match text {
        "" => Err("it is empty"),
        _ if text.len() > MAX_BYTES => Err("it is longer than 512 bytes"),
        _ if text.chars().any(char::is_control) => Err("it has a line break or another control character"),
        _ if !in_force && !is_prepared_alike(text) => Err(PREPARED_DIFFERENTLY),
        _ => Ok(text),
    }
}

#[cfg(test)]
mod tests;
