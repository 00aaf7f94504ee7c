//! Reads Secrets by name. There is no watch on Secrets, so what was read is cached, and read again after some time.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use runtime::plan::Key;
use tokio::time::Instant;

/// How long a Secret is kept that no reconcile needs.
const UNUSED_TTL: Duration = Duration::from_secs(3600);

/// What a Secret holds.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretFiles {
    /// The texts, by key.
    pub files: BTreeMap<String, String>,
    /// The UID of the object that controls it.
    pub controller: Option<String>,
}

/// Without what is secret.
impl fmt::Debug for SecretFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.files.keys()).finish()
    }
}

/// The result of a read of a Secret.
#[derive(Clone, Debug)]
pub enum SecretLookup {
    /// It exists.
    Found(Arc<SecretFiles>),
    /// It does not exist.
    Absent,
    /// It cannot be read, and never was; with the error.
    Unknown(String),
}

/// Reads Secrets, and caches them.
pub(super) struct SecretReader {
    client: Client,
    known: Mutex<HashMap<Key, CachedSecret>>,
}

struct CachedSecret {
    read: Instant,
    used: Instant,
    secret: SecretLookup,
}

impl SecretReader {
    /// An empty cache.
    pub(super) fn new(client: Client) -> Self {
        Self { client, known: Mutex::default() }
    }

    /// The Secret, which was read no longer ago than that, or cannot be read now.
    pub(super) async fn read(&self, key: &Key, max_age: Duration) -> SecretLookup {
        let now = Instant::now();
        let known = self.known(key, now);
        if let Some((read, secret)) = &known
            && now.duration_since(*read) < max_age
        {
            return secret.clone();
        }
        let secret = match self.get(key).await {
            Ok(secret) => secret,
            // What was read earlier is more likely to be right than nothing.
            Err(error) => known.map_or(SecretLookup::Unknown(error), |(_, earlier)| earlier),
        };
        let cached = CachedSecret { read: now, used: now, secret: secret.clone() };
        self.lock().insert(key.clone(), cached);
        secret
    }

    /// Forgets Secrets that have been written.
    pub(super) fn forget(&self, namespace: &str, names: &[String]) {
        self.lock().retain(|key, _| *key.namespace != *namespace || !names.iter().any(|name| **name == *key.name));
    }

    fn known(&self, key: &Key, now: Instant) -> Option<(Instant, SecretLookup)> {
        let mut all = self.lock();
        all.retain(|_, cached| now.duration_since(cached.used) < UNUSED_TTL);
        let cached = all.get_mut(key)?;
        cached.used = now;
        Some((cached.read, cached.secret.clone()))
    }

    async fn get(&self, key: &Key) -> Result<SecretLookup, String> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &key.namespace);
        let secret = secrets.get_opt(&key.name).await.map_err(|error| runtime::Error::from(error).to_string())?;
        let Some(secret) = secret else { return Ok(SecretLookup::Absent) };
        let text = |(name, bytes): (String, k8s_openapi::ByteString)| Some((name, String::from_utf8(bytes.0).ok()?));
        let files = secret.data.unwrap_or_default().into_iter().filter_map(text).collect();
        let owners = secret.metadata.owner_references.unwrap_or_default();
        let controller = owners.into_iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid);
        Ok(SecretLookup::Found(Arc::new(SecretFiles { files, controller })))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, CachedSecret>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
