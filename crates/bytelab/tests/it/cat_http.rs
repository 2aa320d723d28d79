//! The options of `bytelab cat` for URLs: credentials, connections, the rate and digests.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::cat::{ProgramOutput, ended};
use crate::program::{World, http_server, request_head};

/// The connection of each request, and its head.
type Requests = Arc<Mutex<Vec<(usize, String)>>>;

/// Answers each request of a connection with its path.
fn server() -> (String, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Requests::default();
    let seen = requests.clone();
    std::thread::spawn(move || {
        for (n, socket) in listener.incoming().enumerate() {
            let (socket, seen) = (socket.unwrap(), seen.clone());
            std::thread::spawn(move || answer(n, socket, &seen));
        }
    });
    (url, requests)
}

fn answer(n: usize, mut socket: TcpStream, seen: &Requests) {
    loop {
        let Some(head) = request_head(&mut socket) else { return };
        let path = head.split(' ').nth(1).unwrap().to_owned();
        seen.lock().unwrap().push((n, head));
        let body = if path == "/large" { "x".repeat(1 << 20) } else { path };
        let len = body.len();
        // The program may have ended.
        let _ = write!(socket, "HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n{body}");
    }
}

fn cat(world: &World, args: &[&str]) -> ProgramOutput {
    let mut command = world.command(&[&["cat"], args].concat());
    ended(command.env("no_proxy", "*").current_dir(world.dir.path()), b"")
}

/// The credentials of the last request.
fn sent(requests: &Requests) -> Option<String> {
    let (_, head) = requests.lock().unwrap().pop()?;
    head.lines().find_map(|line| line.strip_prefix("Authorization: ").map(str::to_owned))
}

#[test]
fn many_urls_of_one_server_need_one_connection() {
    let (world, (url, requests)) = (World::new(), server());
    let urls: Vec<String> = (0..20).map(|i| format!("{url}/{i}")).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let (output, code, stderr) = cat(&world, &urls);
    let expected = (0..20).map(|i| format!("/{i}")).collect::<Vec<_>>().concat();
    assert_eq!((String::from_utf8(output).unwrap(), code, stderr), (expected, 0, String::new()));
    let requests = requests.lock().unwrap();
    assert_eq!(requests.len(), 20);
    assert!(requests.iter().all(|(connection, _)| *connection == 0), "{requests:?}");
}

#[test]
fn credentials_come_from_an_option_or_from_a_netrc_file() {
    let (world, (url, requests)) = (World::new(), server());
    let check = |args: &[&str], expected: Option<&str>| {
        let (_, code, stderr) = cat(&world, &[args, &[&url]].concat());
        assert_eq!((code, stderr.as_str()), (0, ""), "{args:?}");
        assert_eq!(sent(&requests).as_deref(), expected, "{args:?}");
    };
    std::fs::write(world.path(".netrc"), "machine 127.0.0.1 login u password p\n").unwrap();
    std::fs::write(world.path("other"), "default login \"x y\" password z").unwrap();
    check(&[], None);
    check(&["--user", "me:pw:2"], Some("Basic bWU6cHc6Mg=="));
    check(&["--netrc"], Some("Basic dTpw"));
    check(&["--netrc-file", "other"], Some("Basic eCB5Ono="));
    check(&["--netrc", "--user", "me:"], Some("Basic bWU6"));
    std::fs::write(world.path("bad"), "machine\n").unwrap();
    std::fs::write(world.path("binary"), b"machine \xff").unwrap();
    for args in [
        &["--user", "secret"][..],
        &["--netrc-file", "missing"],
        &["--netrc-file", "bad"],
        &["--netrc-file", "binary"],
        &["--netrc", "--netrc-file", "other"],
    ] {
        let (output, code, stderr) = cat(&world, &[args, &[&url]].concat());
        assert!(output.is_empty() && code == 1, "{args:?}: {stderr}");
        assert!(!stderr.contains("secret") && !stderr.is_empty(), "{args:?}: {stderr}");
    }
    assert_eq!(requests.lock().unwrap().len(), 0);
}

#[test]
fn the_rate_is_limited() {
    let (world, (url, _)) = (World::new(), server());
    let large = format!("{url}/large");
    let (output, code, stderr) =
        cat(&world, &["--limit-rate", "1", "--time-limit", "300ms", "--retries", "0", &large]);
    assert!(output.len() < 1 << 20 && code == 1, "{} bytes", output.len());
    assert!(stderr.contains("not done within the total time limit"), "{stderr}");
    let (output, code, stderr) = cat(&world, &["--limit-rate", "1GiB", &large]);
    assert_eq!((output.len(), code, stderr.as_str()), (1 << 20, 0, ""));
    for args in [&["--limit-rate", "0"][..], &["--limit-rate", "1", "--parallel", "2"]] {
        let (_, code, stderr) = cat(&world, &[args, &[&url]].concat());
        assert!(code == 1 && !stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn an_option_of_urls_that_files_do_not_have_is_refused() {
    let (world, (url, requests)) = (World::new(), server());
    std::fs::write(world.path("a.gz"), b"\x1f\x8b").unwrap();
    for (args, expected) in [
        (&["--decode", "a.gz"][..], "--decode is for URLs; a file is decoded by `gzip -dc`"),
        (&["--decode", &url, "a.gz"], "--decode is for URLs"),
        (&["--decode"], "--decode is for URLs"),
        (&["--limit-rate", "1KiB", "a.gz"], "--limit-rate is for URLs; give one"),
        (&["--time-limit", "1s", "-"], "--time-limit is for URLs; give one"),
        (&["--accept-unframed", "a.gz"], "--accept-unframed is for URLs; give one"),
    ] {
        let (output, code, stderr) = cat(&world, args);
        assert!(output.is_empty() && code == 1, "{args:?}: {stderr}");
        assert!(stderr.starts_with(&format!("bytelab cat: {expected}")), "{args:?}: {stderr}");
    }
    assert_eq!(requests.lock().unwrap().len(), 0);
    let (output, code, stderr) = cat(&world, &["--time-limit", "9s", &format!("{url}/a"), "a.gz"]);
    assert_eq!((output.as_slice(), code, stderr.as_str()), (&b"/a\x1f\x8b"[..], 0, ""));
}

/// Answers everything with these bytes, and ends the connection.
fn answering(bytes: &'static [u8]) -> String {
    http_server(move |_| bytes.to_vec()) + "/x"
}

#[test]
fn a_body_that_only_the_connection_ends_is_accepted_by_a_flag_or_a_digest() {
    let (world, url) = (World::new(), answering(b"HTTP/1.0 200 OK\r\n\r\nhello"));
    let (output, code, stderr) = cat(&world, &[&url]);
    assert_eq!((output.as_slice(), code), (&b""[..], 1), "{stderr}");
    let flags = "; --accept-unframed accepts it, and --sha256 detects a truncated one\n";
    assert!(stderr.ends_with(flags) && !stderr.contains("accept_unframed"), "{stderr}");
    let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    for args in [&["--accept-unframed"][..], &["--sha256", hello]] {
        let (output, code, stderr) = cat(&world, &[args, &[&url]].concat());
        assert_eq!((output.as_slice(), code, stderr.as_str()), (&b"hello"[..], 0, ""), "{args:?}");
    }
}

#[test]
fn a_server_of_another_protocol_is_shown_by_what_it_says() {
    let (world, url) = (World::new(), answering(b"SSH-2.0-x\r\n"));
    let (_, code, stderr) = cat(&world, &[&url]);
    let expected =
        format!("bytelab cat: {url}: the answer is not HTTP: it begins with `SSH-2.0-x`\n");
    assert_eq!((code, stderr), (1, expected));
}

#[test]
fn every_input_has_the_digest_that_the_file_has_for_its_name() {
    let (world, (url, _)) = (World::new(), server());
    std::fs::write(world.path("hello"), "hello").unwrap();
    std::fs::write(world.path("changed"), "changed").unwrap();
    let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    // Of the text `/a+b`.
    let path = "7db5603f9d70f765bac71506b6f0a28a9fd3ff7ed2433e2a91a880702a859ccf";
    let sums = format!("{hello}  hello\n{hello} *./changed\n{path}  dist/a+b\n");
    std::fs::write(world.path("sums"), sums).unwrap();
    let with = |args: &[&str]| {
        let (output, code, stderr) = cat(&world, &[&["--sha256-file", "sums"], args].concat());
        (String::from_utf8(output).unwrap(), code, stderr)
    };
    let remote = format!("{url}/a+b");
    assert_eq!(with(&["hello", &remote, "hello"]), ("hello/a+bhello".to_owned(), 0, String::new()));
    let (_, code, stderr) = with(&["changed"]);
    assert!(code == 1 && stderr.contains("changed: the SHA-256 is"), "{stderr}");
    let (output, code, stderr) = with(&["other", "hello"]);
    assert_eq!((output.as_str(), code), ("hello", 1));
    assert_eq!(stderr, "bytelab cat: other: sums has no SHA-256 of this name\n");
    let (_, code, stderr) = with(&["--resume", "-o", "down", &remote]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert_eq!(std::fs::read(world.path("down")).unwrap(), b"/a+b");
    let (_, code, stderr) = with(&["--resume", "-o", "down", &url]);
    assert!(code == 1 && stderr.lines().count() == 1, "{stderr}");
    std::fs::write(world.path("sums"), "no sums\n").unwrap();
    let (output, code, stderr) = with(&["hello"]);
    assert_eq!(
        (output.as_str(), code, stderr.as_str()),
        ("", 1, "bytelab cat: sums, line 1: no SHA-256\n")
    );
}
