//! SQL and PostgreSQL's programs, independent of a data directory, and `agent pg-init`, which needs only sessions.
//!
//! | file | contents |
//! |---|---|
//! | `tools.rs`, `running.rs`, `version_number.rs` | PostgreSQL's programs, connections for them; programs that run concurrently; versions |
//! | `session.rs`, `ping.rs` | psql sessions; whether a server accepts connections |
//! | `quote.rs`, `statements.rs`, `scram.rs` | quoting; splitting SQL into statements; password verifiers; pure but for random salts |
//! | `diagnosis.rs` | which failure the standard error of a program indicates, without secrets; pure |
//! | `default_databases.rs`, `databases.rs` | the databases that every server has; those of one server |
//! | `marker_tables.rs` | the agent's tables in databases, and whether they are its own |
//! | `init.rs`, `init_sql.rs` | `pg-init`; the user's SQL that it runs once |

pub(crate) mod databases;
pub(crate) mod default_databases;
pub(crate) mod diagnosis;
pub(crate) mod init;
pub(crate) mod init_sql;
pub(crate) mod marker_tables;
pub(crate) mod ping;
pub(crate) mod quote;
pub(crate) mod running;
pub(crate) mod scram;
pub(crate) mod session;
pub(crate) mod statements;
pub(crate) mod tools;
pub(crate) mod version_number;
