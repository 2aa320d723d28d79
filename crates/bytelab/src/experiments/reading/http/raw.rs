//! The upper limit: the same bytes over a bare TCP or TLS connection, with no HTTP except the
//! request.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use lab::experiment::{Build, How, Method, Task};
use lab::param::Point;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::super::fold::Fold;
use super::super::source::{Reading, Source};
use super::remote::{Remote, contender};
use crate::experiments::shared::aligned_buffer::Buffer;

/// The buffer must hold the head of an answer.
const SMALLEST_BUFFER: usize = 16 << 10;

pub(super) fn methods() -> Vec<Method> {
    let line = |name: &str, about: &str, job: &'static str, build: Build| {
        contender(name, about, &["buffer"], How::BuiltIn(build)).job(job).as_yardstick()
    };
    vec![
        line("tcp", "a bare TCP connection: the limit", "http", build),
        line("tls", "a bare TLS connection (rustls): the limit", "https", build),
    ]
}

struct Raw {
    remote: Remote,
    address: String,
    path: String,
    tls: Option<Arc<ClientConfig>>,
    buffer: Buffer,
}

fn build(point: &Point) -> Result<Box<dyn Task>> {
    let each = |index| {
        let remote = Remote::from_point(point, index)?;
        let rest = remote.url.split_once("://").map(|(_, rest)| rest).context("a URL")?;
        let (address, path) = rest.split_once('/').context("a URL with a path")?;
        let (address, path) = (address.to_owned(), format!("/{path}"));
        let tls = remote.certificates.as_deref().map(trusting).transpose()?;
        let buffer = Buffer::new(remote.buffer.max(SMALLEST_BUFFER))?;
        Ok(Raw { remote, address, path, tls, buffer })
    };
    Ok(Box::new(Reading::each(point, each)?))
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

impl Source for Raw {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let mut tcp = TcpStream::connect(&self.address)
            .with_context(|| format!("connecting to {}", self.address))?;
        // Otherwise the request, which follows the end of the handshake, waits until the server
        // acknowledges that.
        tcp.set_nodelay(true).context("TCP_NODELAY")?;
        let Some(tls) = self.tls.clone() else { return self.receive(&mut tcp, fold, read) };
        let host = self.address.rsplit_once(':').map_or("", |(host, _)| host).to_owned();
        let mut connection = ClientConnection::new(tls, ServerName::try_from(host)?)?;
        let mut tcp = Buffered(BufReader::with_capacity(self.buffer.len(), tcp));
        self.receive(&mut rustls::Stream::new(&mut connection, &mut tcp), fold, lend)
    }
}

/// rustls itself receives one record with each call.
struct Buffered(BufReader<TcpStream>);

impl Read for Buffered {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for Buffered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.get_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.get_mut().flush()
    }
}

impl Raw {
    /// `next` passes the next bytes to the fold and returns their number.
    fn receive<S: Read + Write, F: Fold>(
        &mut self,
        stream: &mut S,
        fold: &mut F,
        next: fn(&mut S, &mut [u8], &mut F) -> io::Result<usize>,
    ) -> Result<()> {
        let Raw { remote, address, path, buffer, .. } = self;
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

/// What rustls has decrypted, in its own memory.
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
