//! A connection to a server, plain or TLS, on which no operation exceeds its time limits.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::dial::{dial_any, resolve};
use super::timeouts::Timeouts;
use crate::{Error, ErrorKind, Result};

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
        let addresses = resolve(host, port, &timeouts)?;
        let tcp = dial_any(host, &addresses, &timeouts)?;
        Ok(Connection { socket: Socket { tcp, timeouts, armed: None }, tls: None })
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

    /// Whether nothing has been received since the last answer: neither the end nor bytes, which
    /// would be taken for the next answer.
    pub(crate) fn is_idle(&mut self) -> bool {
        let none = |tls: &mut Box<ClientConnection>| {
            let state = tls.process_new_packets();
            state
                .is_ok_and(|state| state.plaintext_bytes_to_read() == 0 && !state.peer_has_closed())
        };
        let mut polled = [PollFd::new(&self.socket.tcp, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        self.tls.as_mut().is_none_or(none) && poll(&mut polled, Some(&now)) == Ok(0)
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_connection_that_has_ended_or_has_bytes_is_not_idle() {
        for ends in [false, true] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let idle = Duration::from_mins(1);
            let timeouts = Timeouts { cancel: None, idle, stage: None, total: None };
            let mut connection = Connection::open("127.0.0.1", port, timeouts.clone()).unwrap();
            let (mut server, _) = listener.accept().unwrap();
            assert!(connection.is_idle());
            if ends {
                drop(server);
            } else {
                server.write_all(b"HTTP/1.1 200 OK").unwrap();
            }
            timeouts.wait(&connection.socket.tcp, PollFlags::IN).unwrap();
            assert!(!connection.is_idle());
        }
    }
}
