//! The texts of `--help`.

pub(super) const AGENT: &str = "\
Runs inside the pods of an operand, next to etcd or PostgreSQL.

Usage: agent COMMAND ...

  install     copies the agent into a directory
  etcd-wait   waits until a member of an etcd cluster may start: the init container of its pod
  etcd-run    checks the member's data, and executes etcd
  etcd-keep   takes the reserve back while etcd runs: etcd-run starts it

  pg-prepare     checks or creates PostgreSQL's data directory: the init container of a database's pod
  pg-run         executes postgres
  pg-ready       reports whether postgres accepts connections: the probes of its container
  pg-dump        takes a logical snapshot, of a server or of a data directory without one
  pg-basebackup  takes a physical snapshot
  pg-verify      verifies a snapshot, by its checksums or by restoring it into a throwaway server
  pg-restore     restores a logical snapshot into a server
  pg-init        creates an application's role and database, and runs SQL once
  pg-prune       removes snapshots
  pg-upgrade     copies all databases of a server into a new data directory, of a higher major version
  pg-survey      reports what a major upgrade would reject, and what it would not carry over
  pg-finish      completes an upgrade while the server serves
  pg-version     reports which PostgreSQL version the image has

agent COMMAND --help describes a command; agent --version prints the version. The commands for PostgreSQL write their result as
JSON to stdout and to the termination message.
Exit codes: 2 wrong arguments, 3 DataMissing, 4 DNSTimeout, 5 SqlFailed, 1 any other failure, 143 SIGTERM. The agent writes a failure
as JSON, {\"reason\", \"message\"}, to the file that TERMINATION_LOG names, or else to /dev/termination-log.";

pub(super) const INSTALL: &str = "\
Copies the agent to DIRECTORY/agent, executable by every user.

Usage: agent install DIRECTORY [--passwd FILE]

  --passwd FILE   also writes a passwd file in which the current user is called postgres: to be mounted over /etc/passwd
                  where programs look up their user, and the namespace assigns a user ID that has no name";

pub(super) const ETCD_WAIT: &str = "\
Waits until a member of an etcd cluster may start.

Usage: agent etcd-wait --name POD --peer-url URL --data-dir DIRECTORY --expect new|join|data [--peers-url URL]
                       [--dns-timeout SECONDS] [--install DIRECTORY]

  --name POD              name of the member
  --peer-url URL          peer URL of the member: http://host:port
  --data-dir DIRECTORY    etcd's data directory. Existing data takes precedence; without data, --expect decides:
  --expect new            the first member of a new cluster
  --expect join           a member that the operator is adding to the cluster: waits until the cluster lists --peer-url.
                          DataMissing if the cluster lists it as started before
  --expect data           a member that has been in use: DataMissing. So is a member without an expectation (--expect=)
  --peers-url URL         where to list the members: http://host:port, all addresses of the host
  --dns-timeout SECONDS   how long to wait until the host of --peer-url resolves (0, the default: forever)
  --install DIRECTORY     first does what agent install does

POD_IP in the environment: the address of the pod, or several, separated by commas. The host must resolve to one of them.
At the end, the agent writes the sizes of the data's file system and of the database to the termination message:
{\"volumeBytes\": BYTES, \"databaseBytes\": BYTES}.";

pub(super) const ETCD_RUN: &str = "\
Checks a member's data, and executes etcd: runs at every start of etcd's container.

Usage: agent etcd-run --name POD --peer-url URL --data-dir DIRECTORY --expect new|join|data [--peers-url URL]
                      --state DIRECTORY [--reserve BYTES] [--quota BYTES] [--snapshot-count ENTRIES]
                      [--volume-port PORT] -- /usr/local/bin/etcd ARGUMENT...

  --name, --peer-url, --data-dir, --expect, --peers-url   as for agent etcd-wait
  --state DIRECTORY       a directory that lives as long as the pod. The agent records there that etcd was started, so that
                          it does not recreate data that vanishes afterwards: DataMissing
  --reserve BYTES         reserves this much space on the volume of the data (in the file reserve next to it), and releases
                          it if the volume is full. If it has been released already: NoSpace, the first time in the life of
                          --state; then waits until there is space
  --quota BYTES           passes etcd this --quota-backend-bytes
  --snapshot-count ENTRIES   passes etcd this --snapshot-count
  --volume-port PORT      with --reserve: serves there, while etcd runs, how full the volume is

The agent lowers the three limits to what fits the data's file system, by the rule of docs/etcd-cluster.md, and reports that in a
line on stderr. It neither lowers nor passes a limit that is not given, with these exceptions:
- A database that is larger than --quota may grow by a tenth, as far as there is space.
- If there is no space in addition to the reserve and the log's next segment, the agent also lowers a larger quota in etcd's
  ARGUMENTs or environment, to what fits or to the size of the database. A database that has reached its quota then gets the
  reserve as well, for a defragmentation.

With --reserve, agent etcd-keep runs next to etcd, as its child, and exits with it.

If there is data, etcd starts with its arguments unchanged. At its first start it also gets --initial-cluster and
--initial-cluster-state: new, or for --expect join the members that the cluster lists (queried for up to 30 s).
An etcd that exited before it created its log has lost nothing, and is started again.";

pub(super) const ETCD_KEEP: &str = "\
Takes the reserve back while etcd runs: part by part, once the file system has three times as much free.

Usage: agent etcd-keep --data-dir DIRECTORY --reserve BYTES --beside PID [--release] [--volume-port PORT]

  --data-dir, --reserve   as for agent etcd-run
  --beside PID            the parent process; etcd-keep exits with it
  --release               first releases the reserve, once etcd is up
  --volume-port PORT      reports there, over HTTP, how full the volume is: {\"volumeBytes\":1,\"freeBytes\":1,\"files\":1,\"freeFiles\":1}";
