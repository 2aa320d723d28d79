//! Connections to servers, plain, TLS or through a SOCKS proxy, and idle ones, which are kept for
//! later requests. No operation on them exceeds its time limits.

use std::fmt;
use std::io::ErrorKind::{UnexpectedEof, WouldBlock};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::ops::Range;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketType, connect, send, sockopt};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
#[cfg(feature = "async")]
use tokio::io::{Interest, unix::AsyncFd};

use super::certificates::words;
use super::limits::Timeouts;
use super::proxy::ProxyServer;
use super::url::Url;
use crate::buffer::Buffer;
use crate::cancel::Deadline;
use crate::choice::BUFFER_BYTES;
#[cfg(feature = "async")]
use crate::task::watch;
use crate::wait::{self, WaitMode};
use crate::{Error, ErrorKind, Result};

pub(crate) struct Connection {
    socket: Socket,
    tls: Option<Box<Tls>>,
}

/// More than any record of TLS has (RFC 8446, 5.2).
const RECORD_BYTES: u64 = 32 << 10;

struct Tls {
    state: ClientConnection,
    /// The bytes of the last read: rustls takes at most one record at a time.
    buffer: Buffer,
    /// The bytes of it that rustls has not taken yet.
    rest: Range<usize>,
}

/// A connection that no stream uses.
pub(crate) struct IdleConnection {
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
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| wrong("the name of the host can be in no certificate"))?;
        let state = ClientConnection::new(config, name).map_err(|error| wrong(&words(&error)))?;
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

    /// At least this many bytes of a body are still to be read.
    pub(crate) fn expect_body(&mut self, bytes: u64) {
        // Of TLS, a part of a record may have been received.
        let held = if self.is_secure() { RECORD_BYTES } else { 0 };
        self.socket.gathering.expected = bytes.saturating_sub(held);
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    pub(crate) fn into_idle(self) -> Result<IdleConnection> {
        Ok(IdleConnection { tcp: self.socket.into_tcp()?, tls: self.tls })
    }

    pub(crate) fn from_idle(idle: IdleConnection, timeouts: Timeouts) -> Result<Connection> {
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
                // The alert tells the server the reason; only the handshake's error is returned.
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

    /// Decrypts all records that were received, as far as there is room. An error after valid bytes
    /// is returned by the next call.
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

impl IdleConnection {
    /// Whether nothing has been received since the last answer: neither the end nor bytes, which
    /// would be taken for the next answer.
    fn is_idle(&mut self) -> bool {
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
    match error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>()) {
        Some(error) => wrong(&words(error)),
        None => wrong(&error.to_string()),
    }
}

fn wrong(text: &str) -> Error {
    Error::new(ErrorKind::Tls, format!("TLS: {text}"))
}

// Resolves a host and connects to one of its addresses.

/// The time that an attempt has before the next address is tried as well (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Races the addresses of a host, as RFC 8305 describes it: an attempt that fails or takes long
/// does not hold up the next one, and the first connection is used.
async fn dial_any(host: &str, addresses: &[SocketAddr], timeouts: &Timeouts) -> Result<TcpStream> {
    let mut waiting = alternating(addresses).into_iter();
    let mut pending: Vec<ConnectionAttempt> = Vec::new();
    let mut last = failed(format!("{host} has no address"));
    let mut next_at = None;
    loop {
        let is_due = next_at.is_none_or(|at: Deadline| at.left().is_zero());
        if (pending.is_empty() || is_due)
            && let Some(address) = waiting.next()
        {
            match ConnectionAttempt::start(address) {
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
struct ConnectionAttempt {
    socket: OwnedFd,
    address: SocketAddr,
}

impl ConnectionAttempt {
    fn start(address: SocketAddr) -> Result<ConnectionAttempt> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        // If the system does not support one family, the other one is still tried.
        let socket = new_socket(family).map_err(|errno| refused(address, errno))?;
        match connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {
                Ok(ConnectionAttempt { socket, address })
            }
            Err(errno) => Err(refused(address, errno)),
        }
    }

    /// The connection of a socket that has become writable, or the error of the attempt.
    fn finish(self) -> Result<TcpStream> {
        let ConnectionAttempt { socket, address } = self;
        let state = sockopt::socket_error(&socket).map_err(Error::io)?;
        state.map_err(|errno| refused(address, errno))?;
        let tcp = TcpStream::from(socket);
        tcp.set_nonblocking(false).map_err(Error::io)?;
        tcp.set_nodelay(true).map_err(Error::io)?;
        Ok(tcp)
    }
}

fn refused(address: SocketAddr, errno: Errno) -> Error {
    let error = io::Error::from(errno);
    failed(format!("connecting to {address}: {error}")).caused_by(error)
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

// A TCP connection, in a thread or in a task.

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
    gathering: Gathering,
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
            WaitMode::Thread => Tcp::Thread(tcp),
            #[cfg(feature = "async")]
            WaitMode::Task => {
                tcp.set_nonblocking(true).map_err(Error::io)?;
                Tcp::Task(watch(tcp, Interest::READABLE | Interest::WRITABLE).map_err(Error::io)?)
            }
        };
        Ok(Socket { tcp, timeouts, armed: None, gathering: Gathering::default() })
    }

    /// The connection, for a thread or another task.
    #[cfg_attr(
        not(feature = "async"),
        expect(clippy::unnecessary_wraps, reason = "a task may fail")
    )]
    fn into_tcp(self) -> Result<TcpStream> {
        match self.tcp {
            Tcp::Thread(tcp) => {
                let mut gathering = self.gathering;
                gathering.prepare(&tcp, false);
                Ok(tcp)
            }
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
            self.gathering.prepare(tcp, self.timeouts.cancel.is_none());
            if self.timeouts.cancel.is_some() {
                self.timeouts.wait(tcp, PollFlags::IN).await?;
            } else {
                // The socket's own time limit saves a `poll` per read.
                let left = self.timeouts.left()?;
                let time = self.gathering.limited(left.time);
                if self.armed != Some(time) {
                    tcp.set_read_timeout(Some(time)).map_err(Error::io)?;
                    self.armed = Some(time);
                }
                lost = Some(left.lost);
            }
            match (rustix::io::read(tcp, &mut *buffer), lost) {
                (Ok(n), _) => {
                    self.gathering.took(n);
                    return Ok(n);
                }
                (Err(Errno::INTR), _) | (Err(Errno::AGAIN), None) => {}
                (Err(Errno::AGAIN), Some(_)) if self.gathering.is_on => self.gathering.took(0),
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
                        // A socket nearly always has room for a request.
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

// A reader that is faster than the server is woken for each segment that arrives, which takes the
// time of the server where both run on one machine, and a system call for each. While many bytes
// are to come, and come fast, the kernel wakes it for many at once.

/// So many bytes are waited for.
const GATHERED_BYTES: usize = 128 << 10;
/// For at most so long: then those that have arrived are returned.
const GATHER_LIMIT: Duration = Duration::from_millis(10);
/// So many bytes must have come since a wait of that length.
const FAST_BYTES: u64 = 4 << 20;

#[derive(Clone, Copy, Default)]
struct Gathering {
    /// At least this many bytes are still to be received.
    expected: u64,
    /// The bytes since the last long wait.
    fast_bytes: u64,
    is_on: bool,
}

impl Gathering {
    /// Turns it on or off before a read.
    fn prepare(&mut self, tcp: &TcpStream, is_allowed: bool) {
        let is_worth_it =
            self.fast_bytes >= FAST_BYTES && self.expected >= 2 * GATHERED_BYTES as u64;
        let is_wanted = is_allowed && is_worth_it;
        if is_wanted == self.is_on {
            return;
        }
        let is_set = set_low_water(tcp, if is_wanted { GATHERED_BYTES } else { 1 });
        self.is_on = is_wanted && is_set;
        if !is_set {
            self.fast_bytes = 0;
        }
    }

    /// The time limit of a read.
    fn limited(&self, time: Duration) -> Duration {
        if self.is_on { time.min(GATHER_LIMIT) } else { time }
    }

    /// Notes what a read has returned.
    fn took(&mut self, n: usize) {
        let was_long = self.is_on && n < GATHERED_BYTES;
        self.fast_bytes = if was_long { 0 } else { self.fast_bytes + n as u64 };
        self.expected = self.expected.saturating_sub(n as u64);
    }
}

/// From now on a read waits for as many bytes (`SO_RCVLOWAT`, socket(7)). Returns whether it does.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "an option of sockets without a wrapper")]
fn set_low_water(tcp: &TcpStream, bytes: usize) -> bool {
    let value = bytes as libc::c_int;
    let (fd, len) = (tcp.as_raw_fd(), size_of_val(&value) as libc::socklen_t);
    let value = (&raw const value).cast();
    // SAFETY: the option is an int, which lives as long as the call.
    unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, value, len) == 0 }
}

/// Other systems are not asked for it.
#[cfg(not(target_os = "linux"))]
fn set_low_water(_: &TcpStream, _: usize) -> bool {
    false
}

// A connection to a server is requested from a SOCKS5 proxy (RFC 1928, and 1929 for credentials).

const SOCKS_VERSION: u8 = 5;
const NO_CREDENTIALS: u8 = 0;
const CREDENTIALS: u8 = 2;

/// The destination that the proxy connects to.
pub(super) enum ProxyDestination<'a> {
    Address(IpAddr),
    /// The proxy looks the name up.
    Name(&'a str),
}

/// `user` is `user:password`. Afterwards the connection leads to the server.
pub(super) async fn connect_by_socks(
    connection: &mut Connection,
    target: &ProxyDestination<'_>,
    port: u16,
    user: Option<&[u8]>,
) -> Result<()> {
    let methods: &[u8] =
        if user.is_some() { &[NO_CREDENTIALS, CREDENTIALS] } else { &[NO_CREDENTIALS] };
    let greeting = [&[SOCKS_VERSION, methods.len() as u8], methods].concat();
    connection.write(&greeting).await?;
    let [version, method] = read(connection).await?;
    if version != SOCKS_VERSION {
        return Err(wrong_reply("the proxy does not speak SOCKS5"));
    }
    match (method, user) {
        (NO_CREDENTIALS, _) => {}
        (CREDENTIALS, Some(user)) => authenticate(connection, user).await?,
        _ => return Err(refused_by_proxy("the SOCKS proxy requires other credentials")),
    }
    connection.write(&request(target, port)?).await?;
    let [version, reply, _reserved, kind] = read(connection).await?;
    if version != SOCKS_VERSION {
        return Err(wrong_reply("the SOCKS proxy sent a malformed answer"));
    }
    if reply != 0 {
        return Err(refused_by_proxy(meaning(reply)));
    }
    // The address that the proxy connects from is ignored.
    let len = match kind {
        1 => 4,
        3 => read::<1>(connection).await?[0],
        4 => 16,
        _ => return Err(wrong_reply("the SOCKS proxy sent a malformed answer")),
    };
    for _ in 0..u16::from(len) + 2 {
        read::<1>(connection).await?;
    }
    Ok(())
}

/// RFC 1929.
async fn authenticate(connection: &mut Connection, user: &[u8]) -> Result<()> {
    let mut parts = user.splitn(2, |byte| *byte == b':');
    let mut text = vec![1];
    for part in [parts.next().unwrap_or_default(), parts.next().unwrap_or_default()] {
        text.push(length(part, "the user and the password of a SOCKS proxy")?);
        text.extend_from_slice(part);
    }
    connection.write(&text).await?;
    match read(connection).await? {
        [_, 0] => Ok(()),
        _ => Err(refused_by_proxy("the SOCKS proxy did not accept the credentials")),
    }
}

fn request(target: &ProxyDestination<'_>, port: u16) -> Result<Vec<u8>> {
    let mut text = vec![SOCKS_VERSION, 1, 0];
    match target {
        ProxyDestination::Address(IpAddr::V4(address)) => {
            text.push(1);
            text.extend(address.octets());
        }
        ProxyDestination::Address(IpAddr::V6(address)) => {
            text.push(4);
            text.extend(address.octets());
        }
        ProxyDestination::Name(name) => {
            text.extend([3, length(name.as_bytes(), "a host name for a SOCKS proxy")?]);
            text.extend(name.bytes());
        }
    }
    text.extend(port.to_be_bytes());
    Ok(text)
}

fn length(bytes: &[u8], what: &str) -> Result<u8> {
    u8::try_from(bytes.len()).map_err(|_| {
        Error::new(ErrorKind::InvalidUse, format!("{what} must have at most 255 bytes"))
    })
}

/// Reads no more than this, because the following bytes are the server's.
async fn read<const N: usize>(connection: &mut Connection) -> Result<[u8; N]> {
    let (mut bytes, mut len) = ([0; N], 0);
    while len < N {
        match connection.read(&mut bytes[len..]).await? {
            0 => {
                let text = "the SOCKS proxy closed the connection";
                return Err(Error::new(ErrorKind::Truncated, text).retryable(true));
            }
            n => len += n,
        }
    }
    Ok(bytes)
}

fn meaning(reply: u8) -> &'static str {
    match reply {
        2 => "the SOCKS proxy does not allow the connection",
        3 => "the SOCKS proxy cannot reach the network",
        4 => "the SOCKS proxy cannot reach the host",
        5 => "the host refused the connection of the SOCKS proxy",
        6 => "the connection of the SOCKS proxy timed out",
        _ => "the SOCKS proxy could not connect",
    }
}

fn refused_by_proxy(text: &'static str) -> Error {
    Error::new(ErrorKind::Connect, text).retryable(true)
}

fn wrong_reply(text: &'static str) -> Error {
    Error::new(ErrorKind::Protocol, text)
}

/// The most connections that are kept; the oldest is closed first.
const IDLE_LIMIT: usize = 16;

/// Idle connections of streams that have ended, which later streams from the same servers use.
/// Clones are the same pool. When the last one is dropped, the connections are closed.
///
/// ```
/// use byte_stream::{Connections, Stream};
/// let connections = Connections::new();
/// let first = Stream::options().connections(&connections);
/// let second = Stream::options().connections(&connections);
/// ```
#[derive(Clone, Default)]
pub struct Connections(Arc<Mutex<Vec<(Route, IdleConnection)>>>);

/// The server and the path to it: only a request with the same route may use the connection.
#[derive(Clone)]
pub(crate) struct Route {
    secure: bool,
    host: String,
    port: u16,
    pub(crate) proxy: Option<ProxyServer>,
    /// The trusted certificates.
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

impl Route {
    pub(crate) fn new(
        url: &Url,
        proxy: Option<ProxyServer>,
        tls: Option<Arc<ClientConfig>>,
    ) -> Route {
        Route { secure: url.secure, host: url.host.clone(), port: url.port, proxy, tls }
    }

    fn is_same(&self, other: &Route) -> bool {
        let same_tls = match (&self.tls, &other.tls) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        (self.secure, &self.host, self.port) == (other.secure, &other.host, other.port)
            && self.proxy == other.proxy
            && same_tls
    }
}

impl Connections {
    /// A pool without connections.
    ///
    /// ```
    /// let connections = byte_stream::Connections::new();
    /// ```
    pub fn new() -> Connections {
        Connections::default()
    }

    /// The youngest connection with this route that is still open.
    pub(crate) fn take(&self, route: &Route) -> Option<IdleConnection> {
        let mut idle = self.lock();
        while let Some(at) = idle.iter().rposition(|(of, _)| of.is_same(route)) {
            let (_, mut connection) = idle.remove(at);
            if connection.is_idle() {
                return Some(connection);
            }
        }
        None
    }

    pub(crate) fn put(&self, route: Route, connection: IdleConnection) {
        let mut idle = self.lock();
        idle.push((route, connection));
        if idle.len() > IDLE_LIMIT {
            idle.remove(0);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Route, IdleConnection)>> {
        // Every change is a single operation of the list, so it is valid even after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").field("idle", &self.lock().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;
    use crate::wait::{WaitMode, now};

    #[test]
    fn a_connection_that_has_ended_or_has_bytes_is_not_idle() {
        for ends in [false, true] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let idle = Duration::from_mins(1);
            let (mode, cancel) = (WaitMode::Thread, None);
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

#[cfg(test)]
mod dial_tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;
    use crate::wait::{WaitMode, now};

    fn timeouts(limit: Duration) -> Timeouts {
        Timeouts { mode: WaitMode::Thread, cancel: None, idle: limit, stage: None, total: None }
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
