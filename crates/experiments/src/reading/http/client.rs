//! The clients within this program: byte-stream, used in each way in which the study used
//! `URLSession`, and some more; and bare connections, which are the limit.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use anyhow::{Context as _, Result, bail, ensure};
use byte_stream::{AsyncStream, Options, Stream};
use futures_core::Stream as _;
use measure::experiment::{Build, Execution, Method, Task};
use model::param::Point;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tokio::runtime::{Builder, Runtime};

use super::super::fold::Fold;
use super::super::libraries::BUFFER_LIMIT;
use super::super::source::{ReadingTask, Source, fits_in_memory, method, numbered};
use crate::shared::Buffer;

pub(super) fn methods() -> Vec<Method> {
    let own = |name: &str, about: &str, reads: &[&'static str], build: Build| {
        contender(name, about, &[&["buffer"], reads].concat(), Execution::BuiltIn(build))
    };
    vec![
        own("byte-stream-chunks", "byte-stream: each chunk as it comes, lent", &[], |point| {
            build(point, Access::Chunks)
        }),
        own("byte-stream-for", "the same, then `for byte in chunk`", &[], |point| {
            build(point, Access::For)
        }),
        own("byte-stream-callback", "byte-stream calls back for each chunk", &[], |point| {
            build(point, Access::Callback)
        }),
        own("byte-stream-bytes", "byte-stream as Read: bytes(), a Result per byte", &[], |point| {
            build(point, Access::Bytes)
        }),
        own("byte-stream-whole", "byte-stream as Read: the whole in a new Vec", &[], |point| {
            fits_in_memory(point)?;
            build(point, Access::Whole)
        }),
        own("byte-stream-async", "byte-stream, a chunk per await", &[], |point| {
            build_async(point, false)
        }),
        own("byte-stream-async-bytes", "byte-stream, a byte per await", &[], |point| {
            build_async(point, true)
        }),
        own("byte-stream-ranges", "byte-stream, several parts at once", &["ranges"], |point| {
            build(point, Access::Ranges(point.number("ranges")? as usize))
        }),
    ]
}

#[derive(Clone, Copy)]
enum Access {
    Chunks,
    For,
    Callback,
    Bytes,
    Whole,
    /// The number of concurrent ranges.
    Ranges(usize),
}

struct Client {
    remote: Remote,
    access: Access,
}

fn build(point: &Point, access: Access) -> Result<Box<dyn Task>> {
    let each = |index| Ok(Client { remote: Remote::from_point(point, index)?, access });
    Ok(Box::new(ReadingTask::each(point, each)?))
}

impl Source for Client {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let mut options = self.remote.options()?;
        if let Access::Ranges(n) = self.access {
            options = options.parallel(n);
        }
        let mut stream = options.open(&self.remote.url)?;
        match self.access {
            Access::Chunks | Access::Ranges(_) => {
                while let Some(chunk) = stream.next_chunk()? {
                    fold.chunk(chunk);
                }
            }
            Access::For => {
                while let Some(chunk) = stream.next_chunk()? {
                    for byte in chunk {
                        fold.byte(*byte);
                    }
                }
            }
            Access::Callback => {
                stream.for_each_chunk::<Infallible>(|chunk| {
                    fold.chunk(chunk);
                    ControlFlow::Continue(())
                })?;
            }
            Access::Bytes => {
                for byte in stream.by_ref().bytes() {
                    fold.byte(byte?);
                }
            }
            Access::Whole => {
                let mut all = Vec::new();
                stream.read_to_end(&mut all)?;
                fold.chunk(&all);
            }
        }
        self.remote.ended(stream.offset())
    }
}

struct AsyncClient {
    remote: Remote,
    runtime: Runtime,
    by_byte: bool,
}

fn build_async(point: &Point, by_byte: bool) -> Result<Box<dyn Task>> {
    let each = |index| {
        let runtime =
            Builder::new_current_thread().enable_all().build().context("starting tokio")?;
        Ok(AsyncClient { remote: Remote::from_point(point, index)?, runtime, by_byte })
    };
    Ok(Box::new(ReadingTask::each(point, each)?))
}

impl Source for AsyncClient {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let AsyncClient { remote, runtime, by_byte } = self;
        let options = remote.options()?;
        runtime.block_on(async {
            let stream = AsyncStream::open(options, remote.url.as_str()).await?;
            let mut bytes = HttpByteStream { stream, chunk: bytes::Bytes::new(), start: 0 };
            let mut offset = 0;
            if *by_byte {
                while let Some(byte) = bytes.next().await? {
                    fold.byte(byte);
                    offset += 1;
                }
                return remote.ended(offset);
            }
            while let Some(chunk) =
                poll_fn(|context| Pin::new(&mut bytes.stream).poll_next(context)).await
            {
                let chunk = chunk?;
                fold.chunk(&chunk);
                offset += chunk.len() as u64;
            }
            remote.ended(offset)
        })
    }
}

/// A stream of bytes that is awaited for each byte. Written as a `poll` function, like that of
/// files.
struct HttpByteStream {
    stream: AsyncStream,
    chunk: bytes::Bytes,
    start: usize,
}

impl HttpByteStream {
    fn next(&mut self) -> impl Future<Output = byte_stream::Result<Option<u8>>> {
        poll_fn(|context| {
            if self.start == self.chunk.len() && !ready!(self.poll_fill(context))? {
                return Poll::Ready(Ok(None));
            }
            let byte = self.chunk.get(self.start).copied();
            self.start += 1;
            Poll::Ready(Ok(byte))
        })
    }

    #[cold]
    #[inline(never)]
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<byte_stream::Result<bool>> {
        let Some(chunk) = ready!(Pin::new(&mut self.stream).poll_next(context)) else {
            return Poll::Ready(Ok(false));
        };
        (self.chunk, self.start) = (chunk?, 0);
        Poll::Ready(Ok(true))
    }
}

/// A method that reads the resource that corresponds to the file of `size` or `file`.
pub(super) fn contender(
    name: &str,
    about: &str,
    reads: &[&'static str],
    execution: Execution,
) -> Method {
    method(name, about, &["server"], execution).reads(reads).job("http|https")
}

/// The resource that one source reads.
#[derive(Clone)]
struct Remote {
    url: String,
    /// The certificates to trust; `None` for plain HTTP.
    certificates: Option<Vec<u8>>,
    size: u64,
    buffer: usize,
}

impl Remote {
    /// The resource with this index, from 0, of the point's `parallel` ones.
    fn from_point(point: &Point, index: u64) -> Result<Remote> {
        let certificates = if point.text("source")? == "https" {
            let path = point.path("certificates")?;
            let pem = std::fs::read(&path);
            Some(pem.with_context(|| format!("reading {}", path.display()))?)
        } else {
            None
        };
        Ok(Remote {
            url: point.text(&numbered("url", index))?.to_owned(),
            certificates,
            size: point.number("size")?,
            buffer: point.number("buffer")?.min(BUFFER_LIMIT) as usize,
        })
    }

    /// Options for a stream that fails at the first error, without retries.
    fn options(&self) -> Result<Options> {
        let options = Stream::options()
            .proxy(None)
            .retries(0, std::time::Duration::ZERO)
            .buffer_bytes(self.buffer);
        match &self.certificates {
            Some(pem) => Ok(options.certificates(pem)?),
            None => Ok(options),
        }
    }

    /// Called by a method that has reached the end at this offset; checks the size.
    fn ended(&self, offset: u64) -> Result<()> {
        let Remote { url, size, .. } = self;
        ensure!(offset == *size, "{url} ended at offset {offset} of {size}: it has changed");
        Ok(())
    }
}

/// The buffer must hold the head of an answer.
const SMALLEST_BUFFER: usize = 16 << 10;

/// The upper limit: the same bytes over a bare TCP or TLS connection, with no HTTP except the
/// request.
pub(super) fn limits() -> Vec<Method> {
    let line = |name: &str, about: &str, job: &'static str, build: Build| {
        contender(name, about, &["buffer"], Execution::BuiltIn(build)).job(job).as_yardstick()
    };
    vec![
        line("tcp", "a bare TCP connection: the limit", "http", build_raw),
        line("tls", "a bare TLS connection (rustls): the limit", "https", build_raw),
    ]
}

struct RawClient {
    remote: Remote,
    address: String,
    path: String,
    tls: Option<Arc<ClientConfig>>,
    buffer: Buffer,
}

fn build_raw(point: &Point) -> Result<Box<dyn Task>> {
    let each = |index| {
        let remote = Remote::from_point(point, index)?;
        let rest = remote.url.split_once("://").map(|(_, rest)| rest).context("a URL")?;
        let (address, path) = rest.split_once('/').context("a URL with a path")?;
        let (address, path) = (address.to_owned(), format!("/{path}"));
        let tls = remote.certificates.as_deref().map(trusting).transpose()?;
        let buffer = Buffer::new(remote.buffer.max(SMALLEST_BUFFER))?;
        Ok(RawClient { remote, address, path, tls, buffer })
    };
    Ok(Box::new(ReadingTask::each(point, each)?))
}

fn trusting(pem: &[u8]) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

impl Source for RawClient {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let mut tcp = TcpStream::connect(&self.address)
            .with_context(|| format!("connecting to {}", self.address))?;
        // Otherwise the request, which follows the end of the handshake, waits until the server
        // acknowledges that.
        tcp.set_nodelay(true).context("TCP_NODELAY")?;
        let Some(tls) = self.tls.clone() else { return self.receive(&mut tcp, fold, read) };
        let host = self.address.rsplit_once(':').map_or("", |(host, _)| host).to_owned();
        let mut connection = ClientConnection::new(tls, ServerName::try_from(host)?)?;
        let mut tcp = BufferedTcpStream(BufReader::with_capacity(self.buffer.len(), tcp));
        self.receive(&mut rustls::Stream::new(&mut connection, &mut tcp), fold, lend)
    }
}

/// rustls itself receives one record with each call.
struct BufferedTcpStream(BufReader<TcpStream>);

impl Read for BufferedTcpStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for BufferedTcpStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.get_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.get_mut().flush()
    }
}

impl RawClient {
    /// `next` passes the next bytes to the fold and returns their number.
    fn receive<S: Read + Write, F: Fold>(
        &mut self,
        stream: &mut S,
        fold: &mut F,
        next: fn(&mut S, &mut [u8], &mut F) -> io::Result<usize>,
    ) -> Result<()> {
        let RawClient { remote, address, path, buffer, .. } = self;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).with_context(|| remote.url.clone())?;
        let mut filled = 0;
        let body = loop {
            ensure!(filled < buffer.len(), "{}: the head is too long", remote.url);
            match retried(|| stream.read(&mut buffer[filled..]))
                .with_context(|| remote.url.clone())?
            {
                0 => bail!("{}: the server closed the connection without an answer", remote.url),
                n => filled += n,
            }
            let end = buffer[..filled].windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = end {
                break end + 4;
            }
        };
        ensure!(
            buffer.starts_with(b"HTTP/1.1 200"),
            "{}: the server did not answer 200",
            remote.url
        );
        fold.chunk(&buffer[body..filled]);
        let mut offset = (filled - body) as u64;
        while offset < remote.size {
            let n = retried(|| next(stream, buffer, fold)).with_context(|| remote.url.clone())?;
            if n == 0 {
                break;
            }
            offset += n as u64;
        }
        remote.ended(offset)
    }
}

fn read<F: Fold>(tcp: &mut TcpStream, buffer: &mut [u8], fold: &mut F) -> io::Result<usize> {
    let n = tcp.read(buffer)?;
    fold.chunk(&buffer[..n]);
    Ok(n)
}

/// The bytes that rustls has decrypted, in its own memory.
fn lend<F: Fold>(tls: &mut impl BufRead, _: &mut [u8], fold: &mut F) -> io::Result<usize> {
    let bytes = tls.fill_buf()?;
    let n = bytes.len();
    fold.chunk(bytes);
    tls.consume(n);
    Ok(n)
}

fn retried(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match read() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}
