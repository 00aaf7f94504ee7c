//! A password as the server keeps it (RFC 5803, RFC 7677), so that the password itself is never in a statement. Pure.

use sha2::{Digest, Sha256};

/// What PostgreSQL takes by default.
const ITERATIONS: u32 = 4096;

type Hash = [u8; 32];

/// `None` for passwords beyond ASCII: clients normalise these (SASLprep), which the server does better than this program.
pub(crate) fn verifier(password: &str, salt: &[u8; 16]) -> Option<String> {
    if !password.is_ascii() {
        return None;
    }
    let salted = stretched(password.as_bytes(), salt);
    let stored: Hash = Sha256::digest(mac(&salted, &[b"Client Key"])).into();
    let server = mac(&salted, &[b"Server Key"]);
    Some(format!("SCRAM-SHA-256${ITERATIONS}:{}${}:{}", base64(salt), base64(&stored), base64(&server)))
}

/// Whether a verifier is this password's. One that this program could not have made is nobody's.
pub(crate) fn accepts(there: &str, password: &str) -> bool {
    let salt = there.strip_prefix("SCRAM-SHA-256$").and_then(|rest| rest.split_once(':')?.1.split_once('$'));
    let salt = salt.and_then(|(salt, _)| <[u8; 16]>::try_from(unbase64(salt)?).ok());
    salt.and_then(|salt| verifier(password, &salt)).is_some_and(|own| own == there)
}

/// PBKDF2 with one block.
fn stretched(password: &[u8], salt: &[u8]) -> Hash {
    let mut round = mac(password, &[salt, &1_u32.to_be_bytes()]);
    let mut all = round;
    for _ in 1..ITERATIONS {
        round = mac(password, &[&round]);
        for (sum, byte) in all.iter_mut().zip(round) {
            *sum ^= byte;
        }
    }
    all
}

/// HMAC with SHA-256.
fn mac(key: &[u8], parts: &[&[u8]]) -> Hash {
    let mut block = [0_u8; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let mut inner = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x36));
    for part in parts {
        inner.update(part);
    }
    let outer = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x5c));
    outer.chain_update(inner.finalize()).finalize().into()
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| (word << 8) | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let six = (word >> (18 - 6 * place)) & 63;
            text.push(if place <= chunk.len() { char::from(ALPHABET[six as usize]) } else { '=' });
        }
    }
    text
}

fn unbase64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.chunks(4) {
        let six = |word: u32, c: &u8| Some((word << 6) | u32::try_from(ALPHABET.iter().position(|a| a == c)?).ok()?);
        let word = chunk.iter().try_fold(0, six)? << (6 * (4 - chunk.len()));
        bytes.extend(&word.to_be_bytes()[1..chunk.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded() {
        let encoded = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(encoded, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
        for text in encoded {
            assert_eq!(unbase64(&text).map(|bytes| base64(&bytes)), Some(text));
        }
        assert_eq!((unbase64("Zm9vYg=="), unbase64("Z.")), (Some(b"foob".to_vec()), None));
    }

    #[test]
    fn a_verifier_is_one_passwords() {
        let there = verifier("right", &[7; 16]).unwrap();
        assert!(accepts(&there, "right") && !accepts(&there, "wrong"));
        assert!(!accepts("md5abc", "right") && !accepts("", "right"));
        assert!(!accepts(&there.replace("4096", "5000"), "right"));
    }

    /// RFC 4231, cases 2 and 6.
    #[test]
    fn macs_are_right() {
        let hex = |hash: Hash| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let short = mac(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        assert_eq!(hex(short), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        let long = mac(&[0xaa; 131], &[b"Test Using Larger Than Block-Size Key - Hash Key First"]);
        assert_eq!(hex(long), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    }

    /// The exchange of RFC 7677: password, salt and rounds are its; the server key was seen to make its signature.
    #[test]
    fn a_verifier_has_the_servers_form() {
        let salt = *b"\x5b\x6d\x99\x68\x9d\x12\x35\x8e\xec\xa0\x4b\x14\x12\x36\xfa\x81";
        let verifier = verifier("pencil", &salt).unwrap();
        assert_eq!(
            verifier,
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
             wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        );
        assert_eq!(super::verifier("p\u{e4}ncil", &salt), None);
    }
}
