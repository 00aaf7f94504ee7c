//! Secrets: read by name, again after a minute or so, and made with random passwords. What is in them goes no further.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Api, Client};
use runtime::Error;
use runtime::plan::Key;

use crate::SampleDB;
use crate::plan::objects::{OWNER_UID, SecretOf, secret};
use crate::plan::{SecretSeen, names};

/// How long what was read is taken for true. With the pass that follows, an edit is in force within 90 s.
const FRESH: Duration = Duration::from_secs(55);
/// The longest password that is taken: what PostgreSQL's programs read from a file, with room to spare.
const LONGEST: usize = 512;

/// Reads and makes Secrets.
pub(crate) struct Secrets {
    client: Client,
    seen: Mutex<HashMap<Key, (Instant, SecretSeen)>>,
}

impl Secrets {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, seen: Mutex::default() }
    }

    /// What there is of one of a database's Secrets.
    pub(crate) async fn look(&self, db: &SampleDB, of: SecretOf) -> SecretSeen {
        let key = key(db, of);
        let fresh = |(at, seen): &(Instant, SecretSeen)| (at.elapsed() < FRESH).then(|| seen.clone());
        let held = self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(&key).and_then(fresh);
        if let Some(SecretSeen::Usable) = held {
            return SecretSeen::Usable;
        }
        let seen = match self.api(&key).get_opt(&key.name).await {
            Ok(found) => found.map_or(SecretSeen::Absent, |found| judge(db, of, &found)),
            Err(error) => SecretSeen::Unknown(Error::from(error).to_string()),
        };
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(key, (Instant::now(), seen.clone()));
        seen
    }

    /// Makes one with a random password.
    pub(crate) async fn make(&self, db: &SampleDB, of: SecretOf) -> Result<(), Error> {
        let key = key(db, of);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        match self.api(&key).create(&PostParams::default(), &secret(db, of, &password()?)).await {
            Ok(_) => Ok(()),
            // The next look judges whose it is.
            Err(kube::Error::Api(status)) if status.code == 409 && status.reason == "AlreadyExists" => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes one that was made for the database.
    pub(crate) async fn drop(&self, db: &SampleDB, of: SecretOf) -> Result<(), Error> {
        let key = key(db, of);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        let Some(found) = self.api(&key).get_opt(&key.name).await? else { return Ok(()) };
        let owner = found.metadata.labels.as_ref().and_then(|labels| labels.get(OWNER_UID));
        // One that was taken over still bears the uid of whom it was made for.
        let adopted = db.annotations.get(api::sample_db::ADOPT);
        if owner.is_none_or(|uid| *uid != *db.meta.uid && adopted.is_none_or(|old| **old != **uid)) {
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

    fn api(&self, key: &Key) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &key.namespace)
    }
}

fn key(db: &SampleDB, of: SecretOf) -> Key {
    db.meta.key.sibling(&match of {
        SecretOf::App => names::app_secret(db),
        SecretOf::System => names::system_secret(db),
    })
}

/// Whether a Secret is the database's, and can be used.
fn judge(db: &SampleDB, of: SecretOf, found: &Secret) -> SecretSeen {
    let given = of == SecretOf::App && db.spec.credentials.secret_ref.is_some();
    let owner = found.metadata.labels.as_ref().and_then(|labels| labels.get(OWNER_UID));
    let adopted = db.annotations.get(api::sample_db::ADOPT);
    if !given && owner.is_none_or(|uid| *uid != *db.meta.uid && adopted.is_none_or(|old| **old != **uid)) {
        return SecretSeen::Foreign;
    }
    let entry = |name: &str| found.data.as_ref().and_then(|data| data.get(name)).map(|bytes| bytes.0.as_slice());
    let Some(password) = entry("password") else { return SecretSeen::Malformed("has no entry password".to_owned()) };
    if let Err(why) = usable(password) {
        return SecretSeen::Malformed(format!("has a password that cannot be used: {why}"));
    }
    let user = names::database(db);
    match entry("username") {
        _ if !given => SecretSeen::Usable,
        Some(name) if name == user.as_bytes() => SecretSeen::Usable,
        Some(_) => SecretSeen::Malformed(format!("has another entry username than {user}, the database's owner")),
        None => SecretSeen::Malformed("has no entry username".to_owned()),
    }
}

fn usable(password: &[u8]) -> Result<(), &'static str> {
    let text = std::str::from_utf8(password).map_err(|_| "it is not UTF-8")?;
    match text {
        "" => Err("it is empty"),
        _ if text.len() > LONGEST => Err("it is longer than 512 bytes"),
        _ if text.chars().any(char::is_control) => Err("it has a line break or another control character"),
        _ => Ok(()),
    }
}

/// 32 letters and digits: 160 bits, of the operating system's randomness.
fn password() -> Result<String, Error> {
    const SIGNS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut random = [0_u8; 32];
    getrandom::fill(&mut random).map_err(|error| Error::transient("NoRandomness", error.to_string()))?;
    Ok(random.iter().map(|byte| char::from(SIGNS[usize::from(byte & 31)])).collect())
}
