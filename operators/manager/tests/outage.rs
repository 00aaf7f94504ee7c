//! A manager that starts while the API server is unavailable.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A port where nothing listens.
fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr()).expect("there are free ports").port()
}

/// A manager that is killed at the end of the test, if it still runs.
struct ManagerProcess(Child);

impl Drop for ManagerProcess {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl ManagerProcess {
    /// Starts it with the environment of a pod, so that it reads the image of that pod.
    fn start(health: u16) -> Self {
        let kubeconfig = Path::new(env!("CARGO_TARGET_TMPDIR")).join("away.kubeconfig");
        let server = format!("http://127.0.0.1:{}", free_port());
        let config = format!(
            r#"{{"apiVersion": "v1", "kind": "Config", "current-context": "away",
                "clusters": [{{"name": "away", "cluster": {{"server": "{server}"}}}}],
                "users": [{{"name": "away", "user": {{}}}}],
                "contexts": [{{"name": "away", "context": {{"cluster": "away", "user": "away"}}}}]}}"#
        );
        std::fs::write(&kubeconfig, config).expect("the kubeconfig can be written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_manager"));
        command.env_clear().env("KUBECONFIG", kubeconfig).env("POD_NAMESPACE", "system").env("POD_NAME", "manager-1");
        command.env("HEALTH_PROBE_BIND_ADDRESS", format!("127.0.0.1:{health}")).env("METRICS_BIND_ADDRESS", "0");
        Self(command.stderr(Stdio::null()).spawn().expect("the manager can be run"))
    }
}

fn get(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: probe\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn probes_are_answered_and_sigterm_ends_the_process() {
    let (port, started) = (free_port(), Instant::now());
    let mut manager = ManagerProcess::start(port);
    let live = loop {
        match get(port, "/healthz") {
            Ok(answer) => break answer,
            Err(error) => assert!(started.elapsed() < Duration::from_secs(10), "/healthz is not answered: {error}"),
        }
        sleep(Duration::from_millis(50));
    };
    assert!(live.starts_with("HTTP/1.1 200 OK"), "{live}");
    let ready = get(port, "/readyz").expect("it listens");
    assert!(ready.starts_with("HTTP/1.1 500 ") && ready.contains("[-]start failed: starting: "), "{ready}");

    let killed = Command::new("sh").args(["-c", &format!("kill {}", manager.0.id())]).status();
    assert!(killed.expect("there is a shell").success());
    assert!(manager.0.wait().expect("it ends").success());
}
