//! A connection to a server, plain or TLS, on which no operation exceeds its time limits.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, connect, sockopt};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use crate::cancel::{self, Cancel};
use crate::clock::Deadline;
use crate::{Error, ErrorKind, Result};

/// The time limits of a connection, and its cancel handle.
#[derive(Clone)]
pub(crate) struct Timeouts {
    pub(crate) cancel: Option<Cancel>,
    /// Time without a byte.
    pub(crate) idle: Duration,
    /// The deadline of the current stage.
    pub(crate) stage: Option<Deadline>,
    /// The deadline of the whole stream.
    pub(crate) total: Option<Deadline>,
}

/// The limit that expires first.
struct Left {
    time: Duration,
    /// The error if the limit expires. It is decided here, not by reading the clock again: the
    /// kernel measures a socket's time limit in ticks, which lag behind the clock on a busy
    /// machine, and may wake up slightly early.
    lost: fn() -> Error,
}

impl Timeouts {
    /// The time left; an error if there is none.
    fn left(&self) -> Result<Left> {
        cancel::check(self.cancel.as_ref())?;
        let mut left = Left { time: self.idle, lost: idle_limit_passed };
        for (deadline, lost) in
            [(self.total, total_limit_passed as fn() -> Error), (self.stage, idle_limit_passed)]
        {
            match deadline.map(Deadline::left) {
                Some(Duration::ZERO) => return Err(lost()),
                Some(time) if time < left.time => left = Left { time, lost },
                _ => {}
            }
        }
        Ok(left)
    }

    fn wait(&self, fd: &impl AsFd, events: PollFlags) -> Result<()> {
        let left = self.left()?;
        let deadline = Deadline::after(left.time);
        let fd = Some(fd.as_fd());
        if cancel::wait(fd, events, self.cancel.as_ref(), deadline)? {
            Ok(())
        } else {
            Err((left.lost)())
        }
    }
}

fn idle_limit_passed() -> Error {
    Error::new(ErrorKind::TimedOut, "the server did not answer within the time limit")
}

/// A retry would exceed the total limit as well.
fn total_limit_passed() -> Error {
    Error::new(ErrorKind::TimedOut, "not done within the total time limit").retryable(false)
}

pub(crate) struct Connection {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
}

/// The TCP connection, as a reader and writer for rustls.
struct Socket {
    tcp: TcpStream,
    timeouts: Timeouts,
    /// The time limit that is set on the socket.
    armed: Option<Duration>,
}

impl Connection {
    pub(crate) fn open(host: &str, port: u16, timeouts: Timeouts) -> Result<Connection> {
        let mut last = None;
        for address in resolve(host, port, &timeouts)? {
            match dial(address, &timeouts) {
                Ok(tcp) => {
                    let socket = Socket { tcp, timeouts, armed: None };
                    return Ok(Connection { socket, tls: None });
                }
                Err(error) if error.kind() == ErrorKind::Connect => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| failed(format!("{host} has no address"))))
    }

    /// Performs the TLS handshake.
    pub(crate) fn secure(&mut self, host: &str, config: Arc<ClientConfig>) -> Result<()> {
        let tls =
            |error: &dyn std::fmt::Display| Error::new(ErrorKind::Tls, format!("TLS: {error}"));
        let name = ServerName::try_from(host.to_owned()).map_err(|error| tls(&error))?;
        let connection = ClientConnection::new(config, name).map_err(|error| tls(&error))?;
        let mut connection = Box::new(connection);
        while connection.is_handshaking() {
            connection.complete_io(&mut self.socket).map_err(from_tls)?;
        }
        self.tls = Some(connection);
        Ok(())
    }

    pub(crate) fn timeouts(&mut self) -> &mut Timeouts {
        &mut self.socket.timeouts
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match &mut self.tls {
            None => self.socket.write_all(bytes),
            Some(tls) => rustls::Stream::new(&mut **tls, &mut self.socket).write_all(bytes),
        };
        written.map_err(from_tls)
    }

    /// Returns 0 at the end. With TLS the peer must have closed the connection properly; a
    /// truncated one is an error.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let read = match &mut self.tls {
            None => return self.socket.receive(buffer),
            Some(tls) => rustls::Stream::new(&mut **tls, &mut self.socket).read(buffer),
        };
        read.map_err(from_tls)
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.tls.is_some()
    }
}

/// Unwraps our own error; anything else is an error of rustls.
fn from_tls(error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        let text = "the connection was cut";
        return Error::new(ErrorKind::Truncated, text).retryable(true);
    }
    let mut error = Error::from_io(error, ErrorKind::Tls);
    if error.kind() == ErrorKind::Tls {
        error = Error::new(ErrorKind::Tls, format!("TLS: {}", error.message()));
    }
    error
}

impl Socket {
    fn receive(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            let mut lost = None;
            if self.timeouts.cancel.is_some() {
                self.timeouts.wait(&self.tcp, PollFlags::IN)?;
            } else {
                // The socket's own time limit saves a `poll` per read.
                let left = self.timeouts.left()?;
                if self.armed != Some(left.time) {
                    self.tcp.set_read_timeout(Some(left.time)).map_err(Error::io)?;
                    self.armed = Some(left.time);
                }
                lost = Some(left.lost);
            }
            match (rustix::io::read(&self.tcp, &mut *buffer), lost) {
                (Ok(n), _) => return Ok(n),
                (Err(Errno::INTR), _) | (Err(Errno::AGAIN), None) => {}
                (Err(Errno::AGAIN), Some(lost)) => return Err(lost()),
                (Err(errno), _) => return Err(Error::io(errno).retryable(true)),
            }
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receive(buffer).map_err(wrapped)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.timeouts.wait(&self.tcp, PollFlags::OUT).map_err(wrapped)?;
        loop {
            match rustix::io::write(&self.tcp, bytes) {
                Ok(n) => return Ok(n),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(wrapped(Error::io(errno).retryable(true))),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Wraps our error so that it passes through rustls unchanged.
fn wrapped(error: Error) -> io::Error {
    io::Error::other(error)
}

fn failed(text: String) -> Error {
    Error::new(ErrorKind::Connect, text).retryable(true)
}

/// Resolves the host in a thread, because the system's resolver cannot be cancelled.
fn resolve(host: &str, port: u16, timeouts: &Timeouts) -> Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (done, writer) = io::pipe().map_err(Error::io)?;
    let (sender, receiver) = std::sync::mpsc::channel();
    let name = host.to_owned();
    let thread = std::thread::Builder::new().name("resolver".to_owned()).stack_size(256 << 10);
    let look_up = move || {
        let found = (name.as_str(), port).to_socket_addrs().map(Iterator::collect);
        // The receiver may have timed out.
        let _ = sender.send(found);
        drop(writer);
    };
    thread.spawn(look_up).map_err(Error::io)?;
    timeouts.wait(&done, PollFlags::IN)?;
    match receiver.recv() {
        Ok(Ok(addresses)) => Ok(addresses),
        Ok(Err(error)) => Err(failed(format!("the address of {host}: {error}"))),
        Err(_) => Err(failed(format!("the address of {host} could not be looked up"))),
    }
}

/// A non-blocking socket that child processes do not inherit.
#[cfg(target_os = "linux")]
fn new_socket(family: AddressFamily) -> rustix::io::Result<OwnedFd> {
    use rustix::net::{SocketFlags, socket_with};

    socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
}

/// A non-blocking socket that child processes do not inherit.
#[cfg(not(target_os = "linux"))]
fn new_socket(family: AddressFamily) -> rustix::io::Result<OwnedFd> {
    let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    Ok(socket)
}

fn dial(address: SocketAddr, timeouts: &Timeouts) -> Result<TcpStream> {
    let refused =
        |errno: Errno| failed(format!("connecting to {address}: {}", io::Error::from(errno)));
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = new_socket(family).map_err(Error::io)?;
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {}
        Err(errno) => return Err(refused(errno)),
    }
    timeouts.wait(&socket, PollFlags::OUT)?;
    sockopt::socket_error(&socket).map_err(Error::io)?.map_err(refused)?;
    let tcp = TcpStream::from(socket);
    tcp.set_nonblocking(false).map_err(Error::io)?;
    tcp.set_nodelay(true).map_err(Error::io)?;
    Ok(tcp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_limit_says_whether_a_retry_could_help() {
        let limits = [(1, 30, None), (30, 1, None), (30, 30, Some(1)), (1, 30, Some(30))];
        let retryable = limits.map(|(total, idle, stage)| {
            let after = |s| Deadline::after(Duration::from_secs(s));
            let idle = Duration::from_secs(idle);
            let timeouts =
                Timeouts { cancel: None, idle, stage: stage.and_then(after), total: after(total) };
            let left = timeouts.left().unwrap();
            assert!(left.time <= Duration::from_secs(1));
            (left.lost)().is_retryable()
        });
        assert_eq!(retryable, [false, true, true, false]);
    }
}
