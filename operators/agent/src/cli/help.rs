//! What `--help` says.

pub(super) const AGENT: &str = "\
Runs inside the pods of an operand, beside the engine.

Usage: agent VERB ...

  install     copies the agent into a directory
  etcd-wait   waits until a member of an etcd cluster may start: the init step of its pod
  etcd-run    looks at the member's data, and becomes etcd
  etcd-keep   takes the reserve back beside an etcd that runs: etcd-run starts it

  pg-prepare     looks at PostgreSQL's data folder, or makes it: the init step of a database's pod
  pg-run         becomes postgres
  pg-ready       tells whether postgres takes connections: the probes of its container
  pg-dump        makes a logical snapshot, from a server or from a data folder without one
  pg-basebackup  makes a physical snapshot
  pg-verify      proves a snapshot, by its sums or by restoring it into a server that is thrown away
  pg-restore     puts a logical snapshot into a server
  pg-init        makes an application's role and database, and runs SQL once
  pg-prune       removes snapshots
  pg-upgrade     copies all databases of a server into a new data folder, under a higher major version
  pg-survey      tells what a major upgrade would refuse, and what it would not carry over
  pg-finish      does what a server needs after an upgrade, while it serves
  pg-version     tells which PostgreSQL the image is

agent VERB --help tells more; agent --version tells the version. The verbs about PostgreSQL tell their result as JSON on
stdout and in the termination message.
Exit codes: 2 wrong arguments, 3 DataMissing, 4 DNSTimeout, 5 SqlFailed, 1 any other failure, 143 SIGTERM. A failure is written as
JSON, {\"reason\", \"message\"}, to the file that TERMINATION_LOG names, or else to /dev/termination-log.";

pub(super) const INSTALL: &str = "\
Copies the agent itself to DIRECTORY/agent, for everybody to run.

Usage: agent install DIRECTORY [--passwd FILE]

  --passwd FILE   writes a passwd file too, in which the user that runs this is called postgres: to be mounted over
                  /etc/passwd where programs ask who they are, and the namespace dictates a user without a name";

pub(super) const ETCD_WAIT: &str = "\
Waits until a member of an etcd cluster may start.

Usage: agent etcd-wait --name POD --peer-url URL --data-dir DIRECTORY --expect new|join|data [--peers-url URL]
                       [--dns-timeout SECONDS] [--install DIRECTORY]

  --name POD              the member's name
  --peer-url URL          where the member serves its peers: http://host:port
  --data-dir DIRECTORY    etcd's data directory. Data that is there always wins; without data it matters what to expect:
  --expect new            the first member of a new cluster
  --expect join           a member that the cluster is being told of: waits until it lists --peer-url.
                          DataMissing if it lists that as started before
  --expect data           a member that has been in use: DataMissing. So is one of which nothing is said (--expect=)
  --peers-url URL         whom to ask for the members: http://host:port, all addresses of the host
  --dns-timeout SECONDS   how long to wait until the host of --peer-url resolves (0, the default: for ever)
  --install DIRECTORY     does first what agent install does

POD_IP in the environment: the pod's address, or several with commas between. The host must resolve to one of these.
In the end the sizes of the file system that the data is on and of the database are left in the termination message:
{\"volumeBytes\": BYTES, \"databaseBytes\": BYTES}.";

pub(super) const ETCD_RUN: &str = "\
Looks at a member's data, and becomes etcd: to be run at every start of etcd's container.

Usage: agent etcd-run --name POD --peer-url URL --data-dir DIRECTORY --expect new|join|data [--peers-url URL]
                      --state DIRECTORY [--reserve BYTES] [--quota BYTES] [--snapshot-count ENTRIES]
                      [--volume-port PORT] -- /usr/local/bin/etcd ARGUMENT...

  --name, --peer-url, --data-dir, --expect, --peers-url   as for agent etcd-wait
  --state DIRECTORY       a directory that lives as long as the pod. It is noted there that etcd was started, so that
                          data that vanishes meanwhile is not made anew: DataMissing
  --reserve BYTES         holds so much back on the volume of the data (in the file reserve beside it), and gives it up
                          where the volume is full. Where that has been done already: NoSpace, the first time in the
                          life of --state; then waits until there is room
  --quota BYTES           gives etcd that --quota-backend-bytes
  --snapshot-count ENTRIES   gives etcd that --snapshot-count
  --volume-port PORT      with --reserve: has somebody tell there, while etcd runs, how full the volume is

The three limits are lowered to what fits the file system that the data is on, by the rule of docs/etcd-cluster.md, and a line on
stderr says so. What is not given is neither lowered nor given to etcd, but for this:
- A database that is larger than --quota may grow by a tenth, as far as there is room.
- Where there is no room beside the reserve and the log's next segment, a larger quota in etcd's ARGUMENTs or environment is
  lowered, too, to what fits or to the size that the database has. A database that has reached its quota then gets the
  reserve as well, for a defragmentation.

With --reserve, agent etcd-keep runs beside etcd, as its child, and ends with it.

On data, etcd is started with its arguments as they are. On its first start it gets --initial-cluster and
--initial-cluster-state too: new, or for --expect join the members that the cluster lists (asked for up to 30 s).
An etcd that ended before it made its log has lost nothing, and is started again.";

pub(super) const ETCD_KEEP: &str = "\
Takes the reserve back beside an etcd that runs: part by part, once the file system has three times as much free.

Usage: agent etcd-keep --data-dir DIRECTORY --reserve BYTES --beside PID [--release] [--volume-port PORT]

  --data-dir, --reserve   as for agent etcd-run
  --beside PID            its parent, with which it ends
  --release               gives the reserve up first, once etcd is up
  --volume-port PORT      answers there, over HTTP, how full the volume is: {\"volumeBytes\":1,\"freeBytes\":1,\"files\":1,\"freeFiles\":1}";
