//! URLs against good and hostile servers: the right bytes or an error, never wrong bytes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use sha2::Digest as _;

use byte_stream::{Cancel, ErrorKind, Options, Stream};

use crate::kinds::bytes;
use crate::server::{Request, Server, chunk, good, head, partial, reset_on_close};

/// Options for a server on this machine that may fail often.
pub(crate) fn patient() -> Options {
    Stream::options().proxy(None).retries(100, Duration::ZERO)
}

pub(crate) fn once() -> Options {
    Stream::options().proxy(None).retries(0, Duration::ZERO)
}

pub(crate) fn get(options: Options, url: &str) -> byte_stream::Result<Vec<u8>> {
    let mut stream = options.open(url)?;
    let mut all = Vec::new();
    while let Some(chunk) = stream.next_chunk()? {
        assert!(!chunk.is_empty());
        all.extend_from_slice(chunk);
    }
    if let Some(size) = stream.choice().size_bytes {
        assert_eq!(size, all.len() as u64);
    }
    Ok(all)
}

fn kind(options: Options, server: &Server) -> ErrorKind {
    let error = get(options, &server.url()).expect_err("an error");
    assert!(error.to_string().starts_with(&server.url()), "{error}");
    error.kind()
}

#[test]
fn bodies_of_all_sizes_arrive_whole() {
    for len in [0, 1, 1000, 131_072, 1_000_001] {
        let data = bytes(len);
        let body = data.clone();
        let server = Server::new(move |r, s| good(r, s, &body, "\"v\""));
        assert!(get(once(), &server.url()).unwrap() == data, "{len}");
        let body = data.clone();
        let server = Server::new(move |_, s| {
            head(s, "200 OK", &["Transfer-Encoding: chunked"])?;
            for part in body.chunks(1 + body.len() / 7) {
                chunk(s, part.len(), part)?;
            }
            s.write_all(b"0\r\nTrailer: x\r\n\r\n")
        });
        assert!(get(once(), &server.url()).unwrap() == data, "chunked {len}");
    }
}

#[test]
fn a_body_cut_anywhere_is_resumed_at_that_byte() {
    let data = bytes(64_000);
    for part in 0..64 {
        let body = data.clone();
        let server = Server::new(move |r, s| {
            let cut = if r.n == 0 { part * 1000 } else { usize::MAX };
            partial(r, s, &body, "\"v\"", cut)
        });
        assert!(get(patient(), &server.url()).unwrap() == data, "{part}");
        let requests = server.requests();
        assert_eq!(requests.len(), 2);
        let from = (part > 0).then_some(part as u64 * 1000);
        assert_eq!(requests[1].from(), from);
        assert_eq!(requests[1].header("if-range"), from.map(|_| "\"v\""));
        // Without retries it is an error that says where.
        let body = data.clone();
        let server = Server::new(move |r, s| partial(r, s, &body, "\"v\"", part * 1000));
        let error = get(once(), &server.url()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated);
        assert_eq!(error.offset(), Some(part as u64 * 1000));
        assert!(error.is_retryable());
    }
}

#[test]
fn a_body_cut_at_every_sixty_fourth_arrives_in_the_end() {
    let data = bytes(640_000);
    let body = data.clone();
    let server = Server::new(move |r, s| partial(r, s, &body, "\"v\"", 10_000));
    assert!(get(patient(), &server.url()).unwrap() == data);
    assert_eq!(server.requests().len(), 64);
    let body = data.clone();
    let reset = Server::new(move |r, s| {
        reset_on_close(s);
        partial(r, s, &body, "\"v\"", 100_000)
    });
    // A reset may take bytes with it that were sent before.
    match get(patient(), &reset.url()) {
        Ok(got) => assert!(got == data),
        Err(error) => assert!(error.is_retryable(), "{error}"),
    }
}

#[test]
fn a_server_that_ignores_the_range_is_read_from_the_start_and_nothing_repeated() {
    let data = bytes(100_000);
    let body = data.clone();
    let server = Server::new(move |r, s| {
        let whole = Request { headers: Vec::new(), ..r.clone() };
        partial(&whole, s, &body, "\"v\"", if r.n == 0 { 30_000 } else { usize::MAX })
    });
    assert!(get(patient(), &server.url()).unwrap() == data);
}

/// What a resumed request is answered with, after a first answer that was cut.
fn resumed(
    answer: impl Fn(&Request, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
) -> ErrorKind {
    let server = Server::new(move |r, s| match r.n {
        0 => partial(r, s, &bytes(50_000), "\"v\"", 20_000),
        _ => answer(r, s),
    });
    kind(patient(), &server)
}

#[test]
fn two_versions_are_never_spliced() {
    let part = |range: &'static str, tag: &'static str, len: usize| {
        move |_: &Request, s: &mut TcpStream| {
            let length = format!("Content-Length: {len}");
            head(s, "206 Partial Content", &[range, tag, &length])?;
            s.write_all(&bytes(50_000)[20_000..20_000 + len])
        }
    };
    let right = "Content-Range: bytes 20000-49999/50000";
    // The whole of another version.
    assert_eq!(resumed(|r, s| good(r, s, &bytes(50_001), "\"w\"")), ErrorKind::Changed);
    assert_eq!(resumed(part(right, "ETag: \"w\"", 30_000)), ErrorKind::Changed);
    assert_eq!(resumed(part(right, "ETag: W/\"v\"", 30_000)), ErrorKind::Changed);
    assert_eq!(resumed(part(right, "X: y", 30_000)), ErrorKind::Changed);
    let other_size = "Content-Range: bytes 20000-49999/50001";
    assert_eq!(resumed(part(other_size, "ETag: \"v\"", 30_000)), ErrorKind::Changed);
    let other_start = "Content-Range: bytes 20001-49999/50000";
    assert_eq!(resumed(part(other_start, "ETag: \"v\"", 29_999)), ErrorKind::Protocol);
    assert_eq!(resumed(part(right, "ETag: \"v\"", 29_000)), ErrorKind::Protocol);
    assert_eq!(resumed(part("X: y", "ETag: \"v\"", 30_000)), ErrorKind::Protocol);
    let gone = "416 Range Not Satisfiable";
    let none = ["Content-Range: bytes */20000", "Content-Length: 0"];
    assert_eq!(resumed(move |_, s| head(s, gone, &none)), ErrorKind::Changed);
    assert_eq!(resumed(|_, s| head(s, "404 Not Found", &[])), ErrorKind::Status);
}

#[test]
fn without_a_strong_etag_nothing_is_resumed() {
    for tag in ["W/\"v\"", "v"] {
        let server = Server::new(move |r, s| partial(r, s, &bytes(50_000), tag, 20_000));
        let error = get(patient(), &server.url()).unwrap_err();
        assert!(error.to_string().contains("without a strong ETag"), "{error}");
        assert_eq!(server.requests().len(), 1);
    }
}

const CLOSE: &str = "Connection: close";
const CHUNKED: &str = "Transfer-Encoding: chunked";

#[test]
fn wrong_lengths_and_chunks_are_errors() {
    let answer = |lines: &'static [&'static str], body: &'static [u8]| {
        Server::new(move |_, s| {
            head(s, "200 OK", lines)?;
            s.write_all(body)
        })
    };
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
        let server = Server::new(move |_, s| {
            head(s, "200 OK", &[CHUNKED, CLOSE])?;
            s.write_all(body)
        });
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
    let unasked = Server::new(|_, s| head(s, "206 Partial Content", &["Content-Length: 0"]));
    assert_eq!(kind(once(), &unasked), ErrorKind::Protocol);
}

#[test]
fn a_body_that_only_the_connection_ends_needs_to_be_allowed() {
    let server = Server::new(|_, s| {
        head(s, "200 OK", &[])?;
        s.write_all(b"hello")
    });
    assert_eq!(kind(once(), &server), ErrorKind::Protocol);
    assert_eq!(get(once().accept_unframed(true), &server.url()).unwrap(), b"hello");
    let digest: [u8; 32] = sha2::Sha256::digest(b"hello").into();
    assert_eq!(get(once().expect_sha256(digest), &server.url()).unwrap(), b"hello");
    assert_eq!(kind(once().expect_sha256([0; 32]), &server), ErrorKind::Digest);
}

#[test]
fn what_is_not_http_or_never_ends_is_an_error() {
    let garbage = Server::new(|_, s| s.write_all(b"SSH-2.0-x\r\n\r\n"));
    assert_eq!(kind(once(), &garbage), ErrorKind::Protocol);
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

#[test]
fn interim_answers_are_passed_over() {
    let server = Server::new(|r, s| {
        head(s, "103 Early Hints", &["Link: x"])?;
        good(r, s, b"hello", "\"v\"")
    });
    assert_eq!(get(once(), &server.url()).unwrap(), b"hello");
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

#[test]
fn another_thread_ends_the_waiting_for_a_server() {
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
fn a_busy_server_is_asked_again_and_a_dead_one_is_an_error() {
    let server = Server::new(|r, s| match r.n {
        0 => head(s, "503 Service Unavailable", &["Content-Length: 0"]),
        1 => Ok(()),
        2 => head(s, "429 Too Many Requests", &["Retry-After: 0", "Content-Length: 0"]),
        _ => good(r, s, b"hello", "\"v\""),
    });
    assert_eq!(get(patient(), &server.url()).unwrap(), b"hello");
    let error = get(once(), &Server::new(|_, s| head(s, "503 X", &[])).url()).unwrap_err();
    assert_eq!((error.status(), error.is_retryable()), (Some(503), true));
    let error = get(patient(), &Server::new(|_, s| head(s, "404 X", &[])).url()).unwrap_err();
    assert_eq!((error.status(), error.is_retryable()), (Some(404), false));
    let url = Server::new(|_, _| Ok(())).url();
    let error = get(once(), &url).unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Connect, true));
}

#[test]
fn redirects_are_followed_within_limits_and_keep_secrets() {
    let other = Server::new(|r, s| good(r, s, b"there", "\"v\""));
    let to = format!("Location: {}", other.url());
    let server = Server::new(move |r, s| match r.line.as_str() {
        "GET /here HTTP/1.1" => good(r, s, b"here", "\"v\""),
        "GET /other HTTP/1.1" => head(s, "302 Found", &[&to]),
        "GET /loop HTTP/1.1" => head(s, "302 Found", &["Location: /loop"]),
        "GET /scheme HTTP/1.1" => head(s, "302 Found", &["Location: file:///etc/passwd"]),
        "GET /none HTTP/1.1" => head(s, "302 Found", &[]),
        _ => head(s, "307 Temporary Redirect", &["Location: here"]),
    });
    let at = |path: &str| format!("http://user:secret@{}/{path}", server.address);
    let with = || once().header("X-Key", "secret");
    assert_eq!(get(with(), &at("file")).unwrap(), b"here");
    assert_eq!(get(with(), &at("other")).unwrap(), b"there");
    for request in server.requests() {
        assert_eq!(request.header("authorization"), Some("Basic dXNlcjpzZWNyZXQ="));
        assert_eq!(request.header("x-key"), Some("secret"));
    }
    for request in other.requests() {
        assert_eq!((request.header("authorization"), request.header("x-key")), (None, None));
    }
    let error = |path: &str| get(once(), &at(path)).unwrap_err();
    assert_eq!(error("loop").kind(), ErrorKind::Redirect);
    assert_eq!(error("scheme").kind(), ErrorKind::Redirect);
    assert_eq!(error("none").kind(), ErrorKind::Status);
    assert!(!error("loop").to_string().contains("secret"), "{}", error("loop"));
    assert_eq!(get(once().redirects(0), &at("other")).unwrap_err().kind(), ErrorKind::Redirect);
}

#[test]
fn a_client_sends_what_it_was_told_and_no_more() {
    let server = Server::new(|r, s| good(r, s, b"", "\"v\""));
    let options =
        once().bearer_auth("token").header("Accept", "text/csv").header("User-Agent", "me");
    get(options, &server.url()).unwrap();
    let request = server.requests().remove(0);
    assert_eq!(request.line, "GET /file HTTP/1.1");
    let host = server.address.to_string();
    let expected = [
        ("host", host.as_str()),
        ("accept-encoding", "identity"),
        ("connection", "close"),
        ("authorization", "Bearer token"),
        ("accept", "text/csv"),
        ("user-agent", "me"),
    ];
    let got: Vec<_> = request.headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!(got, expected);
    for (name, value) in
        [("X: y", "z"), ("X", "y\r\nZ: 1"), ("", ""), ("Host", "x"), ("Range", "x")]
    {
        let error = get(once().header(name, value), &server.url()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse, "{name} {value}");
    }
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_proxy_gets_the_whole_url() {
    let proxy = Server::new(|r, s| good(r, s, b"by proxy", "\"v\""));
    let url = format!("http://u:p@{}", proxy.address);
    let options = Stream::options().proxy(Some(&url));
    assert_eq!(get(options, "http://example.invalid:81/x?y").unwrap(), b"by proxy");
    let request = proxy.requests().remove(0);
    assert_eq!(request.line, "GET http://example.invalid:81/x?y HTTP/1.1");
    assert_eq!(request.header("host"), Some("example.invalid:81"));
    assert_eq!(request.header("proxy-authorization"), Some("Basic dTpw"));
    assert_eq!(request.header("authorization"), None);
}

#[test]
fn the_size_is_limited_before_the_first_byte_where_it_is_told() {
    let server = Server::new(|r, s| good(r, s, &bytes(1000), "\"v\""));
    let error = once().limit_bytes(999).open(&server.url()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert_eq!(get(once().limit_bytes(1000), &server.url()).unwrap().len(), 1000);
}

#[test]
fn a_download_goes_on_where_it_ended() {
    let server = Server::new(|r, s| good(r, s, &bytes(1000), "\"v\""));
    let rest = get(once().resume_from(300, "\"v\""), &server.url()).unwrap();
    assert!(rest == bytes(1000)[300..]);
    assert_eq!(get(once().resume_from(1000, "\"v\""), &server.url()).unwrap(), b"");
    assert_eq!(kind(once().resume_from(300, "\"w\""), &server), ErrorKind::Changed);
    assert_eq!(kind(once().resume_from(2000, "\"v\""), &server), ErrorKind::Changed);
    assert_eq!(kind(once().resume_from(300, "W/\"v\""), &server), ErrorKind::Misuse);
    let stream = once().open(&server.url()).unwrap();
    assert_eq!(stream.etag(), Some("\"v\""));
}

#[test]
fn a_chunk_from_a_server_allocates_nothing() {
    let server = Server::new(|r, s| good(r, s, &vec![7; 4 << 20], "\"v\""));
    let mut stream = once().open(&server.url()).unwrap();
    stream.next_chunk().unwrap();
    let (chunks, allocated) = crate::allocations::rest(&mut stream);
    assert!(chunks >= 16, "{chunks}");
    assert_eq!(allocated, 0);
}

#[test]
fn a_thousand_streams_from_a_server_leave_no_descriptor_and_no_memory_behind() {
    let _turn = crate::stream::allow_many_descriptors();
    let server = Server::new(|r, s| good(r, s, &bytes(40_000), "\"v\""));
    let open = || once().buffer_bytes(16 << 10).open(&server.url()).unwrap();
    drop(open());
    let live = crate::allocations::live_bytes();
    let mut streams: Vec<Stream> = (0..1000).map(|_| open()).collect();
    let with = crate::stream::descriptors();
    assert!(with >= 1000);
    for stream in &mut streams {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert!(all == bytes(40_000));
    }
    drop(streams);
    assert_eq!(crate::allocations::live_bytes(), live);
    // Other tests of this process open and close some, too.
    let left = crate::stream::descriptors();
    assert!(left < with - 900, "{left} of {with} are left");
}
