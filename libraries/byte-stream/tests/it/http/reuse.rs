//! Connections that several streams use one after the other.

use std::io::Write;
use std::net::TcpStream;

use byte_stream::{Connections, ErrorKind, Options};

use super::{get, once};
use crate::kinds::reset_on_close;
use crate::server::{Request, Server, head, read_request};

/// A server that answers on a connection for as long as `answer` returns true.
pub(crate) fn keeping(
    answer: impl Fn(&Request, &mut TcpStream) -> std::io::Result<bool> + Send + Sync + 'static,
) -> Server {
    Server::raw(move |n, mut socket, requests| {
        loop {
            let request = read_request(&mut socket, n)?;
            requests.lock().unwrap().push(request.clone());
            if !answer(&request, &mut socket)? {
                return Ok(());
            }
        }
    })
}

fn body(socket: &mut TcpStream, body: &[u8]) -> std::io::Result<()> {
    let length = format!("Content-Length: {}", body.len());
    head(socket, "200 OK", &[&length, "ETag: \"v\""])?;
    socket.write_all(body)
}

/// The connections that the requests came by.
fn connections(server: &Server) -> Vec<usize> {
    server.requests().iter().map(|request| request.n).collect()
}

#[test]
fn many_streams_from_one_server_connect_once() {
    let server = keeping(|r, s| body(s, r.line.as_bytes()).map(|()| true));
    let pool = Connections::new();
    let with = || once().connections(&pool);
    for i in 0..20 {
        let url = format!("http://{}/{i}", server.address);
        assert_eq!(get(with(), &url).unwrap(), format!("GET /{i} HTTP/1.1").as_bytes());
    }
    assert_eq!(connections(&server), [0; 20]);
    assert!(server.requests().iter().all(|request| request.header("connection").is_none()));
    // A stream that is dropped in the middle, and two at once, have their own.
    let (first, second) = (with().open(&server.url()), with().open(&server.url()));
    drop((first.unwrap(), second.unwrap()));
    get(with(), &server.url()).unwrap();
    assert_eq!(connections(&server)[20..], [0, 1, 2]);
    get(once(), &server.url()).unwrap();
    let last = server.requests().pop().unwrap();
    assert_eq!((last.n, last.header("connection")), (3, Some("close")));
}

#[test]
fn a_connection_is_for_one_server_and_by_one_way() {
    let server = keeping(|_, s| body(s, b"one").map(|()| true));
    let proxy = keeping(|_, s| body(s, b"proxy").map(|()| true));
    let pool = Connections::new();
    let with = || once().connections(&pool);
    let by = format!("http://{}", proxy.address);
    for expected in [b"one".as_slice(), b"proxy", b"one", b"proxy"] {
        let options = if expected == b"one" { with() } else { with().proxy(Some(&by)) };
        assert_eq!(get(options, &server.url()).unwrap(), expected);
    }
    let other = format!("http://localhost:{}/", server.address.port());
    assert_eq!(get(with(), &other).unwrap(), b"one");
    assert_eq!(connections(&server), [0, 0, 1]);
    assert_eq!(connections(&proxy), [0, 0]);
}

/// Every second request of a connection is not answered.
#[test]
fn a_request_is_repeated_if_the_server_closed_the_idle_connection() {
    for cut in [&b""[..], b"HTTP/1.1 200 O"] {
        let answered = std::sync::Mutex::new(Vec::new());
        let server = keeping(move |r, s| {
            let mut answered = answered.lock().unwrap();
            if answered.contains(&r.n) {
                return s.write_all(cut).map(|()| false);
            }
            answered.push(r.n);
            body(s, b"whole").map(|()| true)
        });
        let pool = Connections::new();
        let with = || once().connections(&pool);
        for _ in 0..4 {
            assert_eq!(get(with(), &server.url()).unwrap(), b"whole");
        }
        assert_eq!(connections(&server), [0, 0, 1, 1, 2, 2, 3]);
    }
}

#[test]
fn a_body_that_has_begun_is_not_requested_again() {
    let server = keeping(|r, s| {
        if r.line.contains("cut") {
            head(s, "200 OK", &["Content-Length: 5"])?;
            return s.write_all(b"cu").map(|()| false);
        }
        body(s, b"whole").map(|()| true)
    });
    let pool = Connections::new();
    let get = |options: Options, path: &str| {
        get(options.connections(&pool), &format!("http://{}/{path}", server.address))
    };
    assert_eq!(get(once(), "first").unwrap(), b"whole");
    assert_eq!(get(once(), "cut").unwrap_err().kind(), ErrorKind::Truncated);
    assert_eq!(connections(&server), [0, 0]);
}

/// Where a server closes a connection that it has answered on before.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Close {
    BehindTheAnswer,
    BehindTheNextRequest,
    WithinTheNextHead,
    WithinTheNextBody,
    Never,
}

#[test]
fn connections_that_are_closed_at_random_moments_are_replaced_once() {
    use Close::{
        BehindTheAnswer, BehindTheNextRequest, Never, WithinTheNextBody, WithinTheNextHead,
    };
    const MOMENTS: [Close; 5] =
        [BehindTheAnswer, BehindTheNextRequest, WithinTheNextHead, WithinTheNextBody, Never];
    // The moment that each connection has drawn; none before its first answer.
    let drawn = std::sync::Mutex::new((1u64, std::collections::HashMap::new()));
    let server = keeping(move |r, s| {
        let mut drawn = drawn.lock().unwrap();
        let moment = drawn.1.get(&r.n).copied();
        if r.n % 2 == 1 {
            reset_on_close(s);
        }
        match moment {
            None | Some(Never) => body(s, r.line.as_bytes())?,
            Some(BehindTheAnswer | BehindTheNextRequest) => return Ok(false),
            Some(WithinTheNextHead) => {
                return s.write_all(b"HTTP/1.1 200 OK\r\nCon").map(|()| false);
            }
            Some(WithinTheNextBody) => {
                head(s, "200 OK", &["Content-Length: 99", "ETag: \"v\""])?;
                return s.write_all(b"cut").map(|()| false);
            }
        }
        // A linear congruential generator, of which the high bits are random enough.
        drawn.0 = drawn.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let next = MOMENTS[(drawn.0 >> 33) as usize % MOMENTS.len()];
        drawn.1.insert(r.n, next);
        Ok(next != BehindTheAnswer)
    });
    let pool = Connections::new();
    let mut cut = 0;
    for i in 0..300 {
        let before = server.requests().len();
        let got = get(once().connections(&pool), &format!("http://{}/{i}", server.address));
        let sent = server.requests().len() - before;
        match got {
            // A connection that was reset may have lost the request, too.
            Ok(bytes) => {
                assert_eq!((bytes, sent.min(2)), (format!("GET /{i} HTTP/1.1").into(), sent));
            }
            // What has begun is not requested again, unless its first bytes were lost as well.
            Err(error) => {
                assert!(error.is_retryable(), "{error}");
                assert_eq!(sent, 1);
                cut += 1;
            }
        }
    }
    assert!((10..=150).contains(&cut), "{cut} of 300 bodies were cut");
}

#[test]
fn answers_without_a_body_that_is_read_keep_their_connection() {
    let server = keeping(|r, s| {
        match r.line.as_str() {
            "GET /file HTTP/1.1" => head(s, "302 Found", &["Location: /to", "Content-Length: 0"])?,
            "GET /to HTTP/1.1" => body(s, b"there")?,
            "GET /large HTTP/1.1" => head(s, "404 Not Found", &["Content-Length: 9"])?,
            _ => head(s, "404 Not Found", &["Content-Length: 0"])?,
        }
        Ok(true)
    });
    let pool = Connections::new();
    let at = |path: &str| {
        let url = format!("http://{}/{path}", server.address);
        get(once().connections(&pool), &url).map_err(|error| error.status())
    };
    assert_eq!(at("file").unwrap(), b"there");
    assert_eq!(at("missing"), Err(Some(404)));
    assert_eq!(at("large"), Err(Some(404)));
    assert_eq!(at("file").unwrap(), b"there");
    assert_eq!(connections(&server), [0, 0, 0, 0, 1, 1]);
}

#[test]
fn an_announced_end_is_obeyed() {
    let server = keeping(|_, s| {
        head(s, "200 OK", &["Content-Length: 2", "Connection: close"])?;
        s.write_all(b"ok").map(|()| false)
    });
    let pool = Connections::new();
    for _ in 0..2 {
        assert_eq!(get(once().connections(&pool), &server.url()).unwrap(), b"ok");
    }
    assert_eq!(connections(&server), [0, 1]);
}
