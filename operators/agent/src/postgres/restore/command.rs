//! `agent pg-restore`: loads a logical snapshot into the server that will serve it.

use std::path::Path;
use std::time::Instant;

use agent_protocol::{PgRestore, PgRestoreResult, count};

use crate::failure::{CommandFailure, Reason, cut};
use crate::postgres::backup::inventory;
use crate::postgres::backup::manifest::{DatabaseManifest, SnapshotManifest, SnapshotMethod};
use crate::postgres::backup::snapshot;
use crate::postgres::client::default_databases::{MAINTENANCE, TEMPLATE, is_default};
use crate::postgres::client::marker_tables::RESTORE;
use crate::postgres::client::quote;
use crate::postgres::client::session::Session;
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::client::version_number;
use crate::postgres::restore::load_snapshot::SnapshotLoad;
use crate::postgres::restore::logins;
use crate::postgres::timed::seconds;
use crate::progress::WaitLogger;

pub(crate) fn restore(options: &PgRestore) -> Result<PgRestoreResult, CommandFailure> {
    let since = Instant::now();
    let (manifest, sha256) = snapshot::read(&options.snapshot, options.sha256.as_deref())?;
    if manifest.kind != SnapshotMethod::Logical {
        let message =
            "a physical snapshot cannot be loaded into a running server; pg-prepare creates a data directory from it";
        return Err(CommandFailure::new(Reason::BadInput, message));
    }
    let databases = chosen(&manifest, options)?;
    refuse_to_rename(&databases, options.name.as_deref())?;
    snapshot::check_files(&options.snapshot, &manifest)?;
    let tools = Tools::find()?;
    let connection = Connection::from_environment()?.of_this_version(&tools);
    let mut markers = Session::open_within(&tools, &connection, MAINTENANCE, *options.connect_timeout)?;
    let (version, number, _) = inventory::server(&mut markers)?;
    if version_number::major(&manifest.engine_version) > Some(number / 10_000) {
        let then = &manifest.engine_version;
        let message =
            format!("the snapshot is of PostgreSQL {then}, and the server is {version}: a dump does not go back");
        return Err(CommandFailure::new(Reason::NewerSnapshot, message));
    }
    let load = SnapshotLoad {
        tools: &tools,
        connection: &connection,
        snapshot: &options.snapshot,
        manifest: &manifest,
        jobs: options.jobs.0,
        run: Path::new("/tmp"),
        persistent: true,
    };
    RESTORE.ensure(&mut markers)?;
    end_creation(&mut markers, since + *options.connect_timeout)?;
    // Restore the logins that an earlier run lent before it was killed.
    logins::give_back_recorded(&mut markers)?;
    // Check before any change, as a refusal must leave all as it was.
    let mut unfinished = Vec::new();
    for database in databases {
        let name = options.name.as_ref().unwrap_or(&database.name);
        if !is_finished(&load, &mut markers, name, &sha256)? {
            // It is loaded under its own name first, which another database may have.
            if *name != database.name && is_finished(&load, &mut markers, &database.name, &sha256)? {
                return Err(occupied(&database.name, "was restored before under its own name"));
            }
            unfinished.push(database);
        }
    }
    if !unfinished.is_empty() {
        load.globals()?;
    }
    // Last, since the others are created in a session with it, and it may accept no connections once it is restored.
    unfinished.sort_by_key(|database| database.name == TEMPLATE);
    let before = load.privileges()?;
    let mut warnings = Vec::new();
    for database in &unfinished {
        warnings.extend(load_database(&load, &mut markers, database, &sha256)?);
        load.refuse_gained_privileges(&before)?;
        finish(&load, &mut markers, database, options.name.as_ref().unwrap_or(&database.name), &sha256)?;
    }
    let rows = unfinished.iter().flat_map(|database| &database.tables).map(|table| table.rows).sum::<u64>();
    Ok(PgRestoreResult {
        databases: count(unfinished.len()),
        tables: count(unfinished.iter().map(|database| database.tables.len()).sum::<usize>()),
        rows: count(rows),
        engine_version: version,
        reused: unfinished.is_empty(),
        from: manifest.engine_version.clone(),
        warnings: warnings.iter().take(5).map(|warning| cut(warning, 200).to_owned()).collect(),
        seconds: seconds(since),
    })
}

/// Ends a CREATE DATABASE of an earlier run that was killed: its database would appear after the check for it.
fn end_creation(markers: &mut Session<'_>, deadline: Instant) -> Result<(), CommandFailure> {
    let sql = "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity WHERE pid <> pg_catalog.pg_backend_pid() \
               AND application_name = 'multi-operator' AND state = 'active' AND query LIKE 'CREATE DATABASE%'";
    let mut progress = WaitLogger::new("an earlier run's CREATE DATABASE has ended".to_owned());
    while !markers.query(sql)?.is_empty() && Instant::now() < deadline {
        progress.update("it is still running");
        progress.pause();
    }
    Ok(())
}

/// The requested databases, or all that are not empty.
fn chosen<'a>(
    manifest: &'a SnapshotManifest,
    options: &PgRestore,
) -> Result<Vec<&'a DatabaseManifest>, CommandFailure> {
    let requested = &options.databases;
    let has = |name: &String| manifest.databases.iter().any(|database| database.name == *name);
    if let Some(missing) = requested.iter().find(|name| !has(name)) {
        let message = format!("the snapshot contains no database {}", quote::identifier(missing));
        return Err(CommandFailure::new(Reason::DatabaseMissing, message));
    }
    let pristine = |database: &DatabaseManifest| database.content.as_ref().is_some_and(|content| content.pristine);
    let nothing =
        |database: &DatabaseManifest| is_default(&database.name) && pristine(database) && options.name.is_none();
    let wanted = |database: &&DatabaseManifest| match requested.as_slice() {
        [] => !nothing(database),
        requested => requested.contains(&database.name),
    };
    Ok(manifest.databases.iter().filter(wanted).collect())
}

/// A new name needs exactly one database, and neither name may be `postgres`.
fn refuse_to_rename(databases: &[&DatabaseManifest], name: Option<&str>) -> Result<(), CommandFailure> {
    let Some(name) = name else { return Ok(()) };
    let wrong = match databases {
        [database] if database.name == name => return Ok(()),
        [database] if database.name != MAINTENANCE && name != MAINTENANCE => return Ok(()),
        [_] => "database postgres keeps its name, and no other database can take it".to_owned(),
        several => {
            format!("--as renames one database, and the snapshot has {}; select one with --database", several.len())
        }
    };
    Err(CommandFailure::new(Reason::BadInput, wrong))
}

/// Gives the restored database its name in one step with its marker: so a database of that name is complete, or marked as
/// unfinished.
fn finish(
    load: &SnapshotLoad<'_>,
    markers: &mut Session<'_>,
    database: &DatabaseManifest,
    to: &str,
    sha256: &str,
) -> Result<(), CommandFailure> {
    let from = database.name.as_str();
    let mut renamed = String::new();
    if from != to {
        // An existing one is empty, as checked before.
        if load.exists(markers, to)? {
            markers.query(&format!("DROP DATABASE {} WITH (FORCE)", quote::identifier(to)))?;
        }
        renamed = format!(
            "ALTER DATABASE {} RENAME TO {}; DELETE FROM multi_operator.restore WHERE database = {};",
            quote::identifier(from),
            quote::identifier(to),
            quote::literal(from)
        );
    }
    // During the load it accepted all connections.
    let sealed = database.content.as_ref().map_or_else(String::new, |content| {
        let (name, limit, allowed) = (quote::identifier(to), content.connection_limit, content.allow_connections);
        format!("ALTER DATABASE {name} CONNECTION LIMIT {limit}; ALTER DATABASE {name} ALLOW_CONNECTIONS {allowed};")
    });
    let (to, sha256) = (quote::literal(to), quote::literal(sha256));
    markers.query("BEGIN")?;
    markers.query(&format!(
        "{renamed} {sealed} INSERT INTO multi_operator.restore (database, snapshot, finished) VALUES ({to}, {sha256}, true) \
         ON CONFLICT (database) DO UPDATE SET snapshot = excluded.snapshot, finished = true"
    ))?;
    markers.query("COMMIT").map(|_| ())
}

/// Whether the database has been restored before; fails if a user's database has the name.
fn is_finished(
    load: &SnapshotLoad<'_>,
    markers: &mut Session<'_>,
    name: &str,
    sha256: &str,
) -> Result<bool, CommandFailure> {
    let sql = format!(
        "SELECT pg_catalog.json_build_array(snapshot, finished) FROM multi_operator.restore WHERE database = {}",
        quote::literal(name)
    );
    let exists = load.exists(markers, name)?;
    match markers.query_json::<(String, bool)>(&sql)?.pop() {
        Some((snapshot, true)) if exists => {
            if snapshot == sha256 {
                return Ok(true);
            }
            Err(occupied(name, "was restored from another snapshot"))
        }
        Some((_, false)) => Ok(false),
        _ if exists && !load.is_empty(name)? => Err(occupied(name, "exists, and was not created by a restore")),
        _ => Ok(false),
    }
}

/// Loads a database. Its marker is written before the first change, and finished after the last: if this run is killed, the next
/// one starts again.
fn load_database(
    load: &SnapshotLoad<'_>,
    markers: &mut Session<'_>,
    database: &DatabaseManifest,
    sha256: &str,
) -> Result<Vec<String>, CommandFailure> {
    let (name, text) = (quote::identifier(&database.name), quote::literal(&database.name));
    markers.query(&format!(
        "INSERT INTO multi_operator.restore (database, snapshot, finished) VALUES ({text}, {}, false) \
         ON CONFLICT (database) DO UPDATE SET snapshot = excluded.snapshot, finished = false",
        quote::literal(sha256)
    ))?;
    if is_default(&database.name) {
        refuse_remainder(load, &database.name)?;
    } else if load.exists(markers, &database.name)? {
        // A template cannot be dropped.
        markers.query(&format!("ALTER DATABASE {name} IS_TEMPLATE false"))?;
        markers.query(&format!("DROP DATABASE {name} WITH (FORCE)"))?;
    }
    eprintln!("restoring database {name}");
    let warnings = load.database(database)?;
    load.analyze(database)?;
    Ok(warnings)
}

fn occupied(name: &str, why: &str) -> CommandFailure {
    let message = format!("database {} {why}; not replacing it", quote::identifier(name));
    CommandFailure::new(Reason::TargetNotEmpty, message)
}

/// Refuses a default database with leftovers of an earlier run that was killed. Neither is dropped: one has the marker tables,
/// and new databases are created from the other.
fn refuse_remainder(load: &SnapshotLoad<'_>, name: &str) -> Result<(), CommandFailure> {
    if load.is_empty(name)? {
        return Ok(());
    }
    let message = format!("database {name} contains leftovers of an unfinished restore; start with a new server");
    Err(CommandFailure::new(Reason::TargetNotEmpty, message))
}
