//! What `bytelab cat --resume` keeps when it is killed, and when the last step of a download fails.

use std::io::Write;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::cat_download::{left, resumed, resuming, server};
use crate::program::{World, request_head};

/// Waits for an operation of the program on files, which must happen before it ends.
fn wait(child: &mut Child, is_done: impl Fn() -> bool) {
    while !is_done() {
        assert!(child.try_wait().unwrap().is_none(), "the program ended before");
        std::thread::yield_now();
    }
}

fn start(world: &World, url: &str) -> Child {
    resuming(world, url).stderr(Stdio::piped()).spawn().unwrap()
}

/// The message of a failed last step, and that the whole download is kept.
fn keeps_the_part(world: &World, output: &std::process::Output, way: &str) {
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!((output.status.code(), stderr.lines().count()), (Some(1), 1), "{stderr}");
    let part = world.path("down.part");
    assert_eq!(std::fs::read(&part).unwrap_or_default(), b"hello world", "{stderr}");
    assert!(world.path("down.part.note").exists());
    assert!(stderr.contains(part.to_str().unwrap()) && stderr.contains(way), "{stderr}");
}

fn ends_well(world: &World, url: &str) {
    let ran = resumed(world, url);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(std::fs::read(world.path("down")).unwrap(), b"hello world");
    assert!(!world.path("down.part").exists() && !world.path("down.part.note").exists());
}

#[test]
fn a_download_that_cannot_be_renamed_is_kept() {
    let (world, (state, url)) = (World::new(), server());
    let (down, part) = (world.path("down"), world.path("down.part"));
    for (path, way) in [("/x", "try again with --resume"), ("/no-etag", "move it")] {
        let url = url.replace("/x", path);
        // The server answers after the output has become a directory.
        let answers = state.lock().unwrap();
        let mut child = start(&world, &url);
        wait(&mut child, || part.exists());
        std::fs::create_dir(&down).unwrap();
        drop(answers);
        keeps_the_part(&world, &child.wait_with_output().unwrap(), way);
        std::fs::remove_dir(&down).unwrap();
        // If it were fetched again with an ETag, it would be truncated.
        state.lock().unwrap().1 = u32::from(path == "/x");
        ends_well(&world, &url);
        std::fs::remove_file(&down).unwrap();
    }
}

#[test]
fn a_download_that_cannot_be_copied_is_kept() {
    let (world, (state, url)) = (World::new(), server());
    // A complete part, and an output with two names.
    left(&world, &state, &url);
    std::fs::write(world.path("down.part"), "hello world").unwrap();
    let note = world.path("down.part.note");
    let text = std::fs::read_to_string(&note).unwrap();
    let (head, _) = text.split_once("length ").unwrap();
    let digest = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";
    std::fs::write(&note, format!("{head}length {:020}\ntail {digest}\n", 11)).unwrap();
    std::fs::write(world.path("down"), "old").unwrap();
    std::fs::hard_link(world.path("down"), world.path("second")).unwrap();
    // No file can be written, as if the disk were full.
    let command = resuming(&world, &url);
    #[expect(clippy::disallowed_methods, reason = "a shell sets the limit of a process")]
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 0; trap '' XFSZ; exec \"$0\" \"$@\""]).env("no_proxy", "*");
    let output = shell.arg(command.get_program()).args(command.get_args()).output().unwrap();
    keeps_the_part(&world, &output, "try again with --resume");
    // If it were fetched again, it would be truncated.
    state.lock().unwrap().1 = 1;
    ends_well(&world, &url);
    assert_eq!(std::fs::read(world.path("second")).unwrap(), b"hello world");
}

#[test]
fn a_killed_download_without_an_etag_is_begun_again() {
    let world = World::new();
    let (state, url) = server();
    let url = url.replace("/x", "/no-etag/stalled");
    let part = world.path("down.part");
    let kill_in_the_middle = || {
        state.lock().unwrap().1 = 1;
        let mut child = start(&world, &url);
        wait(&mut child, || std::fs::read(&part).is_ok_and(|bytes| bytes == b"hel"));
        child.kill().unwrap();
        child.wait().unwrap();
    };
    kill_in_the_middle();
    ends_well(&world, &url);
    // Without its note a part is not ours.
    kill_in_the_middle();
    std::fs::remove_file(world.path("down.part.note")).unwrap();
    let ran = resumed(&world, &url);
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{}", ran.stderr);
    assert_eq!(std::fs::read(&part).unwrap(), b"hel");
}

#[test]
fn a_cut_download_without_an_etag_leaves_nothing() {
    let world = World::new();
    let (state, url) = server();
    let url = url.replace("/x", "/no-etag");
    state.lock().unwrap().1 = 1;
    let ran = resumed(&world, &url);
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{}", ran.stderr);
    assert!(!world.path("down.part").exists() && !world.path("down.part.note").exists());
    ends_well(&world, &url);
}

/// A file of a server, and the heads of the requests for it.
struct VersionedFile {
    /// An `ETag`, or a date of `Last-Modified`.
    version: &'static str,
    /// How many answers end behind three bytes.
    cuts: u32,
    heads: Vec<String>,
}

/// Serves `hello world`, the rest of this version on request, and nothing to those who have it.
fn versioned(version: &'static str) -> (Arc<Mutex<VersionedFile>>, String) {
    let state = Arc::new(Mutex::new(VersionedFile { version, cuts: 1, heads: Vec::new() }));
    let shared = state.clone();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let Some(head) = request_head(&mut socket) else { continue };
            // The program may have ended.
            let _ = socket.write_all(&shared.lock().unwrap().answer(head));
        }
    });
    (state, url)
}

impl VersionedFile {
    fn answer(&mut self, head: String) -> Vec<u8> {
        let version = Some(self.version);
        let field = |name: &str| {
            let mut lines = head.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        let known = field("If-None-Match").or_else(|| field("If-Modified-Since"));
        let range = field("Range").filter(|_| field("If-Range") == version);
        let from = range.and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-'));
        let from = from.map_or(0, |from| from.parse::<usize>().unwrap());
        let mut body = &b"hello world"[from..];
        let status = match from {
            _ if known == version => "304 Not Modified".to_owned(),
            0 => "200 OK\r\nContent-Length: 11".to_owned(),
            from => {
                let len = body.len();
                format!("206 Part\r\nContent-Range: bytes {from}-10/11\r\nContent-Length: {len}")
            }
        };
        if known == version {
            body = b"";
        } else if self.cuts > 0 {
            (self.cuts, body) = (self.cuts - 1, &body[..3]);
        }
        let version = match self.version {
            etag if etag.starts_with('"') => format!("ETag: {etag}"),
            date => format!("Date: Tue, 02 Jan 2024 00:00:00 GMT\r\nLast-Modified: {date}"),
        };
        let answer = format!("HTTP/1.1 {status}\r\n{version}\r\nConnection: close\r\n\r\n");
        self.heads.push(head);
        [answer.as_bytes(), body].concat()
    }
}

#[test]
fn a_download_goes_on_by_an_etag_or_a_date_and_is_then_loaded_only_if_it_has_changed() {
    let dates = ["Mon, 01 Jan 2024 00:00:00 GMT", "Mon, 01 Jan 2024 00:00:01 GMT"];
    for ([first, second], condition) in
        [(["\"1\"", "\"2\""], "If-None-Match"), (dates, "If-Modified-Since")]
    {
        let (world, (state, url)) = (World::new(), versioned(first));
        let last = || state.lock().unwrap().heads.pop().unwrap();
        let ran = resumed(&world, &url);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert_eq!(std::fs::read(world.path("down.part")).unwrap(), b"hel", "{}", ran.stderr);
        ends_well(&world, &url);
        let head = last();
        assert!(head.contains("Range: bytes=3-\r\n"), "{head}");
        assert!(head.contains(&format!("If-Range: {first}\r\n")), "{head}");
        // Some file systems have no attributes, which the version needs.
        let (directory, flags) = (world.path(""), rustix::fs::XattrFlags::empty());
        if rustix::fs::setxattr(&directory, "user.bytelab.test", b"1", flags).is_err() {
            continue;
        }
        // It is there, and was not loaded again.
        let ran = resumed(&world, &url);
        assert_eq!((ran.code, ran.stderr.lines().count()), (0, 1), "{}", ran.stderr);
        assert!(ran.stderr.contains("/x: has not changed since "), "{}", ran.stderr);
        assert!(last().contains(&format!("{condition}: {first}\r\n")));
        assert_eq!(std::fs::read(world.path("down")).unwrap(), b"hello world");
        assert!(!world.path("down.part").exists() && !world.path("down.part.note").exists());
        // Another version, a file that was written to, another URL: all is loaded.
        state.lock().unwrap().version = second;
        ends_well(&world, &url);
        std::fs::write(world.path("down"), "HELLO").unwrap();
        ends_well(&world, &url);
        assert!(!last().contains(condition));
        ends_well(&world, &url.replace("/x", "/y"));
        assert!(!last().contains(condition));
    }
}
