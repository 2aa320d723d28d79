//! Requests: their target, their headers, and which servers get the caller's headers.

use std::io::Write;

use byte_stream::{ErrorKind, Stream};

use super::{get, once};
use crate::server::{Server, good, head};

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
fn a_client_sends_what_was_set_and_no_more() {
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
        assert_eq!(error.kind(), ErrorKind::InvalidUse, "{name} {value}");
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
fn a_user_without_a_password_is_sent_with_a_colon() {
    let server = Server::new(|r, s| good(r, s, b"", "\"v\""));
    let at = |user: &str| format!("http://{user}@{}", server.address);
    for (user, expected) in
        [("me", "Basic bWU6"), ("me:", "Basic bWU6"), ("me:pw", "Basic bWU6cHc=")]
    {
        get(once(), &at(user)).unwrap();
        let options = Stream::options().proxy(Some(&at(user)));
        get(options, "http://example.invalid/").unwrap();
        let requests = server.requests();
        let [.., direct, by_proxy] = requests.as_slice() else { panic!("two requests") };
        assert_eq!(direct.header("authorization"), Some(expected), "{user}");
        assert_eq!(by_proxy.header("proxy-authorization"), Some(expected), "{user}");
    }
}

#[test]
fn a_redirect_to_a_space_or_a_letter_of_utf_8_is_followed() {
    let server = Server::new(|r, s| match r.line.as_str() {
        "GET /file HTTP/1.1" => head(s, "302 Found", &["Location: /a b/\u{e9}?\u{fc}=1%20"]),
        "GET /a%20b/%C3%A9?%C3%BC=1%20 HTTP/1.1" => good(r, s, b"there", "\"v\""),
        _ => head(s, "404 Not Found", &["Content-Length: 0"]),
    });
    assert_eq!(get(once(), &server.url()).unwrap(), b"there");
}

#[test]
fn a_host_name_is_sent_in_ascii() {
    let proxy = Server::new(|r, s| match r.line.as_str() {
        "GET http://a/ HTTP/1.1" => {
            head(s, "302 Found", &["Location: http://b\u{fc}cher.example/"])
        }
        _ => good(r, s, b"there", "\"v\""),
    });
    let by = format!("http://{}", proxy.address);
    for url in ["http://B\u{dc}CHER.example/", "http://a/"] {
        assert_eq!(get(once().proxy(Some(&by)), url).unwrap(), b"there");
    }
    for request in [&proxy.requests()[0], &proxy.requests()[2]] {
        assert_eq!(request.line, "GET http://xn--bcher-kva.example/ HTTP/1.1");
        assert_eq!(request.header("host"), Some("xn--bcher-kva.example"));
    }
}

#[test]
fn every_status_of_success_has_a_body() {
    for status in ["201 Created", "203 Non-Authoritative Information", "226 IM Used"] {
        let server = Server::new(move |_, s| {
            head(s, status, &["Content-Length: 4"])?;
            s.write_all(b"body")
        });
        assert_eq!(get(once(), &server.url()).unwrap(), b"body", "{status}");
    }
    let empty = Server::new(|_, s| head(s, "205 Reset Content", &["Content-Length: 0"]));
    assert_eq!(get(once(), &empty.url()).unwrap(), b"");
}

#[test]
fn a_netrc_file_has_the_credentials_of_a_host() {
    let other = Server::new(|r, s| good(r, s, b"there", "\"v\""));
    let to = format!("Location: {}", other.url().replace("127.0.0.1", "localhost"));
    let server = Server::new(move |_, s| head(s, "302 Found", &[&to]));
    let text = "machine localhost login x password y\nmachine 127.0.0.1 login u password p";
    let with = || once().netrc(text);
    get(with(), &server.url()).unwrap();
    get(with(), &server.url().replace("http://", "http://v:w@")).unwrap();
    get(with().basic_auth("a", "b"), &server.url()).unwrap();
    get(once().netrc("default login"), &server.url()).unwrap_err();
    let requests = server.requests();
    let sent: Vec<_> = requests.iter().map(|request| request.header("authorization")).collect();
    assert_eq!(sent, [Some("Basic dTpw"), Some("Basic djp3"), Some("Basic YTpi")]);
    // Another server gets none, not even its own.
    assert!(other.requests().iter().all(|request| request.header("authorization").is_none()));
}

#[test]
fn a_rate_limit_delays_the_rest() {
    let server = Server::new(|r, s| good(r, s, &vec![1; 1 << 20], "\"v\""));
    // More than the first buffer needs days.
    let limited = once().rate_limit(1).total_limit(std::time::Duration::from_millis(300));
    let error = get(limited, &server.url()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!(error.offset().is_none_or(|offset| offset < 1 << 20), "{error}");
    assert_eq!(get(once().rate_limit(1 << 40), &server.url()).unwrap().len(), 1 << 20);
    for options in [once().rate_limit(0), once().rate_limit(1).parallel(2)] {
        assert_eq!(get(options, &server.url()).unwrap_err().kind(), ErrorKind::InvalidUse);
    }
}
