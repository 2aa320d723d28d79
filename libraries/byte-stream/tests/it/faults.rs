//! Random faults in random order: what a stream gives is the right bytes or an error. Tries 500
//! runs, or `BYTE_STREAM_FAULT_RUNS` of them.

use std::collections::HashMap;
use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use byte_stream::{Options, Stream};
use sha2::{Digest, Sha256};

use crate::http::get;
use crate::kinds::{bytes, reset_on_close};
use crate::server::{Request, Server, chunk, good, head, partial};

/// xorshift64.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n.max(1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fault {
    None,
    Cut,
    Reset,
    /// Says less or more than it sends.
    WrongLength,
    WrongChunk,
    GoodChunks,
    /// Another version from now on.
    Changed,
    IgnoredRange,
    WrongRange,
    OtherTag,
    Busy,
    Silent,
    Garbage,
    HalfHead,
    Trailing,
}

const FAULTS: &[Fault] = &[
    Fault::None,
    Fault::Cut,
    Fault::Cut,
    Fault::Cut,
    Fault::Reset,
    Fault::WrongLength,
    Fault::WrongChunk,
    Fault::GoodChunks,
    Fault::Changed,
    Fault::IgnoredRange,
    Fault::WrongRange,
    Fault::OtherTag,
    Fault::Busy,
    Fault::Silent,
    Fault::Garbage,
    Fault::HalfHead,
    Fault::Trailing,
];

/// What the server has at the moment.
struct Resource {
    random: Random,
    version: u64,
    body: Vec<u8>,
    /// Of each version so far.
    digests: Vec<[u8; 32]>,
    seen: Vec<Fault>,
}

impl Resource {
    fn new(seed: u64) -> Resource {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let len = random.below(random.clone().below(4) * 60_000 + 2);
        let body = bytes(len as usize);
        let digests = vec![Sha256::digest(&body).into()];
        Resource { random, version: 0, body, digests, seen: Vec::new() }
    }

    /// Other bytes, of the same length or one more.
    fn change(&mut self) {
        self.version += 1;
        let len = self.body.len() + self.random.below(2) as usize;
        self.body = bytes(len + self.version as usize);
        self.body.truncate(len);
        self.digests.push(Sha256::digest(&self.body).into());
    }

    fn etag(&self) -> String {
        format!("\"v{}\"", self.version)
    }
}

fn serve(resource: &Mutex<Resource>, request: &Request, s: &mut TcpStream) -> std::io::Result<()> {
    let mut now = resource.lock().unwrap();
    // Half of the requests are answered well, or nothing would ever arrive.
    let fault =
        if now.random.below(2) == 0 { Fault::None } else { FAULTS[now.random.below(17) as usize] };
    now.seen.push(fault);
    if fault == Fault::Changed {
        now.change();
    }
    let (body, etag) = (now.body.clone(), now.etag());
    let cut = now.random.below(body.len() as u64 + 1) as usize;
    let off = 1 + now.random.below(9) as usize;
    drop(now);
    let whole = request.for_whole();
    let tag = format!("ETag: {etag}");
    match fault {
        Fault::None | Fault::Changed => good(request, s, &body, &etag),
        Fault::Cut => partial(request, s, &body, &etag, cut),
        Fault::Reset => {
            reset_on_close(s);
            partial(request, s, &body, &etag, cut)
        }
        Fault::WrongLength => {
            let said = if cut.is_multiple_of(2) {
                body.len() + off
            } else {
                body.len().saturating_sub(off)
            };
            let length = format!("Content-Length: {said}");
            head(s, "200 OK", &[&length, &tag, "Connection: close"])?;
            s.write_all(&body)
        }
        Fault::WrongChunk | Fault::GoodChunks => {
            head(s, "200 OK", &["Transfer-Encoding: chunked", &tag, "Connection: close"])?;
            for part in body.chunks(1 + body.len() / 3) {
                let off = if fault == Fault::WrongChunk { off } else { 0 };
                chunk(s, part.len() + off, part)?;
            }
            s.write_all(b"0\r\n\r\n")
        }
        Fault::IgnoredRange => good(&whole, s, &body, &etag),
        Fault::WrongRange => {
            let from = request.from().unwrap_or(0).saturating_sub(off as u64);
            let last = request.range().and_then(|(_, last)| last);
            let last = last.map(|last| last.to_string()).unwrap_or_default();
            let line = format!("range: bytes={from}-{last}");
            let header =
                line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()));
            let headers = header.into_iter().collect();
            good(&Request { headers, ..request.clone() }, s, &body, &etag)
        }
        Fault::OtherTag => good(&whole, s, &body, "\"other\""),
        Fault::Busy => head(s, "503 Service Unavailable", &["Content-Length: 0"]),
        Fault::Silent => Ok(()),
        Fault::Garbage => s.write_all(&bytes(100)),
        Fault::HalfHead => s.write_all(b"HTTP/1.1 200 OK\r\nContent-Le"),
        Fault::Trailing => {
            good(&whole, s, &body, &etag)?;
            s.write_all(b"more")
        }
    }
}

#[test]
fn under_any_faults_the_bytes_are_right_or_an_error() {
    check(3, get, |_| Stream::options());
}

#[cfg(feature = "async")]
#[test]
fn under_any_faults_a_task_reads_the_correct_bytes_or_an_error() {
    check(3, crate::asynchronous::get, |_| Stream::options());
}

#[cfg(feature = "async")]
#[test]
fn under_any_faults_a_task_reads_parts_at_once_that_are_right_or_an_error() {
    check(5, crate::asynchronous::get, in_parts);
}

#[test]
fn under_any_faults_parts_at_once_are_right_or_an_error() {
    // A stream of several answers meets more of them.
    check(5, get, in_parts);
}

fn in_parts(run: u64) -> Options {
    let part = [20_000, 50_000][run as usize % 2];
    Stream::options().parallel(2 + run as usize % 4).part_bytes(part)
}

/// At least one of this many runs must return the bytes.
fn check(
    one_of: u64,
    get: impl Fn(Options, &str) -> byte_stream::Result<Vec<u8>>,
    options: impl Fn(u64) -> Options,
) {
    let runs =
        std::env::var("BYTE_STREAM_FAULT_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(500);
    let resource = Arc::new(Mutex::new(Resource::new(0)));
    let shared = resource.clone();
    let server = Server::new(move |request, socket| serve(&shared, request, socket));
    let (mut arrived, mut resumed, mut met) = (0u32, 0u32, HashMap::<Fault, u32>::new());
    for run in 0..runs {
        *resource.lock().unwrap() = Resource::new(run + 1);
        let options = options(run).proxy(None).retries(20, Duration::ZERO);
        let result = get(options, &server.url());
        let now = resource.lock().unwrap();
        for fault in &now.seen {
            *met.entry(*fault).or_default() += 1;
        }
        if let Ok(got) = result {
            // Of one version that the server had, and nothing but it.
            let digest: [u8; 32] = Sha256::digest(&got).into();
            let is_right = now.digests.contains(&digest);
            assert!(is_right, "run {run}: {} bytes, {:?}", got.len(), now.seen);
            arrived += 1;
            resumed += u32::from(now.seen.len() > 1);
        }
    }
    // The test tests something only if much arrives, much of it after faults, and all faults are
    // met.
    assert!(u64::from(arrived) > runs / one_of, "{arrived} of {runs}");
    assert!(u64::from(resumed) > runs / 20, "{resumed} of {runs}");
    assert!(runs < 500 || met.len() == 15, "{met:?}");
}
