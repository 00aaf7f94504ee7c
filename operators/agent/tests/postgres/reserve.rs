//! The space that `agent pg-run --reserve` reserves, and what starts with it on a volume without any other.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

use crate::support::{Fixture, PASSWORD, Server};

/// What is held back: twice what a server needs to come up.
const RESERVE: u64 = 64 << 20;
const FLAG: &str = "--reserve=67108864";
/// A volume that a new server and its reserve leave some 70 MiB of.
const VOLUME: &str = "size=200m,mode=777";
/// The same volume, once it has been enlarged: the reserve, as much again, and what a server needs.
const ENLARGED: &str = "remount,size=500m,mode=777";

/// A small volume for the data of a place, which goes before the place does.
struct Volume<'a>(&'a Fixture);

impl<'a> Volume<'a> {
    fn of(fixture: &'a Fixture) -> Self {
        fs::create_dir(fixture.path("volume")).unwrap();
        let volume = Self(fixture);
        volume.mount(VOLUME);
        volume
    }

    fn mount(&self, options: &str) {
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(self.0.path("volume"));
        assert!(command.status().unwrap().success());
    }

    /// Somebody takes all that is left, to the last byte.
    fn fill_up(&self) {
        let mut file = File::create(self.0.path("volume/ballast")).unwrap();
        let full = std::iter::repeat_with(|| file.write_all(&[7; 4096])).find_map(Result::err).unwrap();
        assert_eq!(full.kind(), ErrorKind::StorageFull);
    }
}

impl Drop for Volume<'_> {
    fn drop(&mut self) {
        // Lazily, as a process of the server's may still be ending.
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path("volume")).status();
    }
}

impl Fixture {
    fn reserve(&self) -> u64 {
        fs::metadata(self.path("volume/data.reserve")).map_or(0, |file| file.len())
    }

    /// The last number of the rows that were acknowledged until the server crashed for lack of space for its WAL.
    fn filled(&self) -> u64 {
        let mut server = self.start_with(PASSWORD, &[FLAG]);
        assert_eq!(self.reserve(), RESERVE);
        server.sql("postgres", "CREATE TABLE acks (n int, filler text)");
        server.sql("postgres", "ALTER TABLE acks ALTER filler SET STORAGE EXTERNAL");
        let mut reported = Vec::new();
        // A server that cannot extend a table reports that, and continues: insert until there is no space for WAL either.
        loop {
            let next = reported.len();
            reported.extend(insert(&server, next));
            let goes_on = server.psql("boss", PASSWORD, "postgres", "SELECT pg_switch_wal()").status.success();
            if !goes_on && self.log().contains("PANIC") {
                break;
            }
        }
        assert!(self.log().contains("No space left on device"), "{}", self.log());
        assert!(reported.len() > 100, "{}", reported.len());
        server.kill();
        reported.len() as u64
    }

    /// A reserve that is unlinked but still takes its space.
    fn without_reserve(&self, does_not_work: impl FnOnce()) {
        let (held, away) = (self.path("volume/data.reserve"), self.path("volume/away"));
        fs::rename(&held, &away).unwrap();
        does_not_work();
        fs::rename(&away, &held).unwrap();
    }
}

/// Inserts rows one by one until that fails: the numbers that were acknowledged, from this one on.
fn insert(server: &Server<'_>, from: usize) -> Vec<usize> {
    let mut client = server.client("boss", PASSWORD, "postgres").stdin(Stdio::piped()).spawn().unwrap();
    let mut input = client.stdin.take().unwrap();
    let line = |n: usize| format!("INSERT INTO acks VALUES ({n}, repeat('x', 60000));\n\\echo {n}\n");
    let writer = std::thread::spawn(move || {
        let _ = (from..from + 4000).try_for_each(|n| input.write_all(line(n).as_bytes()));
    });
    let output = client.wait_with_output().unwrap();
    writer.join().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

/// The row that was being written when the server went down may be there or not.
fn check_acknowledged(server: &Server<'_>, acknowledged: u64) {
    let lost = format!(
        "SELECT count(*) FROM generate_series(0, {acknowledged} - 1) n WHERE NOT EXISTS \
         (SELECT FROM acks WHERE acks.n = n.n AND filler = repeat('x', 60000))"
    );
    assert_eq!(server.sql("postgres", &lost), "0");
}

/// The container alone is started again, as the kubelet does; and its pod, whose init step comes first.
#[test]
#[ignore = "scripts/test --all servers"]
fn a_server_on_a_full_volume_comes_up_by_its_reserve_and_takes_it_back_when_there_is_room() {
    for pod in [false, true] {
        let fixture = Fixture::new(&format!("reserve-{pod}"));
        let volume = Volume::of(&fixture);
        fixture.prepared(&["--initialise"]);
        let acknowledged = fixture.filled();
        volume.fill_up();
        assert_eq!(fixture.reserve(), RESERVE, "a server that runs leaves it alone");
        fixture.without_reserve(|| {
            let output = fixture.does_not_start(&[FLAG]);
            assert!(output.contains("No space left on device"), "{output}");
        });
        if pod {
            // One that changes a file; what recovery has removed is taken again.
            volume.fill_up();
            let other = ["--access", "closed"];
            fixture.without_reserve(|| assert_eq!(fixture.prepare_fails(&other).0, "NoSpace"));
            fixture.prepared(&other);
        }
        let server = fixture.start_with(PASSWORD, &[FLAG]);
        assert_eq!(fixture.reserve(), 0, "{}", fixture.log());
        check_acknowledged(&server, acknowledged);
        server.sql("postgres", "DELETE FROM acks WHERE n > 100");
        // There is some space, but not enough for a reserve while a server writes.
        fixture.is_ready(FLAG);
        assert!(fixture.reserve() == 0 && !fixture.path("volume/data.reserve.new").exists());
        volume.mount(ENLARGED);
        // Part by part, as a probe has seconds.
        let mut probes = 0;
        while fixture.reserve() < RESERVE {
            assert!(probes < 10, "{:?}", fs::read_dir(fixture.path("volume")).unwrap().collect::<Vec<_>>());
            fixture.is_ready(FLAG);
            probes += 1;
        }
        assert!(probes > 2);
        assert_eq!(server.sql("postgres", "SELECT count(*) FROM acks WHERE n <= 100"), "101");
        server.stop();
    }
}

/// The last snapshot of a database that is deleted because its volume is full.
#[test]
#[ignore = "scripts/test --all servers"]
fn data_on_a_full_volume_are_dumped_without_a_server_by_their_reserve() {
    let fixture = Fixture::new("reserve-offline");
    let volume = Volume::of(&fixture);
    fixture.prepared(&["--initialise"]);
    let acknowledged = fixture.filled();
    volume.fill_up();
    let (to, data) = (fixture.text("snapshots/last"), fixture.text("volume/data"));
    let dump = ["pg-dump", "--to", &to, "--offline", &data, "--run-dir", fixture.directory.to_str().unwrap()];
    fixture.without_reserve(|| assert_eq!(fixture.fails(&dump).0, "NoSpace"));
    let rows = fixture.run(&dump)["rows"].as_u64().unwrap();
    assert!(rows == acknowledged || rows == acknowledged + 1, "{rows} of {acknowledged}");
    assert_eq!(fixture.reserve(), 0);
    fixture.verified("last", &[]);
}
