//! What a stream from a server takes: no allocation for a chunk, and nothing that stays.

use std::io::Read;

use byte_stream::Stream;

use super::once;
use crate::kinds::bytes;
use crate::server::{Server, good};

#[test]
fn a_chunk_from_a_server_allocates_nothing() {
    let server = Server::new(|r, s| good(r, s, &vec![7; 4 << 20], "\"v\""));
    let mut stream = once().open(&server.url()).unwrap();
    stream.next_chunk().unwrap();
    let (chunks, allocated) = crate::allocations::rest(&mut stream);
    assert!(chunks >= 8, "{chunks}");
    // A larger buffer and its counter of references, once.
    assert!(allocated <= 2, "{allocated}");
}

#[test]
fn a_thousand_streams_from_a_server_leave_no_descriptor_and_no_memory_behind() {
    let _turn = crate::stream::allow_many_descriptors();
    let server = Server::new(|r, s| good(r, s, &bytes(40_000), "\"v\""));
    let open = || once().buffer_bytes(16 << 10).open(&server.url()).unwrap();
    drop(open());
    let live = crate::allocations::live_bytes();
    let mut streams: Vec<Stream> = (0..1000).map(|_| open()).collect();
    let with = crate::stream::descriptors();
    assert!(with >= 1000);
    for stream in &mut streams {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert!(all == bytes(40_000));
    }
    drop(streams);
    assert_eq!(crate::allocations::live_bytes(), live);
    // Other tests of this process open and close some, too.
    let left = crate::stream::descriptors();
    assert!(left < with - 900, "{left} of {with} are left");
}
