//! Streams of everything local: the right bytes, each form of access, limits, and errors that say
//! where.

use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use byte_stream::{Address, Cancel, ErrorKind, SourceKind, Strategy, Stream};
use rustix::process::{Resource, getrlimit, setrlimit};
use sha2::{Digest, Sha256};

use crate::kinds::{INPUT_KINDS, Input, bytes};

fn collect(stream: &mut Stream) -> byte_stream::Result<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(chunk) = stream.next_chunk()? {
        assert!(!chunk.is_empty());
        all.extend_from_slice(chunk);
        assert_eq!(stream.offset(), all.len() as u64);
    }
    assert_eq!(stream.next_chunk()?, None);
    Ok(all)
}

#[test]
fn every_kind_of_input_gives_its_bytes() {
    let dir = tempfile::tempdir().unwrap();
    for kind in INPUT_KINDS {
        for len in [0, 1, 4095, 4096, 4097, 131_072, 1_000_001] {
            let data = bytes(len);
            let input = Input::new(*kind, &data, dir.path());
            let mut stream = Stream::open(input.fd).unwrap();
            assert!(collect(&mut stream).unwrap() == data, "{kind:?} {len}");
        }
    }
}

#[test]
fn every_strategy_gives_the_same_bytes() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for len in [0, 1, 4096, 2 << 20, (4 << 20) + 3] {
        let data = bytes(len);
        std::fs::write(file.path(), &data).unwrap();
        for buffer in [4096, 5000, 1 << 20] {
            let mut stream = Stream::options().buffer_bytes(buffer).open(file.path()).unwrap();
            assert_eq!(stream.choice().strategy, Strategy::Read { buffer_bytes: buffer });
            assert!(collect(&mut stream).unwrap() == data, "{buffer} {len}");
        }
        for window in [1, 4096, 2 << 20] {
            #[expect(unsafe_code, reason = "a promise")]
            // SAFETY: no other process has access to the file.
            let options = unsafe { Stream::options().allow_map() }.window_bytes(window);
            let mut stream = options.open(file.path()).unwrap();
            assert!(collect(&mut stream).unwrap() == data, "window {window} {len}");
        }
    }
}

#[test]
fn an_open_file_is_read_from_where_it_stands() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes(10_000)).unwrap();
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(9000)).unwrap();
    let mut stream = Stream::open(file).unwrap();
    assert_eq!(stream.choice().size_bytes, Some(1000));
    assert!(collect(&mut stream).unwrap() == bytes(10_000)[9000..]);
}

#[test]
fn the_forms_of_access_can_be_mixed() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let data = bytes(10_000);
    std::fs::write(file.path(), &data).unwrap();
    let mut stream = Stream::options().buffer_bytes(4096).open(file.path()).unwrap();
    let mut some = [0; 100];
    stream.read_exact(&mut some).unwrap();
    assert_eq!(some, data[..100]);
    assert_eq!(stream.fill_buf().unwrap(), &data[100..4096]);
    stream.consume(50);
    assert_eq!(stream.offset(), 150);
    assert_eq!(stream.next_chunk().unwrap().unwrap(), &data[150..4096]);
    let stopped = stream.for_each_chunk(|chunk| ControlFlow::Break(chunk.len())).unwrap();
    assert_eq!((stopped, stream.offset()), (Some(4096), 8192));
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, data[8192..]);
    stream.consume(usize::MAX >> 1);
    assert_eq!(stream.offset(), 10_000);
}

#[test]
fn an_address_is_a_path_a_url_or_standard_input() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a b");
    std::fs::write(&path, "hello").unwrap();
    let url = format!("file://{}", path.display()).replace(' ', "%20");
    for address in [Address::from(&url), Address::from(&path), Address::from(path.as_os_str())] {
        assert_eq!(collect(&mut Stream::open(address).unwrap()).unwrap(), b"hello");
    }
    for wrong in ["gopher://x/", "file://host/x"] {
        assert_eq!(Stream::open(wrong).unwrap_err().kind(), ErrorKind::InvalidUse, "{wrong}");
    }
    assert_eq!(
        Stream::open(File::open("/dev/null").unwrap()).unwrap().choice().kind,
        SourceKind::Character
    );
}

#[test]
fn an_error_says_what_and_where_and_stays() {
    let mut stream = Stream::open("/").unwrap();
    let error = stream.next_chunk().unwrap_err();
    assert_eq!(error.to_string(), "/: Is a directory (os error 21) at byte 0");
    let error = stream.next_chunk().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidUse);
    let error = std::io::Read::read(&mut stream, &mut [0]).unwrap_err();
    assert!(error.to_string().contains("has failed before"), "{error}");
}

#[test]
fn a_file_that_is_cut_is_an_error_and_one_that_grows_is_not() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&bytes(10_000)).unwrap();
    let mut stream = Stream::options().buffer_bytes(4096).open(file.path()).unwrap();
    stream.next_chunk().unwrap();
    file.as_file().set_len(5000).unwrap();
    stream.next_chunk().unwrap();
    let error = stream.next_chunk().unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Truncated, Some(5000)));
    let mut stream = Stream::options().buffer_bytes(4096).open(file.path()).unwrap();
    stream.next_chunk().unwrap();
    file.as_file().set_len(20_000).unwrap();
    let mut rest = Vec::new();
    assert_eq!(stream.read_to_end(&mut rest).unwrap(), 20_000 - 4096);
}

#[test]
fn the_limit_and_the_digest_are_checked() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let data = bytes(300_000);
    std::fs::write(file.path(), &data).unwrap();
    let digest: [u8; 32] = Sha256::digest(&data).into();
    let mut stream = Stream::options().expect_sha256(digest).open(file.path()).unwrap();
    assert!(collect(&mut stream).unwrap() == data);
    let mut stream = Stream::options().expect_sha256([7; 32]).open(file.path()).unwrap();
    let error = collect(&mut stream).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Digest, Some(300_000)));
    let limit = |n| Stream::options().limit_bytes(n).open(file.path());
    assert!(limit(300_000).is_ok());
    assert_eq!(limit(299_999).unwrap_err().kind(), ErrorKind::TooLarge);
    let input = Input::new(crate::kinds::InputKind::Pipe, &data, std::path::Path::new("/"));
    let mut stream = Stream::options().limit_bytes(150_000).open(input.fd).unwrap();
    assert_eq!(collect(&mut stream).unwrap_err().kind(), ErrorKind::TooLarge);
    assert!(stream.offset() <= 150_000);
}

#[test]
fn a_file_that_grows_after_it_was_opened_is_read_to_its_end() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let data = bytes(300_000);
    let (before, behind) = data.split_at(10);
    for options in [Stream::options(), Stream::options().buffer_bytes(128 << 10)] {
        std::fs::write(file.path(), before).unwrap();
        let mut stream = options.open(file.path()).unwrap();
        File::options().append(true).open(file.path()).unwrap().write_all(behind).unwrap();
        assert!(collect(&mut stream).unwrap() == data);
    }
}

#[test]
fn wrong_options_are_errors() {
    let error = |options: byte_stream::Options| options.open("/dev/null").unwrap_err().kind();
    assert_eq!(error(Stream::options().buffer_bytes(0)), ErrorKind::InvalidUse);
    assert_eq!(error(Stream::options().buffer_bytes(2 << 20)), ErrorKind::InvalidUse);
    assert_eq!(error(Stream::options().window_bytes(4096)), ErrorKind::InvalidUse);
}

#[test]
fn another_thread_ends_the_waiting() {
    for wait_first in [false, true] {
        let (reader, _writer) = std::io::pipe().unwrap();
        let cancel = Cancel::new().unwrap();
        let fd = std::os::fd::OwnedFd::from(reader);
        let mut stream = Stream::options().cancel(&cancel).open(fd).unwrap();
        if wait_first {
            let other = std::thread::spawn(move || cancel.cancel());
            assert_eq!(stream.next_chunk().unwrap_err().kind(), ErrorKind::Cancelled);
            other.join().unwrap();
        } else {
            cancel.cancel();
            assert_eq!(stream.next_chunk().unwrap_err().kind(), ErrorKind::Cancelled);
        }
    }
}

/// For as long as the guard lives no other test opens many. Raises the limit.
pub(crate) fn allow_many_descriptors() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut limits = getrlimit(Resource::Nofile);
    limits.current = limits.maximum;
    setrlimit(Resource::Nofile, limits).unwrap();
    turn
}

pub(crate) fn descriptors() -> usize {
    std::fs::read_dir("/proc/thread-self/fd").unwrap().count()
}

#[test]
fn a_thousand_streams_at_once_leave_no_descriptor_and_no_memory_behind() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let data = bytes(100_000);
    std::fs::write(file.path(), &data).unwrap();
    let _turn = allow_many_descriptors();
    let open = || Stream::options().buffer_bytes(4096).open(file.path()).unwrap();
    // The memory of one buffer is kept for the next one.
    open().next_chunk().unwrap();
    let live = crate::allocations::live_bytes();
    let mut streams: Vec<Stream> = (0..1000).map(|_| open()).collect();
    let with = descriptors();
    assert!(with >= 1000);
    let mut sums = vec![Vec::new(); streams.len()];
    for _ in 0..25 {
        for (stream, sum) in streams.iter_mut().zip(&mut sums) {
            sum.extend_from_slice(stream.next_chunk().unwrap().unwrap());
        }
    }
    assert!(sums.iter().all(|sum| *sum == data));
    drop((streams, sums));
    assert_eq!(crate::allocations::live_bytes(), live);
    // Other tests of this process open and close some, too.
    assert!(descriptors() < with - 900, "{} of {with} are left", descriptors());
}
