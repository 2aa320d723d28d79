//! Interleavings of the threads that fetch parts, produced by hand.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

use super::{PartQueue, RangePlan};
use crate::Stream;
use crate::http::head::Response;
use crate::http::raw::{Raw, ResourceVersion};
use crate::wait::{WaitMode, now};

const PART: u64 = 1000;
const PARTS: u64 = 4;

fn data() -> Vec<u8> {
    (0..PART * PARTS).map(|at| (at / PART) as u8 * 50 + (at % 50) as u8).collect()
}

/// Serves requested ranges, one after the other.
fn answer(mut socket: TcpStream) -> io::Result<()> {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            socket.read_exact(&mut byte)?;
            head.extend(byte);
        }
        let head = String::from_utf8_lossy(&head).to_lowercase();
        let range = head.split_once("bytes=").and_then(|(_, rest)| rest.split_once("\r\n"));
        let (first, last) =
            range.and_then(|(bounds, _)| bounds.split_once('-')).unwrap_or(("0", "0"));
        let (from, to): (usize, usize) = (first.parse().unwrap_or(0), last.parse().unwrap_or(0));
        let part = &data()[from..=to];
        let (len, size) = (part.len(), data().len());
        write!(
            socket,
            "HTTP/1.1 206 X\r\nContent-Range: bytes {from}-{to}/{size}\r\nContent-Length: {len}\r\n\
             ETag: \"v\"\r\n\r\n"
        )?;
        socket.write_all(part)?;
    }
}

/// The URL of a server that runs for as long as the tests.
fn served() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            std::thread::spawn(move || drop(answer(socket)));
        }
    });
    url
}

fn described(raw: &Raw) -> (ResourceVersion, Response) {
    (raw.version().clone(), raw.response().expect("an answer").clone())
}

/// Any thread could once claim the first part; the one whose connection had opened it then took its
/// bytes for those of another part.
#[test]
fn a_thread_that_comes_early_leaves_the_first_part_to_who_began_it() {
    let url = served();
    let mut options = Stream::options().proxy(None);
    let (mut client, first, _) =
        Raw::client_for(&url, &mut options.http, None, WaitMode::Thread).expect("a client");
    client.connections.get_or_insert_default();
    let begun = now(Raw::part(client.clone(), first, PART, ResourceVersion::default()))
        .expect("a first part");
    let (version, response) = described(&begun);
    let (size, connections) = (PART * PARTS, PARTS as usize);
    let plan = RangePlan { version, response, first, size, part_bytes: PART, connections };
    let (shared, _notify_rx) = PartQueue::new(plan).expect("a pipe");

    let (index, mut part) = shared.claim().expect("there are parts");
    assert_eq!(index, 1);
    let fetched = now(shared.plan.fetch(&mut None, &client, index, &mut part));
    shared.put(index, fetched.map(|()| part));
    shared.work(Some(begun), &client);

    let parts =
        (0..PARTS).map(|index| shared.take(index).expect("it has come").expect("its bytes"));
    assert!(parts.collect::<Vec<_>>().concat() == data());
}

#[test]
fn a_thread_that_panics_leaves_an_error_in_the_place_of_its_part() {
    let url = served();
    let mut options = Stream::options().proxy(None);
    let (client, first, _) =
        Raw::client_for(&url, &mut options.http, None, WaitMode::Thread).expect("a client");
    let begun = now(Raw::part(client.clone(), first, PART, ResourceVersion::default()))
        .expect("a first part");
    let (version, response) = described(&begun);
    // The allocation for such a part is impossible, so that the thread panics.
    let plan =
        RangePlan { version, response, first, size: u64::MAX, part_bytes: 1 << 63, connections: 1 };
    let (shared, _notify_rx) = PartQueue::new(plan).expect("a pipe");
    let work = || shared.work(Some(begun), &client);
    std::thread::scope(|scope| drop(scope.spawn(work).join()));
    assert!(shared.take(0).expect("the reader does not wait for ever").is_err());
}
