//! Pure: the URLs of etcd's peer port: `http://host:port` or `https://host:port`, nothing more.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PeerUrl {
    /// As it goes into etcd's flags: without a trailing slash.
    text: String,
    /// Without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl PeerUrl {
    /// Whether a URL in a member list is this one; etcd keeps them as they were given, with a slash or without.
    pub(crate) fn is(&self, listed: &str) -> bool {
        listed.trim_end_matches('/') == self.text
    }

    /// The same host at another port.
    pub(crate) fn with_port(&self, port: u16) -> Self {
        let text = self.text.rsplit_once(':').map_or(&*self.text, |(rest, _)| rest);
        Self { text: format!("{text}:{port}"), host: self.host.clone(), port }
    }

    /// Whether it is https.
    pub(crate) fn is_tls(&self) -> bool {
        self.text.starts_with("https://")
    }
}

impl fmt::Display for PeerUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for PeerUrl {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, String> {
        let text = given.trim_end_matches('/');
        parse(text)
            .map(|(host, port)| Self { text: text.to_owned(), host, port })
            .ok_or_else(|| format!("{given} is not a URL of the form http://host:port or https://host:port"))
    }
}

fn parse(text: &str) -> Option<(String, u16)> {
    let authority = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"))?;
    let (host, port) = authority.rsplit_once(':')?;
    let bare = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?,
        None if host.contains(':') => return None,
        None => host,
    };
    let fits = !bare.is_empty() && !bare.contains(|c: char| "/@?#[]=,".contains(c) || c.is_whitespace());
    fits.then_some((bare.to_owned(), port.parse().ok()?))
}

/// The first label of the host of a URL: the name of the pod, as a rule.
pub(crate) fn first_label(url: &str) -> Option<&str> {
    let host = url.split_once("://")?.1;
    host.split(['.', ':', '/']).next().filter(|label| !label.is_empty() && !label.starts_with('['))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_host_and_port_apart() {
        let url: PeerUrl = "http://c-0.c.ns.svc:2380/".parse().unwrap();
        assert_eq!((url.host.as_str(), url.port), ("c-0.c.ns.svc", 2380));
        assert_eq!(url.to_string(), "http://c-0.c.ns.svc:2380");
        assert!(url.is("http://c-0.c.ns.svc:2380") && url.is("http://c-0.c.ns.svc:2380/"));
        assert!(!url.is("http://c-0.c.ns.svc:2381"));
        let url: PeerUrl = "http://[fd00::1]:2380".parse().unwrap();
        assert_eq!((url.host.as_str(), url.is_tls()), ("fd00::1", false));
        let url: PeerUrl = "https://c-0.c:2380".parse().unwrap();
        assert_eq!((url.host.as_str(), url.is_tls()), ("c-0.c", true));
        assert_eq!(url.with_port(2390).to_string(), "https://c-0.c:2390");
        assert!(!url.is("http://c-0.c:2380"));
    }

    #[test]
    fn says_what_it_does_not_take() {
        let refusal = |text: &str| text.parse::<PeerUrl>().unwrap_err();
        let wrong =
            ["c-0.c:2380", "http://c-0.c", "https://:2380", "http://c:x", "http://fd00::1:2380", "http://c/a:1", ""];
        for text in wrong {
            assert!(refusal(text).contains("http://host:port"), "{text}");
        }
    }

    #[test]
    fn the_first_label_is_a_name() {
        assert_eq!(first_label("http://c-1.c.ns.svc:2380"), Some("c-1"));
        assert_eq!(first_label("https://c-1:2380"), Some("c-1"));
        assert_eq!(first_label("http://[fd00::1]:2380"), None);
        assert_eq!(first_label("c-1"), None);
    }
}
