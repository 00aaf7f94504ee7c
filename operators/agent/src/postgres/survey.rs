//! `agent pg-survey`: what a major upgrade would refuse, and what it would not carry over: asked before it begins.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::outgoing::Outgoing;
use super::timed::timed;
use super::tools::{Connection, Tools};
use crate::failure::{Failure, in_short};

/// A termination message is short: so many sentences, of so many bytes.
const TOLD: usize = 8;
const LONGEST: usize = 250;

#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) connect_timeout: Duration,
}

/// Nothing is changed, and nobody is shut out.
pub(crate) fn survey(options: &Survey) -> Result<Value, Failure> {
    let since = Instant::now();
    let tools = Tools::find()?;
    let version = tools.version()?;
    let connection = Connection::from_environment()?;
    let mut outgoing = Outgoing::open(&tools, &connection, options.connect_timeout)?;
    outgoing.refuse_what_would_be_lost()?;
    let not_covered = outgoing.not_covered()?;
    let databases = outgoing.databases()?.len();
    let shown = in_short(&not_covered, TOLD, LONGEST);
    let result = json!({ "version": version, "from": outgoing.version, "databases": databases, "notCovered": shown });
    Ok(timed(result, since))
}
