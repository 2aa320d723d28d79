//! Servers that send what is no answer, or too slowly, or for ever, or that go away.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::time::Duration;

use byte_stream::{Cancel, ErrorKind, Options};

use super::{answering, get, kind, once, patient};
use crate::kinds::bytes;
use crate::server::{Server, chunk, good, head, partial};

#[test]
fn what_is_not_http_or_never_ends_is_an_error() {
    let garbage = Server::new(|_, s| s.write_all(b"SSH-2.0-x\r\n\r\n"));
    assert_eq!(kind(once(), &garbage), ErrorKind::Protocol);
    // What came first is shown, and it is neither waited for nor tried again.
    let ssh = Server::new(|_, s| {
        s.write_all(b"SSH-2.0-x\r\n")?;
        hang(s)
    });
    let error = get(patient(), &ssh.url()).unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Protocol, false));
    assert_eq!(error.message(), "the answer is not HTTP: it begins with `SSH-2.0-x`");
    assert_eq!(ssh.requests().len(), 1);
    let silent = Server::new(|_, _| Ok(()));
    assert_eq!(kind(once(), &silent), ErrorKind::Truncated);
    let endless = Server::new(|_, s| {
        s.write_all(b"HTTP/1.1 200 OK\r\n")?;
        loop {
            s.write_all(b"X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n")?;
        }
    });
    assert_eq!(kind(once(), &endless), ErrorKind::Protocol);
    let line = Server::new(|_, s| {
        s.write_all(b"HTTP/1.1 200 OK\r\nX: ")?;
        loop {
            s.write_all(&[b'y'; 1000])?;
        }
    });
    assert_eq!(kind(once(), &line), ErrorKind::Protocol);
    let interim = Server::new(|_, s| {
        loop {
            s.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
    });
    assert_eq!(kind(once(), &interim), ErrorKind::Protocol);
    let chunks = Server::new(|_, s| {
        head(s, "200 OK", &["Transfer-Encoding: chunked"])?;
        loop {
            chunk(s, 3, b"abc")?;
        }
    });
    assert_eq!(kind(once().limit_bytes(100_000), &chunks), ErrorKind::TooLarge);
}

/// Waits for ever, by reading what never comes.
fn hang(socket: &mut TcpStream) -> std::io::Result<()> {
    socket.read_exact(&mut [0])
}

#[test]
fn a_server_that_is_too_slow_is_given_up() {
    let short = Duration::from_millis(50);
    let no_head = Server::new(|_, s| hang(s));
    assert_eq!(kind(once().idle_limit(short), &no_head), ErrorKind::TimedOut);
    let half = Server::new(|_, s| {
        head(s, "200 OK", &["Content-Length: 10"])?;
        s.write_all(b"abcde")?;
        hang(s)
    });
    let error = get(once().idle_limit(short), &half.url()).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::TimedOut, Some(5)));
    assert!(error.is_retryable());
    // One byte after the other, each in time: the head as a whole is not, nor the body.
    let drip = |before: &'static [u8]| {
        Server::new(move |_, s| {
            s.write_all(before)?;
            let pause = rustix::event::Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
            loop {
                s.write_all(b"x")?;
                rustix::event::poll(&mut [], Some(&pause))?;
            }
        })
    };
    let slow = drip(b"HTTP/1.1 200 OK\r\nX: ");
    assert_eq!(kind(once().idle_limit(short), &slow), ErrorKind::TimedOut);
    let slow = drip(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    let options = once().idle_limit(Duration::from_secs(30)).total_limit(short);
    let error = get(options, &slow.url()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(!error.is_retryable());
}

/// Another thread ends the waiting for the head of a response, and for the rest of its body.
pub(crate) fn check_cancelled(kind: fn(Options, &Server) -> ErrorKind) {
    for says in [&b""[..], b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"] {
        let cancel = Cancel::new().unwrap();
        let other = cancel.clone();
        let server = Server::new(move |_, s| {
            s.write_all(says)?;
            other.cancel();
            hang(s)
        });
        assert_eq!(kind(patient().cancel(&cancel), &server), ErrorKind::Cancelled);
    }
}

#[test]
fn another_thread_ends_the_waiting_for_a_server() {
    check_cancelled(kind);
}

#[test]
fn a_request_is_repeated_to_a_busy_server_and_a_dead_one_is_an_error() {
    let server = Server::new(|r, s| match r.n {
        0 => head(s, "503 Service Unavailable", &["Content-Length: 0"]),
        1 => Ok(()),
        2 => head(s, "429 Too Many Requests", &["Retry-After: 0", "Content-Length: 0"]),
        _ => good(r, s, b"hello", "\"v\""),
    });
    assert_eq!(get(patient(), &server.url()).unwrap(), b"hello");
    let error = get(once(), &answering("503 X", &[], b"").url()).unwrap_err();
    assert_eq!((error.status(), error.is_retryable()), (Some(503), true));
    let error = get(patient(), &answering("404 X", &[], b"").url()).unwrap_err();
    assert_eq!((error.status(), error.is_retryable()), (Some(404), false));
    let url = Server::new(|_, _| Ok(())).url();
    let error = get(once(), &url).unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Connect, true));
    assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_server_that_is_killed_in_the_middle_is_an_error_that_says_where() {
    let (kill, killed) = channel::<()>();
    let killed = std::sync::Mutex::new(killed);
    let server = Server::new(move |r, s| {
        partial(r, s, &bytes(50_000), "\"v\"", 20_000)?;
        // Until the test has checked the result, and the listener is closed.
        let _ = killed.lock().unwrap().recv();
        Ok(())
    });
    let mut stream = once().retries(3, Duration::ZERO).open(server.url().as_str()).unwrap();
    let mut got = Vec::new();
    while got.len() < 20_000 {
        got.extend_from_slice(stream.next_chunk().unwrap().unwrap());
    }
    assert!(got == bytes(50_000)[..20_000]);
    drop((server, kill));
    let error = stream.next_chunk().unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Connect, Some(20_000)));
    assert!(error.is_retryable());
}
