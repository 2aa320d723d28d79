//! A resource in parts, several at once: in order, of one version, in bounded memory; one stream
//! where there are no parts.

use std::collections::HashMap;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use byte_stream::{Cancel, ErrorKind, Options, Strategy, Stream};

use crate::http::{get, once, patient};
use crate::kinds::bytes;
use crate::server::{Request, Server, good, head, partial, read_request};

const PART: usize = 10_000;

fn four(options: Options) -> Options {
    options.parallel(4).part_bytes(PART)
}

#[test]
fn parts_arrive_in_order_and_whole() {
    for len in [0, 1, PART, PART + 1, 4 * PART, 123_457] {
        let data = bytes(len);
        let body = data.clone();
        let server = Server::new(move |r, s| good(r, s, &body, "\"v\""));
        assert!(get(four(once()), &server.url()).unwrap() == data, "{len}");
        let mut requested: Vec<_> = server.requests().iter().map(Request::range).collect();
        requested.sort_unstable();
        if len == 0 {
            // An empty file has no first part.
            assert_eq!(requested, [None, Some((0, Some(PART as u64 - 1)))]);
            continue;
        }
        let range = |part: usize| {
            let last = if part == 0 { PART } else { len.min((part + 1) * PART) };
            Some(((part * PART) as u64, Some(last as u64 - 1)))
        };
        assert_eq!(requested, (0..len.div_ceil(PART)).map(range).collect::<Vec<_>>(), "{len}");
    }
}

#[test]
fn the_choice_and_the_version_can_be_read() {
    let server = Server::new(|r, s| good(r, s, &bytes(123_457), "\"v\""));
    let stream = four(once()).open(&server.url()).unwrap();
    let choice = stream.choice();
    assert_eq!(choice.strategy, Strategy::Ranges { part_bytes: PART, connections: 4 });
    assert_eq!((choice.size_bytes, stream.validator()), (Some(123_457), Some("\"v\"")));
    let error = four(once()).limit_bytes(123_456).open(&server.url()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    for (options, expected) in [
        (once().parallel(0), "the number of parallel parts must be from 1 to 16"),
        (once().parallel(17), "the number of parallel parts must be from 1 to 16"),
        (once().part_bytes(0), "the size of a part must be from 1 byte to 16 MiB"),
        (once().parallel(2).decode(true), "decoding cannot be combined with parallel parts"),
        (once().resume_from(1, "\"v\"").decode(true), "decoding cannot be combined with resuming"),
    ] {
        let error = options.open(&server.url()).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidUse, expected));
    }
}

#[test]
fn no_more_are_in_flight_than_requested() {
    // Without a reader, only the parts that fit are requested.
    let server = Server::new(|r, s| good(r, s, &bytes(500_000), "\"v\""));
    drop(four(once()).open(&server.url()).unwrap());
    assert!(server.requests().len() <= 4, "{}", server.requests().len());
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (n, seen) = (now, most.clone());
    let server = Server::new(move |r, s| {
        seen.fetch_max(n.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let answered = good(r, s, &bytes(500_000), "\"v\"");
        n.fetch_sub(1, Ordering::SeqCst);
        answered
    });
    assert!(get(four(once()), &server.url()).unwrap() == bytes(500_000));
    assert!(most.load(Ordering::SeqCst) <= 4, "{most:?}");
}

/// Answers request after request on each connection; returns the number of connections.
fn keeping(body: Vec<u8>) -> (Server, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let connections = count.clone();
    let server = Server::raw(move |n, mut socket, requests| {
        connections.fetch_add(1, Ordering::SeqCst);
        loop {
            let request = read_request(&mut socket, n)?;
            requests.lock().unwrap().push(request.clone());
            let (from, last) = request.range().unwrap();
            let last = last.unwrap().min(body.len() as u64 - 1);
            let range = format!("Content-Range: bytes {from}-{last}/{}", body.len());
            let length = format!("Content-Length: {}", last - from + 1);
            head(&mut socket, "206 Partial Content", &[&range, &length, "ETag: \"v\""])?;
            socket.write_all(&body[from as usize..=last as usize])?;
        }
    });
    (server, count)
}

#[test]
fn only_the_first_part_goes_through_the_redirect() {
    let body = bytes(123_457);
    let target = Server::new(move |r, s| good(r, s, &body, "\"v\""));
    let to = format!("Location: {}", target.url());
    let server = Server::new(move |_, s| head(s, "302 Found", &[&to]));
    let with_key = || four(once()).header("X-Key", "secret").bearer_auth("token");
    assert!(get(with_key(), &server.url()).unwrap() == bytes(123_457));
    assert_eq!((server.requests().len(), target.requests().len()), (1, 13));
    for request in target.requests() {
        assert_eq!((request.header("authorization"), request.header("x-key")), (None, None));
    }
}

#[test]
fn a_redirect_that_expires_is_requested_again() {
    let (body, served) = (bytes(123_457), Mutex::new(HashMap::new()));
    let target = Server::new(move |r, s| {
        let count = {
            let mut served = served.lock().unwrap();
            let count: &mut u32 = served.entry(r.line.clone()).or_default();
            *count += 1;
            *count
        };
        // Each target is valid for three requests.
        if count <= 3 { good(r, s, &body, "\"v\"") } else { head(s, "403 Forbidden", &[]) }
    });
    let base = target.url();
    let server = Server::new(move |r, s| {
        let location = format!("Location: {}", base.replace("/file", &format!("/{}", r.n)));
        head(s, "302 Found", &[&location])
    });
    let two = once().parallel(2).part_bytes(PART);
    assert!(get(two, &server.url()).unwrap() == bytes(123_457));
}

#[test]
fn connections_are_used_again() {
    let (server, connections) = keeping(bytes(400_000));
    assert!(get(four(once()), &server.url()).unwrap() == bytes(400_000));
    assert_eq!(server.requests().len(), 40);
    let connections = connections.load(Ordering::SeqCst);
    assert!((1..=4).contains(&connections), "{connections}");
}

#[test]
fn without_parts_it_is_one_stream() {
    let data = bytes(123_457);
    let body = data.clone();
    let ignorant = Server::new(move |r, s| good(&r.for_whole(), s, &body, "\"v\""));
    assert!(get(four(once()), &ignorant.url()).unwrap() == data);
    assert_eq!(ignorant.requests().len(), 1, "what was answered is what is read");
    // Without a strong ETag, parts of two versions cannot be distinguished.
    let body = data.clone();
    let weak = Server::new(move |r, s| good(r, s, &body, "W/\"v\""));
    assert!(get(four(once()), &weak.url()).unwrap() == data);
    let requested: Vec<_> = weak.requests().iter().map(Request::from).collect();
    assert_eq!(requested, [Some(0), None]);
    // It goes on like any other when it is cut.
    let body = data.clone();
    let cut = Server::new(move |r, s| {
        let len = if r.n == 0 { 50_000 } else { usize::MAX };
        partial(&r.for_whole(), s, &body, "\"v\"", len)
    });
    assert!(get(four(patient()), &cut.url()).unwrap() == data);
}

#[test]
fn a_server_that_stops_giving_parts_repeats_nothing() {
    let data = bytes(55_000);
    let body = data.clone();
    let server = Server::new(move |r, s| {
        let whole = r.for_whole();
        good(if r.n == 0 { r } else { &whole }, s, &body, "\"v\"")
    });
    assert!(get(four(patient()), &server.url()).unwrap() == data);
}

/// What comes of an answer to all requests but the first.
fn later(
    answer: impl Fn(&Request, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
) -> ErrorKind {
    let server = Server::new(move |r, s| match r.from() {
        Some(0) => good(r, s, &bytes(50_000), "\"v\""),
        _ => answer(r, s),
    });
    let error = get(four(once()), &server.url()).unwrap_err();
    assert_eq!(error.offset(), Some(PART as u64), "{error}");
    error.kind()
}

/// A part with this head and this many bytes.
fn says(
    lines: Vec<&'static str>,
    len: usize,
) -> impl Fn(&Request, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static {
    move |_, s| {
        head(s, "206 Partial Content", &lines)?;
        s.write_all(&vec![7; len])
    }
}

#[test]
fn parts_of_two_versions_are_never_put_together() {
    assert_eq!(later(|r, s| good(r, s, &bytes(50_000), "\"w\"")), ErrorKind::Changed);
    assert_eq!(later(|r, s| good(r, s, &bytes(50_001), "\"v\"")), ErrorKind::Changed);
    let range = "Content-Range: bytes 10000-19999/50000";
    assert_eq!(later(says(vec![range, "Content-Length: 10000"], 10_000)), ErrorKind::Changed);
    let encoded = vec![range, "Content-Length: 10000", "ETag: \"v\"", "Content-Encoding: gzip"];
    assert_eq!(later(says(encoded, 10_000)), ErrorKind::Changed);
    let short =
        vec!["ETag: \"v\"", "Content-Range: bytes 10000-18999/50000", "Content-Length: 9000"];
    assert_eq!(later(says(short, 9000)), ErrorKind::Protocol);
    assert_eq!(later(|_, s| head(s, "416 X", &["Content-Range: bytes */50"])), ErrorKind::Changed);
    assert_eq!(later(|_, s| head(s, "404 X", &[])), ErrorKind::Status);
}

#[test]
fn a_cut_part_is_resumed_within_itself() {
    let data = bytes(123_457);
    let body = data.clone();
    let server = Server::new(move |r, s| partial(r, s, &body, "\"v\"", 3000));
    assert!(get(four(patient()), &server.url()).unwrap() == data);
    for request in server.requests() {
        let (from, last) = request.range().unwrap();
        assert_eq!(from / PART as u64, last.unwrap() / PART as u64, "{from} {last:?}");
    }
}

#[test]
fn a_download_in_parts_goes_on_where_it_ended() {
    let server = Server::new(|r, s| good(r, s, &bytes(123_457), "\"v\""));
    let from = |at, tag| get(four(once()).resume_from(at, tag), &server.url());
    assert!(from(30_001, "\"v\"").unwrap() == bytes(123_457)[30_001..]);
    assert_eq!(from(123_457, "\"v\"").unwrap(), b"");
    assert_eq!(from(30_001, "\"w\"").unwrap_err().kind(), ErrorKind::Changed);
}

/// Answers the first part, and never another one.
fn hanging() -> Server {
    Server::new(|r, s| match r.from() {
        Some(0) => good(r, s, &bytes(50_000), "\"v\""),
        _ => std::io::Read::read_exact(s, &mut [0]),
    })
}

#[test]
fn a_stream_that_is_dropped_or_cancelled_waits_for_no_request() {
    let server = hanging();
    let mut stream = four(once()).open(&server.url()).unwrap();
    assert_eq!(stream.next_chunk().unwrap().unwrap().len(), PART);
    // Its threads wait for the server.
    drop(stream);
    let cancel = Cancel::new().unwrap();
    let mut stream = four(once()).cancel(&cancel).open(&server.url()).unwrap();
    stream.next_chunk().unwrap();
    let other = std::thread::spawn(move || cancel.cancel());
    assert_eq!(stream.next_chunk().unwrap_err().kind(), ErrorKind::Cancelled);
    other.join().unwrap();
    assert_eq!(stream.next_chunk().unwrap_err().kind(), ErrorKind::InvalidUse);
}

#[test]
fn a_part_allocates_nothing_for_who_reads() {
    let (server, _) = keeping(bytes(1_000_000));
    let mut stream: Stream = four(once()).open(&server.url()).unwrap();
    // Until all buffers are there, one is put back that was never there before.
    for _ in 0..8 {
        stream.next_chunk().unwrap();
    }
    let (chunks, allocated) = crate::allocations::rest(&mut stream);
    assert_eq!((chunks, allocated), (92, 0));
}
