//! Whether a server accepts connections, as PostgreSQL's `pg_isready` finds out, but without a child process.
//!
//! In the container of a server, process 1 is postgres. At the time limit of a probe, the kubelet kills only the probe's process:
//! a child of it would become a child of postgres. If a child that postgres did not start exits with a status other than 0 or 1,
//! postgres takes that for a crash of one of its own (`HandleChildCrash` in PostgreSQL's postmaster.c), and ends all sessions.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// The port at which servers listen in their containers.
pub(crate) const PORT: u16 = 5432;
/// Version 3.0 of the protocol.
const PROTOCOL: [u8; 4] = [0, 3, 0, 0];
/// The message with which a client ends its session.
const TERMINATE: [u8; 5] = [b'X', 0, 0, 0, 4];
/// The lengths that libpq accepts for an error or a request to authenticate. A server that cannot start a process for the
/// connection sends an error without a length.
const LENGTHS: std::ops::Range<u32> = 8..30_000;
/// `cannot_connect_now`: the server starts, ends or recovers.
const NOT_NOW: &[u8] = b"57P03";

/// The server's answer, as `PQping` classifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// It accepts connections, perhaps not this one.
    Accepting,
    /// It accepts none now.
    Rejecting,
    /// There was no answer.
    NoResponse,
}

impl Readiness {
    /// As `pg_isready` prints it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Accepting => "accepting connections",
            Self::Rejecting => "rejecting connections",
            Self::NoResponse => "no response",
        }
    }
}

/// Begins to connect, as that user, to the server at a host or in a directory of sockets.
pub(crate) fn ping(host: &str, user: &str, within: Duration) -> Readiness {
    let until = Instant::now() + within;
    let (sender, receiver) = mpsc::channel();
    let (host, user) = (host.to_owned(), user.to_owned());
    // A socket whose queue is full has no time limit of its own. Unlike a child, a thread ends with its process.
    let begun = thread::Builder::new().spawn(move || connect(&host, &user, &sender));
    if let Err(error) = begun {
        eprintln!("cannot ping the server: {error}");
    }
    let answer = receiver.recv_timeout(within).unwrap_or(Readiness::NoResponse);
    // Wait until the thread has ended the session.
    let _ = receiver.recv_timeout(until.saturating_duration_since(Instant::now()));
    answer
}

fn connect(host: &str, user: &str, sender: &Sender<Readiness>) -> io::Result<()> {
    if Path::new(host).is_absolute() {
        let server = UnixStream::connect(Path::new(host).join(format!(".s.PGSQL.{PORT}")))?;
        return converse(server, user, sender);
    }
    converse(TcpStream::connect((host, PORT))?, user, sender)
}

fn converse(mut server: impl Read + Write, user: &str, sender: &Sender<Readiness>) -> io::Result<()> {
    server.write_all(&startup(user))?;
    let mut head = [0; 5];
    server.read_exact(&mut head)?;
    let [kind, length @ ..] = head;
    let length = u32::from_be_bytes(length);
    if !LENGTHS.contains(&length) {
        return Ok(());
    }
    let mut body = Vec::new();
    (&mut server).take(u64::from(length) - 4).read_to_end(&mut body)?;
    // If it comes too late, there is no receiver.
    let _ = sender.send(readiness(kind, &body));
    if kind == b'R' && body.starts_with(&[0; 4]) {
        // The server requires no password, and a session begins. If the client terminates it, the server logs nothing.
        server.write_all(&TERMINATE)?;
        io::copy(&mut server, &mut io::sink())?;
    }
    Ok(())
}

/// The first message of a client.
fn startup(user: &str) -> Vec<u8> {
    let parameters = ["user", user, "database", user, "application_name", "multi-operator", ""];
    let parameters = parameters.iter().flat_map(|word| word.bytes().chain([0]));
    let body: Vec<u8> = PROTOCOL.into_iter().chain(parameters).collect();
    let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
    length.to_be_bytes().into_iter().chain(body).collect()
}

/// The readiness that a server's first message indicates. Pure.
/// Source: `internal_ping` of PostgreSQL's fe-connect.c. A server that requires a password, or rejects this user, serves others.
fn readiness(kind: u8, body: &[u8]) -> Readiness {
    let code = || body.split(|byte| *byte == 0).find_map(|field| field.strip_prefix(b"C"));
    match kind {
        b'R' => Readiness::Accepting,
        b'E' => match code() {
            Some(NOT_NOW) => Readiness::Rejecting,
            Some(code) if code.len() == NOT_NOW.len() => Readiness::Accepting,
            _ => Readiness::NoResponse,
        },
        _ => Readiness::NoResponse,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_classified_as_by_pg_isready() {
        assert_eq!(readiness(b'R', &[0, 0, 0, 10]), Readiness::Accepting);
        let error = |code: &str| readiness(b'E', format!("SFATAL\0VFATAL\0{code}\0MCwords\0\0").as_bytes());
        assert_eq!(error("C57P03"), Readiness::Rejecting, "it starts, ends or recovers");
        assert_eq!(error("C53300"), Readiness::Accepting, "it has too many clients");
        assert_eq!(error("C28000"), Readiness::Accepting, "its rules reject this client");
        assert_eq!(error("C5730"), Readiness::NoResponse);
        assert_eq!(error("L1"), Readiness::NoResponse, "an error of today's servers has a SQLSTATE");
        assert_eq!(readiness(b'N', &[0; 4]), Readiness::NoResponse);
    }

    #[test]
    fn the_first_message_has_its_length_and_ends_with_an_empty_name() {
        let message = startup("me");
        assert_eq!(message[..8], [0, 0, 0, u8::try_from(message.len()).unwrap(), 0, 3, 0, 0]);
        assert_eq!(&message[8..], b"user\0me\0database\0me\0application_name\0multi-operator\0\0");
    }
}
