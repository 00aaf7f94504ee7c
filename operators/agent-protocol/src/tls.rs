//! The names of the files with a certificate in a Secret: those of the archived operator, or those of cert-manager.

/// The names under which a Secret has a certificate, its key, and the authorities that the other side is verified by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsFileNames {
    /// The certificate, and those between it and the authority.
    pub certificate: &'static str,
    /// Its private key.
    pub key: &'static str,
    /// The certificates of the authorities.
    pub authorities: &'static str,
}

/// The names of cert-manager, which all Secrets may have.
const CERT_MANAGER: TlsFileNames = TlsFileNames { certificate: "tls.crt", key: "tls.key", authorities: "ca.crt" };

impl TlsFileNames {
    /// For the connections between members.
    pub const PEER: [Self; 2] =
        [Self { certificate: "peer.crt", key: "peer.key", authorities: "peer-ca.crt" }, CERT_MANAGER];
    /// For the listener for clients.
    pub const SERVER: [Self; 2] =
        [Self { certificate: "server.crt", key: "server.key", authorities: "server-ca.crt" }, CERT_MANAGER];
    /// For clients.
    pub const CLIENT: [Self; 2] = [
        Self { certificate: "etcd-client.crt", key: "etcd-client.key", authorities: "etcd-client-ca.crt" },
        CERT_MANAGER,
    ];

    /// The names that `has` finds: all three of a layout.
    ///
    /// # Errors
    /// Which files are missing, in a few words.
    pub fn find(layouts: &[Self; 2], has: impl Fn(&str) -> bool) -> Result<Self, String> {
        let missing = |names: &Self| -> Vec<&'static str> {
            let all = [names.certificate, names.key, names.authorities];
            all.into_iter().filter(|name| !has(name)).collect()
        };
        let closest = layouts.iter().min_by_key(|names| missing(names).len()).unwrap_or(&layouts[0]);
        let lacks = missing(closest);
        if lacks.is_empty() {
            return Ok(*closest);
        }
        let [own, other] = layouts;
        Err(if lacks.len() == 3 {
            let all = |names: &Self| format!("{}, {} and {}", names.certificate, names.key, names.authorities);
            format!("it has neither {} nor {}", all(own), all(other))
        } else {
            format!("it lacks {}", lacks.join(" and "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[&str]) -> Result<&'static str, String> {
        TlsFileNames::find(&TlsFileNames::PEER, |name| names.contains(&name)).map(|names| names.certificate)
    }

    #[test]
    fn either_layout_is_found_and_what_is_missing_is_named() {
        assert_eq!(found(&["peer.crt", "peer.key", "peer-ca.crt"]), Ok("peer.crt"));
        assert_eq!(found(&["tls.crt", "tls.key", "ca.crt", "more"]), Ok("tls.crt"));
        assert_eq!(found(&["tls.crt", "tls.key"]), Err("it lacks ca.crt".to_owned()));
        assert_eq!(found(&["peer.crt"]), Err("it lacks peer.key and peer-ca.crt".to_owned()));
        let neither = "it has neither peer.crt, peer.key and peer-ca.crt nor tls.crt, tls.key and ca.crt";
        assert_eq!(found(&[]), Err(neither.to_owned()));
    }
}
