//! The flags of the verbs about PostgreSQL.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::{Arg, Parser, ValueExt};

use super::flags::{Flags, Kind};
use super::postgres_flags::{jobs, owner, parameters, run_dir, snapshot};
use super::stop::{Stop, wrong};
use super::{help_postgres, help_upgrade, upgrade};
use crate::postgres::Verb;
use crate::postgres::basebackup::BaseBackup;
use crate::postgres::dump::{Dump, Offline};
use crate::postgres::hba::Access;
use crate::postgres::init::Init;
use crate::postgres::init_sql::SqlFile;
use crate::postgres::prepare::Prepare;
use crate::postgres::prune::Prune;
use crate::postgres::restore::Restore;
use crate::postgres::run::Run;
use crate::postgres::verify::{Mode, Verify};

/// The verb and its help, if there is such a verb.
pub(super) fn parse(verb: &str, parser: &mut Parser) -> Option<(Result<Verb, Stop>, &'static str)> {
    Some(match verb {
        "pg-prepare" => (prepare(parser), help_postgres::PREPARE),
        "pg-run" => (run(parser), help_postgres::RUN),
        "pg-dump" => (dump(parser), help_postgres::DUMP),
        "pg-basebackup" => (base_backup(parser), help_postgres::BASE_BACKUP),
        "pg-verify" => (verify(parser), help_postgres::VERIFY),
        "pg-restore" => (restore(parser), help_postgres::RESTORE),
        "pg-init" => (init(parser), help_postgres::INIT),
        "pg-prune" => (prune(parser), help_postgres::PRUNE),
        "pg-upgrade" => (upgrade::upgrade(parser), help_upgrade::UPGRADE),
        "pg-survey" => (upgrade::survey(parser), help_upgrade::SURVEY),
        "pg-finish" => (upgrade::finish(parser), help_upgrade::FINISH),
        "pg-ready" => (upgrade::ready(parser), help_upgrade::READY),
        "pg-version" => (upgrade::version(parser), help_upgrade::VERSION),
        _ => return None,
    })
}

fn prepare(parser: &mut Parser) -> Result<Verb, Stop> {
    let flags = Flags::read(
        parser,
        &[
            ("pgdata", Kind::Value),
            ("major", Kind::Value),
            ("configuration", Kind::Value),
            ("initialise", Kind::Switch),
            ("system-identifier", Kind::Value),
            ("owner", Kind::Value),
            ("from", Kind::Value),
            ("sha256", Kind::Value),
            ("run-dir", Kind::Value),
            ("access", Kind::Value),
            ("closed", Kind::Switch),
            ("reset-password", Kind::Switch),
            ("passwd", Kind::Value),
            ("install", Kind::Value),
            ("lock-timeout", Kind::Value),
        ],
    )?;
    let access = match flags.text("access")?.as_deref() {
        None | Some("keep") if flags.is_set("closed") => Some(Access::Closed),
        None | Some("keep") => None,
        Some("open") if !flags.is_set("closed") => Some(Access::Open),
        Some("closed") => Some(Access::Closed),
        Some(other) => {
            return wrong(format!("--access {other}: it must be keep, open or closed (--closed is short for that)"));
        }
    };
    Ok(Verb::Prepare(Prepare {
        data: flags.required("pgdata")?,
        major: flags.required_number("major")?,
        configuration: flags.required("configuration")?,
        initialise: flags.is_set("initialise"),
        system_identifier: flags.text("system-identifier")?,
        owner: owner(&flags)?,
        from: if flags.is_set("from") { Some(snapshot(&flags, "from")?) } else { None },
        sha256: flags.text("sha256")?,
        run: run_dir(&flags),
        access,
        reset_password: flags.is_set("reset-password"),
        passwd: flags.path("passwd"),
        install: flags.path("install"),
        lock_timeout: flags.seconds("lock-timeout", 30)?,
    }))
}

fn run(parser: &mut Parser) -> Result<Verb, Stop> {
    let (mut data, mut reserve, mut configuration, mut lock_timeout) = (None, None, None, Duration::from_secs(60));
    let mut arguments: Vec<OsString> = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("help") | Arg::Short('h') => return Err(Stop::Help),
            Arg::Long("pgdata") => data = Some(PathBuf::from(parser.value()?)),
            Arg::Long("lock-timeout") => lock_timeout = Duration::from_secs(parser.value()?.parse()?),
            Arg::Long("reserve") => reserve = Some(parser.value()?.parse()?),
            Arg::Long("configuration") => configuration = Some(PathBuf::from(parser.value()?)),
            Arg::Value(first) => {
                arguments.push(first);
                arguments.extend(parser.raw_args()?);
            }
            other => return Err(other.unexpected().into()),
        }
    }
    let Some(data) = data else { return wrong("--pgdata is missing") };
    Ok(Verb::Run(Run { data, lock_timeout, reserve, configuration, arguments }))
}

fn dump(parser: &mut Parser) -> Result<Verb, Stop> {
    let flags = Flags::read(
        parser,
        &[
            ("to", Kind::Value),
            ("database", Kind::Many),
            ("jobs", Kind::Value),
            ("compression", Kind::Value),
            ("connect-timeout", Kind::Value),
            ("offline", Kind::Value),
            ("run-dir", Kind::Value),
            ("system-identifier", Kind::Value),
            ("parameter", Kind::Many),
            ("lock-timeout", Kind::Value),
        ],
    )?;
    let offline = match flags.path("offline") {
        None => None,
        Some(data) => Some(Offline {
            data,
            run: run_dir(&flags),
            system_identifier: flags.text("system-identifier")?,
            parameters: parameters(&flags)?,
            lock_timeout: flags.seconds("lock-timeout", 30)?,
        }),
    };
    let compression = flags.number("compression")?;
    if compression.is_some_and(|level: u8| level > 9) {
        return wrong("--compression must be 0 to 9");
    }
    Ok(Verb::Dump(Dump {
        to: snapshot(&flags, "to")?,
        databases: flags.texts("database")?,
        jobs: jobs(&flags)?,
        compression,
        offline,
        connect_timeout: flags.seconds("connect-timeout", 30)?,
    }))
}

fn base_backup(parser: &mut Parser) -> Result<Verb, Stop> {
    let flags = Flags::read(parser, &[("to", Kind::Value), ("connect-timeout", Kind::Value)])?;
    let connect_timeout = flags.seconds("connect-timeout", 30)?;
    Ok(Verb::BaseBackup(BaseBackup { to: snapshot(&flags, "to")?, connect_timeout }))
}

fn verify(parser: &mut Parser) -> Result<Verb, Stop> {
    let flags = Flags::read(
        parser,
        &[
            ("snapshot", Kind::Value),
            ("sha256", Kind::Value),
            ("mode", Kind::Value),
            ("scratch", Kind::Value),
            ("run-dir", Kind::Value),
            ("checks", Kind::Value),
            ("jobs", Kind::Value),
            ("parameter", Kind::Many),
        ],
    )?;
    let mode = match flags.text("mode")?.as_deref() {
        None | Some("restore") => Mode::Restore,
        Some("checksum") => Mode::Checksum,
        Some(other) => return wrong(format!("--mode {other}: it must be restore or checksum")),
    };
    let scratch = flags.path("scratch");
    if mode == Mode::Restore && scratch.is_none() {
        return wrong("--mode restore needs --scratch: a folder with room for the data");
    }
    Ok(Verb::Verify(Verify {
        snapshot: snapshot(&flags, "snapshot")?,
        sha256: flags.text("sha256")?,
        mode,
        scratch,
        run: run_dir(&flags),
        checks: flags.path("checks"),
        jobs: jobs(&flags)?,
        parameters: parameters(&flags)?,
    }))
}

fn restore(parser: &mut Parser) -> Result<Verb, Stop> {
    let flags = Flags::read(
        parser,
        &[
            ("snapshot", Kind::Value),
            ("sha256", Kind::Value),
            ("database", Kind::Many),
            ("as", Kind::Value),
            ("jobs", Kind::Value),
            ("connect-timeout", Kind::Value),
        ],
    )?;
    Ok(Verb::Restore(Restore {
        snapshot: snapshot(&flags, "snapshot")?,
        sha256: flags.text("sha256")?,
        databases: flags.texts("database")?,
        name: flags.text("as")?.filter(|name| !name.is_empty()),
        jobs: jobs(&flags)?,
        connect_timeout: flags.seconds("connect-timeout", 30)?,
    }))
}

fn init(parser: &mut Parser) -> Result<Verb, Stop> {
    let flags = Flags::read(
        parser,
        &[
            ("database", Kind::Value),
            ("owner", Kind::Value),
            ("ledger-key", Kind::Value),
            ("sql", Kind::Many),
            ("secret-sql", Kind::Many),
            ("connect-timeout", Kind::Value),
        ],
    )?;
    let sql = flags.in_order(&["sql", "secret-sql"]);
    let files = sql.map(|(flag, path)| SqlFile { path: path.into(), secret: flag == "secret-sql" }).collect();
    Ok(Verb::Init(Init {
        database: flags.required_text("database")?,
        owner: flags.required_text("owner")?,
        ledger_key: flags.text("ledger-key")?.unwrap_or_else(|| "init".into()),
        files,
        connect_timeout: flags.seconds("connect-timeout", 30)?,
    }))
}

fn prune(parser: &mut Parser) -> Result<Verb, Stop> {
    let flags =
        Flags::read(parser, &[("dir", Kind::Value), ("name", Kind::Many), ("partial-older-than", Kind::Value)])?;
    Ok(Verb::Prune(Prune {
        directory: flags.required("dir")?,
        names: flags.texts("name")?,
        partial_older_than: flags.number("partial-older-than")?.map(Duration::from_secs),
    }))
}
