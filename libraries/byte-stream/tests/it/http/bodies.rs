//! Bodies and how they are framed: what arrives is whole, or it is an error.

use std::io::Write;

use byte_stream::ErrorKind;
use sha2::{Digest as _, Sha256};

use super::{answering, get, kind, once};
use crate::kinds::bytes;
use crate::server::{Server, chunk, good, head};

#[test]
fn bodies_of_all_sizes_arrive_whole() {
    for len in [0, 1, 1000, 131_072, 1_000_001] {
        let data = bytes(len);
        let body = data.clone();
        let server = Server::new(move |r, s| good(r, s, &body, "\"v\""));
        assert!(get(once(), &server.url()).unwrap() == data, "{len}");
        let body = data.clone();
        let server = Server::new(move |_, s| {
            head(s, "200 OK", &[CHUNKED])?;
            for part in body.chunks(1 + body.len() / 7) {
                chunk(s, part.len(), part)?;
            }
            s.write_all(b"0\r\nTrailer: x\r\n\r\n")
        });
        assert!(get(once(), &server.url()).unwrap() == data, "chunked {len}");
    }
}

/// A fast reader lets bytes gather in the socket, but not for long.
#[test]
fn bytes_that_have_come_are_returned_although_many_more_are_expected() {
    let body = bytes(16 << 20);
    let first = (12 << 20) + 100;
    let (go_on, gate) = std::sync::mpsc::channel();
    let (data, gate) = (body.clone(), std::sync::Mutex::new(gate));
    let server = Server::new(move |_, s| {
        head(s, "200 OK", &[&format!("Content-Length: {}", data.len()), CLOSE])?;
        s.write_all(&data[..first])?;
        gate.lock().unwrap().recv().unwrap();
        s.write_all(&data[first..])
    });
    let mut stream = once().open(&server.url()).unwrap();
    let mut got = Vec::new();
    while got.len() < first {
        got.extend_from_slice(stream.next_chunk().unwrap().unwrap());
    }
    go_on.send(()).unwrap();
    while let Some(chunk) = stream.next_chunk().unwrap() {
        got.extend_from_slice(chunk);
    }
    assert!(got == body);
}

const CLOSE: &str = "Connection: close";

const CHUNKED: &str = "Transfer-Encoding: chunked";

#[test]
fn wrong_lengths_and_chunks_are_errors() {
    let answer = |lines, body| answering("200 OK", lines, body);
    let short = answer(&["Content-Length: 3", CLOSE], b"abcde");
    assert_eq!(kind(once(), &short), ErrorKind::TooLong);
    let long = answer(&["Content-Length: 9", CLOSE], b"abcde");
    assert_eq!(kind(once(), &long), ErrorKind::Truncated);
    for (body, expected) in [
        (&b"3\r\nabcde\r\n0\r\n\r\n"[..], ErrorKind::Protocol),
        (b"9\r\nabcde\r\n0\r\n\r\n", ErrorKind::Protocol),
        (b"20\r\nabcde\r\n0\r\n\r\n", ErrorKind::Truncated),
        (b"5\r\nabcde\r\n", ErrorKind::Truncated),
        (b"5\r\nabcde\r\n0\r\n\r\nmore", ErrorKind::TooLong),
        (b"zz\r\nabcde\r\n0\r\n\r\n", ErrorKind::Protocol),
        (b"", ErrorKind::Truncated),
    ] {
        let server = answer(&[CHUNKED, CLOSE], body);
        assert_eq!(kind(once(), &server), expected, "{}", String::from_utf8_lossy(body));
    }
    for lines in [
        &["Content-Length: 5", "Content-Length: 6"][..],
        &["Content-Length: 5", CHUNKED],
        &["Content-Length: -5"],
    ] {
        assert_eq!(kind(once(), &answer(lines, b"abcde")), ErrorKind::Protocol, "{lines:?}");
    }
    let part = answer(&["Content-Length: 5", "Content-Range: bytes 0-4/9"], b"abcde");
    assert_eq!(get(once(), &part.url()).unwrap(), b"abcde");
    let unasked = answering("206 Partial Content", &["Content-Length: 0"], b"");
    assert_eq!(kind(once(), &unasked), ErrorKind::Protocol);
}

#[test]
fn a_body_that_only_the_connection_ends_needs_to_be_allowed() {
    let server = answering("200 OK", &[], b"hello");
    assert_eq!(kind(once(), &server), ErrorKind::Unframed);
    // The options have other names in a program or in another language.
    let error = get(once(), &server.url()).unwrap_err();
    assert!(!error.message().contains("accept_unframed"), "{error}");
    assert_eq!(get(once().accept_unframed(true), &server.url()).unwrap(), b"hello");
    let digest: [u8; 32] = Sha256::digest(b"hello").into();
    assert_eq!(get(once().expect_sha256(digest), &server.url()).unwrap(), b"hello");
    assert_eq!(kind(once().expect_sha256([0; 32]), &server), ErrorKind::Digest);
}

#[test]
fn interim_answers_are_passed_over() {
    let server = Server::new(|r, s| {
        head(s, "103 Early Hints", &["Link: x"])?;
        good(r, s, b"hello", "\"v\"")
    });
    assert_eq!(get(once(), &server.url()).unwrap(), b"hello");
}

#[test]
fn the_size_is_limited_before_the_first_byte_where_it_is_reported() {
    let server = Server::new(|r, s| good(r, s, &bytes(1000), "\"v\""));
    let error = once().limit_bytes(999).open(&server.url()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert_eq!(get(once().limit_bytes(1000), &server.url()).unwrap().len(), 1000);
}
