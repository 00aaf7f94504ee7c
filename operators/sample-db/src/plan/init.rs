//! The initial configuration: the application's role and database, and the user's SQL, once. Pure.

use k8s_openapi::api::core::v1::{ConfigMapVolumeSource, KeyToPath, SecretVolumeSource, Volume};

use super::names;
use super::objects::{JobOf, pod};
use crate::SampleDB;

/// How many seconds it may take.
const DEADLINE: i64 = 3600;
/// How often it is tried: the agent itself waits for the server.
const RETRIES: i32 = 3;

/// The Job.
pub(super) fn job(db: &SampleDB) -> JobOf {
    let database = names::database(db);
    let mut arguments = vec!["pg-init".to_owned(), format!("--database={database}"), format!("--owner={database}")];
    let mut volumes = Vec::new();
    for (index, source) in db.spec.init.sql_from.iter().enumerate() {
        let (name, folder) = (format!("sql-{index}"), format!("/sql/{index}"));
        let item = |key: &str| Some(vec![KeyToPath { key: key.to_owned(), path: "init.sql".to_owned(), mode: None }]);
        let volume = Volume { name: name.clone(), ..Volume::default() };
        let (flag, volume) = match (&source.config_map_key_ref, &source.secret_key_ref) {
            (Some(of), _) => {
                let map = ConfigMapVolumeSource { name: of.name.clone(), items: item(&of.key), ..Default::default() };
                ("--sql", Volume { config_map: Some(map), ..volume })
            }
            (None, Some(of)) => {
                let secret = SecretVolumeSource {
                    secret_name: Some(of.name.clone()),
                    items: item(&of.key),
                    ..Default::default()
                };
                ("--secret-sql", Volume { secret: Some(secret), ..volume })
            }
            (None, None) => continue,
        };
        arguments.push(format!("{flag}={folder}/init.sql"));
        volumes.push((volume, pod::mount(&name, &folder)));
    }
    JobOf {
        env: vec![pod::secret_env("OWNER_PASSWORD", &names::app_secret(db), "password")],
        volumes,
        retries: RETRIES,
        ..JobOf::of_database(db, &names::init_job(db), arguments, DEADLINE)
    }
}
