//! Probes as kubelets and users see them.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

struct FakeHealth(Result<(), String>, Vec<HealthCheck>);

impl HealthReporter for FakeHealth {
    fn live(&self) -> Result<(), String> {
        self.0.clone()
    }

    fn ready(&self) -> Vec<HealthCheck> {
        self.1.clone()
    }
}

fn check(name: &str, failure: Option<(&str, bool)>) -> HealthCheck {
    let result = failure
        .map_or(CheckResult::Ok, |(why, blocks_readiness)| CheckResult::Failed { why: why.into(), blocks_readiness });
    HealthCheck { name: name.into(), result }
}

fn get(path: &str, health: &FakeHealth) -> (u16, String) {
    let response = probe(&Request::get(path).body(()).unwrap(), health);
    (response.status().as_u16(), response.into_body())
}

#[test]
fn a_ready_manager_returns_ok_and_lists_its_checks_if_verbose() {
    let health =
        FakeHealth(Ok(()), vec![check("leader", None), check("watch-pods", Some(("may not list pods", false)))]);
    assert_eq!(get("/healthz", &health), (200, "ok".into()));
    assert_eq!(get("/healthz?verbose", &health), (200, "[+]ping ok\nhealthz check passed\n".into()));
    assert_eq!(get("/readyz", &health), (200, "ok".into()));
    let listed = "[+]leader ok\n[-]watch-pods failed: may not list pods\nreadyz check passed\n";
    assert_eq!(get("/readyz?verbose=true", &health), (200, listed.into()));
}

#[test]
fn a_failed_check_that_blocks_readiness_is_always_listed() {
    let health = FakeHealth(Err("stuck".into()), vec![check("sync", Some(("first list not tried yet", true)))]);
    assert_eq!(get("/healthz", &health), (500, "[-]ping failed: stuck\nhealthz check failed\n".into()));
    assert_eq!(
        get("/readyz", &health),
        (500, "[-]sync failed: first list not tried yet\nreadyz check failed\n".into())
    );
}

#[test]
fn other_paths_and_methods_are_refused() {
    let health = FakeHealth(Ok(()), vec![]);
    assert_eq!(get("/", &health).0, 404);
    let response = probe(&Request::post("/healthz").body(()).unwrap(), &health);
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn a_listening_server_answers_until_it_is_stopped() {
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = HealthServer::bind(address, Arc::new(FakeHealth(Ok(()), vec![]))).await.unwrap();
    let address = server.listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let running = tokio::spawn(server.run(stop.clone()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: probe\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("\r\n\r\nok"), "{answer}");
    stop.cancel();
    running.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}
