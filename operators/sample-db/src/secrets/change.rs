//! Makes Secrets with random passwords, rewrites and deletes them.

use api::sample_db::SampleDBReason;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client};
use runtime::Error;
use runtime::plan::Key;
use serde_json::json;

use super::{REMADE, Secrets, is_given, judge, key};
use crate::database::objects::{SecretOf, entries, secret};
use crate::database::ownership::is_own;
use crate::operand::database_state::may_have_data;
use crate::operand::kinds::SampleDB;
use crate::operand::names;

impl Secrets {
    /// Writes into one that was made for the database what follows from its password; not over an edit that was made meanwhile.
    pub(crate) async fn rewrite(&self, client: &Client, db: &SampleDB, of: SecretOf) -> Result<(), Error> {
        let key = key(db, of);
        self.forget(db, of);
        // Somebody else's, or another database's.
        if is_given(db, of) {
            return Ok(());
        }
        let Some(found) = api(client, &key).get_opt(&key.name).await? else { return Ok(()) };
        let Ok(password) = judge(db, of, &found) else { return Ok(()) };
        let patch = json!({
            "metadata": { "uid": found.metadata.uid, "resourceVersion": found.metadata.resource_version },
            "stringData": entries(db, of, password.text()),
        });
        api(client, &key).patch(&key.name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Makes one with a random password.
    pub(crate) async fn make(&self, client: &Client, db: &SampleDB, of: SecretOf) -> Result<(), Error> {
        let key = key(db, of);
        self.forget(db, of);
        let mut wanted = secret(db, of, &random()?);
        if may_have_data(db) {
            // The server knows another password, and is told this one at its next start.
            wanted.metadata.annotations = Some([(REMADE.to_owned(), Timestamp::now().to_string())].into());
        }
        match api(client, &key).create(&PostParams::default(), &wanted).await {
            Ok(_) => Ok(()),
            // The next look judges whose it is.
            Err(kube::Error::Api(status)) if status.code == 409 && status.reason == "AlreadyExists" => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes one that was made for the database; first the application's that was made before the spec named another:
    /// nobody looks for that one any more, and it would be in the way of the next database of the name.
    pub(crate) async fn drop(&self, client: &Client, db: &SampleDB, of: SecretOf) -> Result<(), Error> {
        [SecretOf::App, SecretOf::System].into_iter().for_each(|of| self.forget(db, of));
        drop_named(client, db, db.meta.key.sibling(&names::made_app_secret(db))).await?;
        drop_named(client, db, key(db, of)).await
    }
}

async fn drop_named(client: &Client, db: &SampleDB, key: Key) -> Result<(), Error> {
    let Some(found) = api(client, &key).get_opt(&key.name).await? else { return Ok(()) };
    // One that was taken over still bears the uid of whom it was made for.
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

/// 32 letters and digits: 160 bits, of the operating system's randomness.
fn random() -> Result<String, Error> {
    const SIGNS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut random = [0_u8; 32];
    getrandom::fill(&mut random).map_err(|error| Error::transient(SampleDBReason::NoRandomness, error.to_string()))?;
    Ok(random.iter().map(|byte| char::from(SIGNS[usize::from(byte & 31)])).collect())
}
