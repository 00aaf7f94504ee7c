//! The texts of `--help` for the commands for PostgreSQL.

pub(super) const PREPARE: &str = "\
Checks PostgreSQL's data directory, or creates it, and writes who may connect: the init container of a database's pod.

Usage: agent pg-prepare --pgdata DIRECTORY --major NUMBER --configuration DIRECTORY [--initialise]
                        [--from DIRECTORY/NAME] [--sha256 HEX] [--run-dir DIRECTORY]
                        [--system-identifier ID] [--owner WORD] [--access keep|open|closed] [--closed]
                        [--reset-password] [--passwd FILE] [--install DIRECTORY]
                        [--lock-timeout SECONDS]

  --pgdata DIRECTORY         the data directory: a directory in the volume, not the volume's root
  --major NUMBER             the major version that the data must have
  --configuration DIRECTORY  where the operator's *.conf are mounted; they take precedence over postgresql.conf
  --initialise               creates the data if there is none, which without this flag is DataMissing. Overwrites nothing
  --from DIRECTORY/NAME      creates the data from this physical snapshot, instead of with initdb
  --sha256 HEX               the SHA-256 that the manifest.json of the snapshot must have
  --run-dir DIRECTORY        directory with space for a socket (/tmp), for --from
  --system-identifier ID     system identifier of the data; other data is ForeignData
  --owner WORD               recorded in data that the agent creates; without --system-identifier, data with another record
                             or none is ForeignData
  --access                   who may connect: open (every role, by its password), closed (the superuser alone), or keep
                             (the default: as pg_hba.conf has it now; new data is open, and a file that does not say is
                             closed); --closed is short for closed. To replace pg_hba.conf while the server runs, use
                             pg_hba.open.conf or pg_hba.closed.conf in the data directory
  --reset-password           sets the superuser's password in existing data to that of the environment, if it differs
  --passwd FILE              writes a passwd file in which the current user is called postgres
  --install DIRECTORY        first does what agent install does
  --lock-timeout SECONDS     how long to wait until no other server uses the data (30), then DataInUse

Environment: PGUSER (postgres) and PGPASSWORD, those of the superuser; the agent reads the password only when it creates data, or
for --reset-password. It empties postgresql.auto.conf: what ALTER SYSTEM changed holds until the next start, except for
default_transaction_read_only while pg_hba.conf is closed.
Result: {\"systemIdentifier\", \"version\", \"initialised\", \"access\", \"passwordSet\" (the password differed),
\"freeBytes\", \"volumeBytes\", \"inodes\", \"freeInodes\" (on the volume, if the image has df)}
Reasons: DataMissing (exit code 3) ForeignData WrongMajor DataCorrupt DataUnreadable DataInUse NoSpace CannotInitialise
CannotStart BadPassword PermissionDenied ToolMissing; with --from those of agent pg-verify --mode checksum too";

pub(super) const RUN: &str = "\
Executes postgres: the command of a database's container.

Usage: agent pg-run --pgdata DIRECTORY [--configuration DIRECTORY] [--lock-timeout SECONDS] [--reserve BYTES]
                    [-- ARGUMENT...]

  --pgdata DIRECTORY          the data directory, PGDATA below
  --configuration DIRECTORY   the directory of the settings, as for agent pg-prepare. If postgres exits before it opens its data,
                              it next starts with the settings that it last served with, from PGDATA.proven; and so on until
                              the directory has other settings, or agent pg-prepare has run. PGDATA.attempt records that
  --lock-timeout SECONDS      how long to wait until no other server uses the data (60), then DataInUse
  --reserve BYTES             reserves this much space on the volume, in PGDATA.reserve. If the volume is full, the command that
                              starts a server on the data releases the reserve, so that the server has space to start
  ARGUMENT...                 for postgres, after -D PGDATA

The agent replaces a pg_hba.conf that was written only in part with pg_hba.closed.conf. It holds the lock, PGDATA.lock, until the
last process of the server has exited. SIGINT is a fast shutdown.
Reasons: DataMissing (exit code 3) DataInUse DataUnreadable PermissionDenied ToolMissing";

pub(super) const DUMP: &str = "\
Takes a logical snapshot: a pg_dump of databases, all roles, and a manifest with checksums and the rows counted at the same
moment.

Usage: agent pg-dump --to DIRECTORY/NAME [--database NAME]... [--jobs N] [--compression 0..9] [--connect-timeout SECONDS]
       agent pg-dump --to DIRECTORY/NAME ... --offline PGDATA [--run-dir DIRECTORY] [--system-identifier ID]
                     [--parameter NAME=VALUE]... [--lock-timeout SECONDS]

  --to DIRECTORY/NAME          where the snapshot is stored; the agent creates it in DIRECTORY/NAME.partial. If an intact snapshot
                               already exists, it is reported and not recreated
  --database NAME              one of the databases to dump (all, including templates and those that accept no connections)
  --jobs N                     number of tables to dump concurrently (1)
  --compression 0..9           of gzip; pg_dump's own default is 6
  --connect-timeout SECONDS    how long to retry while the server does not answer (30)
  --offline PGDATA             starts a server on this data directory that no client can reach, and stops it cleanly
  --run-dir DIRECTORY          directory with space for its socket (/tmp)
  --system-identifier ID       system identifier of the data; other data is ForeignData
  --parameter NAME=VALUE       a setting of that server
  --lock-timeout SECONDS       how long to wait until no other server uses the data (30), then DataInUse

Environment: PGUSER (postgres), and without --offline PGHOST, PGPORT (5432), PGPASSWORD: those of the superuser.
Result: {\"name\", \"kind\", \"bytes\", \"files\", \"sha256\" (of manifest.json), \"engineVersion\", \"systemIdentifier\",
\"schemaVersion\", \"databases\", \"databaseNames\" (of those that are not empty; \"...\" and a checksum of all if
they do not fit the message), \"notCovered\" (messages), \"tables\", \"rows\", \"completedAt\" (seconds since 1970), \"reused\", \"seconds\"}
Unsupported: a minor release that cannot be dumped safely while clients are connected (CVE-2024-7348).
Reasons: ConnectionFailed Unsupported AuthenticationFailed PermissionDenied DatabaseMissing NoSpace DataInUse DataMissing ForeignData
WrongMajor DataCorrupt CannotStart ToolFailed ToolMissing BadInput";

pub(super) const BASE_BACKUP: &str = "\
Takes a physical snapshot: pg_basebackup, checked with pg_verifybackup.

Usage: agent pg-basebackup --to DIRECTORY/NAME [--connect-timeout SECONDS]

  --to, --connect-timeout   as for agent pg-dump

Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: those of the superuser.
Result and reasons: as for agent pg-dump; tables and rows are 0, because they are not counted. Corrupt if verification fails.";

pub(super) const VERIFY: &str = "\
Verifies a snapshot.

Usage: agent pg-verify --snapshot DIRECTORY/NAME [--sha256 HEX] [--mode restore|checksum] --scratch DIRECTORY
                       [--run-dir DIRECTORY] [--checks FILE] [--jobs N] [--parameter NAME=VALUE]...

  --snapshot DIRECTORY/NAME   the snapshot, which is only read
  --sha256 HEX                the SHA-256 that its manifest.json must have
  --mode checksum             every file is as it was written
  --mode restore              in addition, loaded by the owners of its objects into a throwaway server, it has the rows, contents,
                              objects, owners and extensions that the manifest lists; of a physical one, every row can be read
                              (the default)
  --scratch DIRECTORY         directory with space for the data; the agent removes what it creates there
  --run-dir DIRECTORY         directory with space for a socket (/tmp)
  --checks FILE               [{\"sql\", \"expect\", \"database\"}]: run by the owner of the database, who can write nothing. expect
                              is the output of psql, lines of values with | between; without it the SQL must succeed
  --jobs N                    number of tables to restore concurrently (1)
  --parameter NAME=VALUE      a setting of that server

Result: {\"mode\", \"kind\", \"bytes\", \"sha256\", \"engineVersion\", \"systemIdentifier\", \"tables\", \"rows\", \"checks\", \"seconds\"}
Reasons: SnapshotMissing Corrupt FileMissing Truncated ChecksumMismatch RestoreFailed CountMismatch CheckFailed NoSpace
NewerSnapshot WrongMajor BadInput CannotInitialise CannotStart ToolFailed ToolMissing";

pub(super) const RESTORE: &str = "\
Restores a logical snapshot into a server of the same or a higher major version, compares the rows, and analyzes.

Usage: agent pg-restore --snapshot DIRECTORY/NAME [--sha256 HEX] [--database NAME]... [--as NAME]
                        [--jobs N] [--connect-timeout SECONDS]

  --snapshot DIRECTORY/NAME   the snapshot
  --sha256 HEX                the SHA-256 that its manifest.json must have
  --database NAME             one of the databases to restore (all that are not empty)
  --as NAME                   the new name of the one database; its owner and its content stay the same
  --jobs N                    number of tables to restore concurrently (1)
  --connect-timeout SECONDS   how long to retry while the server does not answer (30)

The owner of each object loads it, in a session of its own; a load that changes the permissions of roles is RestoreFailed.
Existing roles keep their passwords and attributes; the others come from the snapshot, except for the superuser.
The agent replaces an existing database only if it is empty, or if an earlier run left it unfinished; else TargetNotEmpty.
It leaves alone what was restored from the same snapshot before.

Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: those of the superuser.
Result: {\"databases\", \"tables\", \"rows\", \"engineVersion\", \"from\", \"reused\", \"warnings\", \"seconds\"}
Reasons: SnapshotMissing Corrupt FileMissing Truncated ChecksumMismatch NewerSnapshot TargetNotEmpty RestoreFailed
CountMismatch DatabaseMissing NoSpace ConnectionFailed AuthenticationFailed ToolFailed ToolMissing BadInput";

pub(super) const INIT: &str = "\
Creates an application's role and database if they do not exist, and runs SQL exactly once, even if processes are killed.

Usage: agent pg-init --database NAME --owner ROLE [--ledger-key KEY] [--sql FILE | --secret-sql FILE]...
                     [--connect-timeout SECONDS]

  --database NAME             the database; ROLE owns it if the agent creates it
  --owner ROLE                the application's role: the agent sets its password, and grants it nothing beyond its database
  --sql FILE                  SQL to run, in the order of the flags, as ROLE and in one transaction
  --secret-sql FILE           the same, but an error reports only file, line and SQLSTATE
  --ledger-key KEY            the key under which multi_operator.ledger records, in the same transaction, that the SQL ran
                              (init); if the record exists, nothing runs
  --connect-timeout SECONDS   how long to retry while the server does not answer (30)

Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: those of the superuser. OWNER_PASSWORD: that of ROLE.
Result: {\"ran\", \"statements\", \"created\": {\"role\", \"database\"}, \"seconds\"}
Reasons: SqlFailed BadPassword BadInput ForeignData NoSpace ConnectionFailed AuthenticationFailed PermissionDenied
ToolFailed ToolMissing";

pub(super) const PRUNE: &str = "\
Removes snapshots. A snapshot that does not exist counts as removed.

Usage: agent pg-prune --dir DIRECTORY [--name NAME]... [--partial-older-than SECONDS]

  --dir DIRECTORY                directory of the snapshots
  --name NAME                    a snapshot to remove: a name, not a path
  --partial-older-than SECONDS   also removes unfinished snapshots to which nothing was written for this long, and that
                                 no process uses

Result: {\"removed\", \"absent\", \"leftovers\"}: numbers
Reasons: BadInput DataInUse PermissionDenied ToolFailed";
