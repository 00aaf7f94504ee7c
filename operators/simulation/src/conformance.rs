//! Whether the API server in memory answers as a real one does: random sequences of calls go to both, and the answers are compared.
//!
//! A seed determines a sequence ([`draw`]). A call may need what an answer before it had (a uid, a version, a whole object), which
//! differs between the two servers: each has its own memory of them ([`Seen`]). What the comparison ([`differences`]) ignores is in
//! one table, with the reasons ([`IGNORED`]).
//!
//! Some requests are not drawn:
//! - unknown fields of built-in kinds: the model knows no complete schema of them, and nothing in a simulation sends one;
//! - writes to the status of kinds whose controllers in a real cluster write it meanwhile;
//! - finalizers of PVCs, to which an admission plugin adds one that the model lacks;
//! - applies of a Secret's `stringData`, which nothing sends;
//! - deletions of PVCs, and anything after one with the policies Foreground and Orphan: a controller ends those;
//! - values that only a CEL rule refuses;
//! - updates and applies of the status of Services, which create what does not exist.

use kube::Client;
use runtime::outage::Outages;
use serde_json::json;

use crate::api_server::SimulatedApiServer;
use crate::api_server::fate::Rates;
use crate::api_server::kinds::Kinds;
use crate::api_server::request::{ApiRequest, Verb};
use crate::api_server::state::StoredState;
use crate::random::Random;

mod call;
mod comparison;
mod reply;
mod sequence;
mod subject;

pub use call::{Call, Seen};
pub use comparison::{IGNORED, IgnoreRule, Ignored, differences};
pub use reply::Reply;
pub use sequence::draw;

/// Who sends the calls.
const USER: &str = "conformance";

/// A client of a new API server in memory that has that namespace, and no faults. Needs a tokio runtime.
///
/// # Errors
/// The model does not create the namespace.
pub fn model(seed: u64, namespace: &str) -> Result<Client, String> {
    let server = SimulatedApiServer::new(StoredState::new(Kinds::all()), Random::new(seed));
    server.faults(|faults| faults.rates = Rates::NONE);
    let kind = server.read(|state| state.kinds().plural("namespaces")).ok_or("the model has no namespaces")?;
    let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
    let request = ApiRequest {
        user: USER.to_owned(),
        kind,
        namespace: None,
        name: None,
        subresource: None,
        verb: Verb::Create { body, strict: true },
        manager: USER.to_owned(),
        metadata_only: false,
        sent: None,
    };
    server.perform(&request).map_err(|error| format!("the model creates no namespace: {}", error.message))?;
    Ok(server.client(USER, &Outages::default()))
}
