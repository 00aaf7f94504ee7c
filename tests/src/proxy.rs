//! A proxy between one manager and the API server, which keeps a journal and injects faults.
//!
//! It speaks plain HTTP to the manager and TLS to the API server; the manager's own token, which passes through, identifies it.
//! Dropping the proxy closes all its connections.

use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use http::{Request, Response, Uri, header};
use http_body_util::{BodyExt, Collected, Full};
use hyper::body::Bytes;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::Config;
use kube::client::ConfigExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::call::Call;

mod body;
mod connection;
mod rule;

use body::{Body, Broken};
use connection::{Connection, Hangable};
use rule::Rules;
pub use rule::{Fault, InForce, Rule};

/// Sends a request on to the API server.
type Upstream = Box<dyn Fn(Request<Full<Bytes>>) -> legacy::ResponseFuture + Send + Sync>;

/// The proxy. It serves until dropped.
pub struct Proxy {
    /// What the manager's kubeconfig is to name as server.
    pub url: String,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

struct Shared {
    upstream: Upstream,
    server: Uri,
    rules: Arc<Rules>,
    journal: Mutex<Vec<Call>>,
    connections: Mutex<Vec<Weak<Connection>>>,
    cut: watch::Sender<u64>,
    away: watch::Sender<Option<Away>>,
}

/// How an API server is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Away {
    /// Connections break off, and new ones are closed at once.
    Closed,
    /// Connections break, and new ones are refused.
    Refused,
    /// Connections are reset, and so are new ones.
    Reset,
    /// Nothing comes through connections, whether they are open or new; and through those it never does again.
    Silent,
}

impl Proxy {
    /// Starts on a port of its own, towards the server of `config`, whose credentials are not used.
    ///
    /// # Errors
    /// If there is no port, or the certificates of `config` cannot be used.
    pub async fn start(mut config: Config) -> Result<Self, Broken> {
        config.auth_info = kube::config::AuthInfo::default();
        let client = legacy::Client::builder(TokioExecutor::new()).build(config.rustls_https_connector()?);
        let shared = Arc::new(Shared {
            upstream: Box::new(move |request| client.request(request)),
            server: config.cluster_url,
            rules: Arc::default(),
            journal: Mutex::default(),
            connections: Mutex::default(),
            cut: watch::Sender::new(0),
            away: watch::Sender::new(None),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let mut serving = JoinSet::new();
        serving.spawn(accept(listener, shared.clone()));
        Ok(Self { url, shared, _serving: serving })
    }

    /// Puts a rule in force.
    pub fn rule(&self, rule: Rule) -> InForce {
        InForce::new(&self.shared.rules, rule)
    }

    /// The requests so far.
    #[must_use]
    pub fn journal(&self) -> Vec<Call> {
        self.shared.journal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The requests since the journal had this length.
    #[must_use]
    pub fn since(&self, length: usize) -> Vec<Call> {
        self.journal().split_off(length)
    }

    /// Breaks off all watches that are open, in the middle.
    pub fn cut_watches(&self) {
        self.shared.cut.send_modify(|cuts| *cuts += 1);
    }

    /// Has the API server be away from now on, until [`Self::back`].
    pub fn away(&self, how: Away) {
        self.shared.away.send_replace(Some(how));
        if how == Away::Silent {
            // How many does not matter.
            let _ = self.hang(false);
        }
    }

    /// Has it be back.
    pub fn back(&self) {
        self.shared.away.send_replace(None);
    }

    /// Makes connections hang: all that are open now, or only those that carry a watch. Returns how many.
    #[must_use]
    pub fn hang(&self, only_watches: bool) -> usize {
        let hang = |connection: Arc<Connection>| connection.hangs.store(true, Ordering::SeqCst);
        self.open(only_watches).into_iter().map(hang).count()
    }

    /// How many connections carry a watch now.
    #[must_use]
    pub fn watches(&self) -> usize {
        self.open(true).len()
    }

    fn open(&self, only_watches: bool) -> Vec<Arc<Connection>> {
        let connections = self.shared.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let open = connections.iter().filter_map(Weak::upgrade);
        open.filter(|c| !only_watches || c.carries_watch.load(Ordering::SeqCst)).collect()
    }
}

async fn accept(mut listener: TcpListener, shared: Arc<Shared>) {
    let (mut connections, mut away) = (JoinSet::new(), shared.away.subscribe());
    loop {
        let refuses = async { drop(away.wait_for(|how| *how == Some(Away::Refused)).await) };
        let accepted = tokio::select! { accepted = listener.accept() => Some(accepted), () = refuses => None };
        match accepted {
            Some(Ok((stream, _))) => drop(connections.spawn(serve(stream, shared.clone()))),
            Some(Err(_)) => return,
            None => {
                let Ok(address) = listener.local_addr() else { return };
                drop(listener);
                drop(away.wait_for(|how| *how != Some(Away::Refused)).await);
                listener = TcpListener::bind(address).await.expect("the port is still free");
            }
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let mut away = shared.away.subscribe();
    let how = *away.borrow();
    match how {
        Some(Away::Closed | Away::Refused) => return,
        Some(Away::Reset) => return drop(stream.set_zero_linger()),
        // Connections that were opened meanwhile are not waited for.
        Some(Away::Silent) => return std::future::pending().await,
        None => {}
    }
    let connection = Arc::<Connection>::default();
    let broken_off = async {
        let how = away.wait_for(|how| how.is_some_and(|how| how != Away::Silent)).await;
        let resets = how.is_ok_and(|how| *how == Some(Away::Reset));
        connection.resets.store(resets, Ordering::SeqCst);
    };
    tokio::select! { () = served(stream, connection.clone(), shared) => {}, () = broken_off => {} }
}

async fn served(stream: TcpStream, connection: Arc<Connection>, shared: Arc<Shared>) {
    // Small answers should not wait for acknowledgements.
    drop(stream.set_nodelay(true));
    {
        let mut connections = shared.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.retain(|connection| connection.strong_count() > 0);
        connections.push(Arc::downgrade(&connection));
    }
    let io = TokioIo::new(Hangable { stream, connection: connection.clone() });
    let service = service_fn(move |request| {
        let (shared, connection) = (shared.clone(), connection.clone());
        async move { Ok::<_, Infallible>(shared.answer(request, &connection).await) }
    });
    // A manager that breaks off, or is killed, is what these tests are about.
    drop(http1::Builder::new().serve_connection(io, service).await);
}

impl Shared {
    async fn answer(&self, request: Request<Incoming>, connection: &Connection) -> Response<Body> {
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str()).to_owned();
        let agent = request.headers().get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        let mut call = Call::parse(request.method().as_str(), &target, agent.unwrap_or_default());
        let (parts, incoming) = request.into_parts();
        let Ok(body) = incoming.collect().await.map(Collected::to_bytes) else {
            return answer(400, body::full("the request broke off"));
        };
        if call.verb == "create" && call.name.is_empty() {
            call.name = name_of(&body).unwrap_or_default();
        }
        let request = Request::from_parts(parts, Full::new(body));
        connection.carries_watch.store(call.is_watch(), Ordering::SeqCst);
        let index = {
            let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
            journal.push(call.clone());
            journal.len() - 1
        };
        let response = match self.treat(request, &call).await {
            Ok(response) => response,
            Err(error) => answer(502, body::full(format!("{error}"))),
        };
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal[index].code = Some(response.status().as_u16());
        response
    }

    async fn treat(&self, request: Request<Full<Bytes>>, call: &Call) -> Result<Response<Body>, Broken> {
        let rule = self.rules.find(call);
        match rule.as_deref() {
            Some(rule @ Rule { fault: Fault::Answer(code), .. }) => {
                rule.hit();
                return Ok(answer(*code, body::full(body::status(*code).to_string())));
            }
            Some(rule @ Rule { fault: Fault::NotServed, .. }) => {
                rule.hit();
                return Ok(answer(404, body::full("404 page not found\n")));
            }
            Some(rule @ Rule { fault: Fault::Expired, .. }) => {
                rule.hit();
                return Ok(answer(200, body::expired()));
            }
            Some(rule @ Rule { fault: Fault::Late(after), .. }) => {
                rule.hit();
                tokio::time::sleep(*after).await;
            }
            Some(rule @ Rule { fault: Fault::Hold, .. }) => {
                rule.hit();
                rule.until_lifted().await;
            }
            _ => {}
        }
        let cut = self.cut.subscribe();
        let (parts, incoming) = self.forward(request).await?.into_parts();
        if call.is_watch() && parts.status.is_success() {
            rule.as_deref().inspect(|rule| rule.hit());
            return Ok(Response::from_parts(parts, body::events(incoming, rule, cut)));
        }
        let bytes = incoming.collect().await?.to_bytes();
        let Some(rule) = rule else { return Ok(Response::from_parts(parts, body::full(bytes))) };
        match &rule.fault {
            Fault::AppliedThen(code) => {
                rule.hit();
                Ok(answer(*code, body::full(body::status(*code).to_string())))
            }
            Fault::AppliedThenHold => {
                rule.hit();
                rule.until_lifted().await;
                Ok(Response::from_parts(parts, body::full(bytes)))
            }
            Fault::Alter(alter) => {
                rule.hit();
                let altered = body::altered_list(&bytes, &**alter);
                Ok(answer(parts.status.as_u16(), body::full(altered)))
            }
            _ => Ok(Response::from_parts(parts, body::full(bytes))),
        }
    }

    async fn forward(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Broken> {
        let (mut parts, body) = request.into_parts();
        let mut uri = self.server.clone().into_parts();
        uri.path_and_query = parts.uri.path_and_query().cloned();
        parts.uri = Uri::from_parts(uri)?;
        // Altering and cutting need plain text, and the next hop has a name of its own.
        for name in [header::HOST, header::ACCEPT_ENCODING, header::CONNECTION] {
            parts.headers.remove(name);
        }
        Ok((self.upstream)(Request::from_parts(parts, body)).await?)
    }
}

/// The name of a created object: its address does not contain it.
fn name_of(body: &[u8]) -> Option<String> {
    let object: serde_json::Value = serde_json::from_slice(body).ok()?;
    Some(object["metadata"]["name"].as_str()?.to_owned())
}

fn answer(code: u16, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}
