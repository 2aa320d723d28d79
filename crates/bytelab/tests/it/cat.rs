//! `bytelab cat` does what `cat` does, and gets URLs.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::program::World;

/// What a command wrote, how it ended, and what it complained of.
type Ended = (Vec<u8>, i32, String);

fn ended(command: &mut Command, input: &[u8]) -> Ended {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    (output.stdout, output.status.code().unwrap_or(-1), stderr)
}

/// Ours, and the system's own if there is one, which must do the same.
fn check(world: &World, args: &[&str], input: &[u8], expected: &[u8], code: i32) -> String {
    let ours = ended(&mut world.command(&[&["cat"], args].concat()), input);
    assert!(ours.0 == expected, "{args:?}: {} bytes, {}", ours.0.len(), ours.2);
    assert_eq!(ours.1, code, "{args:?}: {}", ours.2);
    #[expect(clippy::disallowed_methods, reason = "the program that ours is held against")]
    let mut theirs = Command::new("/bin/cat");
    let theirs = ended(theirs.args(args).env("LC_ALL", "C"), input);
    assert!((&theirs.0, theirs.1) == (&ours.0, ours.1), "{args:?}: cat does otherwise");
    let as_theirs = ours.2.replace("bytelab cat: ", "cat: ");
    assert_eq!(as_theirs, theirs.2.replace("/bin/cat: ", "cat: "), "{args:?}");
    ours.2
}

#[test]
fn files_and_standard_input_come_one_after_the_other() {
    let world = World::new();
    let (a, b) = (world.path("a"), world.path("b"));
    let large = vec![b'x'; 3_000_000];
    std::fs::write(&a, "hello ").unwrap();
    std::fs::write(&b, &large).unwrap();
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    check(&world, &[], b"input", b"input", 0);
    check(&world, &["-"], &large, &large, 0);
    check(&world, &[a], b"", b"hello ", 0);
    check(&world, &[a, "-", a], b"input", b"hello inputhello ", 0);
    check(&world, &[b], b"", &large, 0);
    check(
        &world,
        &["/dev/null", "/proc/version"],
        b"",
        &std::fs::read("/proc/version").unwrap(),
        0,
    );
}

#[test]
fn an_input_that_fails_is_told_and_the_others_get_through() {
    let world = World::new();
    let a = world.path("a");
    std::fs::write(&a, "hello").unwrap();
    let a = a.to_str().unwrap();
    let told = check(&world, &["/no/such", a, "/", a], b"", b"hellohello", 1);
    assert_eq!(
        told,
        "bytelab cat: /no/such: No such file or directory\nbytelab cat: /: Is a directory\n"
    );
}

#[test]
fn a_file_is_not_copied_to_its_own_end() {
    let world = World::new();
    let path = world.path("a");
    std::fs::write(&path, "hello").unwrap();
    let append = || OpenOptions::new().append(true).open(&path).unwrap();
    let name = path.to_str().unwrap();
    for args in [&["cat", name][..], &["cat", "--sha256", &"0".repeat(64), name]] {
        let output = world.command(args).stdout(append()).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(told.ends_with("a: input file is output file\n"), "{told}");
        assert_eq!(std::fs::read(&path).unwrap(), b"hello");
    }
    let other = world.path("b");
    std::fs::write(&other, " there").unwrap();
    let args = ["cat", other.to_str().unwrap()];
    assert!(world.command(&args).stdout(append()).status().unwrap().success());
    assert_eq!(std::fs::read(&path).unwrap(), b"hello there");
}

#[test]
fn a_text_is_shown_as_cat_shows_it() {
    let world = World::new();
    let bytes: Vec<u8> = (0..=255).collect();
    let text = [b"\n\na\tb\r\n\n\n\rlast", &bytes[..], b"\r", &bytes[128..], b"\n\n\n"].concat();
    let [a, b] = ["a", "b"].map(|name| world.path(name));
    std::fs::write(&a, &text).unwrap();
    std::fs::write(&b, "\nno end").unwrap();
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    for flags in [
        "-A",
        "-b",
        "-e",
        "-E",
        "-n",
        "-s",
        "-t",
        "-T",
        "-u",
        "-v",
        "-bn",
        "-nE",
        "-bE",
        "-sn",
        "-sb",
        "-bsE",
        "-vT",
        "-vet",
        "-unsE",
        "--show-all",
        "--number-nonblank",
        "--show-ends",
        "--number",
        "--squeeze-blank",
        "--show-tabs",
        "--show-nonprinting",
    ] {
        #[expect(clippy::disallowed_methods, reason = "the program that ours is held against")]
        let mut theirs = Command::new("/bin/cat");
        let args = [flags, a, b, "-", "/no/such", a];
        let expected = ended(theirs.args(args).env("LC_ALL", "C"), b"\n\ninput\n").0;
        check(&world, &args, b"\n\ninput\n", &expected, 1);
    }
}

#[test]
fn a_shown_file_is_not_copied_to_its_own_end() {
    let world = World::new();
    let path = world.path("a");
    std::fs::write(&path, "hello").unwrap();
    let append = OpenOptions::new().append(true).open(&path).unwrap();
    let output = world.command(&["cat", "-n", path.to_str().unwrap()]).stdout(append).output();
    let output = output.unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.ends_with("a: input file is output file\n"), "{stderr}");
    assert_eq!((output.status.code(), std::fs::read(&path).unwrap()), (Some(1), b"hello".to_vec()));
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = world.command(&["cat", "-n", "/proc/self/exe"]).stdout(full).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr, "bytelab cat: write error: No space left on device\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_reader_that_goes_away_is_success_and_a_full_device_is_not() {
    let world = World::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = world.command(&["cat", "/proc/self/exe"]).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = world.command(&["cat", "/proc/self/exe"]).stdout(full).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told, "bytelab cat: write error: No space left on device\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_limit_and_the_digest_are_kept() {
    let world = World::new();
    let path = world.path("a");
    std::fs::write(&path, "hello").unwrap();
    let name = path.to_str().unwrap();
    let right = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let ran = world.run(&["cat", "--sha256", right, name]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "hello", ""));
    let ran = world.run(&["cat", "--sha256", &right.replace('2', "3"), name]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("a: the SHA-256 is 2cf24"), "{}", ran.stderr);
    let ran = world.run(&["cat", "--limit", "9", name, name]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "hello"));
    assert!(ran.stderr.contains("more than the limit of 4 bytes"), "{}", ran.stderr);
    assert_eq!(world.run(&["cat", "--limit", "10", name, name]).code, 0);
    assert_eq!(world.run(&["cat", "--sha256", "12", name]).code, 1);
    assert_eq!(world.run(&["cat", "--sha256", right, name, name]).code, 1);
    assert_eq!(world.run(&["cat", "--resume", name]).code, 1);
    let ran = world.run(&["cat", "--progress", name]);
    assert!(ran.stderr.ends_with("a: 5 bytes\n"), "{}", ran.stderr);
}

/// Serves `hello world` of this version; the first answers of each version end in the middle. A path that holds `no-etag` has
/// no version, and one that holds `stalled` leaves the connection open in the middle.
pub(crate) fn server(version: Arc<Mutex<(u32, u32)>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://u:secret@{}/x", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut stalled = Vec::new();
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap_or(0) == 1 {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            let path = head.lines().next().unwrap_or_default().to_owned();
            let mut state = version.lock().unwrap();
            let (version, cuts) = *state;
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
            // The program may be gone.
            let _ = socket.write_all(head.as_bytes());
            let _ = socket.write_all(&body[at..end]);
            if path.contains("stalled") {
                stalled.push(socket);
            }
        }
    });
    url
}

#[test]
fn a_url_is_an_input_and_a_download_is_gone_on_with() {
    let world = World::new();
    let state = Arc::new(Mutex::new((1, 0)));
    let url = server(state.clone());
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
        let (out, code, told) = get(&args);
        assert_eq!((out.as_str(), code), ("", 1));
        assert!(
            told.contains("the connection ended before the body") && !told.contains("secret"),
            "{told}"
        );
        assert_eq!(std::fs::read(&part).unwrap(), &b"hello world"[..at]);
        assert!(!std::fs::read_to_string(&note).unwrap().contains("secret"));
        assert!(!file.exists());
    }
    // Another version: what is there is of no use.
    state.lock().unwrap().0 = 2;
    let (_, code, told) = get(&args);
    assert_eq!(code, 0, "{told}");
    assert!(told.ends_with("has changed; it is downloaded from the beginning\n"), "{told}");
    assert_eq!(std::fs::read(&file).unwrap(), b"hello world");
    assert!(!part.exists() && !note.exists());
    // Without `--resume` nothing is left.
    state.lock().unwrap().1 = 1;
    let (_, code, told) = get(&["-o", name]);
    assert_eq!(code, 1, "{told}");
    assert!(!part.exists() && !note.exists());
    assert_eq!(std::fs::read(&file).unwrap(), b"hello world");
    // Gone on with, and wrong as a whole.
    state.lock().unwrap().1 = 1;
    let wrong = ["--resume", "-o", name, "--sha256", &digest.replace('b', "c")];
    assert_eq!(get(&wrong).1, 1);
    assert!(part.exists());
    let (_, code, told) = get(&wrong);
    assert!(code == 1 && told.contains("the SHA-256 is"), "{told}");
    assert!(!part.exists() && !note.exists());
    assert_eq!(std::fs::read(&file).unwrap(), b"hello world");
}

/// A download that `--resume` has left in `down.part`: 3 bytes.
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
    let world = World::new();
    let state = Arc::new(Mutex::new((1, 0)));
    let url = server(state.clone());
    // Another URL with the same version.
    left(&world, &state, &url);
    let ran = resumed(&world, &url.replace("/x", "/other"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(std::fs::read(world.path("down")).unwrap(), b"HELLO WORLD");
    assert!(ran.stderr.contains("another URL"), "{}", ran.stderr);
    // What was left has been changed since.
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
    // More than the note knows of: the program was killed, and what it wrote last is fetched again.
    left(&world, &state, &url);
    std::fs::write(world.path("down.part"), "helxx").unwrap();
    assert_eq!(resumed(&world, &url).code, 0);
    assert_eq!(std::fs::read(world.path("down")).unwrap(), b"hello world");
}

#[test]
fn files_of_the_user_next_to_the_output_are_never_touched() {
    let world = World::new();
    let state = Arc::new(Mutex::new((1, 0)));
    let url = server(state.clone());
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
fn two_runs_with_one_output_do_not_mix() {
    let world = World::new();
    let fifo = world.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let out = world.path("out");
    let out_text = out.to_str().unwrap();
    let slow = world.command(&["cat", fifo.to_str().unwrap(), "-o", out_text]).spawn().unwrap();
    // This waits until the program has opened its input.
    let mut writer = OpenOptions::new().write(true).open(&fifo).unwrap();
    writer.write_all(&[b'a'; 10_000]).unwrap();
    std::fs::write(world.path("other"), vec![b'b'; 5_000]).unwrap();
    let ran = world.run(&["cat", world.path("other").to_str().unwrap(), "-o", out_text]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(std::fs::read(&out).unwrap() == [b'b'; 5_000]);
    writer.write_all(&[b'a'; 10_000]).unwrap();
    drop(writer);
    let slow = slow.wait_with_output().unwrap();
    assert!(slow.status.success(), "{slow:?}");
    assert!(std::fs::read(&out).unwrap() == vec![b'a'; 20_000]);
}

#[test]
fn two_downloads_that_would_be_resumed_do_not_mix() {
    let world = World::new();
    let state = Arc::new(Mutex::new((1, 0)));
    let url = server(state.clone());
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
fn a_digest_that_was_not_checked_is_a_failure() {
    let world = World::new();
    let zeros = "0".repeat(64);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let args = ["cat", "--sha256", &zeros, "/proc/self/exe"];
    let output = world.command(&args).stdout(writer).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), told.lines().count()), (Some(1), 1), "{told}");
    assert!(told.contains("SHA-256"), "{told}");
}

#[test]
fn a_standard_stream_that_is_closed_is_a_failure() {
    let world = World::new();
    let path = world.path("a");
    std::fs::write(&path, "hello").unwrap();
    let path = path.to_str().unwrap();
    for (script, code, told) in [
        ("exec \"$0\" cat <&-", 1, "bytelab cat: -: Bad file descriptor\n"),
        ("exec \"$0\" cat - \"$1\" <&-", 1, "bytelab cat: -: Bad file descriptor\n"),
        ("exec \"$0\" cat \"$1\" <&-", 0, ""),
        ("exec \"$0\" cat \"$1\" >&-", 1, "bytelab cat: standard output: Bad file descriptor\n"),
        ("exec \"$0\" cat \"$1\" -o \"$1.copy\" >&-", 0, ""),
        // As Python's subprocess.DEVNULL is opened: not closed.
        ("exec \"$0\" cat <>/dev/null", 0, ""),
        ("exec \"$0\" cat \"$1\" 1<>/dev/null", 0, ""),
    ] {
        let program = world.command(&[]).get_program().to_owned();
        #[expect(clippy::disallowed_methods, reason = "only a shell closes a standard stream")]
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", script]).arg(program).arg(path).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(code), told), "{script}");
    }
    assert_eq!(std::fs::read(world.path("a.copy")).unwrap(), b"hello");
}

#[test]
fn a_url_in_parts_is_the_same_as_in_one() {
    let world = World::new();
    let data: Vec<u8> =
        (0..5_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let body = data.clone();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(0));
    let count = asked.clone();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (mut socket, body) = (socket.unwrap(), body.clone());
            *count.lock().unwrap() += 1;
            std::thread::spawn(move || {
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap_or(0) == 1 {
                    head.push(byte[0]);
                }
                let head = String::from_utf8(head).unwrap();
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
    assert_eq!(*asked.lock().unwrap(), 5, "a mebibyte each");
    assert_eq!(world.run(&["cat", "--parallel", "17", &url]).code, 1);
    assert_eq!(world.run(&["cat", "--parallel", "2", "--decode", &url]).code, 1);
}

#[test]
fn every_kind_of_output_gets_the_same_bytes() {
    let world = World::new();
    let source = world.path("source");
    let data: Vec<u8> = (0..2_000_003u32).map(|i| ((i * 31) >> 3) as u8).collect();
    std::fs::write(&source, &data).unwrap();
    let args = ["cat", source.to_str().unwrap()];
    let out = world.path("out");
    assert!(world.command(&args).stdout(File::create(&out).unwrap()).status().unwrap().success());
    assert!(std::fs::read(&out).unwrap() == data);
    let (mut reader, socket) = std::os::unix::net::UnixStream::pair().unwrap();
    let thread = std::thread::spawn(move || {
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        all
    });
    let mut command = world.command(&args);
    assert!(command.stdout(std::os::fd::OwnedFd::from(socket)).status().unwrap().success());
    drop(command);
    assert!(thread.join().unwrap() == data);
}
