//! `bytelab sample` with faulty inputs, as a user sees it.

use std::io::{Read, Seek, SeekFrom, Write};
use std::process::{Output, Stdio};

use crate::program::{World, fed, request_head};
use crate::sample::{lines, world};

#[test]
fn files_with_different_headers_are_taken_together_only_if_it_is_said() {
    let world = World::new();
    let [a, b] = [("a.csv", "id,cost\n1,2\n"), ("b.csv", "id,price\n3,4\n")].map(|(name, text)| {
        std::fs::write(world.path(name), text).unwrap();
        world.path(name).to_str().unwrap().to_owned()
    });
    let args = ["sample", &a, &b, "-n", "2", "--format", "csv", "--header"];
    let ran = world.run(&args);
    let expected = format!(
        "bytelab sample: {b}: its header differs in column 2 from that of {a}: \
         \"price\" instead of \"cost\"; --mixed-headers takes them together\n"
    );
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr), (1, "", expected));
    let ran = world.run(&[&args[..], &["--mixed-headers"]].concat());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "id,cost\n1,2\n3,4\n"), "{}", ran.stderr);
}

#[test]
fn a_record_that_is_too_large_is_reported_with_its_place_and_what_to_do() {
    let world = World::new();
    let text = format!("a,b\n1,\"2\n{}", "3,4\n".repeat(1000));
    for (max, code) in [("1KiB", 1), ("1MiB", 1), ("1x", 2)] {
        let args = ["sample", "-n", "1", "--format", "csv", "--max-record", max];
        let output = fed(&mut world.command(&args), text.as_bytes());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        let expected = match max {
            "1KiB" => {
                "bytelab sample: -: the record at offset 4 has more than 1024 bytes: \
                 close its quote, or allow larger records by --max-record\n"
            }
            "1MiB" => "bytelab sample: -: a quote is never closed, it is opened at offset 6\n",
            _ => "not a number of bytes (examples: 65536, 64KiB, 1.5MiB)",
        };
        assert!(stderr.contains(expected), "{max}: {stderr}");
    }
}

#[test]
fn more_draws_than_memory_holds_are_reported_in_one_line() {
    let world = World::new();
    let path = world.path("lines").to_str().unwrap().to_owned();
    std::fs::write(&path, "a\nb\n").unwrap();
    for n in [u64::MAX, 1 << 60, 1 << 45].map(|n| n.to_string()) {
        let pipe = fed(&mut world.command(&["sample", "-n", &n, "--with-replacement"]), b"a\nb\n");
        let shuffled = ["sample", &path, "-n", &n, "--with-replacement", "--shuffle"];
        let file = world.command(&shuffled).output().unwrap();
        for (output, expected) in [
            (pipe, format!("memory cannot hold {n} records at once: ")),
            (file, format!("{n} records in random order need temporary files of about ")),
        ] {
            let stderr = String::from_utf8(output.stderr).unwrap();
            let expected = format!("bytelab sample: {expected}");
            assert_eq!(output.status.code(), Some(2), "{stderr}");
            assert!(stderr.starts_with(&expected) && stderr.lines().count() == 1, "{stderr}");
        }
    }
}

#[test]
fn a_damaged_zstd_file_gives_no_sample_with_success() {
    let world = World::new();
    let path = world.path("a.zst");
    let text = b"a\nb\n";
    // RFC 8878: a frame of one segment with its size, and a last block of raw bytes; 4 in the first
    // byte behind the magic number announces a checksum, which is wrong here.
    let frame = |flags: u8| {
        let magic = [0x28, 0xb5, 0x2f, 0xfd];
        let len = text.len() as u8;
        [&magic[..], &[flags, len, len << 3 | 1, 0, 0], text].concat()
    };
    let sample = |bytes: Vec<u8>| {
        std::fs::write(&path, bytes).unwrap();
        world.run(&["sample", path.to_str().unwrap(), "-n", "2"])
    };
    let ran = sample(frame(0x20));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "a\nb\n"), "{}", ran.stderr);
    let ran = sample([frame(0x24), vec![0; 4]].concat());
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("a.zst: reading at offset "), "{}", ran.stderr);
}

#[test]
fn more_files_than_there_may_be_descriptors_are_sampled() {
    let world = World::new();
    for i in 0..100 {
        std::fs::write(world.path(&format!("f{i}")), "line\n").unwrap();
    }
    let program = env!("CARGO_BIN_EXE_bytelab");
    for choice in ["-n 100", "-n 100 --shuffle", "-p 1 --method stream", "-n 100 --method mmap"] {
        #[expect(
            clippy::disallowed_methods,
            reason = "only a shell sets a limit before the program"
        )]
        let mut shell = std::process::Command::new("sh");
        let script = format!("ulimit -n 32; exec \"$0\" sample {choice} \"$1\"/f*");
        let shell = shell.args(["-c", &script]).arg(program).arg(world.path(""));
        let output = shell.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert_eq!(output.stdout, "line\n".repeat(100).as_bytes());
    }
}

/// Runs with this file as standard input, from this offset.
fn redirected(world: &World, args: &[&str], path: &std::path::Path, offset: u64) -> Output {
    let mut file = std::fs::File::open(path).unwrap();
    file.seek(SeekFrom::Start(offset)).unwrap();
    world.command(args).stdin(file).output().unwrap()
}

#[test]
fn a_redirected_file_allows_what_a_named_one_allows() {
    let world = World::new();
    let path = world.path("table.csv");
    let text = (0..300).fold("city,v\n".to_owned(), |text, i| text + &format!("c{},{i}\n", i % 3));
    std::fs::write(&path, &text).unwrap();
    for choice in [
        &["--per", "city=10%"][..],
        &["-n", "295", "--invert"],
        &["-n", "5"],
        &["-n", "5", "--shuffle"],
        &["-n", "5", "--weight", "v"],
    ] {
        let args = [&["sample", "-f", "csv", "--header", "--seed", "1"], choice].concat();
        let output = redirected(&world, &args, &path, 0);
        let named = world.run(&[&args[..], &[path.to_str().unwrap()]].concat());
        assert_eq!((output.status.code(), named.code), (Some(0), 0), "{}", named.stderr);
        assert_eq!(String::from_utf8(output.stdout).unwrap(), named.stdout, "{choice:?}");
    }
    // What another program has read already is no part of it.
    let output = redirected(&world, &["sample", "-p", "1"], &path, 7);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), text[7..]);
    let output = redirected(&world, &["sample", "-n", "1", "--index"], &path, 0);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("and named by a path, have an index"), "{stderr}");
}

#[test]
fn a_file_that_grows_is_sampled_with_a_note() {
    let world = World::new();
    let path = world.path("log");
    // More than the pipe holds, so that the program waits in the middle of its output.
    std::fs::write(&path, "a line\n".repeat(400_000)).unwrap();
    let fifo = world.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let child = world
        .command(&["sample", path.to_str().unwrap(), "-p", "1", "-o", fifo.to_str().unwrap()])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reader = std::fs::File::open(&fifo).unwrap();
    reader.read_exact(&mut [0; 7]).unwrap();
    let mut log = std::fs::File::options().append(true).open(&path).unwrap();
    log.write_all(b"later\n").unwrap();
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), rest.lines().count()), (Some(0), 399_999), "{stderr}");
    let path = path.display();
    let expected =
        format!("bytelab sample: note: {path} has grown by 6 bytes, which are left out\n");
    assert_eq!(stderr, expected);
}

#[test]
#[cfg(target_os = "linux")]
fn files_of_the_kernel_are_read_as_cat_reads_them() {
    let world = World::new();
    for path in ["/proc/filesystems", "/proc/version", "/sys/devices/system/cpu/online"] {
        if !std::path::Path::new(path).exists() {
            eprintln!("skipped: {path} is not here");
            continue;
        }
        let ran = world.run(&["sample", path, "-p", "1"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{path}");
        assert_eq!(ran.stdout, world.run(&["cat", path]).stdout, "{path}");
        let output = redirected(&world, &["sample", "-p", "1"], path.as_ref(), 0);
        assert_eq!(String::from_utf8(output.stdout).unwrap(), ran.stdout, "{path}");
    }
}

/// Answers each request with numbers, as many as the path says, and counts the requests.
fn server() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            std::thread::spawn(move || {
                let Some(head) = request_head(&mut socket) else { return };
                let name = head.split(' ').nth(1).unwrap().rsplit('/').next().unwrap();
                let Ok(n) = name.parse() else {
                    let _ = write!(socket, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
                    return;
                };
                let body = lines(n);
                let len = body.len();
                let _ = write!(socket, "HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n{body}");
            });
        }
    });
    url
}

#[test]
fn urls_and_objects_of_buckets_are_streams() {
    let (world, path) = world(&lines(1000));
    let url = server();
    let run = |args: &[&str]| {
        let args = [&["sample", "-n", "5", "--seed", "1"], args].concat();
        let mut command = world.command(&args);
        command.env("no_proxy", "*").env("AWS_ENDPOINT_URL", &url);
        command.env("AWS_EC2_METADATA_DISABLED", "true");
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let expected = run(&[&path, "--method", "stream"]);
    assert_eq!((expected.0, expected.1.lines().count()), (Some(0), 5), "{}", expected.2);
    let of_url = format!("{url}/a/1000");
    for inputs in [&[of_url.as_str()][..], &["s3://bucket/key/1000"]] {
        assert_eq!(run(inputs), expected, "{inputs:?}");
    }
    let both = run(&[&of_url, &path]);
    assert_eq!((both.0, both.1.lines().count()), (Some(0), 5), "{}", both.2);
    for (input, code, expected) in [
        (format!("{url}/missing"), 1, format!("{url}/missing: ")),
        ("s3://bucket".to_owned(), 2, "an object is s3://BUCKET/KEY".to_owned()),
    ] {
        let (status, stdout, stderr) = run(&[&input]);
        assert_eq!((status, stdout.as_str()), (Some(code), ""), "{stderr}");
        assert!(stderr.contains(&expected) && stderr.lines().count() == 1, "{stderr}");
    }
}
