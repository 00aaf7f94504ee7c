//! The texts of `--help` for the commands for upgrades.

pub(super) const UPGRADE: &str = "\
Copies all databases of a server into another server of a higher major version, which must be empty. Run it in the image of
that version.

Usage: agent pg-upgrade --to ADDRESS --major NUMBER [--to-port PORT] [--room BYTES] [--run-dir DIRECTORY]
                        [--from-system-identifier ID] [--database NAME] [--jobs N] [--connect-timeout SECONDS]

  --to ADDRESS                 address of the new server
  --to-port PORT               port of the new server (PGPORT)
  --major NUMBER               the new major version
  --room BYTES                 free space on the new server's volume. NoSpace if it is less than the databases take, plus the WAL
                               of their copy (as much again, but no more than the new server's max_wal_size)
  --run-dir DIRECTORY          directory with space for a throwaway server that loads all definitions (/tmp)
  --from-system-identifier ID  system identifier of the old data; another server is ForeignData
  --database NAME              a database that must exist
  --jobs N                     number of indexes to create concurrently (1)
  --connect-timeout SECONDS    how long to retry while a server does not answer (30)

While clients write: the agent rejects what cannot be copied, and tries all definitions in the new version. Then it closes
pg_hba.conf of the old server, makes its sessions read-only by default (ALTER SYSTEM), and terminates every session but its own;
from there to the end no client can write. The owners of definitions and rows load them, each in a session of its own. The agent
compares rows with their contents, objects with their owners, extensions, large objects and sequences, computes approximate
statistics (agent pg-finish --major computes the rest), and syncs everything to disk. A write by a superuser, whom the rules allow
and who overrides the default, is CountMismatch. The agent never allows clients again: the new server is to be closed, and after a
failure the operator reopens the old one and resets default_transaction_read_only. If it runs again, it reports the existing copy
(reused) if the old server has been closed ever since and has not been written to, or still holds the same; a new server with
anything else in it is ForeignData.

Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: those of the superuser of the old and the new server.
Result: {\"systemIdentifier\", \"fromSystemIdentifier\", \"version\", \"from\", \"databases\", \"tables\", \"rows\",
\"closedAt\", \"copiedAt\" (milliseconds since 1970), \"nextTransaction\" (of the old server, when it was last compared),
\"reused\", \"seconds\"}
A failure also has \"closed\" if the old server was reached: whether clients are, or may be, blocked.
Reasons: ExtensionMissing PreparedTransactions Unsupported NoSpace DatabaseMissing WrongMajor ForeignData RestoreFailed
SessionsLeft CountMismatch ConnectionFailed AuthenticationFailed PermissionDenied CannotInitialise CannotStart BadPassword
BadInput ToolFailed ToolMissing";

pub(super) const SURVEY: &str = "\
Reports what a major upgrade of a server would reject, and what it would not carry over. Changes nothing.

Usage: agent pg-survey [--connect-timeout SECONDS]

  --connect-timeout SECONDS   how long to retry while the server does not answer (30)

Rejected are prepared transactions, tablespaces, databases that accept no connections, enabled subscriptions, partitions and
children of another owner than their parent's, range types whose canonical function is not C, foreign-data wrappers and
languages whose validator is not C, functions and types that only a superuser can create and whose owner is not a superuser,
superusers' functions in such a language with a default of another role's type, foreign tables of file_fdw that are partitions,
hold such a type or have a trigger and whose owner may not name files, and more tables in a database than the server can lock at
once.

Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: those of the superuser.
Result: {\"version\" (of the image), \"from\" (of the server), \"databases\", \"notCovered\": [messages, such as about replication
slots], \"seconds\"}
Reasons: Unsupported PreparedTransactions ConnectionFailed AuthenticationFailed PermissionDenied ToolFailed ToolMissing";

pub(super) const FINISH: &str = "\
Completes an upgrade while the server serves: updates extensions to the versions of the image.

Usage: agent pg-finish [--major] [--jobs N] [--connect-timeout SECONDS]

  --major                     after an upgrade to another major version: also computes all statistics
  --jobs N                    number of tables to analyze concurrently (1)
  --connect-timeout SECONDS   how long to retry while the server does not answer (30)

The warnings list what cannot be done, and collations whose rules have another version than the indexes.

Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: those of the superuser.
Result: {\"extensions\" (updated to another version), \"analyzed\" (databases), \"warnings\": [], \"version\", \"seconds\"}
Reasons: ConnectionFailed AuthenticationFailed PermissionDenied ToolFailed ToolMissing BadInput";

pub(super) const VERSION: &str = "\
Reports which PostgreSQL version the image has: the operator checks a new image with it while the old server still serves.

Usage: agent pg-version [flags]

  --as-user UID                fails unless it runs as this user: a server starts only as the owner of its data
  --start-in DIR               fails unless a server starts here, on new data in this directory, which the agent removes again
  --run-dir DIR                directory of its socket (default /var/run/postgresql)

Result: {\"version\"}
Reasons: CannotInitialise CannotStart NoSpace ToolFailed ToolMissing WrongUser";

pub(super) const READY: &str = "\
Checks whether the server of the same pod accepts connections, as pg_isready does, without starting a process: the probes of its
container.

Usage: agent pg-ready [--wait SECONDS] [--pgdata DIRECTORY --reserve BYTES]

  --wait SECONDS       how long to retry until the server accepts connections (0)
  --pgdata DIRECTORY   the server's data; the agent keeps the settings that the server started with as the last that it served
                       with
  --reserve BYTES      takes back space that was reserved on the volume and released, 16 MiB each time, once the file system
                       has three times as much free

Environment: PGUSER (postgres), PGHOST (/var/run/postgresql). Exits with 0 if the server accepts connections, even if it rejects
this one; else with 1 and \"rejecting connections\" (starting, stopping or recovering) or \"no response\" (within 4 s or --wait).
Writes no termination message.";
