//! The clients of the API server: how their requests are answered, lost, repeated and delayed.

use std::future::pending;

use http::{Request, Response};
use kube::client::Body;
use runtime::outage::Outages;
use tokio::time::{Instant, sleep};
use tower::BoxError;

use super::answer::{RequestSubject, ResponseBody, failure, json_text, refusal};
use super::discovery;
use super::errors::UNMODELLED;
use super::fate::{Fate, Handling};
use super::parse::{HttpRequest, Parsed};
use super::request::{Answer, ApiError, ApiRequest, Verb};
use super::service::{RecordedRequest, SimulatedApiServer, note};
use super::state::StoredState;
use super::watch::{self, connection_reset};

/// The namespace of clients that name none: all requests of the manager name one.
const DEFAULT_NAMESPACE: &str = "default";

impl SimulatedApiServer {
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

    /// Answers a request of a client.
    async fn serve(self, user: &str, request: Request<Body>) -> Result<Response<ResponseBody>, BoxError> {
        self.count_request();
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
            Parsed::DryRun(request) => self.read(|state| dry_run(state, &request).map(|answer| of(state, &answer))),
            Parsed::Objects(request) => match &request.verb {
                Verb::Watch(options) => watch::open(self, &request, options),
                _ => {
                    let now = runtime::clock::now();
                    self.edit(|state| state.perform(&request, now).map(|answer| of(state, &answer)))
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

fn of(state: &StoredState, answer: &Answer) -> Response<ResponseBody> {
    json_text(answer.code, state.text(&answer.body))
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

#[cfg(test)]
mod tests;
