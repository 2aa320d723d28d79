//! A connection to a server, plain or TLS.

use std::io::{self, ErrorKind::UnexpectedEof, ErrorKind::WouldBlock, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::dial::{dial_any, resolve};
use super::socket::Socket;
use super::timeouts::Timeouts;
use crate::buffer::Buffer;
use crate::choice::BUFFER_BYTES;
use crate::{Error, ErrorKind, Result};

pub(crate) struct Connection {
    socket: Socket,
    tls: Option<Box<Tls>>,
}

struct Tls {
    state: ClientConnection,
    /// What was received at once: rustls takes no more than a record at a time.
    buffer: Buffer,
    /// The bytes of it that rustls has not taken yet.
    rest: Range<usize>,
}

/// A connection that no stream uses.
pub(crate) struct Idle {
    tcp: TcpStream,
    tls: Option<Box<Tls>>,
}

impl Connection {
    pub(crate) async fn open(host: &str, port: u16, timeouts: Timeouts) -> Result<Connection> {
        let addresses = resolve(host, port, &timeouts).await?;
        let tcp = dial_any(host, &addresses, &timeouts).await?;
        Ok(Connection { socket: Socket::new(tcp, timeouts)?, tls: None })
    }

    /// Performs the TLS handshake.
    pub(crate) async fn secure(&mut self, host: &str, config: Arc<ClientConfig>) -> Result<()> {
        let tls = |error: &dyn std::fmt::Display| wrong(&error.to_string());
        let name = ServerName::try_from(host.to_owned()).map_err(|error| tls(&error))?;
        let state = ClientConnection::new(config, name).map_err(|error| tls(&error))?;
        let tls = Box::new(Tls { state, buffer: Buffer::new(BUFFER_BYTES), rest: 0..0 });
        let tls = self.tls.insert(tls);
        loop {
            tls.flush(&mut self.socket).await?;
            if !tls.state.is_handshaking() {
                return Ok(());
            }
            if tls.receive(&mut self.socket).await? == 0 {
                return Err(from_tls(UnexpectedEof.into()));
            }
        }
    }

    pub(crate) fn timeouts(&mut self) -> &mut Timeouts {
        &mut self.socket.timeouts
    }

    pub(crate) async fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        let Some(tls) = &mut self.tls else { return self.socket.write_all(bytes).await };
        while !bytes.is_empty() {
            let n = tls.state.writer().write(bytes).map_err(from_tls)?;
            bytes = &bytes[n..];
            tls.flush(&mut self.socket).await?;
        }
        Ok(())
    }

    /// Returns 0 at the end. With TLS the peer must have closed the connection properly; a
    /// truncated one is an error.
    pub(crate) async fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let Some(tls) = &mut self.tls else { return self.socket.read(buffer).await };
        loop {
            match tls.decrypt(buffer) {
                Err(error) if error.kind() == WouldBlock => {}
                decrypted => return decrypted.map_err(from_tls),
            }
            tls.flush(&mut self.socket).await?;
            tls.receive(&mut self.socket).await?;
        }
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    pub(crate) fn into_idle(self) -> Result<Idle> {
        Ok(Idle { tcp: self.socket.into_tcp()?, tls: self.tls })
    }

    pub(crate) fn from_idle(idle: Idle, timeouts: Timeouts) -> Result<Connection> {
        Ok(Connection { socket: Socket::new(idle.tcp, timeouts)?, tls: idle.tls })
    }
}

impl Tls {
    /// Sends what rustls wants to send.
    async fn flush(&mut self, socket: &mut Socket) -> Result<()> {
        while self.state.wants_write() {
            let mut bytes = Vec::new();
            self.state.write_tls(&mut bytes).map_err(from_tls)?;
            socket.write_all(&bytes).await?;
        }
        Ok(())
    }

    /// Passes received bytes to rustls and returns their number: 0 at the end.
    async fn receive(&mut self, socket: &mut Socket) -> Result<usize> {
        if self.rest.is_empty() {
            self.rest = 0..socket.read(&mut self.buffer).await?;
        }
        match self.pass_on() {
            Ok(n) => Ok(n),
            Err(error) => {
                // The server is to know why; this error is the one that counts.
                let _ = self.flush(socket).await;
                Err(from_tls(error))
            }
        }
    }

    fn pass_on(&mut self) -> io::Result<usize> {
        let n = self.state.read_tls(&mut &self.buffer[self.rest.clone()])?;
        self.rest.start += n;
        let processed = self.state.process_new_packets();
        processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(n)
    }

    /// Decrypts all records that were received, as far as there is room. An error behind good
    /// bytes is returned by the next call.
    fn decrypt(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut len = 0;
        loop {
            let decrypted = match self.state.reader().read(&mut buffer[len..]) {
                Err(error) if error.kind() == WouldBlock && !self.rest.is_empty() => {
                    self.pass_on().map(|_| None)
                }
                decrypted => decrypted.map(Some),
            };
            match decrypted {
                Ok(None) => {}
                Ok(Some(n)) if n > 0 && len + n < buffer.len() => len += n,
                Ok(Some(n)) => return Ok(len + n),
                Err(_) if len > 0 => return Ok(len),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Idle {
    /// Whether nothing has been received since the last answer: neither the end nor bytes, which
    /// would be taken for the next answer.
    pub(crate) fn is_idle(&mut self) -> bool {
        let none = |tls: &mut Box<Tls>| {
            let state = tls.state.process_new_packets();
            let is_quiet = state.is_ok_and(|state| {
                state.plaintext_bytes_to_read() == 0 && !state.peer_has_closed()
            });
            is_quiet && tls.rest.is_empty()
        };
        let mut polled = [PollFd::new(&self.tcp, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        self.tls.as_mut().is_none_or(none) && poll(&mut polled, Some(&now)) == Ok(0)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is the argument of `map_err`")]
fn from_tls(error: io::Error) -> Error {
    if error.kind() == UnexpectedEof {
        let text = "the connection was cut";
        return Error::new(ErrorKind::Truncated, text).retryable(true);
    }
    wrong(&error.to_string())
}

fn wrong(text: &str) -> Error {
    Error::new(ErrorKind::Tls, format!("TLS: {text}"))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;
    use crate::wait::{Mode, now};

    #[test]
    fn a_connection_that_has_ended_or_has_bytes_is_not_idle() {
        for ends in [false, true] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let idle = Duration::from_mins(1);
            let (mode, cancel) = (Mode::Thread, None);
            let timeouts = Timeouts { mode, cancel, idle, stage: None, total: None };
            let opened = now(Connection::open("127.0.0.1", port, timeouts.clone())).unwrap();
            let mut connection = opened.into_idle().unwrap();
            let (mut server, _) = listener.accept().unwrap();
            assert!(connection.is_idle());
            if ends {
                drop(server);
            } else {
                server.write_all(b"HTTP/1.1 200 OK").unwrap();
            }
            now(timeouts.wait(&connection.tcp, PollFlags::IN)).unwrap();
            assert!(!connection.is_idle());
        }
    }
}
