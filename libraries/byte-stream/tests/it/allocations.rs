//! Counts what a thread allocates: a chunk costs no allocation, and a copy none per step.

#![expect(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use byte_stream::Stream;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

fn count() {
    // The thread may be ending.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

fn lives(bytes: i64) {
    let _ = LIVE.try_with(|live| live.set(live.get() + bytes));
}

// SAFETY: all is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        lives(layout.size() as i64);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        lives(-(layout.size() as i64));
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        lives(size as i64 - layout.size() as i64);
        // SAFETY: as the caller promised.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What this thread allocates meanwhile.
pub(crate) fn allocations(mut job: impl FnMut()) -> u64 {
    let before = COUNT.get();
    job();
    COUNT.get() - before
}

/// Bytes that this thread has allocated and not freed.
pub(crate) fn live_bytes() -> i64 {
    LIVE.get()
}

/// Chunks of the rest of a stream, and the allocations that they took.
pub(crate) fn rest(stream: &mut Stream) -> (u64, u64) {
    let mut chunks = 0;
    let allocated = allocations(|| {
        while stream.next_chunk().unwrap().is_some() {
            chunks += 1;
        }
    });
    (chunks, allocated)
}

/// The buffer and its counter of references, with the first chunk.
const BUFFER: u64 = 2;

#[test]
fn a_chunk_allocates_nothing() {
    assert!(allocations(|| drop(std::hint::black_box(Box::new(7u64)))) > 0);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![7; 8 << 20]).unwrap();
    let mut read = Stream::options().buffer_bytes(4096).open(file.path()).unwrap();
    assert_eq!(rest(&mut read), (2048, BUFFER));
    // SAFETY: no other process has access to the file.
    let map = unsafe { Stream::options().allow_map() };
    let mut map = map.window_bytes(2 << 20).open(file.path()).unwrap();
    assert_eq!(rest(&mut map), (4, 0));
    let (reader, mut writer) = std::io::pipe().unwrap();
    let feeder = std::thread::spawn(move || {
        std::io::Write::write_all(&mut writer, &vec![1; 1 << 20]).unwrap();
    });
    let mut pipe = Stream::open(std::os::fd::OwnedFd::from(reader)).unwrap();
    let (chunks, allocated) = rest(&mut pipe);
    feeder.join().unwrap();
    assert!(chunks >= 8 && allocated == BUFFER, "{chunks} {allocated}");
}

#[test]
fn a_buffer_is_not_larger_than_the_file_and_serves_the_next_stream() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![7; 64 << 10]).unwrap();
    let open = || Stream::options().buffer_bytes(128 << 10).open(file.path()).unwrap();
    let live = live_bytes();
    let mut stream = open();
    assert_eq!(rest(&mut stream), (1, BUFFER));
    let held = live_bytes() - live;
    assert!((64 << 10..80 << 10).contains(&held), "{held}");
    drop(stream);
    // The counter of references.
    assert_eq!(rest(&mut open()), (1, 1));
}

#[test]
fn a_copy_allocates_nothing_per_step() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(64 << 20).unwrap();
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null").unwrap();
    let allocated = |method| {
        std::io::Seek::rewind(&mut &file).unwrap();
        let mut options = byte_stream::CopyOptions::new().method(method);
        allocations(|| assert_eq!(options.copy(&file, &null).unwrap().bytes, 64 << 20))
    };
    assert_eq!(allocated(byte_stream::CopyMethod::SpliceThroughPipe), 0);
    assert_eq!(allocated(byte_stream::CopyMethod::Sendfile), 0);
    assert!(allocated(byte_stream::CopyMethod::ReadWrite) <= BUFFER);
}
