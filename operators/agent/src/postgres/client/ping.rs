//! Whether a server takes connections: what PostgreSQL's `pg_isready` asks, asked without a child process.
//!
//! In the container of a server, process 1 is postgres. The kubelet kills a probe at its time limit, and that process alone: a
//! child of the probe's would become a child of postgres, which takes the end of a child that it did not start, with a status
//! other than 0 or 1, for a crash of one of its own (`HandleChildCrash` in PostgreSQL's postmaster.c), and ends all sessions.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// The port that servers listen at in their containers.
pub(crate) const PORT: u16 = 5432;
/// Version 3.0 of the protocol.
const PROTOCOL: [u8; 4] = [0, 3, 0, 0];
/// What a client says before it goes.
const TERMINATE: [u8; 5] = [b'X', 0, 0, 0, 4];
/// The lengths that libpq takes for those of an error or of a request to authenticate; others are of a server that could not
/// start a process for the connection, and says so without a length.
const LENGTHS: std::ops::Range<u32> = 8..30_000;
/// `cannot_connect_now`: the server starts, ends or recovers.
const NOT_NOW: &[u8] = b"57P03";

/// What the server answers, as `PQping` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// It takes connections, perhaps not this one.
    Accepting,
    /// It takes none now.
    Rejecting,
    /// There was none.
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

/// Asks the server at a host, or in a directory of sockets, as if that user connected.
pub(crate) fn ask(host: &str, user: &str, within: Duration) -> Readiness {
    let until = Instant::now() + within;
    let (say, hear) = mpsc::channel();
    let (host, user) = (host.to_owned(), user.to_owned());
    // A socket whose queue is full has no time limit of its own. Unlike a child, a thread ends with its process.
    let begun = thread::Builder::new().spawn(move || connect(&host, &user, &say));
    if let Err(error) = begun {
        eprintln!("the server cannot be asked: {error}");
    }
    let answer = hear.recv_timeout(within).unwrap_or(Readiness::NoResponse);
    // Until the thread has taken its leave.
    let _ = hear.recv_timeout(until.saturating_duration_since(Instant::now()));
    answer
}

fn connect(host: &str, user: &str, say: &Sender<Readiness>) -> io::Result<()> {
    if Path::new(host).is_absolute() {
        let server = UnixStream::connect(Path::new(host).join(format!(".s.PGSQL.{PORT}")))?;
        return converse(server, user, say);
    }
    converse(TcpStream::connect((host, PORT))?, user, say)
}

fn converse(mut server: impl Read + Write, user: &str, say: &Sender<Readiness>) -> io::Result<()> {
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
    // Nobody hears it any more where it comes too late.
    let _ = say.send(meaning(kind, &body));
    if kind == b'R' && body.starts_with(&[0; 4]) {
        // It asks for no password, and a session begins: it ends without a word in the log if the client takes its leave.
        server.write_all(&TERMINATE)?;
        io::copy(&mut server, &mut io::sink())?;
    }
    Ok(())
}

/// The first message of a client.
fn startup(user: &str) -> Vec<u8> {
    let words = ["user", user, "database", user, "application_name", "multi-operator", ""];
    let words = words.iter().flat_map(|word| word.bytes().chain([0]));
    let body: Vec<u8> = PROTOCOL.into_iter().chain(words).collect();
    let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
    length.to_be_bytes().into_iter().chain(body).collect()
}

/// What a server's first message means, by its kind. Pure.
/// Source: `internal_ping` of PostgreSQL's fe-connect.c. Whoever asks for a password, or refuses this user, serves others.
fn meaning(kind: u8, body: &[u8]) -> Readiness {
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
    fn what_a_server_says_is_taken_as_pg_isready_takes_it() {
        assert_eq!(meaning(b'R', &[0, 0, 0, 10]), Readiness::Accepting);
        let error = |code: &str| meaning(b'E', format!("SFATAL\0VFATAL\0{code}\0MCwords\0\0").as_bytes());
        assert_eq!(error("C57P03"), Readiness::Rejecting, "it starts, ends or recovers");
        assert_eq!(error("C53300"), Readiness::Accepting, "it has too many clients");
        assert_eq!(error("C28000"), Readiness::Accepting, "its rules refuse this one");
        assert_eq!(error("C5730"), Readiness::NoResponse);
        assert_eq!(error("L1"), Readiness::NoResponse, "no server of today says nothing of its error");
        assert_eq!(meaning(b'N', &[0; 4]), Readiness::NoResponse);
    }

    #[test]
    fn the_first_message_has_its_length_and_ends_with_an_empty_name() {
        let message = startup("me");
        assert_eq!(message[..8], [0, 0, 0, u8::try_from(message.len()).unwrap(), 0, 3, 0, 0]);
        assert_eq!(&message[8..], b"user\0me\0database\0me\0application_name\0multi-operator\0\0");
    }
}
