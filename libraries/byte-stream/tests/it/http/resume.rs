//! A body that is cut goes on at the same byte of the same version.

use std::io::Write;
use std::net::TcpStream;

use byte_stream::ErrorKind;

use super::{get, kind, once, patient};
use crate::kinds::{bytes, reset_on_close};
use crate::server::{Request, Server, good, head, partial};

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
        let len = if r.n == 0 { 30_000 } else { usize::MAX };
        partial(&r.for_whole(), s, &body, "\"v\"", len)
    });
    assert!(get(patient(), &server.url()).unwrap() == data);
}

#[test]
fn a_server_that_begins_at_an_earlier_byte_is_read_from_there_and_nothing_repeated() {
    let data = bytes(100_000);
    for block in [1, 1000, 4096] {
        let body = data.clone();
        let server = Server::new(move |r, s| {
            let Some((from, last)) = r.range() else {
                return partial(r, s, &body, "\"v\"", 10_001);
            };
            // The block in which the requested byte is, up to what was requested.
            let from = from / block * block;
            let last = last.map(|last| last.to_string()).unwrap_or_default();
            let range = format!("bytes={from}-{last}");
            let headers = vec![("range".to_owned(), range)];
            partial(&Request { headers, ..r.clone() }, s, &body, "\"v\"", 9_999)
        });
        assert!(get(patient(), &server.url()).unwrap() == data, "{block}");
        assert!(get(patient().range(5_000..50_000), &server.url()).unwrap() == data[5_000..50_000]);
        let rest = get(patient().resume_from(7, "\"v\""), &server.url()).unwrap();
        assert!(rest == data[7..], "{block}");
    }
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

#[test]
fn a_download_goes_on_where_it_ended() {
    let server = Server::new(|r, s| good(r, s, &bytes(1000), "\"v\""));
    let rest = get(once().resume_from(300, "\"v\""), &server.url()).unwrap();
    assert!(rest == bytes(1000)[300..]);
    assert_eq!(get(once().resume_from(1000, "\"v\""), &server.url()).unwrap(), b"");
    assert_eq!(kind(once().resume_from(300, "\"w\""), &server), ErrorKind::Changed);
    assert_eq!(kind(once().resume_from(2000, "\"v\""), &server), ErrorKind::Changed);
    assert_eq!(kind(once().resume_from(300, "W/\"v\""), &server), ErrorKind::InvalidUse);
    let stream = once().open(&server.url()).unwrap();
    assert_eq!(stream.validator(), Some("\"v\""));
}

#[test]
fn a_version_that_is_there_already_is_not_sent_again() {
    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    // A path names what is sent with the status 304.
    let server = Server::new(|r, s| {
        let known = r.header("if-none-match").or_else(|| r.header("if-modified-since"));
        if known != Some("\"v\"") && known != Some(DATE) {
            return good(r, s, &bytes(1000), "\"w\"");
        }
        let line = match r.line.as_str() {
            "GET /etag HTTP/1.1" => "ETag: \"v\"",
            "GET /other HTTP/1.1" => "ETag: \"x\"",
            _ => "X: y",
        };
        head(s, "304 Not Modified", &[line])
    });
    let at = |path: &str| format!("http://{}/{path}", server.address);
    let error = |version: &str, path: &str| {
        get(once().unless_version(version), &at(path)).unwrap_err().kind()
    };
    assert_eq!(error("\"v\"", "etag"), ErrorKind::Unchanged);
    assert_eq!(error("\"v\"", "none"), ErrorKind::Unchanged);
    assert_eq!(error(DATE, "none"), ErrorKind::Unchanged);
    assert_eq!(error("\"v\"", "other"), ErrorKind::Changed);
    assert_eq!(error("v", "none"), ErrorKind::InvalidUse);
    let both = once().unless_version("\"v\"").resume_from(1, "\"v\"");
    assert_eq!(get(both, &at("none")).unwrap_err().kind(), ErrorKind::InvalidUse);
    let parts = |version| once().unless_version(version).parallel(2).part_bytes(300);
    assert_eq!(get(parts("\"v\""), &at("none")).unwrap_err().kind(), ErrorKind::Unchanged);
    for options in [once().unless_version("\"u\""), parts("\"u\"")] {
        assert!(get(options, &at("none")).unwrap() == bytes(1000));
    }
    let requests = server.requests();
    let sent = |name: &str| requests.iter().filter(|r| r.header(name).is_some()).count();
    // Parts of a version that is known have their own condition.
    assert_eq!((sent("if-none-match"), sent("if-modified-since")), (6, 1));
}

#[test]
fn a_redirect_to_another_server_keeps_the_condition() {
    let other = Server::new(|_, s| head(s, "304 Not Modified", &[]));
    let to = format!("Location: {}", other.url());
    let server = Server::new(move |_, s| head(s, "302 Found", &[&to]));
    let error = get(once().unless_version("\"v\""), &server.url()).unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Unchanged, Some(304)));
    assert_eq!(other.requests()[0].header("if-none-match"), Some("\"v\""));
}

#[test]
fn a_download_goes_on_by_a_date() {
    const DATE: &str = "Sat, 05 Nov 1994 08:49:37 GMT";
    let server = Server::new(|r, s| {
        let now = "Date: Sun, 06 Nov 1994 08:49:37 GMT";
        let modified = format!("Last-Modified: {DATE}");
        let from = r.from().filter(|_| r.header("if-range") == Some(DATE)).unwrap_or(0) as usize;
        let range = format!("Content-Range: bytes {from}-999/1000");
        let length = format!("Content-Length: {}", 1000 - from);
        let status = if from > 0 { "206 Partial Content" } else { "200 OK" };
        head(s, status, &[&modified, now, &range, &length])?;
        s.write_all(&bytes(1000)[from..])
    });
    assert!(get(once().resume_from(300, DATE), &server.url()).unwrap() == bytes(1000)[300..]);
    let other = once().resume_from(300, "Sat, 05 Nov 1994 08:49:38 GMT");
    assert_eq!(kind(other, &server), ErrorKind::Changed);
    assert_eq!(once().open(&server.url()).unwrap().validator(), Some(DATE));
}
