//! Secrets: read by name, again after a minute or so, and made with random passwords. What is in them goes no further.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use api::sample_db::SampleDBReason;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client};
use runtime::Error;
use runtime::plan::Key;
use serde_json::json;

use crate::SampleDB;
use crate::plan::objects::{SecretOf, entries, is_own, secret};
use crate::plan::{SecretSeen, may_have_data, names};

/// How long what was read is taken for true. With the pass that follows, an edit is in force within 90 s.
const FRESH: Duration = Duration::from_secs(55);
/// Annotation of a Secret that was made anew for data that are older: when.
const REMADE: &str = "multi-operator.example.com/remade";
/// The longest password that is taken: what PostgreSQL's programs read from a file, with room to spare.
const LONGEST: usize = 512;

/// A password: it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Password(Arc<str>);

impl Password {
    /// What it is.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// A usable Secret as one database sees it; another database that names the same Secret has an entry of its own.
#[derive(Clone)]
struct CachedSecret {
    at: Instant,
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

/// Reads and makes Secrets.
pub(crate) struct Secrets {
    client: Client,
    /// By the database, and which of its two it is.
    held: Mutex<HashMap<(Key, SecretOf), CachedSecret>>,
}

impl Secrets {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, held: Mutex::default() }
    }

    /// What there is of one of a database's Secrets.
    pub(crate) async fn look(&self, db: &SampleDB, of: SecretOf) -> Look {
        let key = key(db, of);
        let given = is_given(db, of);
        let is_of = |held: &CachedSecret| *held.name == *key.name && held.given == given && held.uid == db.meta.uid;
        let held = self.lock().get(&cache_key(db, of)).cloned();
        let fresh = held.filter(|held| is_of(held) && held.at.elapsed() < FRESH);
        if let Some(CachedSecret { seen, password, remade, .. }) = fresh {
            return Look { seen, password: Some(password), remade };
        }
        let only = |seen| Look { seen, password: None, remade: None };
        let found = match self.api(&key).get_opt(&key.name).await {
            Ok(found) => found,
            Err(error) => return only(SecretSeen::Unknown(Error::from(error).to_string())),
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
            at: Instant::now(),
            name: key.name.to_string(),
            given,
            uid: db.meta.uid.clone(),
            seen: seen.clone(),
            password: password.clone(),
            remade: remade.clone(),
        };
        self.lock().insert(cache_key(db, of), held);
        Look { seen, password: Some(password), remade }
    }

    /// Writes into one that was made for the database what follows from its password; not over an edit that was made meanwhile.
    pub(crate) async fn rewrite(&self, db: &SampleDB, of: SecretOf) -> Result<(), Error> {
        let key = key(db, of);
        self.forget(db, of);
        // Somebody else's, or another database's.
        if is_given(db, of) {
            return Ok(());
        }
        let Some(found) = self.api(&key).get_opt(&key.name).await? else { return Ok(()) };
        let Ok(password) = judge(db, of, &found) else { return Ok(()) };
        let patch = json!({
            "metadata": { "uid": found.metadata.uid, "resourceVersion": found.metadata.resource_version },
            "stringData": entries(db, of, password.text()),
        });
        self.api(&key).patch(&key.name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Makes one with a random password.
    pub(crate) async fn make(&self, db: &SampleDB, of: SecretOf) -> Result<(), Error> {
        let key = key(db, of);
        self.forget(db, of);
        let mut wanted = secret(db, of, &random()?);
        if may_have_data(db) {
            // The server knows another password, and is told this one at its next start.
            wanted.metadata.annotations = Some([(REMADE.to_owned(), Timestamp::now().to_string())].into());
        }
        match self.api(&key).create(&PostParams::default(), &wanted).await {
            Ok(_) => Ok(()),
            // The next look judges whose it is.
            Err(kube::Error::Api(status)) if status.code == 409 && status.reason == "AlreadyExists" => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes one that was made for the database; first the application's that was made before the spec named another:
    /// nobody looks for that one any more, and it would be in the way of the next database of the name.
    pub(crate) async fn drop(&self, db: &SampleDB, of: SecretOf) -> Result<(), Error> {
        self.lock().retain(|(of, _), _| *of != db.meta.key);
        self.drop_named(db, db.meta.key.sibling(&names::made_app_secret(db))).await?;
        self.drop_named(db, key(db, of)).await
    }

    async fn drop_named(&self, db: &SampleDB, key: Key) -> Result<(), Error> {
        let Some(found) = self.api(&key).get_opt(&key.name).await? else { return Ok(()) };
        // One that was taken over still bears the uid of whom it was made for.
        if !found.metadata.labels.as_ref().is_some_and(|labels| is_own(db, labels)) {
            return Ok(());
        }
        let preconditions = Preconditions { uid: found.metadata.uid, resource_version: None };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match self.api(&key).delete(&key.name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn forget(&self, db: &SampleDB, of: SecretOf) {
        self.lock().remove(&cache_key(db, of));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Key, SecretOf), CachedSecret>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn api(&self, key: &Key) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &key.namespace)
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

/// 32 letters and digits: 160 bits, of the operating system's randomness.
fn random() -> Result<String, Error> {
    const SIGNS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut random = [0_u8; 32];
    getrandom::fill(&mut random).map_err(|error| Error::transient(SampleDBReason::NoRandomness, error.to_string()))?;
    Ok(random.iter().map(|byte| char::from(SIGNS[usize::from(byte & 31)])).collect())
}

#[cfg(test)]
impl From<&str> for Password {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

#[cfg(test)]
mod tests;
