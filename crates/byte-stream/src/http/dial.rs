//! Resolves a host and connects to one of its addresses.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, connect, sockopt};

use super::timeouts::Timeouts;
use crate::clock::Deadline;
use crate::wait;
use crate::{Error, ErrorKind, Result};

/// The time that an attempt has before the next address is tried as well (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Races the addresses of a host, as RFC 8305 describes it: an attempt that fails or takes long
/// does not hold up the next one, and the first connection is used.
pub(crate) async fn dial_any(
    host: &str,
    addresses: &[SocketAddr],
    timeouts: &Timeouts,
) -> Result<TcpStream> {
    let mut waiting = alternating(addresses).into_iter();
    let mut pending: Vec<Attempt> = Vec::new();
    let mut last = failed(format!("{host} has no address"));
    let mut next_at = None;
    loop {
        let is_due = next_at.is_none_or(|at: Deadline| at.left().is_zero());
        if (pending.is_empty() || is_due)
            && let Some(address) = waiting.next()
        {
            match Attempt::start(address) {
                Ok(attempt) => pending.push(attempt),
                Err(error) => last = error,
            }
            next_at = Deadline::after(ATTEMPT_DELAY);
            continue;
        }
        if pending.is_empty() {
            return Err(last);
        }
        let left = timeouts.left()?;
        let limit = Deadline::after(left.time);
        let until =
            if waiting.len() > 0 { [next_at, limit].into_iter().flatten().min() } else { limit };
        let sockets: Vec<_> = pending.iter().map(|attempt| attempt.socket.as_fd()).collect();
        let (mode, cancel) = (timeouts.mode, timeouts.cancel.as_ref());
        match wait::ready(mode, &sockets, PollFlags::OUT, cancel, until).await? {
            Some(ready) => match pending.remove(ready).finish() {
                Ok(tcp) => return Ok(tcp),
                Err(error) => (last, next_at) = (error, None),
            },
            None if limit.is_some_and(|limit| limit.left().is_zero()) => return Err((left.lost)()),
            None => {}
        }
    }
}

/// The addresses with the families in turn, beginning with that of the first one.
fn alternating(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let is_first = |address: &&SocketAddr| address.is_ipv4() == addresses[0].is_ipv4();
    let (mut first, mut other) =
        (addresses.iter().filter(is_first), addresses.iter().filter(|a| !is_first(a)));
    let mut ordered = Vec::new();
    while ordered.len() < addresses.len() {
        ordered.extend(first.next());
        ordered.extend(other.next());
    }
    ordered
}

/// A connection that is being established.
struct Attempt {
    socket: OwnedFd,
    address: SocketAddr,
}

impl Attempt {
    fn start(address: SocketAddr) -> Result<Attempt> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        // A family that the system does not support is no reason to give up the other one.
        let socket = new_socket(family).map_err(|errno| refused(address, errno))?;
        match connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(Attempt { socket, address }),
            Err(errno) => Err(refused(address, errno)),
        }
    }

    /// The connection of a socket that has become writable, or the error of the attempt.
    fn finish(self) -> Result<TcpStream> {
        let Attempt { socket, address } = self;
        let state = sockopt::socket_error(&socket).map_err(Error::io)?;
        state.map_err(|errno| refused(address, errno))?;
        let tcp = TcpStream::from(socket);
        tcp.set_nonblocking(false).map_err(Error::io)?;
        tcp.set_nodelay(true).map_err(Error::io)?;
        Ok(tcp)
    }
}

fn refused(address: SocketAddr, errno: Errno) -> Error {
    failed(format!("connecting to {address}: {}", io::Error::from(errno)))
}

fn failed(text: String) -> Error {
    Error::new(ErrorKind::Connect, text).retryable(true)
}

/// Resolves the host in a thread, because the system's resolver cannot be cancelled.
pub(crate) async fn resolve(host: &str, port: u16, timeouts: &Timeouts) -> Result<Vec<SocketAddr>> {
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
    timeouts.wait(&done, PollFlags::IN).await?;
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

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;
    use crate::wait::{Mode, now};

    fn timeouts(limit: Duration) -> Timeouts {
        Timeouts { mode: Mode::Thread, cancel: None, idle: limit, stage: None, total: None }
    }

    /// An address that drops connection requests: a listener whose queue is full.
    fn dead() -> (OwnedFd, Vec<OwnedFd>, SocketAddr) {
        let listener = new_socket(AddressFamily::INET).unwrap();
        rustix::net::bind(&listener, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let name = rustix::net::getsockname(&listener).unwrap();
        let address = SocketAddr::try_from(name).unwrap();
        let queued = (0..4).map(|_| {
            let socket = new_socket(AddressFamily::INET).unwrap();
            let _ = connect(&socket, &address);
            socket
        });
        let queued = queued.collect();
        (listener, queued, address)
    }

    fn refusing() -> SocketAddr {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
    }

    #[test]
    fn a_dead_first_address_is_not_final() {
        let (_listener, _queued, dead) = dead();
        let good = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = good.local_addr().unwrap();
        let limit = timeouts(Duration::from_secs(5));
        let tcp = now(dial_any("host", &[dead, to], &limit)).unwrap();
        assert_eq!(tcp.peer_addr().unwrap(), to);
    }

    #[test]
    fn the_families_take_turns() {
        let [a, b, c] = ["[::1]:1", "[::1]:2", "127.0.0.1:3"].map(|text| text.parse().unwrap());
        assert_eq!(alternating(&[a, b, c]), [a, c, b]);
        assert_eq!(alternating(&[c, a, b]), [c, a, b]);
        assert_eq!(alternating(&[]), []);
    }

    #[test]
    fn a_cancelled_race_ends() {
        let (_listener, _queued, dead) = dead();
        let cancel = crate::Cancel::new().unwrap();
        cancel.cancel();
        let limits = Timeouts { cancel: Some(cancel), ..timeouts(Duration::from_mins(1)) };
        let error = now(dial_any("host", &[dead, dead], &limits)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn the_error_is_that_of_an_address_or_of_the_limit() {
        let (_listener, _queued, dead) = dead();
        let limit = timeouts(Duration::from_millis(600));
        let kind =
            |addresses: &[SocketAddr]| now(dial_any("host", addresses, &limit)).unwrap_err().kind();
        assert_eq!(kind(&[]), ErrorKind::Connect);
        assert_eq!(kind(&[refusing(), refusing()]), ErrorKind::Connect);
        assert_eq!(kind(&[dead, refusing()]), ErrorKind::TimedOut);
    }
}
