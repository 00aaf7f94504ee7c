//! The parameters of a query. Each that nothing has read is an error.

use std::collections::BTreeMap;

use crate::api_server::errors::unmodelled;
use crate::api_server::request::ApiError;

/// Parameters that have yet to be read.
pub(super) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// The parameters of that query.
    pub(super) fn of(query: &str) -> Result<Self, ApiError> {
        let mut all = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decoded(name, true)?;
            if all.insert(name.clone(), decoded(value, true)?).is_some() {
                return Err(unmodelled(format!("the parameter {name} twice")));
            }
        }
        Ok(Self(all))
    }

    /// Reads a parameter.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// Reads a parameter that is true or false.
    pub(super) fn flag(&mut self, name: &str) -> Result<bool, ApiError> {
        match self.take(name).as_deref() {
            None | Some("" | "false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(other) => Err(unmodelled(format!("{name}={other}"))),
        }
    }

    /// Reads a parameter that is a number.
    pub(super) fn number(&mut self, name: &str) -> Result<Option<u64>, ApiError> {
        let Some(text) = self.take(name).filter(|text| !text.is_empty()) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| unmodelled(format!("{name}={text}")))
    }

    /// Whether nothing is to be stored.
    pub(super) fn dry_run(&mut self) -> Result<bool, ApiError> {
        match self.take("dryRun").as_deref() {
            None | Some("") => Ok(false),
            Some("All") => Ok(true),
            Some(other) => Err(unmodelled(format!("dryRun={other}"))),
        }
    }

    /// Reads the version of a read of any version: the newest is such a version.
    pub(super) fn any_version(&mut self) -> Result<(), ApiError> {
        match self.take("resourceVersion").as_deref() {
            None | Some("" | "0") => Ok(()),
            Some(other) => Err(unmodelled(format!("a read with resourceVersion={other}"))),
        }
    }

    /// Ends the reading.
    pub(super) fn finish(self) -> Result<(), ApiError> {
        match self.0.into_iter().next() {
            Some((name, value)) => Err(unmodelled(format!("the parameter {name}={value}"))),
            None => Ok(()),
        }
    }
}

/// A text whose characters are percent-encoded. In a query, `+` is a space.
pub(super) fn decoded(text: &str, in_query: bool) -> Result<String, ApiError> {
    let (mut decoded, mut bytes) = (Vec::new(), text.bytes());
    let broken = || unmodelled(format!("the encoded text {text}"));
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16));
                let value = digit().and_then(|high| Some(high * 16 + digit()?));
                decoded.push(value.and_then(|value| u8::try_from(value).ok()).ok_or_else(broken)?);
            }
            b'+' if in_query => decoded.push(b' '),
            other => decoded.push(other),
        }
    }
    String::from_utf8(decoded).map_err(|_| broken())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_each_must_be_read() {
        let mut parameters = Parameters::of("labelSelector=a%3Db%2Cc+in+%28d%29&force=true&limit=5&left=x").unwrap();
        assert_eq!(parameters.take("labelSelector").as_deref(), Some("a=b,c in (d)"));
        assert_eq!(parameters.number("limit"), Ok(Some(5)));
        assert_eq!(parameters.flag("force"), Ok(true));
        assert_eq!(parameters.flag("force"), Ok(false), "it was read");
        let left = parameters.finish().unwrap_err();
        assert!(left.message.contains("left=x"), "{}", left.message);
    }

    #[test]
    fn what_has_no_meaning_is_an_error() {
        for query in ["a=%4", "a=%zz", "a=1&a=2", "a=%ff"] {
            assert!(Parameters::of(query).is_err(), "{query}");
        }
        assert!(Parameters::of("limit=x").unwrap().number("limit").is_err());
        assert!(Parameters::of("force=maybe").unwrap().flag("force").is_err());
        assert!(Parameters::of("dryRun=some").unwrap().dry_run().is_err());
        assert!(Parameters::of("resourceVersion=7").unwrap().any_version().is_err());
        assert!(Parameters::of("").unwrap().finish().is_ok());
    }
}
