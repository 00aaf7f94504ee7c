//! The API server that clients and actors share.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{Request, Response};
use jiff::Timestamp;
use kube::client::Body;
use runtime::outage::Outages;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tower::BoxError;

use super::answer::{RequestSubject, ResponseBody, complete, failure, refusal};
use super::discovery;
use super::errors::UNMODELLED;
use super::fate::{Fate, Faults, Handling, Interruption};
use super::parse::{HttpRequest, Parsed};
use super::request::{Answer, ApiError, ApiRequest, Verb};
use super::state::StoredState;
use super::watch::{self, connection_reset};
use crate::random::Random;

/// The namespace of clients that name none: all requests of the manager name one.
const DEFAULT_NAMESPACE: &str = "default";

/// An API server in memory.
#[derive(Clone)]
pub struct SimulatedApiServer(Arc<Shared>);

struct Shared {
    state: Mutex<StoredState>,
    faults: Mutex<Faults>,
    /// How many requests clients have sent.
    requests: AtomicUsize,
    /// Wakes what waits for changes of the state, in the order in which it began to wait: tokio's channel `watch` does so in a
    /// random order.
    news: Notify,
    /// Wakes what waits for changes of the faults.
    fault_news: Notify,
    /// What each request was about, and what came of it, if that is recorded.
    record: Mutex<Option<Vec<RecordedRequest>>>,
}

/// A request, and what came of it.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// When its handling ended.
    pub now: Timestamp,
    /// Who sent it.
    pub user: String,
    /// The request and the code of its answer.
    pub what: String,
}

impl SimulatedApiServer {
    /// An API server with that state, and without faults. Latencies, and the faults to come, are determined by `random`.
    #[must_use]
    pub fn new(state: StoredState, random: Random) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(state),
            faults: Mutex::new(Faults::new(random)),
            requests: AtomicUsize::new(0),
            news: Notify::new(),
            fault_news: Notify::new(),
            record: Mutex::default(),
        }))
    }

    /// A client of a manager, whose requests are those of `user`. Must be called in the tokio runtime.
    #[must_use]
    pub fn client(&self, user: &str, outages: &Outages) -> kube::Client {
        let (server, user) = (self.clone(), user.to_owned());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (server, user) = (server.clone(), user.clone());
            async move { server.serve(&user, request).await }
        });
        runtime::client::with_service(service, DEFAULT_NAMESPACE, outages)
    }

    /// Performs the request of an actor: at once, and without faults.
    ///
    /// # Errors
    /// If the API server rejects it.
    pub fn perform(&self, request: &ApiRequest) -> Result<Answer, ApiError> {
        self.edit(|state| {
            let answer = state.perform(request, runtime::clock::now());
            answer.inspect_err(|error| note(state, error))
        })
    }

    /// Reads the state.
    pub fn read<R>(&self, read: impl FnOnce(&StoredState) -> R) -> R {
        read(&self.state())
    }

    /// Changes the state, and wakes what waits for changes.
    pub fn edit<R>(&self, edit: impl FnOnce(&mut StoredState) -> R) -> R {
        let (result, changed) = {
            let mut state = self.state();
            let before = state.version();
            (edit(&mut state), state.version() != before)
        };
        if changed {
            self.0.news.notify_waiters();
        }
        result
    }

    /// Waits for a version newer than `since`, and returns it.
    pub async fn changed(&self, since: u64) -> u64 {
        loop {
            // From here on, no change is missed.
            let news = self.0.news.notified();
            let version = self.read(StoredState::version);
            if version > since {
                return version;
            }
            news.await;
        }
    }

    /// Changes the faults. An outage that begins interrupts watches at once.
    pub fn faults<R>(&self, change: impl FnOnce(&mut Faults) -> R) -> R {
        let result = self.draw(change);
        self.0.fault_news.notify_waiters();
        result
    }

    /// Ends all watches with a connection error.
    pub fn cut_watches(&self) {
        self.faults(|faults| faults.watch_cuts += 1);
    }

    /// From now on, all requests of clients are recorded.
    pub fn record_requests(&self) {
        *self.record() = Some(Vec::new());
    }

    /// The requests recorded until now.
    #[must_use]
    pub fn recorded(&self) -> Vec<RecordedRequest> {
        self.record().clone().unwrap_or_default()
    }

    fn record(&self) -> MutexGuard<'_, Option<Vec<RecordedRequest>>> {
        self.0.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many requests clients have sent.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.0.requests.load(Ordering::Relaxed)
    }

    /// Draws what becomes of a request or a watch. Unlike a change of the faults, it wakes nothing.
    pub(super) fn draw<R>(&self, draw: impl FnOnce(&mut Faults) -> R) -> R {
        draw(&mut self.0.faults.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until a watch of `user` is interrupted that was opened after watches were cut for the `cuts`th time.
    pub(super) async fn interrupted(&self, user: &str, cuts: u64) -> Interruption {
        loop {
            let news = self.0.fault_news.notified();
            if let Some(how) = self.draw(|faults| faults.interrupts(user, cuts, Instant::now())) {
                return how;
            }
            news.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, StoredState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request of a client.
    async fn serve(self, user: &str, request: Request<Body>) -> Result<Response<ResponseBody>, BoxError> {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
        let (parts, body) = request.into_parts();
        let request = HttpRequest::new(user, &parts, body.collect_bytes().await?);
        let handling = self.draw(|faults| faults.request(user, request.changes_object(), Instant::now()));
        if handling.fate == Fate::Silent {
            // The client gives up by itself.
            return pending().await;
        }
        // A request under way arrives, whether or not its client still waits: it may have been killed.
        let server = self.clone();
        let handled = tokio::spawn(async move { server.handle(&request, handling).await });
        match handled.await {
            Ok(response) => response,
            Err(error) => {
                // It has panicked: the client must not take that for a fault.
                self.edit(|state| state.note_unmodelled(format!("the API server failed: {error}")));
                Err(error.into())
            }
        }
    }

    async fn handle(&self, request: &HttpRequest, handling: Handling) -> Result<Response<ResponseBody>, BoxError> {
        sleep(handling.request_latency).await;
        let response = match handling.fate {
            Fate::Answered => Ok(self.respond(request)),
            Fate::Refused { code, takes_effect } => {
                let refused = self.refuse(request, code);
                if takes_effect {
                    drop(self.respond(request));
                }
                Ok(refused)
            }
            Fate::RequestLost => Err(connection_reset()),
            Fate::AnswerLost => {
                drop(self.respond(request));
                Err(connection_reset())
            }
            Fate::Duplicated => {
                drop(self.respond(request));
                sleep(handling.request_latency).await;
                Ok(self.respond(request))
            }
            Fate::Late(delay) => {
                sleep(delay).await;
                Ok(self.respond(request))
            }
            Fate::Silent => pending().await,
        };
        if let Some(record) = self.record().as_mut() {
            let code = response.as_ref().map_or_else(|_| "lost".to_owned(), |response| response.status().to_string());
            let (now, user) = (runtime::clock::now(), request.user.clone());
            record.push(RecordedRequest {
                now,
                user,
                what: format!("{} ({:?}): {code}", request.description(), handling.fate),
            });
        }
        sleep(handling.answer_latency).await;
        response
    }

    /// Performs a request of a client.
    fn respond(&self, request: &HttpRequest) -> Response<ResponseBody> {
        let (parsed, subject) = self.read(|state| {
            let parsed = request.parse(state);
            let subject = parsed.as_ref().ok().and_then(|parsed| subject(state, parsed));
            (parsed, subject)
        });
        let response = parsed.and_then(|parsed| match parsed {
            Parsed::Page(page) => self.read(|state| discovery::answer(&page, state.kinds())),
            Parsed::DryRun(request) => self.read(|state| dry_run(state, &request)).map(|answer| of(&answer)),
            Parsed::Objects(request) => match &request.verb {
                Verb::Watch(options) => watch::open(self, &request, options),
                _ => {
                    let now = runtime::clock::now();
                    self.edit(|state| state.perform(&request, now)).map(|answer| of(&answer))
                }
            },
        });
        response.unwrap_or_else(|mut error| {
            if error.code == UNMODELLED {
                if !error.message.contains(&request.description()) {
                    error.message = format!("{}: {}", request.description(), error.message);
                }
                self.edit(|state| note(state, &error));
            }
            failure(&error, subject.as_ref())
        })
    }

    fn refuse(&self, request: &HttpRequest, code: u16) -> Response<ResponseBody> {
        let subject = self.read(|state| subject(state, &request.parse(state).ok()?)).unwrap_or_default();
        failure(&refusal(code, &subject), Some(&subject))
    }
}

fn of(answer: &Answer) -> Response<ResponseBody> {
    complete(answer.code, &answer.body)
}

fn subject(state: &StoredState, parsed: &Parsed) -> Option<RequestSubject> {
    match parsed {
        Parsed::Objects(request) | Parsed::DryRun(request) => Some(RequestSubject::of(state.kinds(), request)),
        Parsed::Page(_) => None,
    }
}

/// What a request would do: it is performed on a copy.
fn dry_run(state: &StoredState, request: &ApiRequest) -> Result<Answer, ApiError> {
    state.clone().perform(request, runtime::clock::now())
}

/// Records that the model lacks something, once.
fn note(state: &mut StoredState, error: &ApiError) {
    if error.code == UNMODELLED && !state.unmodelled().contains(&error.message) {
        state.note_unmodelled(error.message.clone());
    }
}

#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;
