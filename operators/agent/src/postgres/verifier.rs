//! Passwords in statements, each with a salt of its own.

use std::fs::File;
use std::io::Read;

use super::scram;
use crate::failure::{Failure, Reason};

/// A password as it goes into a statement: as a verifier if this program can make one.
pub(crate) fn kept(password: &str) -> Result<String, Failure> {
    Ok(scram::verifier(password, &salt()?).unwrap_or_else(|| password.to_owned()))
}

fn salt() -> Result<[u8; 16], Failure> {
    let mut salt = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut salt));
    read.map_err(|error| Failure::new(Reason::ToolFailed, format!("/dev/urandom cannot be read: {error}")))?;
    Ok(salt)
}
