//! `AsyncStream`: the bytes and the errors of a `Stream`, with no thread that waits.

use std::future::poll_fn;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use byte_stream::{AsyncStream, Cancel, Connections, ErrorKind, Options, Stream};
use futures_core::Stream as _;
use tokio::io::AsyncReadExt;

use crate::decode::{brotli, gzip, zstd};
use crate::http::hostile::check_cancelled;
use crate::http::{once, patient};
use crate::kinds::bytes;
use crate::server::{Server, good, head, partial};
use crate::tls::{self, End, trusting};

/// A runtime whose blocking threads suffice for one stream at a time.
fn run<T>(work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().max_blocking_threads(1).build().unwrap().block_on(work)
}

async fn all(stream: &mut AsyncStream) -> byte_stream::Result<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(chunk) = poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx)).await {
        let chunk = chunk?;
        assert!(!chunk.is_empty());
        all.extend_from_slice(&chunk);
    }
    Ok(all)
}

/// What an `AsyncStream` reads from this URL.
pub(crate) fn get(options: Options, url: &str) -> byte_stream::Result<Vec<u8>> {
    run(async { all(&mut AsyncStream::open(options, url).await?).await })
}

fn kind(options: Options, server: &Server) -> ErrorKind {
    let error = get(options, &server.url()).expect_err("an error");
    assert!(error.to_string().starts_with(&server.url()), "{error}");
    error.kind()
}

#[test]
fn six_hundred_streams_from_servers_wait_at_the_same_time() {
    const STREAMS: usize = 600;
    let _turn = crate::stream::allow_many_descriptors();
    let everyone = Arc::new(Barrier::new(STREAMS));
    let server = Server::new(move |r, s| {
        head(s, "200 OK", &["Content-Length: 6"])?;
        s.write_all(b"abc")?;
        // No stream ends before all have begun.
        everyone.wait();
        let _ = r;
        s.write_all(b"def")
    });
    let url = server.url();
    run(tokio::task::LocalSet::new().run_until(async {
        let read = |url: String| async move {
            all(&mut AsyncStream::open(once(), url.as_str()).await?).await
        };
        let tasks: Vec<_> =
            (0..STREAMS).map(|_| tokio::task::spawn_local(read(url.clone()))).collect();
        for task in tasks {
            assert_eq!(task.await.unwrap().unwrap(), b"abcdef");
        }
    }));
}

#[test]
fn six_hundred_pipes_wait_at_the_same_time() {
    let _turn = crate::stream::allow_many_descriptors();
    run(async {
        let mut ends = Vec::new();
        for _ in 0..600 {
            let (reader, writer) = std::io::pipe().unwrap();
            let fd = OwnedFd::from(reader);
            ends.push((AsyncStream::open(Stream::options(), fd).await.unwrap(), writer));
        }
        for (stream, _) in &mut ends {
            let first = poll_fn(|cx| {
                std::task::Poll::Ready(Pin::new(&mut *stream).poll_next(cx).is_pending())
            });
            assert!(first.await);
        }
        // The last one is not held up by those that still wait.
        while let Some((mut stream, mut writer)) = ends.pop() {
            writer.write_all(b"hello").unwrap();
            drop(writer);
            assert_eq!(all(&mut stream).await.unwrap(), b"hello");
        }
    });
}

#[test]
fn opening_and_reading_can_move_to_another_thread() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    fn is_sync<T: Sync>(_: &T) {}
    let server = Server::new(|r, s| good(r, s, b"hello", "\"v\""));
    run(async {
        let stream = is_send(AsyncStream::open(once(), &server.url())).await.unwrap();
        is_sync(&stream);
    });
}

#[test]
fn what_is_framed_encoded_cut_or_in_parts_arrives_whole() {
    let data = bytes(400_000);
    let body = data.clone();
    let cut = Server::new(move |r, s| partial(r, s, &body, "\"v\"", 100_000));
    assert!(get(patient(), &cut.url()).unwrap() == data);
    assert_eq!(cut.requests().len(), 4);
    let body = data.clone();
    let parts = Server::new(move |r, s| good(r, s, &body, "\"v\""));
    let options = patient().parallel(4).part_bytes(30_000);
    assert!(get(options, &parts.url()).unwrap() == data);
    assert_eq!(parts.requests().len(), 14);
    for (coding, encoded) in [("gzip", gzip(&data)), ("br", brotli(&data)), ("zstd", zstd(&data))] {
        for damaged in [false, true] {
            let mut encoded = encoded.clone();
            encoded.truncate(encoded.len() - usize::from(damaged));
            let coding = format!("Content-Encoding: {coding}");
            let server = Server::new(move |_, s| {
                head(s, "200 OK", &[&coding, "Transfer-Encoding: chunked"])?;
                for part in encoded.chunks(7000) {
                    crate::server::chunk(s, part.len(), part)?;
                }
                s.write_all(b"0\r\n\r\n")
            });
            let got = get(once().decode(true), &server.url());
            if damaged {
                assert_eq!(got.unwrap_err().kind(), ErrorKind::Decode);
            } else {
                assert!(got.unwrap() == data);
            }
        }
    }
}

#[test]
fn a_body_over_tls_is_resumed() {
    for end in [End::Proper, End::Cut, End::Reset] {
        let data = bytes(300_000);
        let body = data.clone();
        let (_server, url) = tls::server(move |r, s| {
            partial(r, s, &body, "\"v\"", if r.n < 3 { 50_000 } else { usize::MAX })?;
            Ok(if r.n < 3 { end } else { End::Proper })
        });
        assert!(get(trusting(patient()), &url).unwrap() == data);
    }
}

#[test]
fn limits_and_cancellation_end_the_waiting() {
    let silent = Server::new(|_, s| s.read_exact(&mut [0]));
    let short = Duration::from_millis(50);
    assert_eq!(kind(once().idle_limit(short), &silent), ErrorKind::TimedOut);
    assert_eq!(kind(once().total_limit(short), &silent), ErrorKind::TimedOut);
    check_cancelled(kind);
    let (reader, _writer) = std::io::pipe().unwrap();
    let cancel = Cancel::new().unwrap();
    let options = Stream::options().cancel(&cancel);
    let error = run(async {
        let mut stream = AsyncStream::open(options, OwnedFd::from(reader)).await.unwrap();
        let thread = std::thread::spawn(move || cancel.cancel());
        let error = all(&mut stream).await.unwrap_err();
        thread.join().unwrap();
        error
    });
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn a_refused_connection_and_a_wrong_digest_are_errors() {
    let url = Server::new(|_, _| Ok(())).url();
    let error = get(once(), &url).unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Connect, true));
    let server = Server::new(|r, s| good(r, s, b"hello", "\"v\""));
    assert_eq!(kind(once().expect_sha256([0; 32]), &server), ErrorKind::Digest);
    assert_eq!(kind(once().limit_bytes(4), &server), ErrorKind::TooLarge);
    let localhost = server.url().replace("127.0.0.1", "localhost");
    assert_eq!(get(once(), &localhost).unwrap(), b"hello");
}

#[test]
fn a_callback_that_panics_is_an_error() {
    let server = Server::new(|r, s| good(r, s, &bytes(5_000_000), "\"v\""));
    let options = once().on_progress(|progress| assert!(progress.done_bytes < 900_000, "a panic"));
    run(async {
        let mut stream = AsyncStream::open(options, &server.url()).await.unwrap();
        let error = all(&mut stream).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated);
        assert!(stream.read_u8().await.is_err());
    });
}

#[test]
fn streams_of_tasks_and_of_threads_share_connections() {
    let server = crate::http::keeping(|_, s| {
        head(s, "200 OK", &["Content-Length: 5"])?;
        s.write_all(b"hello").map(|()| true)
    });
    let pool = Connections::new();
    for round in 0..6 {
        let options = once().connections(&pool);
        // Each task has a runtime of its own.
        let get = if round % 3 == 0 { crate::http::get } else { get };
        assert_eq!(get(options, &server.url()).unwrap(), b"hello");
    }
    assert!(server.requests().iter().all(|request| request.n == 0));
}
