//! `agent etcd-run` on the volume of etcd's data: the reserve and its keeper, limits, and a full volume.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::support::{Pod, create_data_in, kill, stderr, stdout};

/// The processes of this machine whose command line has this part.
fn processes_with(part: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let message = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&message).replace('\0', " "))
    });
    all.filter(|message| message.contains(part)).collect()
}

/// Waits for another process, for a minute at most.
fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_deleted_reserve_is_taken_back_while_etcd_runs_and_its_keeper_ends_with_etcd() {
    let pod = Pod::new("run-keep");
    pod.create_data();
    let mut command = pod.command("etcd-run", "data");
    command.args(["--reserve=100000", "--", "/bin/sleep", "300"]);
    let mut etcd = command.spawn().unwrap();
    let reserve = pod.path("reserve");
    let size = || std::fs::metadata(&reserve).map_or(0, |file| file.len());
    eventually("it is taken before etcd starts", || size() == 100_000);
    let keepers = format!("--data-dir {} --reserve=100000 --beside={}", pod.path("data").display(), etcd.id());
    eventually("a keeper runs", || processes_with(&keepers).len() == 1);
    std::fs::remove_file(&reserve).unwrap();
    eventually("it is back", || size() == 100_000);
    kill("-KILL", etcd.id());
    etcd.wait().unwrap();
    eventually("the keeper ends with etcd", || processes_with(&keepers).is_empty());
}

#[test]
fn the_usage_of_the_volume_is_served_while_etcd_runs() {
    let pod = Pod::new("run-volume-port");
    pod.create_data();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = pod.command("etcd-run", "data");
    command.args(["--reserve=1000", &format!("--volume-port={port}"), "--", "/bin/sleep", "300"]);
    let etcd = command.spawn().unwrap();
    let ask = || {
        let mut connection = TcpStream::connect(("127.0.0.1", port)).ok()?;
        connection.write_all(b"GET / HTTP/1.1\r\n\r\n").ok()?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).ok()?;
        Some(answer)
    };
    eventually("it is served", || ask().is_some_and(|answer| answer.contains("\"freeBytes\":")));
    stop(etcd);
    eventually("it is no longer served", || ask().is_none());
}

#[test]
fn limits_are_given_to_etcd_and_no_more_than_fits_the_file_system() {
    let pod = Pod::new("run-limits");
    pod.create_data();
    let run = |limits: [&str; 3]| {
        let output = pod.command("etcd-run", "data").args(limits).args(["--", "/bin/echo", "x"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        (stdout(&output).to_owned(), stderr(&output).to_owned())
    };
    let (arguments, output) = run(["--reserve=1000", "--quota=1", "--snapshot-count=1"]);
    assert_eq!(arguments, "x --quota-backend-bytes=1 --snapshot-count=1", "a large file system raises nothing");
    assert_eq!(output, "");
    let (arguments, output) = run(["--reserve=1000", "--quota=18446744073709551615", "--snapshot-count=1"]);
    let given: u64 = arguments.split(['=', ' ']).nth(2).unwrap().parse().unwrap();
    assert!(given <= 8 << 30, "{arguments}");
    assert_eq!(output.lines().count(), 1, "{output}");
    assert!(output.contains(&format!("quota {given} instead of 18446744073709551615\n")), "{output}");
}

#[test]
fn a_volume_that_gets_full_again_and_again_lets_etcd_start_each_time() {
    let pod = Pod::new("run-full");
    let volume = pod.path("volume");
    std::fs::create_dir_all(&volume).unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64m", "tmpfs"]).arg(&volume).status();
    if !mount.unwrap().success() {
        eprintln!("only root can mount a file system");
        return;
    }
    let unmount = Unmount(volume.clone());
    let size = |file: &str| std::fs::metadata(volume.join(file)).map_or(0, |file| file.len());
    let start = || {
        let mut command = pod.command("etcd-run", "new");
        command.arg("--data-dir").arg(volume.join("data")).args(["--reserve=8000000", "--", "/bin/sh", "-c"]);
        // Writes its arguments to a file, and keeps running.
        command.args([r#"echo "$@" "$ETCD_QUOTA_BACKEND_BYTES" >"$0/said"; exec sleep 300"#]).arg(&volume).arg("etcd");
        command.env("ETCD_QUOTA_BACKEND_BYTES", "8589934592");
        std::fs::write(volume.join("said"), "").unwrap();
        let etcd = command.spawn().unwrap();
        eventually("etcd is started", || size("said") > 0);
        (etcd, std::fs::read_to_string(volume.join("said")).unwrap())
    };
    let (etcd, output) = start();
    assert!(output.contains(" 8589934592") && size("reserve") == 6_710_886, "a tenth of the volume is held: {output}");
    stop(etcd);
    std::fs::create_dir_all(volume.join("data/member/snap")).unwrap();
    create_data_in(&volume.join("data"));
    std::fs::write(volume.join("data/member/snap/db"), vec![1; 30_000_000]).unwrap();
    for _ in 0..2 {
        // Fill the volume.
        let filled = std::fs::write(volume.join("filler"), vec![1; 64_000_000]);
        assert!(filled.is_err() && size("reserve") == 6_710_886, "{filled:?}");
        let (etcd, output) = start();
        assert_eq!(size("reserve"), 0, "it is released so that etcd starts");
        assert!(output.contains("--quota-backend-bytes=30000"), "the database is not to grow: {output}");
        assert!(!output.contains("8589934592"), "etcd does not start where the variable is there, too: {output}");
        std::fs::remove_file(volume.join("filler")).unwrap();
        eventually("the reserve is back", || size("reserve") == 6_710_886);
        stop(etcd);
    }
    drop(unmount);
}

fn stop(mut etcd: Child) {
    kill("-KILL", etcd.id());
    etcd.wait().unwrap();
}

struct Unmount(PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        // Lazily: a keeper may be about to end.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
