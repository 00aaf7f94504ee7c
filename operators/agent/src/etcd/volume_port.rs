//! Serves at a port of the pod how full the volume of etcd's data is: etcd does not measure it, and the operator has no access to
//! the file system. Each client gets the same JSON over HTTP, whatever it requests.

use std::io::{self, Error, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use agent_protocol::VolumeReport;

/// How long a client may take to send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum length of a request, in bytes.
const LONGEST_REQUEST: usize = 4096;
/// How long to wait if connections cannot be accepted, for lack of file descriptors for example.
const ACCEPT_RETRY: Duration = Duration::from_secs(1);

/// Reports on the volume of that data from now on, in a thread of its own.
pub(crate) fn serve(port: u16, data_dir: PathBuf) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port));
    let listener = listener.or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))?;
    thread::Builder::new().spawn(move || answer(&listener, &data_dir)).map(drop)
}

/// One after the other: requests are rare.
fn answer(listener: &TcpListener, data_dir: &Path) {
    for connection in listener.incoming() {
        match connection {
            // A client that does not read the answer can request it again.
            Ok(connection) => drop(respond(connection, data_dir)),
            Err(_) => thread::sleep(ACCEPT_RETRY),
        }
    }
}

fn respond(mut connection: TcpStream, data_dir: &Path) -> io::Result<()> {
    connection.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    connection.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    read_request(&mut connection)?;
    let (code, body) = match measured(data_dir).and_then(|result| Ok(serde_json::to_string(&result)?)) {
        Ok(result) => ("200 OK", result),
        Err(error) => ("503 Service Unavailable", format!("{:?}", error.to_string())),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {code}\r\nContent-Type: application/json\r\nContent-Length: {length}");
    connection.write_all(format!("{head}\r\nConnection: close\r\n\r\n{body}").as_bytes())
}

/// Reads a request up to the empty line.
fn read_request(connection: &mut impl Read) -> io::Result<()> {
    let begun = Instant::now();
    let mut read: Vec<u8> = Vec::new();
    let mut part = [0_u8; 1024];
    while !read.windows(4).any(|end| end == b"\r\n\r\n") {
        let more = connection.read(&mut part)?;
        if more == 0 || read.len() > LONGEST_REQUEST || begun.elapsed() > REQUEST_TIMEOUT {
            return Err(Error::from(ErrorKind::InvalidData));
        }
        read.extend(&part[..more]);
    }
    Ok(())
}

fn measured(data_dir: &Path) -> io::Result<VolumeReport> {
    // Before its first start, etcd has not created the directory.
    let stats = rustix::fs::statvfs(data_dir.parent().unwrap_or(data_dir))?;
    Ok(VolumeReport {
        volume_bytes: stats.f_blocks.saturating_mul(stats.f_frsize),
        free_bytes: stats.f_bavail.saturating_mul(stats.f_frsize),
        files: stats.f_files,
        free_files: stats.f_favail,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(request: &str, data_dir: &str) -> String {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut connection = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        let result = respond(listener.accept().unwrap().0, Path::new(data_dir));
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert_eq!(result.is_ok(), !answer.is_empty());
        answer
    }

    #[test]
    fn a_volume_is_reported_with_its_bytes_and_files() {
        let answer = asked("GET / HTTP/1.1\r\nHost: x\r\n\r\n", &std::env::temp_dir().join("data").to_string_lossy());
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
        let result: serde_json::Value = serde_json::from_str(body).unwrap();
        let number = |name: &str| result[name].as_u64().unwrap_or_else(|| panic!("{name}: {body}"));
        assert!(number("freeBytes") <= number("volumeBytes") && number("volumeBytes") > 1 << 20, "{body}");
        assert!(number("freeFiles") <= number("files"), "{body}");
    }

    #[test]
    fn what_cannot_be_measured_is_unavailable() {
        assert!(asked("GET / HTTP/1.1\r\n\r\n", "/nowhere/at/all").starts_with("HTTP/1.1 503 "));
    }

    #[test]
    fn a_request_that_is_too_long_is_not_answered() {
        assert!(read_request(&mut io::Cursor::new(vec![b'x'; LONGEST_REQUEST * 3])).is_err());
        assert!(read_request(&mut io::Cursor::new(b"GET / HTTP/1.1\r\n")).is_err(), "it ended before the empty line");
        assert!(read_request(&mut io::Cursor::new(b"GET / HTTP/1.1\r\n\r\n")).is_ok());
    }
}
