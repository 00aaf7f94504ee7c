//! What `--help` says of the verbs about PostgreSQL.

pub(super) const PREPARE: &str = "\
Looks at PostgreSQL's data folder, or makes it, and writes who may connect: the init step of a database's pod.

Usage: agent pg-prepare --pgdata DIRECTORY --major NUMBER --configuration DIRECTORY [--initialise]
                        [--from DIRECTORY/NAME] [--sha256 HEX] [--run-dir DIRECTORY]
                        [--system-identifier ID] [--owner WORD] [--access keep|open|closed] [--closed]
                        [--reset-password] [--passwd FILE] [--install DIRECTORY]
                        [--lock-timeout SECONDS]

  --pgdata DIRECTORY         the data folder: a folder in the volume, not the volume's own
  --major NUMBER             the major version that the data must be of
  --configuration DIRECTORY  where the operator's *.conf are mounted; they win over postgresql.conf
  --initialise               makes the data if there is none, which without this flag is DataMissing. Never over anything
  --from DIRECTORY/NAME      makes it of this physical snapshot, instead of by initdb
  --sha256 HEX               what the manifest.json of that must be
  --run-dir DIRECTORY        where there is room for a socket (/tmp), for --from
  --system-identifier ID     the data's own number; other data is ForeignData
  --owner WORD               noted in data that is made; without --system-identifier, data with another note or none is
                             ForeignData
  --access                   who may connect: open (every role, by its password), closed (the superuser alone), or keep
                             (the default: as pg_hba.conf has it by now; new data is open, and a file that does not
                             say is closed); --closed is short for closed. pg_hba.open.conf and pg_hba.closed.conf in
                             the data folder are what to replace pg_hba.conf by while the server runs
  --reset-password           the superuser of data that is there gets the password of the environment, if it has another
  --passwd FILE              writes a passwd file in which the user that runs this is called postgres
  --install DIRECTORY        does first what agent install does
  --lock-timeout SECONDS     how long to wait until no other server is at the data (30), then DataInUse

Environment: PGUSER (postgres) and PGPASSWORD, the superuser's; the password is read only when data is made, or
for --reset-password. postgresql.auto.conf is emptied: what ALTER SYSTEM changed holds until the next start, but for
default_transaction_read_only while pg_hba.conf is closed.
Result: {\"systemIdentifier\", \"version\", \"initialised\", \"access\", \"passwordSet\" (it was another one),
\"freeBytes\", \"volumeBytes\", \"inodes\", \"freeInodes\" (on the volume, if the image has df)}
Reasons: DataMissing (exit code 3) ForeignData WrongMajor DataCorrupt DataUnreadable DataInUse NoSpace CannotInitialise
CannotStart BadPassword PermissionDenied ToolMissing; with --from those of agent pg-verify --mode checksum too";

pub(super) const RUN: &str = "\
Becomes postgres: what a database's container runs.

Usage: agent pg-run --pgdata DIRECTORY [--configuration FOLDER] [--lock-timeout SECONDS] [--reserve BYTES]
                    [-- ARGUMENT...]

  --pgdata DIRECTORY       the data folder
  --configuration FOLDER   that of the settings, as for agent pg-prepare. If postgres ends before it begins with its data, it is
                           started the next time with those that it served with last, which DIRECTORY.proven has; and so on
                           until others are in the folder, or agent pg-prepare has run. DIRECTORY.attempt tells of that
  --lock-timeout SECONDS   how long to wait until no other server is at the data (60), then DataInUse
  --reserve BYTES          holds so much back on the volume, in DIRECTORY.reserve. Where the volume is full, whatever starts a
                           server on the data gives that up, so that it has room to start
  ARGUMENT...              for postgres, after -D DIRECTORY

A pg_hba.conf of which only a part was written is replaced by pg_hba.closed.conf. The lock, DIRECTORY.lock, is held until the last process of the server is gone. SIGINT is a fast shutdown.
Reasons: DataMissing (exit code 3) DataInUse DataUnreadable PermissionDenied ToolMissing";

pub(super) const DUMP: &str = "\
Makes a logical snapshot: pg_dump of databases, all roles, and a manifest with sums, and rows counted at the same moment.

Usage: agent pg-dump --to DIRECTORY/NAME [--database NAME]... [--jobs N] [--compression 0..9] [--connect-timeout SECONDS]
       agent pg-dump --to DIRECTORY/NAME ... --offline PGDATA [--run-dir DIRECTORY] [--system-identifier ID]
                     [--parameter NAME=VALUE]... [--lock-timeout SECONDS]

  --to DIRECTORY/NAME          where the snapshot is going to be; it is made in DIRECTORY/NAME.partial. One that is there
                               and intact is told of, and not made again
  --database NAME              one of the databases to dump (all, templates and those that take no connections too)
  --jobs N                     how many tables are dumped at once (1)
  --compression 0..9           of gzip; pg_dump's own default is 6
  --connect-timeout SECONDS    how long to try while the server does not answer (30)
  --offline PGDATA             starts a server on this data folder, which nobody else reaches, and stops it cleanly
  --run-dir DIRECTORY          where there is room for its socket (/tmp)
  --system-identifier ID       the data's own number; other data is ForeignData
  --parameter NAME=VALUE       a setting of that server
  --lock-timeout SECONDS       how long to wait until no other server is at the data (30), then DataInUse

Environment: PGUSER (postgres), and but for --offline PGHOST, PGPORT (5432), PGPASSWORD: the superuser's.
Result: {\"name\", \"kind\", \"bytes\", \"files\", \"sha256\" (of manifest.json), \"engineVersion\", \"systemIdentifier\",
\"schemaVersion\", \"databases\", \"databaseNames\" (of those that hold something; \"...\" and the sum of all if a message has no
room for them), \"notCovered\" (sentences), \"tables\", \"rows\", \"completedAt\" (seconds since 1970), \"reused\", \"seconds\"}
Unsupported: a minor release that cannot be dumped safely while clients work (CVE-2024-7348).
Reasons: ConnectionFailed Unsupported AuthenticationFailed PermissionDenied DatabaseMissing NoSpace DataInUse DataMissing ForeignData
WrongMajor DataCorrupt CannotStart ToolFailed ToolMissing BadInput";

pub(super) const BASE_BACKUP: &str = "\
Makes a physical snapshot: pg_basebackup, looked over by pg_verifybackup.

Usage: agent pg-basebackup --to DIRECTORY/NAME [--connect-timeout SECONDS]

  --to, --connect-timeout   as for agent pg-dump

Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: the superuser's.
Result and reasons: as for agent pg-dump; nothing is counted, so tables and rows are 0. Corrupt, if it does not verify.";

pub(super) const VERIFY: &str = "\
Proves a snapshot.

Usage: agent pg-verify --snapshot DIRECTORY/NAME [--sha256 HEX] [--mode restore|checksum] --scratch DIRECTORY
                       [--run-dir DIRECTORY] [--checks FILE] [--jobs N] [--parameter NAME=VALUE]...

  --snapshot DIRECTORY/NAME   the snapshot; it is only read
  --sha256 HEX                what its manifest.json must be
  --mode checksum             every file is as it was written
  --mode restore              and loaded by its owners into a server that is thrown away, it has the rows, contents,
                              objects, owners and extensions that the manifest tells of; of a physical one, every row can be read (the default)
  --scratch DIRECTORY         where there is room for the data; what is made there is removed
  --run-dir DIRECTORY         where there is room for a socket (/tmp)
  --checks FILE               [{\"sql\", \"expect\", \"database\"}]: run by the database's owner, who can write nothing. expect
                              is what psql prints, lines of values with | between; without it the SQL must succeed
  --jobs N                    how many tables are restored at once (1)
  --parameter NAME=VALUE      a setting of that server

Result: {\"mode\", \"kind\", \"bytes\", \"sha256\", \"engineVersion\", \"systemIdentifier\", \"tables\", \"rows\", \"checks\", \"seconds\"}
Reasons: SnapshotMissing Corrupt FileMissing Truncated ChecksumMismatch RestoreFailed CountMismatch CheckFailed NoSpace
NewerSnapshot WrongMajor BadInput CannotInitialise CannotStart ToolFailed ToolMissing";

pub(super) const RESTORE: &str = "\
Puts a logical snapshot into a server of the same or of a higher major version, compares the rows, and analyzes.

Usage: agent pg-restore --snapshot DIRECTORY/NAME [--sha256 HEX] [--database NAME]... [--as NAME]
                        [--jobs N] [--connect-timeout SECONDS]

  --snapshot DIRECTORY/NAME   the snapshot
  --sha256 HEX                what its manifest.json must be
  --database NAME             one of the databases to restore (all that hold something)
  --as NAME                   what the one database is to be called; its owner and all in it stay as they were
  --jobs N                    how many tables are restored at once (1)
  --connect-timeout SECONDS   how long to try while the server does not answer (30)

Each object is loaded by its owner, in a session of its own; a load that changes what roles may do is RestoreFailed.
Roles that are there keep their passwords and attributes; the others come from the snapshot, but for the superuser.
A database that is there is replaced only if it is empty, or is what a run of this left unfinished: TargetNotEmpty.
What was restored from the same snapshot before is left alone.

Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: the superuser's.
Result: {\"databases\", \"tables\", \"rows\", \"engineVersion\", \"from\", \"reused\", \"warnings\", \"seconds\"}
Reasons: SnapshotMissing Corrupt FileMissing Truncated ChecksumMismatch NewerSnapshot TargetNotEmpty RestoreFailed
CountMismatch DatabaseMissing NoSpace ConnectionFailed AuthenticationFailed ToolFailed ToolMissing BadInput";

pub(super) const INIT: &str = "\
Makes an application's role and database where they are not, and runs SQL once, whatever is killed meanwhile.

Usage: agent pg-init --database NAME --owner ROLE [--ledger-key KEY] [--sql FILE | --secret-sql FILE]...
                     [--connect-timeout SECONDS]

  --database NAME             the database; ROLE owns it if it is made here
  --owner ROLE                the application's role: its password is set, and it gets no rights beyond its database
  --sql FILE                  SQL to run, in the order of the flags, as ROLE and in one transaction
  --secret-sql FILE           the same, but of an error only file, line and SQLSTATE are told
  --ledger-key KEY            by which it is noted in multi_operator.ledger, in the same transaction, that the SQL ran
                              (init); if that note is there, nothing is run
  --connect-timeout SECONDS   how long to try while the server does not answer (30)

Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: the superuser's. OWNER_PASSWORD: that of ROLE.
Result: {\"ran\", \"statements\", \"created\": {\"role\", \"database\"}, \"seconds\"}
Reasons: SqlFailed BadPassword BadInput ForeignData NoSpace ConnectionFailed AuthenticationFailed PermissionDenied
ToolFailed ToolMissing";

pub(super) const PRUNE: &str = "\
Removes snapshots. What is not there counts as removed.

Usage: agent pg-prune --dir DIRECTORY [--name NAME]... [--partial-older-than SECONDS]

  --dir DIRECTORY                where the snapshots are
  --name NAME                    one to remove: one name, no path
  --partial-older-than SECONDS   removes unfinished snapshots too, in which nothing was written for so long and that
                                 nobody works on

Result: {\"removed\", \"absent\", \"leftovers\"}, which are numbers
Reasons: BadInput DataInUse PermissionDenied ToolFailed";
