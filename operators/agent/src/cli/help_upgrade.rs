//! What `--help` says of the verbs about upgrades.

pub(super) const UPGRADE: &str = "\
Copies all databases of a server into another one of a higher major version, which must be empty; to be run in that
version's image.

Usage: agent pg-upgrade --to ADDRESS --major NUMBER [--to-port PORT] [--room BYTES] [--run-dir DIRECTORY]
                        [--from-system-identifier ID] [--database NAME] [--jobs N] [--connect-timeout SECONDS]

  --to ADDRESS                 the new server's
  --to-port PORT               the new server's (PGPORT)
  --major NUMBER               the new major version
  --room BYTES                 what is free where the new server's data are; less than the databases take, and the log of
                               their copy (as much again, but no more than the new server's max_wal_size), is NoSpace
  --run-dir DIRECTORY          where there is room for a server that takes all definitions, and is thrown away (/tmp)
  --from-system-identifier ID  the old data's own number; another server is ForeignData
  --database NAME              one that must be there
  --jobs N                     how many indexes are made at once (1)
  --connect-timeout SECONDS    how long to try while a server does not answer (30)

While writers work: what could not be copied is refused, and all definitions are tried in the new version. Then
pg_hba.conf of the old server is closed, its sessions become read-only by default (ALTER SYSTEM), every one but its own is
ended, and from there to the end nobody writes:
definitions and rows are loaded by their owners, each in a session of its own; rows with their contents, objects with their
owners, extensions, large objects and sequences are compared, statistics made roughly (agent pg-finish --major makes the
rest), all made to last. A write of a superuser, whom the rules let in, and who overrides that, is CountMismatch. Nobody is
let in again, whatever happens: the new server is to be closed, and after a failure it is the operator's to open the old, and
to reset default_transaction_read_only. Run again, it tells of the copy that is there (reused) if the old server has been
closed ever since, and has not been written to, or still holds the same; a new server with anything else in it is ForeignData.

Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: the old superuser's, and the new one's.
Result: {\"systemIdentifier\", \"fromSystemIdentifier\", \"version\", \"from\", \"databases\", \"tables\", \"rows\",
\"closedAt\", \"copiedAt\" (milliseconds since 1970), \"nextTransaction\" (of the old server, when it was compared last),
\"reused\", \"seconds\"}
A failure has \"closed\" too, when the old server was reached: whether writers are, or may be, shut out.
Reasons: ExtensionMissing PreparedTransactions Unsupported NoSpace DatabaseMissing WrongMajor ForeignData RestoreFailed
SessionsLeft CountMismatch ConnectionFailed AuthenticationFailed PermissionDenied CannotInitialise CannotStart BadPassword
BadInput ToolFailed ToolMissing";

pub(super) const SURVEY: &str = "\
Tells what a major upgrade of a server would refuse, and what it would not carry over. Nothing is changed.

Usage: agent pg-survey [--connect-timeout SECONDS]

  --connect-timeout SECONDS   how long to try while the server does not answer (30)

Refused are prepared transactions, tablespaces, databases that take no connections, subscriptions that are enabled, partitions
and children of another owner than their parent's, range types whose canonical function is not C, foreign-data wrappers and
languages whose validator is not C, functions and types that only a superuser can make and whose owner is none, superusers'
functions in such a language with a default of another role's type, foreign tables of file_fdw that are partitions, hold such a
type or have a trigger and whose owner may not name files, and more tables in a database than the server can lock at once.

Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: the superuser's.
Result: {\"version\" (of the image), \"from\" (of the server), \"databases\", \"notCovered\": [sentences, such as of replication
slots], \"seconds\"}
Reasons: Unsupported PreparedTransactions ConnectionFailed AuthenticationFailed PermissionDenied ToolFailed ToolMissing";

pub(super) const FINISH: &str = "\
Does what a server needs after an upgrade, while it serves: extensions are brought to the versions of the image.

Usage: agent pg-finish [--major] [--jobs N] [--connect-timeout SECONDS]

  --major                     after an upgrade to another major version: makes all statistics, too
  --jobs N                    how many tables are analyzed at once (1)
  --connect-timeout SECONDS   how long to try while the server does not answer (30)

What cannot be done is told in warnings, as is a collation whose rules are of another version than the indexes.

Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: the superuser's.
Result: {\"extensions\" (brought to another version), \"analyzed\" (databases), \"warnings\": [], \"version\", \"seconds\"}
Reasons: ConnectionFailed AuthenticationFailed PermissionDenied ToolFailed ToolMissing BadInput";

pub(super) const VERSION: &str = "\
Tells which PostgreSQL the image is: what is asked of a new image while the old server still serves.

Usage: agent pg-version [flags]

  --as-user UID                fails unless it runs as this user itself: a server only starts as the one whom its data belong to
  --start-in DIR               fails unless a server starts here, on new data below this folder, which are removed again
  --run-dir DIR                where its socket is (default /var/run/postgresql)

Result: {\"version\"}
Reasons: CannotInitialise CannotStart NoSpace ToolFailed ToolMissing WrongUser";

pub(super) const READY: &str = "\
Asks the server of the same pod whether it takes connections, as pg_isready does, and starts no process for that: the probes of
its container.

Usage: agent pg-ready [--wait SECONDS] [--pgdata DIRECTORY --reserve BYTES]

  --wait SECONDS       how long it is asked until it does (0)
  --pgdata DIRECTORY   its data; what it was started with is kept as that which it served with last
  --reserve BYTES      takes back what was held back on the volume and given up, 16 MiB each time, once the file system has
                       three times as much free

Environment: PGUSER (postgres), PGHOST (/var/run/postgresql). Exits with 0 if the server accepts connections, even if it rejects
this one; else with 1 and \"rejecting connections\" (starting, stopping or recovering) or \"no response\" (within 4 s or --wait).
Writes no termination message.";
