//! The command that creates an application's database.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use crate::argv::{AgentCommand, Argv};
use crate::values::Seconds;

/// Creates an application's role and database if they do not exist, and runs SQL exactly once, even if processes are killed.
///
/// Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: those of the superuser. OWNER_PASSWORD: that of ROLE.
///
/// Result: {"ran", "statements", "created": {"role", "database"}, "seconds"}
///
/// Reasons: SqlFailed BadPassword BadInput ForeignData NoSpace ConnectionFailed AuthenticationFailed PermissionDenied ToolFailed
/// ToolMissing
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PgInit {
    /// The database; ROLE owns it if the agent creates it
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub database: String,
    /// The application's role: the agent sets its password, and grants it nothing beyond its database
    #[arg(long, value_name = "ROLE", value_parser = NonEmptyStringValueParser::new())]
    pub owner: String,
    /// The SQL to run, in this order
    #[command(flatten)]
    pub sql: SqlFiles,
    /// The key under which multi_operator.ledger records, in the same transaction, that the SQL ran; if the record exists,
    /// nothing runs. init by default
    #[arg(long, value_name = "KEY")]
    pub ledger_key: Option<String>,
    /// How many seconds to retry while the server does not answer
    #[arg(long, value_name = "SECONDS", default_value_t)]
    pub connect_timeout: Seconds<30>,
}

impl AgentCommand for PgInit {
    const NAME: &'static str = "pg-init";

    fn render(&self, argv: &mut Argv) {
        argv.value("database", &self.database);
        argv.value("owner", &self.owner);
        for file in &self.sql.0 {
            argv.value(if file.secret { SECRET_SQL } else { SQL }, file.path.display());
        }
        argv.values("ledger-key", &self.ledger_key);
        argv.unless_default("connect-timeout", &self.connect_timeout);
    }
}

const SQL: &str = "sql";
const SECRET_SQL: &str = "secret-sql";

/// A file with SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlFile {
    /// Where it is.
    pub path: PathBuf,
    /// Whether an error reports only file, line and SQLSTATE, because the server's message may quote what is in the file.
    pub secret: bool,
}

/// Files in the order in which they run, whichever of the two flags names them: what `clap` derives has each flag by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlFiles(pub Vec<SqlFile>);

impl FromArgMatches for SqlFiles {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let of = |flag: &str, secret| {
            let paths = matches.get_many::<PathBuf>(flag).into_iter().flatten().cloned();
            let places = matches.indices_of(flag).into_iter().flatten();
            places.zip(paths).map(move |(place, path)| (place, SqlFile { path, secret })).collect::<Vec<_>>()
        };
        let mut files = of(SQL, false);
        files.extend(of(SECRET_SQL, true));
        files.sort_by_key(|(place, _)| *place);
        Ok(Self(files.into_iter().map(|(_, file)| file).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for SqlFiles {
    fn augment_args(command: Command) -> Command {
        let flag = |name: &'static str| {
            let flag = Arg::new(name).long(name).value_name("FILE").action(ArgAction::Append);
            flag.value_parser(value_parser!(PathBuf))
        };
        command
            .arg(flag(SQL).help("SQL to run, in the order of the flags, as ROLE and in one transaction"))
            .arg(flag(SECRET_SQL).help("The same, but an error reports only file, line and SQLSTATE"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
