//! A signal is a write to a descriptor, and waiting is a read from it: eventfd, pipe, sockets.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;

use anyhow::{Context, Result};
use lab::experiment::Method;
use lab::param::Point;

use super::signal::{Give, Take, between_threads, hand_over, handover, uncontended, with_oneself};

pub(super) fn methods() -> Vec<Method> {
    let mut methods = Vec::new();
    #[cfg(target_os = "linux")]
    methods.extend([
        handover("eventfd", "eventfd: write and read 8 bytes", |point| {
            between_threads(point, event::pair)
        }),
        uncontended("eventfd-alone", "eventfd: write and read 8 bytes", |_| {
            with_oneself(event::pair()?)
        }),
    ]);
    methods.extend([
        handover("pipe", "a byte through a pipe", |point| between_threads(point, pipe)),
        uncontended("pipe-alone", "a byte through a pipe", |_| with_oneself(pipe()?)),
        handover("unix-socket", "a byte through a pair of Unix stream sockets", |point| {
            sockets(point, UnixStream::pair().context("a pair of sockets")?)
        }),
        handover("tcp", "a byte through TCP over the loopback, TCP_NODELAY", |point| {
            sockets(point, tcp().context("a connection over the loopback")?)
        }),
    ]);
    methods
}

/// An end from which a byte is read, or to which it is written.
struct Byte<F>(F);

impl<F: Write + Send + 'static> Give for Byte<F> {
    fn give(&mut self) -> Result<()> {
        self.0.write_all(&[1]).context("writing a byte")
    }
}

/// The same for the other direction.
struct FromByte<F>(F);

impl<F: Read + Send + 'static> Take for FromByte<F> {
    fn take(&mut self) -> Result<()> {
        self.0.read_exact(&mut [0]).context("reading a byte")
    }
}

fn pipe() -> Result<(Byte<std::io::PipeWriter>, FromByte<std::io::PipeReader>)> {
    let (reader, writer) = std::io::pipe().context("making a pipe")?;
    Ok((Byte(writer), FromByte(reader)))
}

/// A socket that can be duplicated, once for each direction.
trait Socket: Read + Write + Send + Sized + 'static {
    fn again(&self) -> std::io::Result<Self>;
}

impl Socket for UnixStream {
    fn again(&self) -> std::io::Result<Self> {
        self.try_clone()
    }
}

impl Socket for TcpStream {
    fn again(&self) -> std::io::Result<Self> {
        self.try_clone()
    }
}

fn sockets<S: Socket>(
    point: &Point,
    (own, other): (S, S),
) -> Result<Box<dyn lab::experiment::Task>> {
    let (own_read, other_read) = (own.again()?, other.again()?);
    hand_over(point, (Byte(own), FromByte(other_read)), (Byte(other), FromByte(own_read)))
}

fn tcp() -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let own = TcpStream::connect(listener.local_addr()?)?;
    let (other, _) = listener.accept()?;
    own.set_nodelay(true)?;
    other.set_nodelay(true)?;
    Ok((own, other))
}

#[cfg(target_os = "linux")]
mod event {
    use std::os::fd::OwnedFd;
    use std::sync::Arc;

    use anyhow::{Context, Result};
    use rustix::event::{EventfdFlags, eventfd};
    use rustix::io::{read, retry_on_intr, write};

    use super::super::signal::{Give, Take};

    pub(super) struct Event(Arc<OwnedFd>);

    pub(super) fn pair() -> Result<(Event, Event)> {
        // As a semaphore: a read decrements the counter by one, even if it is larger.
        let fd = eventfd(0, EventfdFlags::SEMAPHORE | EventfdFlags::CLOEXEC);
        let fd = Arc::new(fd.context("making an eventfd")?);
        Ok((Event(Arc::clone(&fd)), Event(fd)))
    }

    impl Give for Event {
        fn give(&mut self) -> Result<()> {
            let one = 1u64.to_ne_bytes();
            retry_on_intr(|| write(&self.0, &one)).map(drop).context("writing to an eventfd")
        }
    }

    impl Take for Event {
        fn take(&mut self) -> Result<()> {
            let mut count = [0; 8];
            let read = retry_on_intr(|| read(&self.0, &mut count));
            read.map(drop).context("reading from an eventfd")
        }
    }
}
