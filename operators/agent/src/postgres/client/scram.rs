//! Passwords as a server stores them (RFC 5803, RFC 7677), so that no statement contains a password.
//!
//! `postgres-protocol` computes verifiers and the client's side of an authentication, with SASLprep and PBKDF2. It lacks the
//! server's side, which checks a password against a verifier: that is here, one HMAC for each of the verifier's two keys.

use std::str;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
use sha2::{Digest, Sha256};

/// The verifier that a statement sets instead of the password. It differs each time, since its salt is random.
pub(crate) fn verifier(password: &str) -> String {
    postgres_protocol::password::scram_sha_256(password.as_bytes())
}

/// Whether a client with this password and a server with this verifier would authenticate each other.
///
/// Also false for a verifier of another kind (MD5), a damaged one, and one of more than 100,000 iterations, which the operator's
/// own connections reject.
pub(crate) fn accepts(verifier: &str, password: &str) -> bool {
    authenticate(verifier, password).is_some()
}

/// An authentication within this process, by RFC 5802; the library has the client's side. The server's side adds no nonce, since
/// no attacker could replay any of it.
fn authenticate(verifier: &str, password: &str) -> Option<()> {
    let (parameters, keys) = verifier.strip_prefix("SCRAM-SHA-256$")?.split_once('$')?;
    let (iterations, salt) = parameters.split_once(':')?;
    let (stored_key, server_key) = keys.split_once(':')?;
    let (stored_key, server_key) = (STANDARD.decode(stored_key).ok()?, STANDARD.decode(server_key).ok()?);
    let mut client = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
    let first = str::from_utf8(client.message()).ok()?.strip_prefix("n,,")?.to_owned();
    let challenge = format!("{},s={salt},i={iterations}", first.strip_prefix("n=,")?);
    client.update(challenge.as_bytes()).ok()?;
    let (last, proof) = str::from_utf8(client.message()).ok()?.split_once(",p=")?;
    let exchange = format!("{first},{challenge},{last}");
    let signature = mac(&stored_key, &exchange)?;
    let client_key: Vec<u8> = STANDARD.decode(proof).ok()?.iter().zip(signature).map(|(one, two)| one ^ two).collect();
    if stored_key != Sha256::digest(client_key).as_slice() {
        return None;
    }
    client.finish(format!("v={}", STANDARD.encode(mac(&server_key, &exchange)?)).as_bytes()).ok()
}

fn mac(key: &[u8], text: &str) -> Option<[u8; 32]> {
    let mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    Some(mac.chain_update(text).finalize().into_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Password, salt and iterations are those of RFC 7677; its signature confirms the server key.
    const PENCIL: &str = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
                          wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";

    #[test]
    fn a_verifier_accepts_its_password_and_no_other() {
        assert!(accepts(PENCIL, "pencil") && !accepts(PENCIL, "pen"));
        let own = verifier("right");
        assert!(own.starts_with("SCRAM-SHA-256$4096:") && accepts(&own, "right") && !accepts(&own, "wrong"));
        assert_ne!(verifier("right"), own, "the salt is random");
        assert!(!accepts("md5abc", "right") && !accepts("", "right"));
    }

    #[test]
    fn a_verifier_in_which_anything_differs_accepts_nothing() {
        for (part, other) in [("4096", "5000"), ("W22", "X22"), ("$WG5", "$XG5"), (":wfP", ":xfP"), ("U=", "U")] {
            assert!(!accepts(&PENCIL.replace(part, other), "pencil"), "{part}");
        }
    }

    #[test]
    fn a_password_beyond_ascii_is_in_its_verifier_as_clients_send_it() {
        // SASLprep composes characters, and maps a space that is not ASCII's to one that is.
        let own = verifier("p\u{e4}n\u{a0}cil");
        assert!(accepts(&own, "pa\u{308}n cil") && !accepts(&own, "pan cil"));
    }
}
