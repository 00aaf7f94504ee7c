//! JSON of which the MyApp's definition does not say what is in it: it is kept as text, and bounded before it is parsed. Parsed, some JSON
//! takes a hundred times the room of its text, and the manager's memory is that of all MyApps. Pure.

use k8s_openapi::serde::de::DeserializeOwned;

/// What is at `path`, of at most `longest` bytes; else why not, with what to do about its size.
pub(super) fn parse<T: DeserializeOwned>(path: &str, text: &str, longest: usize, remedy: &str) -> Result<T, String> {
    let bytes = text.len();
    if bytes > longest {
        return Err(format!("{path}: {bytes} bytes of JSON, more than the {longest} that are taken: {remedy}"));
    }
    serde_json::from_str(text).map_err(|error| format!("{path}: {error}"))
}
