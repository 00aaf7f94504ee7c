//! The agent reads from an argv what an operator renders into it, whatever the values are.

use std::path::PathBuf;
use std::time::Duration;

use agent_protocol::{
    AccessRules, AgentCommand, BucketArgs, Command, EtcdKeep, EtcdRecover, EtcdRestoreMember, EtcdRun, EtcdTakeBackup,
    EtcdVerifySnapshot, EtcdWait, Expect, Install, Jobs, MemberArgs, Offline, PgBasebackup, PgDownload, PgDump,
    PgFinish, PgInit, PgPrepare, PgPrune, PgReady, PgRestore, PgRun, PgSurvey, PgUpgrade, PgUpload, PgVerify,
    PgVersion, RunDir, Seconds, SqlFile, SqlFiles, StoreApi, VerificationMode,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

/// What may be in a value, blanks, dashes and equals signs included.
fn text() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9=:/. \u{e4}-]{1,12}"
}

fn path() -> impl Strategy<Value = PathBuf> {
    "/[a-zA-Z0-9=. \u{e4}-]{0,12}".prop_map(PathBuf::from)
}

fn snapshot() -> impl Strategy<Value = PathBuf> {
    "/[a-z ]{0,5}/[a-z0-9][a-z0-9_.-]{0,3}[a-z]".prop_map(PathBuf::from)
}

fn seconds<const DEFAULT: u64>() -> impl Strategy<Value = Seconds<DEFAULT>> {
    prop_oneof![Just(DEFAULT), 0..=86_400_u64].prop_map(|seconds| Seconds(Duration::from_secs(seconds)))
}

fn jobs() -> impl Strategy<Value = Jobs> {
    (1..=u16::MAX).prop_map(Jobs)
}

fn run_dir() -> impl Strategy<Value = RunDir> {
    prop_oneof![Just(RunDir::default()), path().prop_map(RunDir)]
}

fn parameters() -> impl Strategy<Value = Vec<(String, String)>> {
    vec(("[a-z_.]{1,5}", "[a-z= -]{0,5}"), 0..3)
}

fn member() -> impl Strategy<Value = MemberArgs> {
    let expect = prop_oneof![Just(Expect::New), Just(Expect::Join), Just(Expect::Data), Just(Expect::Variable)];
    let earlier = vec("http://[a-z]{1,5}:2380", 0..3);
    (text(), text(), text(), any::<bool>(), earlier, path(), expect, of(path())).prop_map(
        |(name, peer_url, peers, listed, earlier_peers, data_dir, expect, peer_tls)| {
            let peers_url = (listed || expect == Expect::Join).then_some(peers);
            MemberArgs { name, peer_url, peers_url, earlier_peers, data_dir, expect, peer_tls }
        },
    )
}

fn bucket() -> impl Strategy<Value = BucketArgs> {
    let api = prop_oneof![Just(StoreApi::S3), Just(StoreApi::Abs), Just(StoreApi::Gcs), Just(StoreApi::Oss)];
    let given = (text(), text(), api, of(text()), any::<bool>(), path(), of(path())).prop_map(
        |(bucket, key, bucket_api, bucket_endpoint, bucket_path_style, credentials, bucket_ca)| BucketArgs {
            bucket: Some(format!("{}/{key}", bucket.replace('/', "b"))),
            bucket_api,
            bucket_endpoint,
            bucket_path_style,
            bucket_credentials: Some(credentials),
            bucket_ca,
        },
    );
    prop_oneof![Just(BucketArgs::default()), given]
}

fn of_etcd() -> impl Strategy<Value = Command> {
    let wait = (of(path()), member(), seconds())
        .prop_map(|(install, member, dns_timeout)| Command::EtcdWait(EtcdWait { install, member, dns_timeout }));
    let limits = (of(any::<u64>()), of(any::<u16>()), of(any::<u64>()), of(any::<u64>()));
    let run = (path(), member(), of(path()), limits, vec(text(), 1..4)).prop_map(
        |(state, member, server_tls, limits, command)| {
            let (reserve, volume_port, quota, snapshot_count) = limits;
            Command::EtcdRun(EtcdRun {
                state,
                member,
                server_tls,
                reserve,
                volume_port,
                quota,
                snapshot_count,
                command,
            })
        },
    );
    let keep = (path(), any::<u64>(), 1..i32::MAX, any::<bool>(), of(any::<u16>())).prop_map(
        |(data_dir, reserve, parent, release, volume_port)| {
            Command::EtcdKeep(EtcdKeep { data_dir, reserve, parent, release, volume_port })
        },
    );
    let store = (snapshot(), text(), path(), bucket(), any::<bool>());
    let secrets = (of(path()), of(path()));
    let backup = (vec(text(), 1..3), secrets, store, of(1..=u32::MAX), of(any::<u64>()), seconds()).prop_map(
        |(endpoints, (client_tls, root_secret), (to, owner, scratch, bucket, versioned), keep, keep_for, timeout)| {
            let versioned = versioned && bucket.bucket.is_some();
            Command::EtcdBackup(EtcdTakeBackup {
                endpoints,
                client_tls,
                root_secret,
                to,
                bucket,
                versioned,
                owner,
                scratch,
                keep,
                keep_for,
                timeout,
            })
        },
    );
    let restore = (path(), bucket(), of(text()), path(), member(), text()).prop_map(
        |(snapshot, bucket, sha256, state, member, token)| {
            Command::EtcdRestore(EtcdRestoreMember { snapshot, bucket, sha256, state, member, token })
        },
    );
    let verify = (path(), bucket(), of(text()), path()).prop_map(|(snapshot, bucket, sha256, scratch)| {
        Command::EtcdVerify(EtcdVerifySnapshot { snapshot, bucket, sha256, scratch })
    });
    let recover = (path(), text(), member())
        .prop_map(|(state, start, member)| Command::EtcdRecover(EtcdRecover { state, start, member }));
    prop_oneof![wait, run, keep, recover, backup, restore, verify]
}

fn of_a_server() -> impl Strategy<Value = Command> {
    let access = prop_oneof![Just(AccessRules::Keep), Just(AccessRules::Open), Just(AccessRules::Closed)];
    let data = (path(), path(), any::<u32>(), of("[a-z0-9-]{1,9}"), of(text()), any::<bool>());
    let rest = (access, any::<bool>(), of(snapshot()), of(text()), any::<bool>());
    let more = (run_dir(), of(path()), of(path()), seconds());
    let prepare = (data, rest, more).prop_map(|(data, rest, more)| {
        let (data, configuration, major, owner, system_identifier, initialise) = data;
        let (access, closed, from, sha256, reset_password) = rest;
        let (run, passwd, install, lock_timeout) = more;
        let closed = closed && access != AccessRules::Open;
        Command::PgPrepare(PgPrepare {
            data,
            configuration,
            major,
            owner,
            system_identifier,
            initialise,
            access,
            closed,
            from,
            sha256,
            reset_password,
            run,
            passwd,
            install,
            lock_timeout,
        })
    });
    let run = (path(), of(any::<u64>()), of(path()), seconds(), vec(text(), 0..3)).prop_map(
        |(data, reserve, configuration, lock_timeout, arguments)| {
            Command::PgRun(PgRun { data, reserve, configuration, lock_timeout, arguments })
        },
    );
    let ready = (of(path()), of(any::<u64>()), seconds())
        .prop_map(|(data, reserve, wait)| Command::PgReady(PgReady { data, reserve, wait }));
    let version = (of(path()), of(any::<u32>()), run_dir())
        .prop_map(|(scratch, user, run)| Command::PgVersion(PgVersion { scratch, user, run }));
    prop_oneof![prepare, run, ready, version]
}

fn of_a_snapshot() -> impl Strategy<Value = Command> {
    let offline = (path(), of(text()), run_dir(), parameters(), seconds()).prop_map(
        |(data, system_identifier, run, parameters, lock_timeout)| Offline {
            data,
            system_identifier,
            run,
            parameters,
            lock_timeout,
        },
    );
    let dump = (snapshot(), vec(text(), 0..3), jobs(), of(0..=9_u8), seconds(), of(offline)).prop_map(
        |(to, databases, jobs, compression, connect_timeout, offline)| {
            Command::PgDump(PgDump { to, databases, jobs, compression, connect_timeout, offline })
        },
    );
    let base = (snapshot(), seconds())
        .prop_map(|(to, connect_timeout)| Command::PgBasebackup(PgBasebackup { to, connect_timeout }));
    let mode = prop_oneof![Just(VerificationMode::Restore), Just(VerificationMode::Checksum)];
    let verify = (snapshot(), mode, path(), of(text()), of(path()), run_dir(), jobs(), parameters()).prop_map(
        |(snapshot, mode, scratch, sha256, checks, run, jobs, parameters)| {
            let scratch = Some(scratch);
            Command::PgVerify(PgVerify { snapshot, mode, scratch, sha256, checks, run, jobs, parameters })
        },
    );
    let restore = (snapshot(), of(text()), vec(text(), 0..3), of(text()), jobs(), seconds()).prop_map(
        |(snapshot, sha256, databases, name, jobs, connect_timeout)| {
            Command::PgRestore(PgRestore { snapshot, sha256, databases, name, jobs, connect_timeout })
        },
    );
    prop_oneof![dump, base, verify, restore]
}

fn of_a_copy() -> impl Strategy<Value = Command> {
    let prune = (path(), vec(text(), 0..3), bucket(), of(any::<u64>())).prop_map(
        |(directory, names, bucket, partial_older_than)| {
            Command::PgPrune(PgPrune { directory, names, bucket, partial_older_than })
        },
    );
    let upload = (snapshot(), of(text()), bucket(), (text(), vec(text(), 0..3), text()), text(), any::<bool>())
        .prop_map(|(snapshot, sha256, bucket, (owner, earlier_owners, owner_name), database, verified)| {
            Command::PgUpload(PgUpload {
                snapshot,
                sha256,
                bucket,
                owner,
                earlier_owners,
                owner_name,
                database,
                verified,
            })
        });
    let download = (snapshot(), bucket()).prop_map(|(to, bucket)| Command::PgDownload(PgDownload { to, bucket }));
    prop_oneof![prune, upload, download]
}

fn of_the_rest() -> impl Strategy<Value = Command> {
    let install = (path(), of(path())).prop_map(|(directory, passwd)| Command::Install(Install { directory, passwd }));
    let sql = vec((path(), any::<bool>()).prop_map(|(path, secret)| SqlFile { path, secret }), 0..4);
    let init =
        (text(), text(), sql, of(text()), seconds()).prop_map(|(database, owner, sql, ledger_key, connect_timeout)| {
            Command::PgInit(PgInit { database, owner, sql: SqlFiles(sql), ledger_key, connect_timeout })
        });
    let server = (text(), any::<u32>(), of(text()), jobs(), of(any::<u64>()));
    let upgrade = (server, of(text()), of(text()), run_dir(), seconds()).prop_map(
        |((to, major, database, jobs, room), from_system_identifier, to_port, run, connect_timeout)| {
            Command::PgUpgrade(PgUpgrade {
                to,
                major,
                database,
                jobs,
                room,
                from_system_identifier,
                to_port,
                run,
                connect_timeout,
            })
        },
    );
    let survey = seconds().prop_map(|connect_timeout| Command::PgSurvey(PgSurvey { connect_timeout }));
    let finish = (any::<bool>(), jobs(), seconds())
        .prop_map(|(major, jobs, connect_timeout)| Command::PgFinish(PgFinish { major, jobs, connect_timeout }));
    prop_oneof![install, init, upgrade, survey, finish]
}

fn argv(command: &Command) -> Vec<String> {
    match command {
        Command::Install(of) => of.argv(),
        Command::EtcdWait(of) => of.argv(),
        Command::EtcdRun(of) => of.argv(),
        Command::EtcdKeep(of) => of.argv(),
        Command::EtcdRecover(of) => of.argv(),
        Command::EtcdBackup(of) => of.argv(),
        Command::EtcdRestore(of) => of.argv(),
        Command::EtcdVerify(of) => of.argv(),
        Command::PgPrepare(of) => of.argv(),
        Command::PgRun(of) => of.argv(),
        Command::PgReady(of) => of.argv(),
        Command::PgDump(of) => of.argv(),
        Command::PgBasebackup(of) => of.argv(),
        Command::PgVerify(of) => of.argv(),
        Command::PgRestore(of) => of.argv(),
        Command::PgInit(of) => of.argv(),
        Command::PgPrune(of) => of.argv(),
        Command::PgUpload(of) => of.argv(),
        Command::PgDownload(of) => of.argv(),
        Command::PgUpgrade(of) => of.argv(),
        Command::PgSurvey(of) => of.argv(),
        Command::PgFinish(of) => of.argv(),
        Command::PgVersion(of) => of.argv(),
    }
}

proptest! {
    #[test]
    fn a_command_is_read_as_it_was_rendered(
        command in prop_oneof![of_etcd(), of_a_server(), of_a_snapshot(), of_a_copy(), of_the_rest()]
    ) {
        let words = argv(&command);
        let parsed = Command::parse(std::iter::once("agent".to_owned()).chain(words.iter().cloned()));
        prop_assert_eq!(parsed.map_err(|error| format!("{words:?}: {error}")), Ok(command));
    }
}
