//! `agent pg-survey`: what a major upgrade would reject, and what it would not carry over, before it begins.

use std::time::Instant;

use agent_protocol::{PgSurvey, PgSurveyResult, count};

use crate::failure::{CommandFailure, in_short};
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::timed::seconds;
use crate::postgres::upgrade::source::SourceServer;

/// The maximum number of messages, and their length, since a termination message is short.
const MAX_MESSAGES: usize = 8;
const LONGEST: usize = 250;

/// Changes nothing, and blocks no client.
pub(crate) fn survey(options: &PgSurvey) -> Result<PgSurveyResult, CommandFailure> {
    let since = Instant::now();
    let tools = Tools::find()?;
    let version = tools.version()?;
    let connection = Connection::from_environment()?;
    let mut source = SourceServer::open(&tools, &connection, *options.connect_timeout)?;
    source.refuse_what_would_be_lost()?;
    let not_covered = source.not_covered()?;
    Ok(PgSurveyResult {
        version: Some(version),
        databases: count(source.databases()?.len()),
        from: source.version,
        not_covered: in_short(&not_covered, MAX_MESSAGES, LONGEST),
        seconds: seconds(since),
    })
}
