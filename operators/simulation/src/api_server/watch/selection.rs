//! Which objects a watch selects.

use serde_json::Value;

use crate::api_server::errors::unmodelled;
use crate::api_server::request::{ApiError, ApiRequest, ListOptions};
use crate::api_server::selector::CollectionSelector;
use crate::api_server::state::ObjectKey;

/// The objects of a namespace, or all, that fulfill all requirements.
pub(super) struct Selection {
    namespace: Option<String>,
    selector: CollectionSelector,
}

impl Selection {
    /// The objects that a request selects.
    ///
    /// # Errors
    /// Of a selector that cannot be read, and with the code 501 if it, or a part of the request, is not modelled.
    pub(super) fn of(request: &ApiRequest, options: &ListOptions) -> Result<Self, ApiError> {
        let selector = CollectionSelector::parse(options)?;
        if request.name.is_some() || options.limit.is_some() || options.after.is_some() {
            return Err(unmodelled("a watch of one object, or with a limit"));
        }
        Ok(Self { namespace: request.namespace.clone(), selector })
    }

    /// Whether an object with that key may be selected.
    pub(super) fn has_key(&self, (namespace, _): &ObjectKey) -> bool {
        self.namespace.as_ref().is_none_or(|selected| selected == namespace)
    }

    /// Whether the labels and fields of an object are selected.
    pub(super) fn matches(&self, object: &Value) -> bool {
        self.selector.matches(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api_server::request::Verb;
    use crate::api_server::service::testing::{request, server};

    #[test]
    fn a_watch_is_of_a_namespace_and_neither_of_one_object_nor_of_a_page() {
        let server = server();
        let of = |name, options: &ListOptions| Selection::of(&request(&server, "configmaps", name, Verb::Get), options);
        let all = of(None, &ListOptions::default()).unwrap();
        let has = |namespace: &str| all.has_key(&(namespace.to_owned(), "a".to_owned()));
        assert_eq!([has("n"), has("other")], [true, false]);
        let page = ListOptions { limit: Some(1), ..ListOptions::default() };
        let field = ListOptions { fields: Some("spec.nodeName=a".to_owned()), ..ListOptions::default() };
        for refused in [of(Some("a"), &ListOptions::default()), of(None, &page), of(None, &field)] {
            assert_eq!(refused.map(drop).map_err(|error| error.code), Err(501));
        }
    }
}
