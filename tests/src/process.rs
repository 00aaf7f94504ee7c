//! The manager as a process on this host, against the real cluster: starts, queries, stops, kills and freezes it.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::ConfigExt;
use tokio::process::{Child, Command};

pub mod install;
pub use install::Install;

use crate::patience::{Deadline, timeout};
use crate::proxy::Proxy;

/// Anything that went wrong.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How a manager is started. Its environment holds nothing else.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    server: Option<String>,
    environment: Vec<(String, String)>,
    arguments: Vec<String>,
    secure: bool,
}

impl Launch {
    /// Through this proxy instead of straight to the API server.
    #[must_use]
    pub fn through(mut self, proxy: &Proxy) -> Self {
        self.server = Some(proxy.url.clone());
        self
    }

    /// With this flag.
    #[must_use]
    pub fn flag(mut self, flag: &str) -> Self {
        self.arguments.push(flag.to_owned());
        self
    }

    /// With this variable, instead of what tests set otherwise.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With metrics by HTTPS.
    #[must_use]
    pub fn secure_metrics(mut self) -> Self {
        self.secure = true;
        self
    }

    /// Starts it.
    ///
    /// # Errors
    /// If there is no binary (see [`build`]), or it cannot be run.
    pub fn start(&self, install: &Install) -> Result<Manager, Failure> {
        static STARTED: AtomicU16 = AtomicU16::new(0);
        let directory = std::env::temp_dir().join("multi-operator-e2e").join(std::process::id().to_string());
        std::fs::create_dir_all(&directory)?;
        let name = format!("{}-{}", install.namespace, STARTED.fetch_add(1, Ordering::Relaxed));
        let kubeconfig = install.write_kubeconfig(&directory, &format!("{name}.kubeconfig"), self.server.as_deref())?;
        let log = directory.join(format!("{name}.log"));
        let (health, metrics) = (free_port()?, free_port()?);
        let mut command = Command::new(binary()?);
        command
            .env_clear()
            .env("KUBECONFIG", &kubeconfig)
            .env("WATCH_NAMESPACE", install.watched.join(","))
            .env("LEASE_NAME", install::NAME)
            .env("POD_NAMESPACE", &install.namespace)
            .env("HEALTH_PROBE_BIND_ADDRESS", health.to_string())
            .env("METRICS_BIND_ADDRESS", metrics.to_string())
            .env("METRICS_SECURE", self.secure.to_string())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .kill_on_drop(true);
        Ok(Manager { child: command.spawn()?, kubeconfig, log, health, metrics, secure: self.secure })
    }
}

/// A manager that runs, or has run. It ends with this value.
#[derive(Debug)]
pub struct Manager {
    child: Child,
    kubeconfig: PathBuf,
    log: PathBuf,
    health: SocketAddr,
    metrics: SocketAddr,
    secure: bool,
}

impl Manager {
    /// What it has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits for a text in its log.
    ///
    /// # Errors
    /// If it does not come in time, or the process ends before.
    pub async fn logs(&mut self, text: &str, limit: Duration) -> Result<(), Failure> {
        let deadline = Deadline::after(limit);
        loop {
            let ended = self.child.try_wait()?;
            if self.log().contains(text) {
                return Ok(());
            }
            if ended.is_some() || deadline.is_over() {
                let ended = ended.map_or_else(|| "it runs".to_owned(), |status| format!("it ended with {status}"));
                return Err(format!("{text:?} is not logged, {ended}: {}: {}", deadline.late(), self.log()).into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until it leads.
    ///
    /// # Errors
    /// If it does not within `limit`.
    pub async fn leads(&mut self, limit: Duration) -> Result<(), Failure> {
        self.logs("leading", limit).await
    }

    /// Sends a signal by its name, such as TERM.
    ///
    /// # Errors
    /// If the process has ended.
    pub async fn signal(&self, name: &str) -> Result<(), Failure> {
        let id = self.child.id().ok_or("the manager has ended already")?;
        let sent = Command::new("kill").args([format!("-{name}"), id.to_string()]).status().await?;
        if sent.success() { Ok(()) } else { Err(format!("SIG{name} could not be sent").into()) }
    }

    /// Kills it without warning.
    ///
    /// # Errors
    /// If the process has ended.
    pub async fn kill(&mut self) -> Result<(), Failure> {
        Ok(self.child.kill().await?)
    }

    /// Waits for its end; says how, and after how long.
    ///
    /// # Errors
    /// If that takes longer than `limit`.
    pub async fn ends(&mut self, limit: Duration) -> Result<(ExitStatus, Duration), Failure> {
        let begun = Instant::now();
        let status = timeout(limit, self.child.wait()).await;
        let status = status.map_err(|late| format!("the manager does not end: {late}: {}", self.log()))?;
        Ok((status?, begun.elapsed()))
    }

    /// Requests `/healthz`, `/readyz` or `/readyz?verbose`.
    ///
    /// # Errors
    /// If nothing answers.
    pub async fn health(&self, path: &str) -> Result<(u16, String), Failure> {
        fetch(&format!("http://{}{path}", self.health), None).await
    }

    /// Waits until it is ready.
    ///
    /// # Errors
    /// If it is not within `limit`.
    pub async fn ready(&self, limit: Duration) -> Result<(), Failure> {
        let deadline = Deadline::after(limit);
        loop {
            let answer = self.health("/readyz").await;
            if answer.as_ref().is_ok_and(|(code, _)| *code == 200) {
                return Ok(());
            }
            if deadline.is_over() {
                return Err(format!("not ready: {}: {answer:?}: {}", deadline.late(), self.log()).into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Requests the metrics, with this token if any.
    ///
    /// # Errors
    /// If nothing answers.
    pub async fn metrics(&self, token: Option<&str>) -> Result<(u16, String), Failure> {
        let scheme = if self.secure { "https" } else { "http" };
        fetch(&format!("{scheme}://{}/metrics", self.metrics), token).await
    }

    /// The sum of a metric over those of its series that bear all these labels, such as `kind="MyApp"`.
    ///
    /// # Errors
    /// If nothing answers.
    pub async fn metric(&self, name: &str, labels: &[&str]) -> Result<f64, Failure> {
        let (_, text) = self.metrics(None).await?;
        let series = text.lines().filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let (found, rest) = series.split_once('{').unwrap_or((series, ""));
            (found == name && labels.iter().all(|label| rest.contains(label))).then(|| value.parse::<f64>().ok())?
        });
        Ok(series.sum())
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // Has a token; the log is kept for the analysis of a failure.
        drop(std::fs::remove_file(&self.kubeconfig));
    }
}

/// Runs the binary with these arguments and nothing in its environment, for at most 10 s of normal time: exit code, stdout, stderr.
///
/// # Errors
/// If it cannot be run, or does not end.
pub async fn output(
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Result<(Option<i32>, String, String), Failure> {
    let mut command = Command::new(binary()?);
    command.env_clear().envs(environment.iter().copied()).args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(Duration::from_secs(10), command.output()).await;
    let output = output.map_err(|late| format!("the manager with {arguments:?} does not end: {late}"))??;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok((output.status.code(), text(output.stdout), text(output.stderr)))
}

/// Builds the manager, unless `MULTI_OPERATOR_MANAGER` names a binary.
///
/// # Errors
/// If it does not build.
pub fn build() -> Result<(), Failure> {
    if std::env::var_os("MULTI_OPERATOR_MANAGER").is_some() {
        return Ok(());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = std::process::Command::new(cargo)
        .args(["build", "--quiet", "--package", "manager"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()?;
    if built.success() { Ok(()) } else { Err("the manager does not build".into()) }
}

/// Where the manager's binary is: where tests' own binaries are, one directory up.
fn binary() -> Result<PathBuf, Failure> {
    if let Some(path) = std::env::var_os("MULTI_OPERATOR_MANAGER") {
        return Ok(path.into());
    }
    let own = std::env::current_exe()?;
    let path = own.parent().and_then(Path::parent).ok_or("this binary is nowhere")?.join("manager");
    if path.exists() { Ok(path) } else { Err(format!("{} is not built", path.display()).into()) }
}

/// A port of loopback below those that the system hands out by itself: no connection takes it meanwhile.
fn free_port() -> Result<SocketAddr, Failure> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + u16::try_from(std::process::id() % 100)? * 100;
    for _ in 0..1000 {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed) % 2000;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    Err("no port is free".into())
}

/// Requests a URL whose certificate is self-signed.
async fn fetch(url: &str, token: Option<&str>) -> Result<(u16, String), Failure> {
    let mut config = Config::new(url.parse()?);
    config.accept_invalid_certs = true;
    let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        .build::<_, Full<Bytes>>(config.rustls_https_connector()?);
    let mut request = Request::get(url);
    if let Some(token) = token {
        request = request.header(http::header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let answer = async {
        let response = client.request(request.body(Full::default())?).await?;
        let code = response.status().as_u16();
        let text = String::from_utf8_lossy(&response.into_body().collect().await?.to_bytes()).into_owned();
        Ok::<_, Failure>((code, text))
    };
    timeout(Duration::from_secs(10), answer).await.map_err(|late| format!("{url} does not answer: {late}"))?
}
