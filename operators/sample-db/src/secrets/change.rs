//! Creates Secrets with random passwords, updates and deletes them.

use api::sample_db::SampleDBReason;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client};
use runtime::Error;
use runtime::plan::Key;
use serde_json::json;

use super::{PASSWORD_REGENERATED_AT, Secrets, is_user_provided, key, validate};
use crate::database::objects::{SecretRole, entries, secret};
use crate::database::ownership::is_own;
use crate::operand::database_state::may_have_data;
use crate::operand::kinds::SampleDB;
use crate::operand::names;

impl Secrets {
    /// Writes the entries that follow from the password of a generated Secret. The resource version keeps it from overwriting a
    /// concurrent edit.
    pub(crate) async fn update(&self, client: &Client, db: &SampleDB, of: SecretRole) -> Result<(), Error> {
        let key = key(db, of);
        self.forget(db, of);
        // The user's, or another database's.
        if is_user_provided(db, of) {
            return Ok(());
        }
        let Some(found) = api(client, &key).get_opt(&key.name).await? else { return Ok(()) };
        let Ok(password) = validate(db, of, &found) else { return Ok(()) };
        let patch = json!({
            "metadata": { "uid": found.metadata.uid, "resourceVersion": found.metadata.resource_version },
            "stringData": entries(db, of, password.text()),
        });
        api(client, &key).patch(&key.name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Creates a Secret with a random password.
    pub(crate) async fn create(&self, client: &Client, db: &SampleDB, of: SecretRole) -> Result<(), Error> {
        let key = key(db, of);
        self.forget(db, of);
        let mut desired = secret(db, of, &random()?);
        if may_have_data(db) {
            // The server has another password, and gets this one at its next start.
            desired.metadata.annotations =
                Some([(PASSWORD_REGENERATED_AT.to_owned(), runtime::clock::now().to_string())].into());
        }
        match api(client, &key).create(&PostParams::default(), &desired).await {
            Ok(_) => Ok(()),
            // The next reconcile finds out whose it is.
            Err(kube::Error::Api(status)) if status.code == 409 && status.reason == "AlreadyExists" => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes a generated Secret. First it deletes the application's Secret that was generated before the spec named another
    /// one: nothing else would delete it, and it would block the next database of that name.
    pub(crate) async fn delete(&self, client: &Client, db: &SampleDB, of: SecretRole) -> Result<(), Error> {
        [SecretRole::App, SecretRole::System].into_iter().for_each(|of| self.forget(db, of));
        delete_named(client, db, db.meta.key.sibling(&names::generated_app_secret(db))).await?;
        delete_named(client, db, key(db, of)).await
    }
}

async fn delete_named(client: &Client, db: &SampleDB, key: Key) -> Result<(), Error> {
    let Some(found) = api(client, &key).get_opt(&key.name).await? else { return Ok(()) };
    // A Secret that was adopted still has the UID of the database that it was created for.
    if !found.metadata.labels.as_ref().is_some_and(|labels| is_own(db, labels)) {
        return Ok(());
    }
    let preconditions = Preconditions { uid: found.metadata.uid, resource_version: None };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    match api(client, &key).delete(&key.name, &params).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn api(client: &Client, key: &Key) -> Api<Secret> {
    Api::namespaced(client.clone(), &key.namespace)
}

/// 32 letters and digits: 160 bits of the operating system's randomness.
fn random() -> Result<String, Error> {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut random = [0_u8; 32];
    runtime::clock::fill_random(&mut random)
        .map_err(|error| Error::transient(SampleDBReason::NoRandomness, error.to_string()))?;
    Ok(random.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 31)])).collect())
}
