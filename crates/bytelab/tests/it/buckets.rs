//! `bytelab cat` and `bytelab sample` with objects of buckets: patterns, keys, and what a refusal
//! says. That signatures are right is tested in byte-stream.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::program::{Ran, World, request_head};

const SECRET: &str = "not/to+be/shown";
const OBJECTS: usize = 40;
const OBJECTS_OF_PAGE: usize = 15;

/// The heads of all requests.
pub(crate) type Requests = Arc<Mutex<Vec<String>>>;

/// The names of a bucket, sorted. Those of numbers match `part-*.csv`.
fn names() -> Vec<String> {
    let others = ["part-0.txt", "part-[1].csv", "part-x/0.csv", "part-x/"].map(str::to_owned);
    let mut names: Vec<String> = (0..OBJECTS).map(|n| format!("part-{n:02}.csv")).collect();
    names.extend(others);
    names.sort_unstable();
    names
}

fn body(name: &str) -> String {
    let lines = (0..20).map(|line| format!("{name},{line}\n"));
    "object,line\n".to_owned() + &lines.collect::<Vec<_>>().concat()
}

/// The URL of a server with the bucket `lab`, which refuses what is not signed, but for `public`.
fn server() -> (String, Requests) {
    server_with(BTreeMap::new())
}

/// The same with these objects as well, which have a version and are sent in parts.
pub(crate) fn server_with(objects: BTreeMap<&'static str, Vec<u8>>) -> (String, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (requests, objects) = (Requests::default(), Arc::new(objects));
    let seen = requests.clone();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (socket, seen, objects) = (socket.unwrap(), seen.clone(), objects.clone());
            std::thread::spawn(move || answer(socket, &seen, &objects));
        }
    });
    (url, requests)
}

fn answer(mut socket: TcpStream, seen: &Requests, objects: &BTreeMap<&str, Vec<u8>>) {
    while let Some(head) = request_head(&mut socket) {
        seen.lock().unwrap().push(head.clone());
        let target = head.split(' ').nth(1).unwrap();
        let is_allowed = head.contains("\r\nAuthorization: AWS4-HMAC-SHA256 Credential=AKIATEST/")
            || target == "/lab/public";
        let object = target.strip_prefix("/lab/").and_then(|name| objects.get(name));
        if let Some(object) = object.filter(|_| is_allowed) {
            let _ = part(&mut socket, &head, object);
            continue;
        }
        let (status, text) = match target.split_once("/lab?") {
            _ if !is_allowed => {
                let text = "<Error><Code>AccessDenied</Code><Message>No.</Message></Error>";
                ("403 Forbidden", text.to_owned())
            }
            Some((_, query)) => ("200 OK", list(query)),
            None => match target.strip_prefix("/lab/") {
                Some("public") => ("200 OK", "public\n".to_owned()),
                Some(name) if name != "missing" && name.strip_suffix(".nlx").is_none() => {
                    ("200 OK", body(&decoded(name)))
                }
                _ => ("404 Not Found", String::new()),
            },
        };
        let len = text.len();
        // The program may have ended.
        let _ = write!(socket, "HTTP/1.1 {status}\r\nContent-Length: {len}\r\n\r\n{text}");
    }
}

/// The first and the last byte that a request is for.
fn range(head: &str) -> Option<(usize, usize)> {
    let range = head.lines().find_map(|line| line.strip_prefix("Range: bytes="))?;
    let (first, last) = range.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

fn part(socket: &mut TcpStream, head: &str, object: &[u8]) -> std::io::Result<()> {
    let Some((first, last)) = range(head) else {
        let len = object.len();
        write!(socket, "HTTP/1.1 200 OK\r\nETag: \"v\"\r\nContent-Length: {len}\r\n\r\n")?;
        return socket.write_all(object);
    };
    let last = last.min(object.len() - 1);
    let (len, size) = (last + 1 - first, object.len());
    write!(
        socket,
        "HTTP/1.1 206 Partial Content\r\nETag: \"v\"\r\nContent-Length: {len}\r\n\
         Content-Range: bytes {first}-{last}/{size}\r\n\r\n"
    )?;
    socket.write_all(&object[first..=last])
}

/// What is encoded of the names here.
fn decoded(text: &str) -> String {
    text.replace("%2F", "/").replace("%5B", "[").replace("%5D", "]")
}

fn list(query: &str) -> String {
    let field = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name));
    let prefix = decoded(field("prefix=").unwrap());
    let after = decoded(field("continuation-token=").unwrap_or_default());
    let is_flat = field("delimiter=") == Some("%2F");
    let mut names = names();
    names.retain(|name| name.starts_with(&prefix) && *name > after);
    names.retain(|name| !is_flat || !name.contains('/'));
    let page = &names[..names.len().min(OBJECTS_OF_PAGE)];
    let entry = |name: &String| {
        let size = body(name).len();
        format!("<Contents><Key>{name}</Key><Size>{size}</Size></Contents>")
    };
    let mut text = page.iter().map(entry).collect::<Vec<_>>().concat();
    if page.len() < names.len() {
        let next = page.last().unwrap();
        text.extend(["<IsTruncated>true</IsTruncated><NextContinuationToken>", next]);
        text += "</NextContinuationToken>";
    }
    format!("<ListBucketResult>{text}</ListBucketResult>")
}

/// The bytes of all ranges that were requested.
pub(crate) fn requested_bytes(requests: &Requests) -> usize {
    let heads = requests.lock().unwrap();
    let ranges = heads.iter().filter_map(|head| range(head));
    ranges.map(|(first, last)| last + 1 - first).sum()
}

/// Runs the program with keys of this bucket.
pub(crate) fn run(world: &World, url: &str, args: &[&str]) -> Ran {
    let mut command = world.command(args);
    for name in ["AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_NO_SIGN_REQUEST", "AWS_ENDPOINT_URL_S3"] {
        command.env_remove(name);
    }
    command.env("no_proxy", "*").env("AWS_EC2_METADATA_DISABLED", "true");
    command.env("AWS_ENDPOINT_URL", url).env("AWS_REGION", "eu-west-1");
    command.env("AWS_ACCESS_KEY_ID", "AKIATEST").env("AWS_SECRET_ACCESS_KEY", SECRET);
    let ran = Ran::new(command.current_dir(world.dir.path()).output().unwrap());
    assert!(!ran.stderr.contains(SECRET) && !ran.stderr.contains("AKIATEST"), "{}", ran.stderr);
    ran
}

#[test]
fn the_objects_of_a_pattern_are_sampled_as_files_are() {
    let (world, (url, requests)) = (World::new(), server());
    for n in 0..OBJECTS {
        let name = format!("part-{n:02}.csv");
        world.write(&name, body(&name));
    }
    for choice in ["--mergeable -n 50", "--method stream -n 7", "--per object=1 --mergeable"] {
        let choice: Vec<&str> = choice.split(' ').collect();
        let sample = |pattern: &str| {
            let args = [&["sample", "--seed", "3"], &choice[..], &[pattern]].concat();
            let ran = run(&world, &url, &args);
            assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{choice:?}");
            ran.stdout
        };
        let expected = sample("part-[0-9][0-9].csv");
        assert!(expected.lines().count() > 7, "{expected}");
        requests.lock().unwrap().clear();
        assert_eq!(sample("s3://lab/part-[0-9][0-9].csv"), expected);
        // Three pages, and one request for each object.
        assert_eq!(requests.lock().unwrap().len(), OBJECTS.div_ceil(OBJECTS_OF_PAGE) + OBJECTS);
    }
}

#[test]
fn cat_writes_the_objects_of_a_pattern_in_the_order_of_their_keys() {
    let (world, (url, requests)) = (World::new(), server());
    let expect = |pattern: &str, matched: &dyn Fn(&str) -> bool| {
        let ran = run(&world, &url, &["cat", pattern]);
        let bodies = names().into_iter().filter(|name| matched(name)).map(|name| body(&name));
        let expected = bodies.collect::<Vec<_>>().concat();
        let (code, stderr) = (ran.code, ran.stderr.as_str());
        assert_eq!((code, stderr, &ran.stdout), (0, "", &expected), "{pattern}");
    };
    expect("s3://lab/part-0?.csv", &|name| {
        name.starts_with("part-0") && name.strip_suffix(".csv").is_some()
    });
    expect("s3://lab/part-*.txt", &|name| name == "part-0.txt");
    expect("s3://lab/*/*.csv", &|name| name == "part-x/0.csv");
    expect("S3://lab/part-x/**", &|name| name == "part-x/0.csv");
    // A key that is there is no pattern.
    expect("s3://lab/part-[1].csv", &|name| name == "part-[1].csv");
    let heads = requests.lock().unwrap();
    let lists: Vec<&str> = heads
        .iter()
        .filter_map(|head| head.split(' ').nth(1)?.strip_prefix("/lab?list-type=2&"))
        .filter(|query| !query.contains("continuation-token"))
        .collect();
    let expected = [
        "prefix=part-0&delimiter=%2F",
        "prefix=part-&delimiter=%2F",
        "prefix=",
        "prefix=part-x%2F",
        "prefix=part-&delimiter=%2F",
    ];
    assert_eq!(lists, expected);
}

#[test]
fn a_refusal_is_one_line_that_says_what_to_do() {
    let (world, (url, _)) = (World::new(), server());
    let denied = "the server answered 403 (AccessDenied: No.); not signed, as was asked for";
    let none = "no object matches s3://lab/none-*";
    let missing = "the server answered 404 (not found)";
    for (args, code, expected) in [
        ("cat s3://lab/missing", 1, format!("cat: s3://lab/missing: {missing}")),
        ("cat s3://lab/a --no-sign-request", 1, format!("cat: s3://lab/a: {denied}")),
        ("cat s3://lab/part-* --no-sign-request", 1, format!("cat: s3://lab/part-: {denied}")),
        ("cat s3://lab/none-*", 1, format!("cat: {none}")),
        // Upper and lower case differ.
        ("cat s3://lab/*ART-0.txt", 1, "cat: no object matches s3://lab/*ART-0.txt".to_owned()),
        ("cat s3://lab", 1, "cat: s3://lab: an object is s3://BUCKET/KEY".to_owned()),
        ("sample -n 1 s3://lab/none-*", 2, format!("sample: {none}")),
        ("sample -n 1 s3://lab/", 2, "sample: an object is s3://BUCKET/KEY".to_owned()),
        (
            "sample -n 1 s3://lab/missing",
            1,
            format!("sample: s3://lab/missing: reading at offset 0: {missing}"),
        ),
        (
            "sample -n 1 --no-sign-request s3://lab/a",
            1,
            format!("sample: s3://lab/a: reading at offset 0: {denied}"),
        ),
        (
            "sample -n 1 --no-sign-request s3://lab/part-*",
            1,
            format!("sample: s3://lab/part-: {denied}"),
        ),
    ] {
        let ran = run(&world, &url, &args.split(' ').collect::<Vec<_>>());
        let expected = format!("bytelab {expected}\n");
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr), (code, "", expected), "{args}");
    }
    let ran = run(&world, &url, &["cat", "s3://lab/public", "--no-sign-request"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "public\n"), "{}", ran.stderr);
    let ran = run(&world, &url, &["cat", "/dev/null", "--no-sign-request"]);
    let expected = "bytelab cat: --no-sign-request is for objects of buckets; give one\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (1, expected));
    let ran = run(&world, &url, &["cat", "s3://lab/public", "--user", "a:b"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
}

#[test]
fn the_keys_of_a_profile_are_used() {
    let (world, (url, _)) = (World::new(), server());
    std::fs::create_dir(world.path(".aws")).unwrap();
    let keys = format!("aws_access_key_id = AKIATEST\naws_secret_access_key = {SECRET}\n");
    world.write(".aws/credentials", format!("[lab]\n{keys}"));
    world.write(".aws/config", format!("[profile lab]\nendpoint_url = {url}\n"));
    let run = |profile: &str| {
        let mut command = world.command(&["cat", "s3://lab/part-00.csv"]);
        for name in ["ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "NO_SIGN_REQUEST"] {
            command.env_remove(format!("AWS_{name}"));
        }
        for name in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ROLE_ARN"] {
            command.env_remove(name);
        }
        command.env("no_proxy", "*").env("AWS_EC2_METADATA_DISABLED", "true");
        Ran::new(command.env("AWS_PROFILE", profile).output().unwrap())
    };
    let ran = run("lab");
    assert_eq!((ran.code, ran.stdout, ran.stderr), (0, body("part-00.csv"), String::new()));
    let ran = run("none");
    let expected = "bytelab cat: s3://lab/part-00.csv: the profile none is neither in the file of \
                    credentials nor in that of the configuration\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (1, expected));
}

#[test]
fn an_object_is_downloaded_into_a_file() {
    let (world, (url, _)) = (World::new(), server());
    let path = world.path("copy").to_str().unwrap().to_owned();
    let ran = run(&world, &url, &["cat", "s3://lab/part-00.csv", "--resume", "-o", &path]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), body("part-00.csv"));
}

#[test]
fn lines_with_an_index_are_sampled_by_few_requests() {
    let world = World::new();
    let text = (0..300_000).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat();
    let path = world.write("lines", &text);
    let draw = ["sample", "-n", "5", "--seed", "1", "--index"];
    let of_file = world.run(&[&draw[..], &[&path]].concat());
    assert_eq!((of_file.code, of_file.stderr.as_str()), (0, ""));
    let index = std::fs::read(world.path("lines.nlx")).unwrap();
    let size = text.len();
    let objects = [("lines", text.into_bytes()), ("lines.nlx", index)];
    let (url, requests) = server_with(objects.into());
    let of_object = run(&world, &url, &[&draw[..], &["s3://lab/lines"]].concat());
    assert_eq!((of_object.code, of_object.stderr.as_str()), (0, ""));
    assert_eq!(of_object.stdout, of_file.stdout);
    let n = requests.lock().unwrap().len();
    let bytes = requested_bytes(&requests);
    assert!(n < 60 && bytes < size / 2, "{n} requests of {bytes} bytes");
    let ran = run(&world, &url, &[&draw[..], &["s3://lab/part-0.txt"]].concat());
    let expected = "bytelab sample: s3://lab/part-0.txt: its server does not support ranges, or \
                    sends neither a strong ETag nor an older Last-Modified: such a resource is \
                    only read from start to end\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (1, expected));
    let (url, _) = server_with([("lines", b"a\nb\n".to_vec())].into());
    let ran = run(&world, &url, &[&draw[..], &["s3://lab/lines"]].concat());
    let expected = "bytelab sample: s3://lab/lines: has no index beside it that was made of its \
                    bytes, in this format\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (2, expected));
    let ran = run(&world, &url, &[&draw[..], &["s3://lab/lines", &path]].concat());
    let expected =
        format!("bytelab sample: {path} is a file: it is not read together with parts of URLs\n");
    assert_eq!((ran.code, ran.stderr), (2, expected));
}
