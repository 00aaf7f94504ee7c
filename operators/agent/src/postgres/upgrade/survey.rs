//! `agent pg-survey`: what a major upgrade would refuse, and what it would not carry over: asked before it begins.

use std::time::Instant;

use agent_protocol::{PgSurvey, PgSurveyResult, count};

use crate::failure::{Failure, in_short};
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::timed::seconds;
use crate::postgres::upgrade::source::SourceServer;

/// A termination message is short: so many messages, of so many bytes.
const TOLD: usize = 8;
const LONGEST: usize = 250;

/// Changes nothing, and blocks no client.
pub(crate) fn survey(options: &PgSurvey) -> Result<PgSurveyResult, Failure> {
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
        not_covered: in_short(&not_covered, TOLD, LONGEST),
        seconds: seconds(since),
    })
}
