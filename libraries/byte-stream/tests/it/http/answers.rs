//! What a stream says about the answer, parts of a resource, and versions that only a date names.

use std::io::Write;

use byte_stream::{ErrorKind, Stream};

use super::{get, kind, once, patient};
use crate::kinds::bytes;
use crate::server::{Request, Server, chunk, good, head, partial};

#[test]
fn the_url_the_status_and_the_headers_of_the_answer_are_known() {
    let server = Server::new(|r, s| {
        if r.line == "GET /file HTTP/1.1" {
            return head(s, "302 Found", &["Location: /to?x#y"]);
        }
        let lines = ["Content-Type: text/csv", "X: a", "x:  b\u{e9} ", "Content-Length: 5"];
        head(s, "203 Other", &lines)?;
        s.write_all(b"hello")
    });
    let stream = once().open(&server.url().replace("http://", "http://user:secret@")).unwrap();
    let response = stream.response().unwrap();
    assert_eq!(response.url(), format!("http://{}/to?x", server.address));
    assert_eq!(response.status(), 203);
    assert_eq!(response.header("content-type"), Some("text/csv"));
    assert_eq!((response.header("X"), response.header("y")), (Some("a"), None));
    let all: Vec<_> = response.headers().skip(2).collect();
    assert_eq!(all[0], ("x", "b\u{e9}".as_bytes()));
    assert_eq!(all[1], ("Content-Length", b"5".as_slice()));
    let parts = Server::new(|r, s| good(r, s, &bytes(50_000), "\"v\""));
    let stream = once().parallel(2).part_bytes(10_000).open(&parts.url()).unwrap();
    let response = stream.response().unwrap();
    assert_eq!((response.status(), response.header("ETag")), (206, Some("\"v\"")));
}

#[test]
fn a_range_is_a_part_whatever_the_server_makes_of_it() {
    let data = bytes(100_000);
    let (body, whole, in_chunks) = (data.clone(), data.clone(), data.clone());
    let ranges = Server::new(move |r, s| good(r, s, &body, "\"v\""));
    let none = Server::new(move |r, s| good(&r.for_whole(), s, &whole, "\"v\""));
    let chunks = Server::new(move |_, s| {
        head(s, "200 OK", &["Transfer-Encoding: chunked"])?;
        for part in in_chunks.chunks(30_000) {
            chunk(s, part.len(), part)?;
        }
        s.write_all(b"0\r\n\r\n")
    });
    for server in [&ranges, &none, &chunks] {
        let get = |options| get(options, &server.url()).unwrap();
        assert!(get(once().range(..1000)) == data[..1000]);
        assert!(get(once().range(..=1000)) == data[..=1000]);
        assert!(get(once().range(99_000..)) == data[99_000..]);
        assert!(get(once().range(40_000..90_000)) == data[40_000..90_000]);
        assert!(get(once().range(99_000..200_000)) == data[99_000..]);
        assert!(get(once().range(..)) == data);
    }
    let request = ranges.requests().remove(3);
    assert_eq!((request.range(), request.header("if-range")), (Some((40_000, Some(89_999))), None));
    assert_eq!(kind(once().range(100_000..), &ranges), ErrorKind::InvalidUse);
    for wrong in [
        once().range(5..5),
        once().range(5..).decode(true),
        once().range(5..).parallel(2),
        once().range(5..).resume_from(5, "\"v\""),
    ] {
        assert_eq!(kind(wrong, &ranges), ErrorKind::InvalidUse);
    }
}

#[test]
fn a_range_that_is_cut_goes_on_within_it() {
    let data = bytes(100_000);
    let body = data.clone();
    let server = Server::new(move |r, s| partial(r, s, &body, "\"v\"", 10_000));
    assert!(get(patient().range(30_000..75_000), &server.url()).unwrap() == data[30_000..75_000]);
    let requested: Vec<_> = server.requests().iter().map(Request::from).collect();
    assert_eq!(requested, [30_000, 40_000, 50_000, 60_000, 70_000].map(Some));
    let last = server.requests().pop().unwrap();
    assert_eq!(last.header("if-range"), Some("\"v\""));
}

/// Answers each request with at most 20000 bytes of a version that has a date and no `ETag`.
fn dated(lines: impl Fn(usize) -> [&'static str; 2] + Send + Sync + 'static) -> Server {
    Server::new(move |r, s| {
        let (body, from) = (bytes(50_000), r.from().unwrap_or(0) as usize);
        let range = format!("Content-Range: bytes {from}-49999/50000");
        let length = format!("Content-Length: {}", 50_000 - from);
        let [date, modified] = lines(r.n);
        let status = if from > 0 { "206 Partial Content" } else { "200 OK" };
        head(s, status, &[&range, &length, date, modified])?;
        s.write_all(&body[from..][..20_000.min(50_000 - from)])
    })
}

const NOW: &str = "Date: Sun, 06 Nov 1994 08:49:37 GMT";
const LONG_AGO: &str = "Last-Modified: Sat, 05 Nov 1994 08:49:37 GMT";

#[test]
fn a_version_without_an_etag_is_known_by_a_date_that_is_old_enough() {
    let server = dated(|_| [NOW, LONG_AGO]);
    assert!(get(patient(), &server.url()).unwrap() == bytes(50_000));
    let last = server.requests().pop().unwrap();
    assert_eq!(last.header("if-range"), LONG_AGO.strip_prefix("Last-Modified: "));
    let date = LONG_AGO.strip_prefix("Last-Modified: ");
    assert_eq!(patient().open(&server.url()).unwrap().validator(), date);
    let changed = dated(|n| {
        [NOW, if n == 0 { LONG_AGO } else { "Last-Modified: Sat, 05 Nov 1994 08:49:38 GMT" }]
    });
    assert_eq!(kind(patient(), &changed), ErrorKind::Changed);
    let gone = dated(|n| [NOW, if n == 0 { LONG_AGO } else { "X: y" }]);
    assert_eq!(kind(patient(), &gone), ErrorKind::Changed);
    // It may have changed again in the same second, or nothing says when that was.
    for lines in [[NOW, "Last-Modified: Sun, 06 Nov 1994 08:49:30 GMT"], ["X: y", LONG_AGO]] {
        assert_eq!(kind(patient(), &dated(move |_| lines)), ErrorKind::Truncated);
    }
}

#[test]
fn a_local_input_has_no_answer() {
    assert_eq!(Stream::open("/proc/self/comm").unwrap().response(), None);
}
