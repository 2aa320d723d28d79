//! `bytelab serve`, as a client of its port: the pages, and what hostile requests get.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::import::{import, json_of};
use crate::program::World;

const HOSTILE: &str = "<script>alert(1)</script>\"'&\u{202e}";

/// The program, which ends with it.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(world: &World) -> Server {
        let mut command = world.command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("http://").and_then(|a| a.strip_suffix('/'));
        let address = address.unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Server { child, address }
    }

    /// The status, the head and the body of the answer to these bytes.
    fn send(&self, bytes: &[u8]) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        // It may answer before it has read everything.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_ascii_lowercase(), body.to_owned())
    }

    fn get(&self, target: &str) -> (u16, String, String) {
        let address = &self.address;
        let request =
            format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        self.send(request.as_bytes())
    }

    /// A page of HTML without anything of a label that is markup.
    fn page(&self, target: &str) -> String {
        let (status, head, body) = self.get(target);
        assert_eq!(status, 200, "{target}: {body}");
        assert!(head.contains("content-type: text/html; charset=utf-8"), "{head}");
        assert!(body.starts_with("<!doctype html>"), "{target}");
        assert!(!body.contains("<script>alert"), "{target}");
        body
    }
}

/// A world with two runs that have hostile labels, and one of another experiment and machine.
fn world() -> World {
    let world = World::new();
    let run = "run reading --size 4KiB --method read,mmap --rounds 2 --sessions 1 --counting 0";
    let run: Vec<&str> = run.split(' ').chain(["--json", "--label", HOSTILE]).collect();
    let id = json_of(&world, &run)["id"].as_str().unwrap().to_owned();
    let exported = world.run(&["export", &id, "--format", "json"]);
    let mut other = exported.json();
    for cell in other["cells"].as_array_mut().unwrap() {
        cell["values"]["wall_ns"].as_array_mut().unwrap().fill(12_345.0.into());
    }
    other["environment"]["cpu_model"] = HOSTILE.into();
    import(&world, &[&world.write("second.json", other.to_string())]);
    let theirs = r#"{"results": [{"command": "<b>sleep", "times": [0.5, 0.6, 0.7]}]}"#;
    import(&world, &[&world.write("theirs.json", theirs), "--label", "theirs"]);
    world
}

#[test]
fn runs_are_listed_filtered_shown_compared_and_drawn_over_time() {
    let world = world();
    let server = Server::start(&world);
    let list = server.page("/");
    for part in ["3 runs, the newest first", "href=\"/run/1\"", "href=\"/run/3\"", "&lt;script&gt;"]
    {
        assert!(list.contains(part), "{part}: {list}");
    }
    let measured = "reading counting=0 rounds=2 size=4Ki: read, mmap";
    for part in ["<th scope=\"col\">fastest</th>", measured, "&lt;b&gt;sleep", "600 ms"] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let filtered = server.page("/?experiment=hyperfine&label=th*&machine=");
    assert!(filtered.contains("/run/3\"") && !filtered.contains("/run/1\""), "{filtered}");
    assert!(server.page("/?page=7").contains("No run matches"));
    // The same page as that of `report`.
    let report = world.run(&["report", "1", "-o", "-"]);
    assert_eq!(server.page("/run/1"), report.stdout);
    let both = world.run(&["report", "1", "2", "-o", "-"]);
    assert_eq!(server.page("/compare?run=1&run=2"), both.stdout);
    let history = server.page("/history?method=mmap&experiment=reading");
    assert!(history.contains("mmap, p50 of wall_ns · reading"), "{history}");
    assert!(server.page("/history?method=%3Cb%3Esleep").contains("&lt;b&gt;sleep"));
    // A run that is stored now is there with the next request.
    import(&world, &[&world.path("theirs.json").display().to_string(), "--label", "new"]);
    assert!(server.page("/").contains("4 runs"));
}

#[test]
fn what_is_not_there_or_not_allowed_is_one_clear_line() {
    let world = world();
    let server = Server::start(&world);
    let long = format!("/?label={}", "a".repeat(20_000));
    for (target, status, line) in [
        ("/run/17", 404, "no run \"17\""),
        ("/run/%3Cscript%3E", 404, "no run \"%3Cscript%3E\""),
        ("/run/../../etc/passwd", 404, "no such page"),
        ("/run/..%2f..%2fetc%2fpasswd", 404, "no run"),
        ("//etc/passwd", 404, "no such page"),
        ("/run/1/", 404, "no such page"),
        ("/favicon.ico", 404, "no such page"),
        ("/compare", 400, "no run is chosen"),
        ("/compare?run=1&run=1", 400, "named twice"),
        ("/compare?run=1&run=3", 400, "a report shows one experiment"),
        ("/compare?run=1&run=%00%1b%5b2J", 404, "no run"),
        ("/history", 400, "no method is named"),
        ("/history?method=%3Cscript%3E", 404, "no value of wall_ns"),
        (&long, 414, "too long"),
    ] {
        let (found, head, body) = server.get(target);
        assert_eq!(found, status, "{target}: {body}");
        assert!(head.contains("content-type: text/plain") && head.contains("nosniff"), "{head}");
        assert!(body.contains(line) && body.lines().count() == 1, "{target}: {body:?}");
        assert!(!body.trim_end().contains(char::is_control), "{target}: {body:?}");
    }
    assert_eq!(server.get("/?label=%ff%fe&page=-1&page=99999999999999999999").0, 200);
    let (status, head, _) = server.send(
        format!("POST / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address)
            .as_bytes(),
    );
    assert!(status == 405 && head.contains("allow: get, head"), "{head}");
    assert!(!world.path("etc").exists());
}

#[test]
fn hostile_connections_end_and_the_server_goes_on() {
    let world = world();
    let server = Server::start(&world);
    for bytes in [
        &b"\xff\xfe\x00\r\n\r\n"[..],
        b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        &[b"GET / HTTP/1.1\r\nX: ", &vec![b'a'; 1 << 20][..], b"\r\n\r\n"].concat(),
    ] {
        let (status, ..) = server.send(bytes);
        assert!((400..500).contains(&status), "{status}");
    }
    // Another site's name that was made to lead here.
    let (status, _, body) =
        server.send(b"GET / HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n");
    assert_eq!((status, body.lines().count()), (403, 1), "{body}");
    // A connection without a request delays no other.
    let _silent = TcpStream::connect(&server.address).unwrap();
    let (status, head, body) = server.get("/run/1");
    assert_eq!(status, 200);
    let policy = head.lines().find(|line| line.starts_with("content-security-policy: ")).unwrap();
    for part in ["default-src 'none'", "script-src 'sha256-", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{part}: {policy}");
    }
    assert!(!policy.split("script-src").nth(1).unwrap().contains("unsafe"), "{policy}");
    assert!(body.contains("</html>"));
    assert!(head.contains("cross-origin-resource-policy: same-origin"), "{head}");
}

#[test]
fn a_filter_with_many_stars_is_answered() {
    let world = world();
    let server = Server::start(&world);
    assert_eq!(world.run(&["label", "1", &"ab".repeat(30)]).code, 0);
    let many = format!("/?label={}", "*a".repeat(30));
    assert!(server.page(&many).contains("No run matches"));
    assert!(server.page(&format!("/?label={}", "*".repeat(8000))).contains("3 runs"));
}

#[test]
fn clients_that_do_not_send_or_do_not_read_hold_up_nobody() {
    let world = world();
    let server = Server::start(&world);
    let silent: Vec<TcpStream> =
        (0..70).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    assert_eq!(server.get("/").0, 200);
    drop(silent);
    let address = &server.address;
    let many = format!("GET /run/1 HTTP/1.1\r\nHost: {address}\r\n\r\n").repeat(100);
    let unread: Vec<TcpStream> = (0..64)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_nonblocking(true).unwrap();
            let _ = stream.write_all(many.as_bytes());
            stream
        })
        .collect();
    assert_eq!(server.get("/").0, 200);
    drop(unread);
}

#[test]
fn what_is_wrong_with_the_store_is_an_error_of_the_server() {
    let world = world();
    let server = Server::start(&world);
    let path = world.path(".local/share/bytelab/runs.sqlite");
    let open = || rusqlite::Connection::open(&path).unwrap();
    open().execute("UPDATE run SET points = '{'", []).unwrap();
    let uuid: String =
        open().query_row("SELECT uuid FROM run WHERE id = 3", [], |row| row.get(0)).unwrap();
    for target in ["/run/3", "/run/latest", &format!("/run/{uuid}"), "/history?method=mmap"] {
        let (status, _, body) = server.get(target);
        assert_eq!((status, body.lines().count()), (500, 1), "{target}: {body}");
        assert!(body.contains("is damaged") || body.contains("cannot be read"), "{target}: {body}");
    }
    open().execute("UPDATE run SET uuid = '01940000-' || id", []).unwrap();
    let (status, _, body) = server.get("/run/01940000");
    assert_eq!((status, body.lines().count()), (404, 1), "{body}");
    assert!(body.contains("or more than one"), "{body}");
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let (status, _, body) = server.get("/");
    assert_eq!((status, body.lines().count()), (503, 1), "{body}");
    assert!(body.contains("does not exist"), "{body}");
    assert!(!path.exists(), "the pages make no store");
}

#[test]
fn a_signal_ends_it_and_an_address_in_use_is_an_error() {
    let world = World::new();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut server = Server::start(&world);
        world.refused(&["serve", "--listen", &server.address], "--listen 127.0.0.1:");
        kill_process(Pid::from_child(&server.child), signal).unwrap();
        assert_eq!(server.child.wait().unwrap().code(), Some(code));
    }
    let wrong = world.run(&["serve", "--listen", "nowhere"]);
    assert_eq!((wrong.code, wrong.stdout.as_str()), (2, ""), "{}", wrong.stderr);
}
