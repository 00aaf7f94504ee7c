//! Writes numbered keys into an etcd cluster, one after another, and knows which of them were acknowledged.
//!
//! `etcd-writer ENDPOINT [PAUSE_MS [VALUE_BYTES]]` runs as a pod next to the cluster under test. It answers HTTP requests at port
//! 8080: `/progress` returns its progress; `/verdict` pauses the writing, reads every acknowledged key back, compares the
//! members' answers, returns one line of JSON that it also logs, and continues. Tests read the answers through the API server.
//! For https, /tls has its certificate: tls.crt, tls.key and ca.crt.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Mutex;

mod record;
mod verdict;
mod writing;

use writing::Writing;

/// The address of the HTTP server.
const PORT: u16 = 8080;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(endpoint) = arguments.next() else {
        eprintln!("usage: etcd-writer ENDPOINT [PAUSE_MS [VALUE_BYTES]]");
        return ExitCode::from(2);
    };
    let mut number = |default| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let pause = Duration::from_millis(number(100));
    let bytes = usize::try_from(number(0)).unwrap_or(0);
    let ended = tokio::select! {
        ended = serve(Arc::new(Mutex::new(Writing::new(endpoint, bytes))), pause) => ended,
        ended = termination_signal() => ended,
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Its record is lost with it, so nothing should end it before the verdict.
async fn termination_signal() -> std::io::Result<()> {
    signal(SignalKind::terminate())?.recv().await;
    Ok(())
}

async fn serve(writing: Arc<Mutex<Writing>>, pause: Duration) -> std::io::Result<()> {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    tokio::spawn(write(writing.clone(), pause));
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(answer(stream, writing.clone()));
    }
}

async fn write(writing: Arc<Mutex<Writing>>, pause: Duration) {
    loop {
        writing.lock().await.put().await;
        tokio::time::sleep(pause).await;
    }
}

/// Answers one request, and closes.
async fn answer(stream: TcpStream, writing: Arc<Mutex<Writing>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut first = String::new();
    stream.read_line(&mut first).await?;
    let mut header = String::new();
    while stream.read_line(&mut header).await? > 2 {
        header.clear();
    }
    let (code, body) = match first.split(' ').nth(1) {
        Some("/progress") => ("200 OK", writing.lock().await.record.progress().to_string()),
        Some("/verdict") => {
            let mut writing = writing.lock().await;
            let verdict = verdict::of(&writing).await.to_string();
            writing.record.resume();
            println!("{verdict}");
            ("200 OK", verdict)
        }
        _ => ("404 Not Found", "there are /progress and /verdict".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {code}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}
