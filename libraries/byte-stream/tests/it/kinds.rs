//! Inputs and outputs of all kinds, with threads that feed and drain them.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// Bytes that differ at each place, so that no skipped or repeated part stays unseen.
pub(crate) fn bytes(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64 ^ len as u64;
    let mut all = vec![0; len.next_multiple_of(8)];
    for word in all.chunks_exact_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.copy_from_slice(&state.to_le_bytes());
    }
    all.truncate(len);
    all
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum InputKind {
    File,
    Tmpfs,
    Pipe,
    Unix,
    Tcp,
    NonblockingPipe,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum OutputKind {
    File,
    /// One that is longer and not at its start.
    Middle,
    Append,
    Tmpfs,
    Pipe,
    Unix,
    Tcp,
    NonblockingPipe,
    Null,
}

pub(crate) const INPUT_KINDS: &[InputKind] = &[
    InputKind::File,
    InputKind::Tmpfs,
    InputKind::Pipe,
    InputKind::Unix,
    InputKind::Tcp,
    InputKind::NonblockingPipe,
];
pub(crate) const OUTPUT_KINDS: &[OutputKind] = &[
    OutputKind::File,
    OutputKind::Middle,
    OutputKind::Append,
    OutputKind::Tmpfs,
    OutputKind::Pipe,
    OutputKind::Unix,
    OutputKind::Tcp,
    OutputKind::NonblockingPipe,
    OutputKind::Null,
];

/// A descriptor that gives these bytes, and who feeds it.
pub(crate) struct Input {
    pub(crate) fd: OwnedFd,
    _feeder: Option<JoinHandle<()>>,
}

/// A descriptor to write to, and what comes out of it.
pub(crate) struct Output {
    pub(crate) fd: OwnedFd,
    taken: Taken,
}

enum Taken {
    /// This many bytes of the file are before and behind it.
    File(PathBuf, usize, usize),
    Thread(JoinHandle<Vec<u8>>),
    Nothing,
}

fn shared_memory() -> PathBuf {
    // A machine without it tests the temporary directory twice.
    let path = Path::new("/dev/shm");
    if path.is_dir() { path.to_owned() } else { std::env::temp_dir() }
}

pub(crate) fn tcp() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

/// The next close of this socket is a reset.
pub(crate) fn reset_on_close(socket: &TcpStream) {
    let linger = Some(std::time::Duration::ZERO);
    rustix::net::sockopt::set_socket_linger(socket, linger).unwrap();
}

fn nonblocking(fd: OwnedFd) -> OwnedFd {
    fcntl_setfl(&fd, fcntl_getfl(&fd).unwrap() | OFlags::NONBLOCK).unwrap();
    fd
}

fn fed(fd: impl Into<OwnedFd>, mut writer: impl Write + Send + 'static, data: &[u8]) -> Input {
    let data = data.to_vec();
    // Who copies may stop early.
    let feeder = std::thread::spawn(move || drop(writer.write_all(&data)));
    Input { fd: fd.into(), _feeder: Some(feeder) }
}

impl Input {
    pub(crate) fn new(kind: InputKind, data: &[u8], dir: &Path) -> Input {
        let file = |mut file: File| {
            file.write_all(data).unwrap();
            file.rewind().unwrap();
            Input { fd: file.into(), _feeder: None }
        };
        match kind {
            InputKind::File => file(tempfile::tempfile_in(dir).unwrap()),
            InputKind::Tmpfs => file(tempfile::tempfile_in(shared_memory()).unwrap()),
            InputKind::Pipe => {
                let (reader, writer) = std::io::pipe().unwrap();
                fed(reader, writer, data)
            }
            InputKind::NonblockingPipe => {
                let (reader, writer) = std::io::pipe().unwrap();
                fed(nonblocking(reader.into()), writer, data)
            }
            InputKind::Unix => {
                let (reader, writer) = UnixStream::pair().unwrap();
                fed(reader, writer, data)
            }
            InputKind::Tcp => {
                let (reader, writer) = tcp();
                fed(reader, writer, data)
            }
        }
    }
}

fn drained(fd: impl Into<OwnedFd>, mut reader: impl Read + Send + 'static) -> Output {
    let thread = std::thread::spawn(move || {
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        all
    });
    Output { fd: fd.into(), taken: Taken::Thread(thread) }
}

impl Output {
    pub(crate) fn new(kind: OutputKind, dir: &Path) -> Output {
        let path = dir.join(format!("{kind:?}"));
        let file = |path: PathBuf, before: usize, after: usize, append: bool| {
            std::fs::write(&path, vec![b'x'; before + after]).unwrap();
            let mut file = OpenOptions::new().write(true).append(append).open(&path).unwrap();
            if !append {
                file.seek(SeekFrom::Start(before as u64)).unwrap();
            }
            Output { fd: file.into(), taken: Taken::File(path, before, after) }
        };
        match kind {
            OutputKind::File => file(path, 0, 0, false),
            OutputKind::Middle => file(path, 1000, 5000, false),
            OutputKind::Append => file(path, 3, 0, true),
            OutputKind::Tmpfs => {
                let file = tempfile::NamedTempFile::new_in(shared_memory()).unwrap();
                let (file, path) = file.keep().unwrap();
                Output { fd: file.into(), taken: Taken::File(path, 0, 0) }
            }
            OutputKind::Pipe => {
                let (reader, writer) = std::io::pipe().unwrap();
                drained(writer, reader)
            }
            OutputKind::NonblockingPipe => {
                let (reader, writer) = std::io::pipe().unwrap();
                drained(nonblocking(writer.into()), reader)
            }
            OutputKind::Unix => {
                let (reader, writer) = UnixStream::pair().unwrap();
                drained(writer, reader)
            }
            OutputKind::Tcp => {
                let (reader, writer) = tcp();
                drained(writer, reader)
            }
            OutputKind::Null => {
                let file = OpenOptions::new().write(true).open("/dev/null").unwrap();
                Output { fd: file.into(), taken: Taken::Nothing }
            }
        }
    }

    /// Closes it; what came out, if that can be seen.
    pub(crate) fn bytes(self) -> Option<Vec<u8>> {
        drop(self.fd);
        match self.taken {
            Taken::Nothing => None,
            Taken::Thread(thread) => Some(thread.join().unwrap()),
            Taken::File(path, before, after) => {
                let all = std::fs::read(&path).unwrap();
                std::fs::remove_file(&path).unwrap();
                assert!(all[..before].iter().all(|byte| *byte == b'x'), "{before} before");
                let new = all.len() - before;
                // What was there behind it stays.
                Some(if new > after { all[before..].to_vec() } else { trimmed(&all[before..]) })
            }
        }
    }
}

/// Without what stood there before.
fn trimmed(bytes: &[u8]) -> Vec<u8> {
    let end = bytes.iter().rposition(|byte| *byte != b'x').map_or(0, |at| at + 1);
    bytes[..end].to_vec()
}
