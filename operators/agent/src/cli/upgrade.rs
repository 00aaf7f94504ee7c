//! The flags of the verbs about upgrades.

use lexopt::Parser;

use super::flags::{Flags, Kind};
use super::postgres::{jobs, owner, parameters, run_dir};
use super::{Stop, wrong};
use crate::postgres::Verb;
use crate::postgres::finish::Finish;
use crate::postgres::upgrade::Upgrade;

pub(super) fn upgrade(parser: &mut Parser) -> Result<Verb, Stop> {
    let flags = Flags::read(
        parser,
        &[
            ("pgdata", Kind::Value),
            ("major", Kind::Value),
            ("configuration", Kind::Value),
            ("owner", Kind::Value),
            ("run-dir", Kind::Value),
            ("database", Kind::Value),
            ("jobs", Kind::Value),
            ("from-system-identifier", Kind::Value),
            ("parameter", Kind::Many),
            ("lock-timeout", Kind::Value),
            ("connect-timeout", Kind::Value),
        ],
    )?;
    let data = flags.required("pgdata")?;
    if !data.is_absolute() || data.file_name().is_none() || data.parent().and_then(|above| above.parent()).is_none() {
        return wrong(format!("--pgdata {}: it must be a folder in the new volume, /volume/data", data.display()));
    }
    Ok(Verb::Upgrade(Upgrade {
        data,
        major: flags.required_number("major")?,
        configuration: flags.required("configuration")?,
        owner: owner(&flags)?,
        run: run_dir(&flags),
        database: flags.text("database")?,
        jobs: jobs(&flags)?,
        from_system_identifier: flags.text("from-system-identifier")?,
        parameters: parameters(&flags)?,
        lock_timeout: flags.seconds("lock-timeout", 30)?,
        connect_timeout: flags.seconds("connect-timeout", 30)?,
    }))
}

pub(super) fn finish(parser: &mut Parser) -> Result<Verb, Stop> {
    let flags =
        Flags::read(parser, &[("major", Kind::Switch), ("jobs", Kind::Value), ("connect-timeout", Kind::Value)])?;
    Ok(Verb::Finish(Finish {
        major: flags.is_set("major"),
        jobs: jobs(&flags)?,
        connect_timeout: flags.seconds("connect-timeout", 30)?,
    }))
}

pub(super) fn ready(parser: &mut Parser) -> Result<Verb, Stop> {
    let flags = Flags::read(parser, &[("wait", Kind::Value)])?;
    Ok(Verb::Ready(flags.seconds("wait", 0)?))
}
