//! The flags of the verbs about upgrades.

use lexopt::Parser;

use super::flags::{Flags, Kind};
use super::postgres_flags::{jobs, run_dir};
use super::stop::{Stop, wrong};
use crate::postgres::Verb;
use crate::postgres::finish::Finish;
use crate::postgres::run::Ready;
use crate::postgres::survey::Survey;
use crate::postgres::upgrade::Upgrade;
use crate::postgres::version::Version;

pub(super) fn upgrade(parser: &mut Parser) -> Result<Verb, Stop> {
    let flags = Flags::read(
        parser,
        &[
            ("to", Kind::Value),
            ("to-port", Kind::Value),
            ("major", Kind::Value),
            ("room", Kind::Value),
            ("run-dir", Kind::Value),
            ("database", Kind::Value),
            ("jobs", Kind::Value),
            ("from-system-identifier", Kind::Value),
            ("connect-timeout", Kind::Value),
        ],
    )?;
    let Some(to) = flags.text("to")?.filter(|to| !to.is_empty()) else {
        return wrong("--to is missing: the new server's address");
    };
    Ok(Verb::Upgrade(Upgrade {
        to,
        to_port: flags.text("to-port")?,
        major: flags.required_number("major")?,
        room: flags.number("room")?,
        run: run_dir(&flags),
        database: flags.text("database")?,
        jobs: jobs(&flags)?,
        from_system_identifier: flags.text("from-system-identifier")?,
        connect_timeout: flags.seconds("connect-timeout", 30)?,
    }))
}

pub(super) fn survey(parser: &mut Parser) -> Result<Verb, Stop> {
    let flags = Flags::read(parser, &[("connect-timeout", Kind::Value)])?;
    Ok(Verb::Survey(Survey { connect_timeout: flags.seconds("connect-timeout", 30)? }))
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

pub(super) fn version(parser: &mut Parser) -> Result<Verb, Stop> {
    let known = [("as-user", Kind::Value), ("start-in", Kind::Value), ("run-dir", Kind::Value)];
    let flags = Flags::read(parser, &known)?;
    Ok(Verb::Version(Version { user: flags.number("as-user")?, scratch: flags.path("start-in"), run: run_dir(&flags) }))
}

pub(super) fn ready(parser: &mut Parser) -> Result<Verb, Stop> {
    let flags = Flags::read(parser, &[("wait", Kind::Value), ("pgdata", Kind::Value), ("reserve", Kind::Value)])?;
    Ok(Verb::Ready(Ready {
        wait: flags.seconds("wait", 0)?,
        reserve: flags.path("pgdata").zip(flags.number("reserve")?),
    }))
}
