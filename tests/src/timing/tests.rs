use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::*;

/// Time after which a test that does not wait has continued.
const A_WHILE: Duration = Duration::from_millis(200);

/// A lock file of this test's own, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(purpose: &str) -> Self {
        Self(std::env::temp_dir().join(format!("e2e-timing-{purpose}-{}", std::process::id())))
    }

    fn is_free(&self) -> bool {
        open(&self.0).expect("the file can be opened").try_lock_shared().is_ok()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for path in [&self.0, &running(&self.0)] {
            std::fs::remove_file(path).ok();
        }
    }
}

#[tokio::test]
async fn the_lock_is_one_tests_until_it_drops_it() {
    let scratch = Scratch::new("exclusive");
    let timing = Timing::of(scratch.0.clone()).await;
    assert!(!scratch.is_free());
    let next = tokio::spawn(Timing::of(scratch.0.clone()));
    tokio::time::sleep(A_WHILE).await;
    assert!(!next.is_finished(), "two have the lock");
    drop(timing);
    let next = next.await.expect("the next one gets it");
    assert!(!scratch.is_free());
    drop(next);
    assert!(scratch.is_free());
}

#[tokio::test]
async fn builds_that_run_are_waited_for() {
    let scratch = Scratch::new("running");
    let builds = open(&running(&scratch.0)).expect("the file can be opened");
    builds.lock_shared().expect("it can be locked");
    let waits = tokio::spawn(Timing::of(scratch.0.clone()));
    while scratch.is_free() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    tokio::time::sleep(A_WHILE).await;
    assert!(!waits.is_finished(), "it measures while builds run");
    drop(builds);
    drop(waits.await.expect("it has the machine"));
}

/// A process group that does nothing for a minute, or a shell function with it; killed when dropped.
struct Group(Child);

impl Group {
    fn start(script: &str, lock: &Path) -> Self {
        let command = Command::new("bash")
            .args(["-c", script])
            .env(VARIABLE, lock)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdin(Stdio::null())
            .process_group(0)
            .spawn();
        Self(command.expect("bash can be run"))
    }

    fn signal(&self, name: &str) {
        let group = format!("-{}", self.0.id());
        let sent = Command::new("kill").args([name, "--", &group]).status();
        assert!(sent.is_ok_and(|sent| sent.success()), "{name} cannot be sent");
    }

    fn is_stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).expect("the process is there");
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        state == Some('T')
    }

    /// Whether it is stopped, or is as soon as the kernel runs it next.
    fn is_stopped_by_next_run(&self) -> bool {
        const SIGSTOP: u64 = 1 << 18;
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).expect("the process is there");
        let pending = status.lines().filter_map(|line| line.strip_prefix("ShdPnd:").or(line.strip_prefix("SigPnd:")));
        let mut pending = pending.filter_map(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        pending.any(|mask| mask & SIGSTOP != 0) || self.is_stopped()
    }

    async fn until(&self, stopped: bool) {
        let begun = Instant::now();
        while self.is_stopped() != stopped {
            assert!(begun.elapsed() < Duration::from_secs(60), "stopped is {}", !stopped);
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal("-KILL");
        self.0.wait().ok();
    }
}

/// With the function that `scripts/test` runs.
#[tokio::test]
async fn builds_stand_still_while_the_lock_is_held_and_go_on_however_their_pauser_ends() {
    let scratch = Scratch::new("pauser");
    let build = Group::start("sleep 60", &scratch.0);
    let pauses = format!(". ../scripts/test.d/timing_lock.sh; pause_builds {}", build.0.id());
    let pauser = Group::start(&pauses, &scratch.0);
    // It is at work as soon as it says that builds run.
    let says = open_when_there(&running(&scratch.0)).await;
    while says.try_lock().is_ok() {
        says.unlock().expect("it can be unlocked");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    for _ in 0..3 {
        let begun = Instant::now();
        let timing = Timing::of(scratch.0.clone()).await;
        // On a machine that is too busy for that, the test does not wait for the build for ever.
        let stops = build.is_stopped_by_next_run();
        assert!(stops || begun.elapsed() >= STOPPED, "the test has the lock, and the build runs");
        build.until(true).await;
        drop(timing);
        build.until(false).await;
    }
    let timing = Timing::of(scratch.0.clone()).await;
    build.until(true).await;
    pauser.signal("-TERM");
    build.until(false).await;
    drop(timing);
}

async fn open_when_there(path: &Path) -> File {
    while !path.exists() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    open(path).expect("it can be opened")
}
