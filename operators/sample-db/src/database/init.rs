//! Pure: the initial configuration: the application's role and database, and the user's SQL, once.

use agent_protocol::{AgentCommand, PgInit, SqlFile, SqlFiles};
use k8s_openapi::api::core::v1::{ConfigMapVolumeSource, KeyToPath, SecretVolumeSource, Volume};
use runtime::pod::mount;

use crate::operand::agent_job::JobParams;
use crate::operand::kinds::SampleDB;
use crate::operand::{names, pod};

/// How many seconds the Job may take.
const DEADLINE: i64 = 3600;
/// How often the Job is retried. The agent itself waits for the server.
const RETRIES: i32 = 3;

/// The Job.
pub(super) fn job(db: &SampleDB) -> JobParams {
    let database = names::database(db);
    let mut sql = SqlFiles::default();
    let mut volumes = Vec::new();
    for (index, source) in db.spec.init.sql_from.iter().enumerate() {
        let (name, directory) = (format!("sql-{index}"), format!("/sql/{index}"));
        let item = |key: &str| Some(vec![KeyToPath { key: key.to_owned(), path: "init.sql".to_owned(), mode: None }]);
        let volume = Volume { name: name.clone(), ..Volume::default() };
        let (secret, volume) = match (&source.config_map_key_ref, &source.secret_key_ref) {
            (Some(of), _) => {
                let map = ConfigMapVolumeSource { name: of.name.clone(), items: item(&of.key), ..Default::default() };
                (false, Volume { config_map: Some(map), ..volume })
            }
            (None, Some(of)) => {
                let secret = SecretVolumeSource {
                    secret_name: Some(of.name.clone()),
                    items: item(&of.key),
                    ..Default::default()
                };
                (true, Volume { secret: Some(secret), ..volume })
            }
            (None, None) => continue,
        };
        sql.0.push(SqlFile { path: format!("{directory}/init.sql").into(), secret });
        volumes.push((volume, mount(&name, &directory)));
    }
    let init = PgInit { database: database.to_owned(), owner: database.to_owned(), sql, ..PgInit::default() };
    JobParams {
        env: vec![pod::secret_env("OWNER_PASSWORD", &names::app_secret(db), "password")],
        volumes,
        retries: RETRIES,
        ..JobParams::of_database(db, &names::init_job(db), init.argv(), DEADLINE)
    }
}
