//! One request to the API server, in the terms of Kubernetes: what audit logs and proxies have in common.

use std::time::Instant;

/// A request, as seen at the API server or on the way to it.
#[derive(Clone, Debug)]
pub struct Call {
    /// `get`, `list`, `watch`, `create`, `update`, `patch` or `delete`.
    pub verb: String,
    /// API group; empty for the core group.
    pub group: String,
    /// Plural; empty for requests outside of resources.
    pub resource: String,
    /// Such as `status`; empty if none.
    pub subresource: String,
    /// Empty for all.
    pub namespace: String,
    /// Empty for collections. For a create, the name in the body, if the source shows it.
    pub name: String,
    /// Path and query as sent.
    pub uri: String,
    /// Who says to have sent it.
    pub agent: String,
    /// When it was seen.
    pub at: Instant,
    /// What was answered, if anything yet.
    pub code: Option<u16>,
}

impl Call {
    /// Reads a request by its method and target.
    #[must_use]
    pub fn parse(method: &str, uri: &str, agent: &str) -> Self {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let mut parts = path.trim_start_matches('/').split('/');
        let group = match parts.next() {
            Some("api") => Some(""),
            Some("apis") => parts.next(),
            _ => None,
        };
        let rest: Vec<&str> = parts.skip(1).collect();
        let (namespace, rest) = match rest.as_slice() {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        let at = |index: usize| rest.get(index).copied().unwrap_or_default().to_owned();
        let watch = query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"));
        let verb = match method {
            "GET" if watch => "watch",
            "GET" if rest.len() == 1 => "list",
            "POST" => "create",
            "PUT" => "update",
            other => &other.to_ascii_lowercase(),
        };
        Self {
            verb: verb.to_owned(),
            group: group.unwrap_or_default().to_owned(),
            resource: at(0),
            subresource: at(2),
            namespace: namespace.to_owned(),
            name: at(1),
            uri: uri.to_owned(),
            agent: agent.to_owned(),
            at: Instant::now(),
            code: None,
        }
    }

    /// Whether it opens a watch.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        self.verb == "watch"
    }

    /// Whether it concerns one of our Leases.
    #[must_use]
    pub fn is_lease(&self) -> bool {
        self.resource == "leases"
    }

    /// Whether it changes objects of interest: Leases, Events and reviews do not count.
    #[must_use]
    pub fn is_write(&self) -> bool {
        let writes = matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection");
        writes && !matches!(self.resource.as_str(), "leases" | "events" | "tokenreviews" | "subjectaccessreviews")
    }

    /// Resource and subresource, as in RBAC.
    #[must_use]
    pub fn target(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }

    /// For messages: `patch deployments/web -> 200`.
    #[must_use]
    pub fn line(&self) -> String {
        let code = self.code.map_or_else(|| "no answer".to_owned(), |code| code.to_string());
        format!("{} {} {}/{} -> {code}", self.verb, self.target(), self.namespace, self.name)
    }
}

/// All of them, a line each.
#[must_use]
pub fn lines<'a>(calls: impl IntoIterator<Item = &'a Call>) -> String {
    calls.into_iter().map(Call::line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_kubernetes_means_them() {
        let read = |method: &str, uri: &str| {
            let call = Call::parse(method, uri, "");
            (call.verb.clone(), call.group.clone(), call.target(), call.namespace, call.name)
        };
        let expect = |verb: &str, group: &str, target: &str, namespace: &str, name: &str| {
            (verb.to_owned(), group.to_owned(), target.to_owned(), namespace.to_owned(), name.to_owned())
        };
        assert_eq!(
            read("PATCH", "/apis/example.com/v1/namespaces/n/myapps/a/status?force=true"),
            expect("patch", "example.com", "myapps/status", "n", "a")
        );
        assert_eq!(read("GET", "/api/v1/pods?watch=true&x=1"), expect("watch", "", "pods", "", ""));
        assert_eq!(read("GET", "/api/v1/namespaces/n/services?limit=1"), expect("list", "", "services", "n", ""));
        assert_eq!(read("GET", "/api/v1/namespaces/n"), expect("get", "", "namespaces", "", "n"));
        assert_eq!(
            read("POST", "/apis/authentication.k8s.io/v1/tokenreviews"),
            expect("create", "authentication.k8s.io", "tokenreviews", "", "")
        );
    }
}
