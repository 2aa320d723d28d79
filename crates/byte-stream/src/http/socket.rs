//! A TCP connection on which no operation exceeds its time limits, in a thread or in a task.

use std::net::TcpStream;
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
#[cfg(feature = "async")]
use tokio::io::{Interest, unix::AsyncFd};

use super::timeouts::Timeouts;
#[cfg(feature = "async")]
use crate::task::watch;
use crate::wait::Mode;
use crate::{Error, Result};

/// A peer that has closed the connection is an error, and no signal.
#[cfg(not(target_vendor = "apple"))]
const SEND: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
/// The standard library has set `SO_NOSIGPIPE`.
#[cfg(target_vendor = "apple")]
const SEND: SendFlags = SendFlags::DONTWAIT;

pub(crate) struct Socket {
    tcp: Tcp,
    pub(crate) timeouts: Timeouts,
    /// The time limit that is set on the socket.
    armed: Option<Duration>,
}

enum Tcp {
    /// A blocking socket.
    Thread(TcpStream),
    /// A non-blocking socket, registered with the runtime.
    #[cfg(feature = "async")]
    Task(AsyncFd<TcpStream>),
}

impl Socket {
    #[cfg_attr(
        not(feature = "async"),
        expect(clippy::unnecessary_wraps, reason = "a task may fail")
    )]
    pub(crate) fn new(tcp: TcpStream, timeouts: Timeouts) -> Result<Socket> {
        let tcp = match timeouts.mode {
            Mode::Thread => Tcp::Thread(tcp),
            #[cfg(feature = "async")]
            Mode::Task => {
                tcp.set_nonblocking(true).map_err(Error::io)?;
                Tcp::Task(watch(tcp, Interest::READABLE | Interest::WRITABLE).map_err(Error::io)?)
            }
        };
        Ok(Socket { tcp, timeouts, armed: None })
    }

    /// The connection, for a thread or another task.
    #[cfg_attr(
        not(feature = "async"),
        expect(clippy::unnecessary_wraps, reason = "a task may fail")
    )]
    pub(crate) fn into_tcp(self) -> Result<TcpStream> {
        match self.tcp {
            Tcp::Thread(tcp) => Ok(tcp),
            #[cfg(feature = "async")]
            Tcp::Task(tcp) => {
                let tcp = tcp.into_inner();
                tcp.set_nonblocking(false).map_err(Error::io)?;
                Ok(tcp)
            }
        }
    }

    /// Returns 0 at the end.
    pub(crate) async fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        #[cfg_attr(
            not(feature = "async"),
            expect(clippy::infallible_destructuring_match, reason = "one of two")
        )]
        let tcp = match &self.tcp {
            Tcp::Thread(tcp) => tcp,
            #[cfg(feature = "async")]
            Tcp::Task(tcp) => {
                let read = |tcp: &TcpStream| rustix::io::read(tcp, &mut *buffer);
                return self.timeouts.when_ready(tcp, Interest::READABLE, read).await;
            }
        };
        loop {
            let mut lost = None;
            if self.timeouts.cancel.is_some() {
                self.timeouts.wait(tcp, PollFlags::IN).await?;
            } else {
                // The socket's own time limit saves a `poll` per read.
                let left = self.timeouts.left()?;
                if self.armed != Some(left.time) {
                    tcp.set_read_timeout(Some(left.time)).map_err(Error::io)?;
                    self.armed = Some(left.time);
                }
                lost = Some(left.lost);
            }
            match (rustix::io::read(tcp, &mut *buffer), lost) {
                (Ok(n), _) => return Ok(n),
                (Err(Errno::INTR), _) | (Err(Errno::AGAIN), None) => {}
                (Err(Errno::AGAIN), Some(lost)) => return Err(lost()),
                (Err(errno), _) => return Err(Error::io(errno).retryable(true)),
            }
        }
    }

    pub(crate) async fn write_all(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let write = |tcp: &TcpStream| send(tcp, bytes, SEND);
            let n = match &self.tcp {
                Tcp::Thread(tcp) => {
                    self.timeouts.left()?;
                    match rustix::io::retry_on_intr(|| write(tcp)) {
                        // There is room for a request, nearly always.
                        Err(Errno::AGAIN) => {
                            self.timeouts.wait(tcp, PollFlags::OUT).await?;
                            continue;
                        }
                        written => written.map_err(|errno| Error::io(errno).retryable(true))?,
                    }
                }
                #[cfg(feature = "async")]
                Tcp::Task(tcp) => self.timeouts.when_ready(tcp, Interest::WRITABLE, write).await?,
            };
            bytes = &bytes[n..];
        }
        Ok(())
    }
}
