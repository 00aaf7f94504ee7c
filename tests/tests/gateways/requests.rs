//! One request from outside of the cluster, through the controller.

use std::path::Path;

use e2e::kubectl::run;

/// How long a request may take, in seconds.
const MAX_TIME: &str = "20";

/// What was answered.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// HTTP's code.
    pub(crate) code: u16,
    /// The page.
    pub(crate) page: String,
}

/// Where the controller listens.
///
/// # Panics
/// If the environment does not say it.
pub(crate) fn address() -> String {
    let address = std::env::var("MULTI_OPERATOR_GATEWAY").unwrap_or_default();
    assert!(
        !address.is_empty(),
        "these tests need a controller of Ingresses and Gateways: scripts/gateways up, then eval \"$(scripts/gateways env)\""
    );
    address
}

/// A request for that host, as DNS would lead it to the controller.
pub(crate) async fn get(host: &str, path: &str) -> Result<Answer, String> {
    ask(host, 80, &[&format!("http://{host}{path}")]).await
}

/// The same by TLS: the server must have that certificate for the host.
pub(crate) async fn get_by_tls(host: &str, path: &str, certificate: &Path) -> Result<Answer, String> {
    ask(host, 443, &["--cacert", &certificate.display().to_string(), &format!("https://{host}{path}")]).await
}

/// curl takes a connection of its own each time, as clients do that have not been here before.
async fn ask(host: &str, port: u16, arguments: &[&str]) -> Result<Answer, String> {
    let at = format!("{host}:{port}:{}", address());
    let how = ["--silent", "--show-error", "--max-time", MAX_TIME, "--resolve", &at, "--write-out", "\n%{http_code}"];
    let answer = run("", "curl", &[&how[..], arguments].concat()).await;
    if !answer.success {
        return Err(answer.stderr.trim().to_owned());
    }
    let (page, code) = answer.stdout.rsplit_once('\n').ok_or_else(|| format!("curl printed {:?}", answer.stdout))?;
    Ok(Answer { code: code.parse().map_err(|error| format!("{code}: {error}"))?, page: page.to_owned() })
}
