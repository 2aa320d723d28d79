//! `bytelab cat` downloads URLs, and resumes an incomplete download.

use std::fs::File;
use std::io::Write;
use std::net::TcpListener;
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::cat::ended;
use crate::program::{World, request_head};

/// Serves `hello world` in this version; the first answers of each version end in the middle. A
/// path that contains `no-etag` has no version, and one that contains `stalled` keeps the
/// connection open in the middle.
pub(crate) fn server() -> (Arc<Mutex<(u32, u32)>>, String) {
    let state = Arc::new(Mutex::new((1, 0)));
    let version = state.clone();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://u:secret@{}/x", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut stalled = Vec::new();
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let head = request_head(&mut socket).unwrap_or_default();
            let path = head.lines().next().unwrap_or_default().to_owned();
            let mut state = version.lock().unwrap();
            let (version, cuts): (u32, u32) = *state;
            let is_other = head.starts_with("GET /other ");
            let body = if is_other { b"HELLO WORLD" } else { b"hello world" };
            let from =
                head.lines().find_map(|line| line.strip_prefix("Range: bytes=")?.strip_suffix('-'));
            let from = from.filter(|_| head.contains(&format!("If-Range: \"{version}\"")));
            let from: Option<usize> = from.map(|from| from.parse().unwrap());
            let at = from.unwrap_or(0);
            let status = match from {
                Some(11) => "416 Range Not Satisfiable\r\nContent-Range: bytes */11".to_owned(),
                Some(from) => format!("206 Partial Content\r\nContent-Range: bytes {from}-10/11"),
                None => "200 OK".to_owned(),
            };
            let length = body.len() - at;
            let end = if cuts > 0 { body.len().min(at + 3) } else { body.len() };
            state.1 = cuts.saturating_sub(1);
            let etag = format!("ETag: \"{version}\"\r\n");
            let etag = if path.contains("no-etag") { "" } else { &etag };
            let head = format!("HTTP/1.1 {status}\r\n{etag}Content-Length: {length}\r\n\r\n");
            // The program may have ended.
            let _ = socket.write_all(head.as_bytes());
            let _ = socket.write_all(&body[at..end]);
            if path.contains("stalled") {
                stalled.push(socket);
            }
        }
    });
    (state, url)
}

#[test]
fn a_url_is_an_input_and_a_download_is_gone_on_with() {
    let (world, (state, url)) = (World::new(), server());
    let get = |args: &[&str]| {
        let mut all = vec!["cat", "--retries", "0", url.as_str()];
        all.extend(args);
        let ended = ended(world.command(&all).env("no_proxy", "*"), b"");
        (String::from_utf8(ended.0).unwrap(), ended.1, ended.2)
    };
    assert_eq!(get(&[]), ("hello world".to_owned(), 0, String::new()));
    let file = world.path("down");
    let (name, part) = (file.to_str().unwrap(), world.path("down.part"));
    let note = world.path("down.part.note");
    let digest = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";
    let args = ["--resume", "-o", name, "--sha256", digest];
    state.lock().unwrap().1 = 2;
    for at in [3, 6] {
        let (out, code, stderr) = get(&args);
        assert_eq!((out.as_str(), code), ("", 1));
        assert!(
            stderr.contains("the connection ended before the body") && !stderr.contains("secret"),
            "{stderr}"
        );
        assert_eq!(std::fs::read(&part).unwrap(), &b"hello world"[..at]);
        assert!(!std::fs::read_to_string(&note).unwrap().contains("secret"));
        assert!(!file.exists());
    }
    // Another version: the existing bytes cannot be used.
    state.lock().unwrap().0 = 2;
    let (_, code, stderr) = get(&args);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.ends_with("has changed; it is downloaded from the beginning\n"), "{stderr}");
    assert_eq!(std::fs::read(&file).unwrap(), b"hello world");
    assert!(!part.exists() && !note.exists());
    // Without `--resume` no bytes remain.
    state.lock().unwrap().1 = 1;
    let (_, code, stderr) = get(&["-o", name]);
    assert_eq!(code, 1, "{stderr}");
    assert!(!part.exists() && !note.exists());
    assert_eq!(std::fs::read(&file).unwrap(), b"hello world");
    // The download is resumed, and the whole has a wrong digest.
    state.lock().unwrap().1 = 1;
    let wrong = ["--resume", "-o", name, "--sha256", &digest.replace('b', "c")];
    assert_eq!(get(&wrong).1, 1);
    assert!(part.exists());
    let (_, code, stderr) = get(&wrong);
    assert!(code == 1 && stderr.contains("the SHA-256 is"), "{stderr}");
    assert!(!part.exists() && !note.exists());
    assert_eq!(std::fs::read(&file).unwrap(), b"hello world");
}

/// Makes a download that `--resume` keeps in `down.part`: 3 bytes.
pub(crate) fn left(world: &World, state: &Arc<Mutex<(u32, u32)>>, url: &str) {
    state.lock().unwrap().1 = 1;
    let ran = resumed(world, url);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(std::fs::read(world.path("down.part")).unwrap(), b"hel");
}

pub(crate) fn resumed(world: &World, url: &str) -> crate::program::Ran {
    let (_, code, stderr) = ended(&mut resuming(world, url), b"");
    crate::program::Ran { code, stdout: String::new(), stderr }
}

pub(crate) fn resuming(world: &World, url: &str) -> Command {
    let name = world.path("down");
    let name = name.to_str().unwrap();
    let args = ["cat", "--retries", "0", "--resume", "-o", name, url];
    let mut command = world.command(&args);
    command.env("no_proxy", "*");
    command
}

#[test]
fn two_resources_are_never_spliced() {
    let (world, (state, url)) = (World::new(), server());
    // Another URL with the same version.
    left(&world, &state, &url);
    let ran = resumed(&world, &url.replace("/x", "/other"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(std::fs::read(world.path("down")).unwrap(), b"HELLO WORLD");
    assert!(ran.stderr.contains("another URL"), "{}", ran.stderr);
    // The kept bytes have been changed since.
    for changed in ["jel", "he", ""] {
        left(&world, &state, &url);
        std::fs::write(world.path("down.part"), changed).unwrap();
        let ran = resumed(&world, &url);
        assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("down.part") && ran.stderr.contains("remove"),
            "{}",
            ran.stderr
        );
        assert_eq!(std::fs::read_to_string(world.path("down.part")).unwrap(), changed);
        std::fs::remove_file(world.path("down.part")).unwrap();
        std::fs::remove_file(world.path("down.part.note")).unwrap();
    }
    // The part is longer than its note records: the program was killed, and the last bytes are
    // fetched again.
    left(&world, &state, &url);
    std::fs::write(world.path("down.part"), "helxx").unwrap();
    assert_eq!(resumed(&world, &url).code, 0);
    assert_eq!(std::fs::read(world.path("down")).unwrap(), b"hello world");
}

#[test]
fn files_of_the_user_next_to_the_output_are_never_touched() {
    let (world, (_, url)) = (World::new(), server());
    let names = ["down", "down.part", "down.part.note", "down.part.etag"];
    let [down, part, note, etag] = names.map(|name| world.path(name));
    for path in [&part, &note, &etag] {
        std::fs::write(path, "mine").unwrap();
    }
    let down_text = down.to_str().unwrap();
    assert_eq!(world.run(&["cat", "/no/such", "-o", down_text]).code, 1);
    assert!(!down.exists());
    assert_eq!(world.run(&["cat", part.to_str().unwrap(), "-o", down_text]).code, 0);
    assert_eq!(std::fs::read(&down).unwrap(), b"mine");
    for url in [url.as_str(), "http://127.0.0.1:1/x"] {
        let ran = resumed(&world, url);
        assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{}", ran.stderr);
        std::fs::remove_file(&note).unwrap();
        let ran = resumed(&world, url);
        assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{}", ran.stderr);
        assert!(ran.stderr.contains("down.part"), "{}", ran.stderr);
        assert!(!note.exists(), "a note of ours beside a file that is not ours");
        std::fs::write(&note, "mine").unwrap();
    }
    for path in [&down, &part, &note, &etag] {
        assert_eq!(std::fs::read(path).unwrap(), b"mine", "{}", path.display());
    }
}

#[test]
fn two_downloads_that_would_be_resumed_do_not_mix() {
    let (world, (state, url)) = (World::new(), server());
    left(&world, &state, &url);
    let note = File::open(world.path("down.part.note")).unwrap();
    note.lock().unwrap();
    let ran = resumed(&world, &url);
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("another run"), "{}", ran.stderr);
    assert_eq!(std::fs::read(world.path("down.part")).unwrap(), b"hel");
    note.unlock().unwrap();
    assert_eq!(resumed(&world, &url).code, 0);
    assert_eq!(std::fs::read(world.path("down")).unwrap(), b"hello world");
}

#[test]
fn a_url_in_parts_is_the_same_as_in_one() {
    let world = World::new();
    let data: Vec<u8> =
        (0..5_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let body = data.clone();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    let requests = Arc::new(Mutex::new(0));
    let count = requests.clone();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (mut socket, body) = (socket.unwrap(), body.clone());
            *count.lock().unwrap() += 1;
            std::thread::spawn(move || {
                let head = request_head(&mut socket).unwrap();
                let range = head.lines().find_map(|line| line.strip_prefix("Range: bytes="));
                let (first, last) = range.and_then(|range| range.split_once('-')).unwrap();
                let first: usize = first.parse().unwrap();
                let last = last.parse::<usize>().unwrap().min(body.len() - 1);
                let (len, size) = (last - first + 1, body.len());
                let head = format!(
                    "HTTP/1.1 206 Partial Content\r\nETag: \"v\"\r\nConnection: close\r\n\
                     Content-Range: bytes {first}-{last}/{size}\r\nContent-Length: {len}\r\n\r\n"
                );
                let _ = socket.write_all(head.as_bytes());
                let _ = socket.write_all(&body[first..=last]);
            });
        }
    });
    let mut command = world.command(&["cat", "--parallel", "3", &url]);
    let ended = ended(command.env("no_proxy", "*"), b"");
    assert!(ended.0 == data && ended.1 == 0, "{} bytes, {}", ended.0.len(), ended.2);
    assert_eq!(*requests.lock().unwrap(), 5, "a mebibyte each");
    assert_eq!(world.run(&["cat", "--parallel", "17", &url]).code, 1);
    assert_eq!(world.run(&["cat", "--parallel", "2", "--decode", &url]).code, 1);
}
