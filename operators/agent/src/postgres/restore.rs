//! `agent pg-restore`: a logical snapshot into the server that is going to serve it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::inventory;
use super::manifest::{Database, Kind, Manifest};
use super::notes::RESTORE;
use super::quote;
use super::refill::Refill;
use super::session::Session;
use super::standing::{MAINTENANCE, TEMPLATE, stands};
use super::timed::timed;
use super::tools::{Connection, Tools};
use super::{controldata, logins, snapshot};
use crate::failure::{Failure, Reason, cut};
use crate::progress::Progress;

#[derive(Debug)]
pub(crate) struct Restore {
    pub(crate) snapshot: PathBuf,
    pub(crate) sha256: Option<String>,
    pub(crate) databases: Vec<String>,
    /// What the one database is to be called.
    pub(crate) name: Option<String>,
    pub(crate) jobs: u16,
    pub(crate) connect_timeout: Duration,
}

pub(crate) fn restore(options: &Restore) -> Result<Value, Failure> {
    let since = Instant::now();
    let (manifest, sha256) = snapshot::read(&options.snapshot, options.sha256.as_deref())?;
    if manifest.kind != Kind::Logical {
        let sentence =
            "a physical snapshot cannot be put into a server that runs; pg-prepare makes a data folder of it";
        return Err(Failure::new(Reason::BadInput, sentence));
    }
    let databases = chosen(&manifest, options)?;
    refuse_to_rename(&databases, options.name.as_deref())?;
    snapshot::check_files(&options.snapshot, &manifest)?;
    let tools = Tools::find()?;
    let connection = Connection::from_environment()?.of_this_version(&tools);
    let mut notes = Session::open_within(&tools, &connection, MAINTENANCE, options.connect_timeout)?;
    let (version, number, _) = inventory::server(&mut notes)?;
    if controldata::major(&manifest.engine_version) > Some(number / 10_000) {
        let then = &manifest.engine_version;
        let sentence =
            format!("the snapshot is of PostgreSQL {then}, and the server is {version}: a dump does not go back");
        return Err(Failure::new(Reason::NewerSnapshot, sentence));
    }
    let refill = Refill {
        tools: &tools,
        connection: &connection,
        snapshot: &options.snapshot,
        manifest: &manifest,
        jobs: options.jobs,
        run: Path::new("/tmp"),
        lasting: true,
    };
    RESTORE.ensure(&mut notes)?;
    end_creation(&mut notes, since + options.connect_timeout)?;
    // What a run of before lent, and did not live to take back.
    logins::give_back_noted(&mut notes)?;
    // Before anything is changed, as a refusal must leave all as it was.
    let mut open = Vec::new();
    for database in databases {
        let name = options.name.as_ref().unwrap_or(&database.name);
        if !is_finished(&refill, &mut notes, name, &sha256)? {
            // It is made under its own name, and there may be another one of that.
            if *name != database.name && is_finished(&refill, &mut notes, &database.name, &sha256)? {
                return Err(occupied(&database.name, "was restored before under its own name"));
            }
            open.push(database);
        }
    }
    if !open.is_empty() {
        refill.globals()?;
    }
    // The others are made by way of it, and it may let nobody in once it is as it was.
    open.sort_by_key(|database| database.name == TEMPLATE);
    let before = refill.rights()?;
    let mut warnings = Vec::new();
    for database in &open {
        warnings.extend(put(&refill, &mut notes, database, &sha256)?);
        refill.refuse_gained_rights(&before)?;
        finish(&refill, &mut notes, database, options.name.as_ref().unwrap_or(&database.name), &sha256)?;
    }
    Ok(timed(
        json!({
            "databases": open.len(),
            "tables": open.iter().map(|database| database.tables.len()).sum::<usize>(),
            "rows": open.iter().flat_map(|database| &database.tables).map(|table| table.rows).sum::<u64>(),
            "engineVersion": version,
            "from": manifest.engine_version,
            "reused": open.is_empty(),
            "warnings": warnings.iter().take(5).map(|warning| cut(warning, 200)).collect::<Vec<_>>(),
        }),
        since,
    ))
}

/// Ends what the server still creates for an earlier run that was killed: its database would appear after it was looked for.
fn end_creation(notes: &mut Session<'_>, deadline: Instant) -> Result<(), Failure> {
    let sql = "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity WHERE pid <> pg_catalog.pg_backend_pid() \
               AND application_name = 'multi-operator' AND state = 'active' AND query LIKE 'CREATE DATABASE%'";
    let mut progress = Progress::towards("an earlier run's CREATE DATABASE has ended".to_owned());
    while !notes.ask(sql)?.is_empty() && Instant::now() < deadline {
        progress.still("the server is at work on it");
        progress.pause();
    }
    Ok(())
}

/// Those asked for, or all; what is to get another name is one of users'.
fn chosen<'a>(manifest: &'a Manifest, options: &Restore) -> Result<Vec<&'a Database>, Failure> {
    let asked = &options.databases;
    let has = |name: &String| manifest.databases.iter().any(|database| database.name == *name);
    if let Some(missing) = asked.iter().find(|name| !has(name)) {
        let sentence = format!("the snapshot holds no database {}", quote::identifier(missing));
        return Err(Failure::new(Reason::DatabaseMissing, sentence));
    }
    let pristine = |database: &Database| database.content.as_ref().is_some_and(|content| content.pristine);
    let nothing = |database: &Database| stands(&database.name) && pristine(database) && options.name.is_none();
    let wanted = |database: &&Database| match asked.as_slice() {
        [] => !nothing(database),
        asked => asked.contains(&database.name),
    };
    Ok(manifest.databases.iter().filter(wanted).collect())
}

/// There must be one, and not the one that every server has.
fn refuse_to_rename(databases: &[&Database], name: Option<&str>) -> Result<(), Failure> {
    let Some(name) = name else { return Ok(()) };
    let wrong = match databases {
        [database] if database.name == name => return Ok(()),
        [database] if database.name != MAINTENANCE && name != MAINTENANCE => return Ok(()),
        [_] => "database postgres keeps its name, and no other one gets it".to_owned(),
        several => format!("--as is for one database, and these are {}: --database says which", several.len()),
    };
    Err(Failure::new(Reason::BadInput, wrong))
}

/// What was restored gets its name in one step with the notes on it: what bears a name is whole, or noted as not.
fn finish(
    refill: &Refill<'_>,
    notes: &mut Session<'_>,
    database: &Database,
    to: &str,
    sha256: &str,
) -> Result<(), Failure> {
    let from = database.name.as_str();
    let mut renamed = String::new();
    if from != to {
        // One that is empty, as was seen before.
        if refill.exists(notes, to)? {
            notes.ask(&format!("DROP DATABASE {} WITH (FORCE)", quote::identifier(to)))?;
        }
        renamed = format!(
            "ALTER DATABASE {} RENAME TO {}; DELETE FROM multi_operator.restore WHERE database = {};",
            quote::identifier(from),
            quote::identifier(to),
            quote::literal(from)
        );
    }
    // It was open to all while it was loaded.
    let sealed = database.content.as_ref().map_or_else(String::new, |content| {
        let (name, limit, open) = (quote::identifier(to), content.connection_limit, content.allow_connections);
        format!("ALTER DATABASE {name} CONNECTION LIMIT {limit}; ALTER DATABASE {name} ALLOW_CONNECTIONS {open};")
    });
    let (to, sha256) = (quote::literal(to), quote::literal(sha256));
    notes.ask("BEGIN")?;
    notes.ask(&format!(
        "{renamed} {sealed} INSERT INTO multi_operator.restore (database, snapshot, finished) VALUES ({to}, {sha256}, true) \
         ON CONFLICT (database) DO UPDATE SET snapshot = excluded.snapshot, finished = true"
    ))?;
    notes.ask("COMMIT").map(|_| ())
}

/// Whether the database has been restored before; fails if it is somebody's.
fn is_finished(refill: &Refill<'_>, notes: &mut Session<'_>, name: &str, sha256: &str) -> Result<bool, Failure> {
    let sql = format!(
        "SELECT pg_catalog.json_build_array(snapshot, finished) FROM multi_operator.restore WHERE database = {}",
        quote::literal(name)
    );
    let exists = refill.exists(notes, name)?;
    match notes.ask_json::<(String, bool)>(&sql)?.pop() {
        Some((snapshot, true)) if exists => {
            if snapshot == sha256 {
                return Ok(true);
            }
            Err(occupied(name, "was restored from another snapshot"))
        }
        Some((_, false)) => Ok(false),
        _ if exists && !refill.is_empty(name)? => Err(occupied(name, "is there, and this step has not made it")),
        _ => Ok(false),
    }
}

/// The note comes before the first change, and its end after the last: killed at any point, the next run begins anew.
fn put(
    refill: &Refill<'_>,
    notes: &mut Session<'_>,
    database: &Database,
    sha256: &str,
) -> Result<Vec<String>, Failure> {
    let (name, text) = (quote::identifier(&database.name), quote::literal(&database.name));
    notes.ask(&format!(
        "INSERT INTO multi_operator.restore (database, snapshot, finished) VALUES ({text}, {}, false) \
         ON CONFLICT (database) DO UPDATE SET snapshot = excluded.snapshot, finished = false",
        quote::literal(sha256)
    ))?;
    if stands(&database.name) {
        refuse_remainder(refill, &database.name)?;
    } else if refill.exists(notes, &database.name)? {
        // One that is a template cannot be dropped.
        notes.ask(&format!("ALTER DATABASE {name} IS_TEMPLATE false"))?;
        notes.ask(&format!("DROP DATABASE {name} WITH (FORCE)"))?;
    }
    eprintln!("restoring database {name}");
    let warnings = refill.database(database)?;
    refill.analyze(database)?;
    Ok(warnings)
}

fn occupied(name: &str, why: &str) -> Failure {
    let sentence = format!("database {} {why}; it is not replaced", quote::identifier(name));
    Failure::new(Reason::TargetNotEmpty, sentence)
}

/// The notes are in one, and new databases are made of the other: neither is dropped. A first try that was killed leaves
/// things there.
fn refuse_remainder(refill: &Refill<'_>, name: &str) -> Result<(), Failure> {
    if refill.is_empty(name)? {
        return Ok(());
    }
    let sentence = format!("database {name} holds what an unfinished restore left; begin with a new server");
    Err(Failure::new(Reason::TargetNotEmpty, sentence))
}
