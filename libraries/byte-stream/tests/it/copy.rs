//! `copy` over all pairs of kinds and all methods: every byte arrives once and in order, whatever
//! the kernel refuses.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use byte_stream::{Cancel, CopyMethod, CopyOptions, ErrorKind, copy};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::kinds::{
    INPUT_KINDS, Input, InputKind, OUTPUT_KINDS, Output, OutputKind, bytes, reset_on_close,
};

const METHODS: &[CopyMethod] = &[
    CopyMethod::CopyFileRange,
    CopyMethod::Splice,
    CopyMethod::SpliceThroughPipe,
    CopyMethod::Sendfile,
    CopyMethod::ReadWrite,
];

fn check(from: InputKind, to: OutputKind, method: Option<CopyMethod>, len: usize) {
    let dir = tempfile::tempdir().unwrap();
    let mut data = bytes(len);
    // It must differ from what stands in the files before.
    data.extend(b"end");
    let input = Input::new(from, &data, dir.path());
    let output = Output::new(to, dir.path());
    let mut options = CopyOptions::new();
    if let Some(method) = method {
        options = options.method(method);
    }
    let what = format!("{from:?} to {to:?} by {method:?}, {len} bytes");
    let copied = options.copy(&input.fd, &output.fd).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(copied.bytes, data.len() as u64, "{what}");
    if let Some(got) = output.bytes() {
        assert!(got == data, "{what}: {} bytes arrived, {copied:?}", got.len());
    }
}

#[test]
fn every_pair_of_kinds_is_copied() {
    for from in INPUT_KINDS {
        for to in OUTPUT_KINDS {
            for len in [0, 1, 4093, 300_000, (3 << 20) + 77] {
                check(*from, *to, None, len);
            }
        }
    }
}

#[test]
fn a_way_that_does_not_fit_falls_back_without_loss() {
    for method in METHODS {
        for from in INPUT_KINDS {
            for to in OUTPUT_KINDS {
                check(*from, *to, Some(*method), 200_000);
            }
        }
    }
}

#[test]
fn a_small_file_is_read_and_written_and_its_cache_is_not_probed() {
    let dir = tempfile::tempdir().unwrap();
    for (len, is_small) in [(0, true), (4096, true), ((64 << 10) - 1, true), (64 << 10, false)] {
        let path = dir.path().join("small");
        std::fs::write(&path, bytes(len)).unwrap();
        for to in [OutputKind::Pipe, OutputKind::Null, OutputKind::Unix] {
            let output = Output::new(to, dir.path());
            let copied = copy(File::open(&path).unwrap(), &output.fd).unwrap();
            let is_plain = copied.chosen == CopyMethod::ReadWrite;
            assert_eq!((is_plain, copied.bytes), (is_small, len as u64), "{to:?} {len}");
            assert!(output.bytes().is_none_or(|got| got == bytes(len)));
        }
        let choice = byte_stream::Stream::open(&path).unwrap().choice();
        assert_eq!(choice.cached, byte_stream::Cached::Unknown);
    }
}

#[test]
fn the_cheap_ways_are_the_ones_that_are_taken() {
    let dir = tempfile::tempdir().unwrap();
    let check = |from, to, method| {
        let input = Input::new(from, &bytes(100_000), dir.path());
        let output = Output::new(to, dir.path());
        let copied = copy(&input.fd, &output.fd).unwrap();
        output.bytes();
        assert_eq!((copied.chosen, copied.finished), (method, method), "{from:?} {to:?}");
    };
    check(InputKind::File, OutputKind::Pipe, CopyMethod::SpliceThroughPipe);
    check(InputKind::Unix, OutputKind::Pipe, CopyMethod::SpliceThroughPipe);
    check(InputKind::Pipe, OutputKind::File, CopyMethod::Splice);
    check(InputKind::Pipe, OutputKind::Null, CopyMethod::Splice);
    check(InputKind::File, OutputKind::Null, CopyMethod::SpliceThroughPipe);
    check(InputKind::File, OutputKind::Unix, CopyMethod::SpliceThroughPipe);
    check(InputKind::File, OutputKind::File, CopyMethod::CopyFileRange);
    check(InputKind::File, OutputKind::Append, CopyMethod::ReadWrite);
}

/// After this many steps the output no longer accepts splices.
fn refused_in_the_middle(from: InputKind, method: CopyMethod, steps: u32) {
    let dir = tempfile::tempdir().unwrap();
    let data = bytes((40 << 20) + 5);
    let input = Input::new(from, &data, dir.path());
    let output = Output::new(OutputKind::File, dir.path());
    let handle = output.fd.try_clone().unwrap();
    let mut seen = 0;
    let mut options = CopyOptions::new().method(method).on_progress(move |_| {
        seen += 1;
        if seen == steps {
            let flags = fcntl_getfl(&handle).unwrap();
            fcntl_setfl(&handle, flags | OFlags::APPEND).unwrap();
        }
    });
    let copied = options.copy(&input.fd, &output.fd).unwrap();
    assert_eq!(copied.finished, CopyMethod::ReadWrite, "{from:?} {method:?} {steps}");
    drop(options);
    assert!(output.bytes().unwrap() == data, "{from:?} {method:?} {steps}");
}

#[test]
fn a_fallback_in_the_middle_loses_and_repeats_nothing() {
    for steps in [1, 2] {
        refused_in_the_middle(InputKind::File, CopyMethod::CopyFileRange, steps);
        refused_in_the_middle(InputKind::File, CopyMethod::Sendfile, steps);
        refused_in_the_middle(InputKind::File, CopyMethod::SpliceThroughPipe, steps);
        refused_in_the_middle(InputKind::Unix, CopyMethod::SpliceThroughPipe, steps);
        refused_in_the_middle(InputKind::Pipe, CopyMethod::Splice, steps);
    }
}

#[test]
fn bytes_in_the_pipe_are_written_when_splice_is_refused() {
    // The output refuses from the start, when the first megabyte is in the pipe already.
    check(InputKind::File, OutputKind::Append, Some(CopyMethod::SpliceThroughPipe), 3_000_000);
    check(InputKind::Tcp, OutputKind::Append, Some(CopyMethod::SpliceThroughPipe), 3_000_000);
}

#[test]
fn a_full_device_is_an_error_of_the_output_and_loses_no_place() {
    for method in METHODS {
        let mut input = tempfile::tempfile().unwrap();
        input.write_all(&bytes(500_000)).unwrap();
        input.seek(SeekFrom::Start(10)).unwrap();
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = CopyOptions::new().method(*method).copy(&input, &full).unwrap_err();
        assert!(error.is_of_output(), "{method:?} {error}");
        assert_eq!(error.to_string(), "No space left on device (os error 28) at byte 0");
        assert_eq!(input.stream_position().unwrap(), 10, "{method:?}");
    }
}

#[test]
fn a_closed_pipe_is_an_error_of_the_output() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let error = copy(File::open("/proc/self/exe").unwrap(), writer).unwrap_err();
    assert!(error.is_of_output());
    assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::BrokenPipe);
}

/// A socket reports its error once, and then looks as if it had ended.
#[test]
fn a_connection_that_is_reset_is_an_error_of_the_input() {
    let dir = tempfile::tempdir().unwrap();
    let methods = METHODS.iter().map(|method| CopyOptions::new().method(*method));
    for (n, mut options) in methods.chain([CopyOptions::new()]).enumerate() {
        for to in OUTPUT_KINDS {
            let server = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut sender = TcpStream::connect(server.local_addr().unwrap()).unwrap();
            let (input, _) = server.accept().unwrap();
            sender.write_all(&bytes(100_000)).unwrap();
            reset_on_close(&sender);
            drop(sender);
            let output = Output::new(*to, dir.path());
            let error = options.copy(&input, &output.fd).unwrap_err();
            output.bytes();
            assert!(!error.is_of_output(), "{n} {to:?} {error}");
            let kind = error.io_error().unwrap().kind();
            assert_eq!(kind, std::io::ErrorKind::ConnectionReset, "{n} {to:?} {error}");
        }
    }
}

#[test]
fn a_directory_is_an_error_of_the_input() {
    let error = copy(File::open("/").unwrap(), tempfile::tempfile().unwrap()).unwrap_err();
    assert!(!error.is_of_output());
    assert_eq!(error.to_string(), "Is a directory (os error 21) at byte 0");
}

#[test]
fn files_that_the_kernel_makes_up_are_copied_although_they_have_no_size() {
    let path = "/proc/version";
    let mut output = tempfile::tempfile().unwrap();
    for method in METHODS {
        output.set_len(0).unwrap();
        output.rewind().unwrap();
        CopyOptions::new().method(*method).copy(File::open(path).unwrap(), &output).unwrap();
        output.rewind().unwrap();
        let mut got = String::new();
        output.read_to_string(&mut got).unwrap();
        assert_eq!(got, std::fs::read_to_string(path).unwrap(), "{method:?}");
    }
}

#[test]
fn a_copy_that_would_never_end_is_refused_and_others_of_one_file_are_not() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let open = |append| OpenOptions::new().read(true).write(true).append(append).open(file.path());
    std::fs::write(file.path(), "hello").unwrap();
    let error = copy(File::open(file.path()).unwrap(), open(true).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SameFile);
    // Onto itself, from the same place: GNU cat does it, too.
    assert_eq!(copy(File::open(file.path()).unwrap(), open(false).unwrap()).unwrap().bytes, 5);
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "hello");
    // From behind: the file moves forward.
    let mut input = File::open(file.path()).unwrap();
    input.seek(SeekFrom::Start(3)).unwrap();
    assert_eq!(copy(input, open(false).unwrap()).unwrap().bytes, 2);
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "lollo");
}

/// What stands where in a file, and its length.
type Layout<'a> = (&'a [(u64, &'a [u8])], u64);

/// A file of holes and data; its bytes.
fn with_holes(parts: &[(u64, &[u8])], len: u64) -> (File, Vec<u8>) {
    let mut file = tempfile::tempfile().unwrap();
    file.set_len(len).unwrap();
    for (at, data) in parts {
        file.seek(SeekFrom::Start(*at)).unwrap();
        file.write_all(data).unwrap();
    }
    file.rewind().unwrap();
    let mut all = Vec::new();
    file.read_to_end(&mut all).unwrap();
    file.rewind().unwrap();
    (file, all)
}

#[test]
fn holes_stay_holes_when_requested_and_old_bytes_below_them_go() {
    let data = bytes(100_000);
    let layouts: &[Layout<'_>] = &[
        (&[], 8 << 20),
        (&[(0, &data)], 8 << 20),
        (&[(1 << 20, &data), (5 << 20, &data)], 8 << 20),
        (&[((8 << 20) - 100_000, &data)], 8 << 20),
    ];
    for (parts, len) in layouts {
        for old in [0, 1000, 6 << 20, 9 << 20] {
            let (input, expected) = with_holes(parts, *len);
            let mut output = tempfile::tempfile().unwrap();
            output.write_all(&vec![b'x'; old]).unwrap();
            output.rewind().unwrap();
            let copied = CopyOptions::new().sparse(true).copy(&input, &output).unwrap();
            assert_eq!(copied.bytes, *len);
            output.rewind().unwrap();
            let mut got = Vec::new();
            output.read_to_end(&mut got).unwrap();
            assert!(got[..expected.len()] == expected, "{old}");
            assert!(got[expected.len()..].iter().all(|byte| *byte == b'x'));
            if old == 0 {
                let blocks = output.metadata().unwrap().blocks();
                assert!(blocks <= input.metadata().unwrap().blocks() + 16, "{blocks} blocks");
            }
        }
    }
}

#[test]
fn what_is_appended_to_a_file_gets_zeros_for_holes_and_keeps_what_was_there() {
    let data = bytes(100_000);
    let (input, expected) = with_holes(&[(1 << 20, &data)], 3 << 20);
    let path = tempfile::NamedTempFile::new().unwrap();
    let old = bytes(2_500_000);
    std::fs::write(path.path(), &old).unwrap();
    let output = OpenOptions::new().append(true).open(path.path()).unwrap();
    let copied = CopyOptions::new().sparse(true).copy(&input, &output).unwrap();
    assert_eq!(copied.bytes, expected.len() as u64);
    let got = std::fs::read(path.path()).unwrap();
    assert!(got[..old.len()] == old, "the beginning was overwritten");
    assert!(got[old.len()..] == expected);
}

#[test]
fn progress_ends_at_the_whole_and_a_cancelled_copy_stops() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut input = tempfile::tempfile().unwrap();
    input.write_all(&bytes(40 << 20)).unwrap();
    input.rewind().unwrap();
    let mut options = CopyOptions::new().on_progress(move |p| sender.send(p).unwrap());
    options.copy(&input, tempfile::tempfile().unwrap()).unwrap();
    let seen: Vec<_> = receiver.try_iter().collect();
    assert!(seen.len() >= 3 && seen.is_sorted_by_key(|p| p.done_bytes), "{seen:?}");
    assert_eq!(
        seen.last().map(|p| (p.done_bytes, p.total_bytes)),
        Some((40 << 20, Some(40 << 20)))
    );

    let (reader, _writer) = std::io::pipe().unwrap();
    let cancel = Cancel::new().unwrap();
    let other = cancel.clone();
    let thread = std::thread::spawn(move || other.cancel());
    let (_, socket) = crate::kinds::tcp();
    let error = CopyOptions::new().cancel(&cancel).copy(reader, socket).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    thread.join().unwrap();
}

#[test]
fn a_descriptor_that_is_not_open_for_it_is_an_error() {
    let read_only = File::open("/proc/self/exe").unwrap();
    let error = copy(&read_only, read_only.try_clone().unwrap()).unwrap_err();
    assert!(error.is_of_output(), "{error}");
    let write_only: OwnedFd = OpenOptions::new().write(true).open("/dev/null").unwrap().into();
    let file = tempfile::tempfile().unwrap();
    assert!(!copy(write_only.as_fd(), &file).unwrap_err().is_of_output());
}

#[test]
fn a_unix_socket_of_the_default_size_holds_more_while_it_is_sent_to_and_then_as_much_as_before() {
    use rustix::net::sockopt::{set_socket_send_buffer_size, socket_send_buffer_size};
    let dir = tempfile::tempdir().unwrap();
    let input = Input::new(InputKind::File, &bytes(3 << 20), dir.path());
    // Before, while and after all of the file is sent.
    let sizes = |method, set: Option<usize>| {
        File::from(input.fd.try_clone().unwrap()).rewind().unwrap();
        let output = Output::new(OutputKind::Unix, dir.path());
        if let Some(size) = set {
            set_socket_send_buffer_size(&output.fd, size).unwrap();
        }
        let before = socket_send_buffer_size(&output.fd).unwrap();
        let (seen, socket) = (Arc::new(AtomicUsize::new(0)), output.fd.try_clone().unwrap());
        let most = seen.clone();
        let mut options = CopyOptions::new().method(method).on_progress(move |_| {
            most.fetch_max(socket_send_buffer_size(&socket).unwrap(), Ordering::SeqCst);
        });
        assert_eq!(options.copy(&input.fd, &output.fd).unwrap().finished, method);
        drop(options);
        let after = socket_send_buffer_size(&output.fd).unwrap();
        assert!(output.bytes().unwrap() == bytes(3 << 20));
        (before, seen.load(Ordering::SeqCst), after)
    };
    for method in [CopyMethod::SpliceThroughPipe, CopyMethod::Sendfile] {
        let (before, during, after) = sizes(method, None);
        assert!(during > before && after == before, "{before} {during} {after}");
        // A size that was set by the user.
        let (before, during, after) = sizes(method, Some(50_000));
        assert_eq!((during, after), (before, before));
    }
}

#[test]
fn pipes_of_the_default_size_are_made_to_hold_more_and_others_are_left() {
    use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
    let dir = tempfile::tempdir().unwrap();
    // After all of these bytes were copied.
    let size = |from, len, set: Option<usize>| {
        let input = Input::new(from, &bytes(len), dir.path());
        let output = Output::new(OutputKind::Pipe, dir.path());
        if let Some(size) = set {
            fcntl_setpipe_size(&output.fd, size).unwrap();
        }
        assert_eq!(copy(&input.fd, &output.fd).unwrap().bytes, len as u64);
        let size = fcntl_getpipe_size(&output.fd).unwrap();
        assert!(output.bytes().unwrap() == bytes(len));
        size
    };
    let default = size(InputKind::File, 1000, None);
    for from in [InputKind::File, InputKind::Pipe, InputKind::Unix] {
        assert!(size(from, 3 << 20, None) > default, "{from:?}");
        assert_eq!(size(from, 3 << 20, Some(8192)), 8192, "{from:?}");
    }
}

#[test]
fn files_are_copied_by_their_paths_one_after_the_other() {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("copy");
    let file = File::create(&copy).unwrap();
    let mut output = byte_stream::Output::new(&file).unwrap();
    let mut expected = Vec::new();
    for len in [0, 1, 4096, 131_072, 131_073, 1_000_000, 5] {
        let (path, data) = (dir.path().join(len.to_string()), bytes(len));
        std::fs::write(&path, &data).unwrap();
        assert_eq!(output.copy_path(&path).unwrap(), len as u64);
        expected.extend(data);
    }
    // Its size is 0, and says nothing.
    assert!(output.copy_path("/proc/self/stat").unwrap() > 0);
    assert!(std::fs::read(&copy).unwrap().starts_with(&expected));
    let error = |path, output: &mut byte_stream::Output<'_>| output.copy_path(path).unwrap_err();
    let missing = error(dir.path().join("missing"), &mut output);
    assert_eq!(missing.io_error().unwrap().kind(), std::io::ErrorKind::NotFound);
    assert!(missing.to_string().contains("missing: "), "{missing}");
    assert_eq!(error(dir.path().to_owned(), &mut output).kind(), ErrorKind::Io);
    assert_eq!(error(copy.clone(), &mut output).kind(), ErrorKind::SameFile);
}
