//! The address that a server listens at.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// Where to listen, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindAddress(pub Option<SocketAddr>);

impl FromStr for BindAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "0" {
            return Ok(Self(None));
        }
        let port_only = text.strip_prefix(':').and_then(|port| port.parse().ok());
        let address = port_only.map(|port: u16| SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)));
        let address = address.or_else(|| text.parse().ok());
        address.map(|address| Self(Some(address))).ok_or_else(|| {
            "the value must be IP:PORT such as 127.0.0.1:8443 or [::]:8443, :PORT for all addresses, or 0 to disable the server"
                .to_owned()
        })
    }
}

impl fmt::Display for BindAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => write!(f, "{address}"),
            None => f.write_str("0"),
        }
    }
}
