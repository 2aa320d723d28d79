//! The clients. Each requests a resource a number of times and counts its bytes; buffers have the
//! same size and begin at a page, wherever the client leaves that to its caller.

use std::future::poll_fn;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::pin::Pin;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use byte_stream::{AsyncStream, Connections, Options, Stream};
use futures_core::Stream as _;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tokio::runtime::{Builder, Runtime};

const AUTHORITY: &[u8] = include_bytes!("../../../tests/data/ca.pem");
const BUFFER_BYTES: usize = 128 << 10;
/// The buffer size of the bare connection, which is the best one.
const LARGE_BYTES: usize = 512 << 10;
const PAGE_BYTES: usize = 4096;

struct Request {
    url: String,
    times: u64,
    bytes: u64,
}

/// Runs the client that the words describe: its name, the URL, how often, and the number of bytes.
pub(crate) fn run(words: &[String]) -> Result<()> {
    let [client, url, times, bytes] = words else { bail!("--client NAME URL TIMES BYTES") };
    let request = Request { url: url.clone(), times: times.parse()?, bytes: bytes.parse()? };
    let total = match client.as_str() {
        "byte-stream" => request.by_byte_stream(),
        "byte-stream-async" => request.by_async_stream(),
        "tcp" => request.by_tcp(),
        "tls" => request.by_tls(),
        "ureq" => request.by_ureq(),
        "reqwest" => request.by_reqwest(),
        "reqwest-async" => request.by_async_reqwest(),
        _ => bail!("{client}: no such client"),
    }?;
    let expected = request.times * request.bytes;
    ensure!(total == expected, "{client}: {total} bytes instead of {expected}");
    Ok(())
}

impl Request {
    fn is_secure(&self) -> bool {
        self.url.starts_with("https")
    }

    fn options(&self, connections: &Connections) -> Result<Options> {
        let options = Stream::options().proxy(None).connections(connections);
        Ok(if self.is_secure() { options.certificates(AUTHORITY)? } else { options })
    }

    fn by_byte_stream(&self) -> Result<u64> {
        let (connections, mut total) = (Connections::new(), 0);
        for _ in 0..self.times {
            let mut stream = self.options(&connections)?.open(self.url.as_str())?;
            while let Some(chunk) = stream.next_chunk()? {
                total += chunk.len() as u64;
            }
        }
        Ok(total)
    }

    fn by_async_stream(&self) -> Result<u64> {
        let (connections, mut total) = (Connections::new(), 0);
        runtime()?.block_on(async {
            for _ in 0..self.times {
                let options = self.options(&connections)?;
                let mut stream = AsyncStream::open(options, self.url.as_str()).await?;
                while let Some(chunk) = poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await {
                    total += chunk?.len() as u64;
                }
            }
            Ok(total)
        })
    }

    /// The bare connection: the limit.
    fn by_tcp(&self) -> Result<u64> {
        let mut tcp = self.connect()?;
        tcp.write_all(self.bare().as_bytes())?;
        let (mut memory, mut total) = (Vec::new(), 0);
        let buffer = aligned(&mut memory, LARGE_BYTES);
        // The server sends the head at once.
        let filled = tcp.read(buffer)?;
        let end = buffer[..filled].windows(4).position(|four| four == b"\r\n\r\n");
        total += (filled - end.context("no head")? - 4) as u64;
        Ok(total + read_all(tcp, buffer)?)
    }

    /// The same with TLS: what is received is buffered, and lent as rustls has decrypted it.
    fn by_tls(&self) -> Result<u64> {
        let host = self.address()?.rsplit_once(':').context("no port")?.0;
        let mut connection =
            ClientConnection::new(trusting()?, ServerName::try_from(host.to_owned())?)?;
        let tcp = self.connect()?;
        let mut socket = Buffered { reader: BufReader::with_capacity(BUFFER_BYTES, tcp) };
        let mut tls = rustls::Stream::new(&mut connection, &mut socket);
        tls.write_all(self.bare().as_bytes())?;
        loop {
            let mut line = Vec::new();
            tls.read_until(b'\n', &mut line)?;
            ensure!(!line.is_empty(), "the head ends early");
            if line == b"\r\n" {
                break;
            }
        }
        let mut total = 0;
        loop {
            let n = tls.fill_buf()?.len();
            if n == 0 {
                return Ok(total);
            }
            total += n as u64;
            tls.consume(n);
        }
    }

    fn address(&self) -> Result<&str> {
        let rest = self.url.split_once("://").context("no scheme")?.1;
        Ok(rest.split_once('/').context("no path")?.0)
    }

    fn connect(&self) -> Result<TcpStream> {
        let tcp = TcpStream::connect(self.address()?)?;
        tcp.set_nodelay(true)?;
        Ok(tcp)
    }

    fn bare(&self) -> String {
        format!("GET /{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", self.bytes)
    }

    fn by_ureq(&self) -> Result<u64> {
        use ureq::tls::{Certificate, RootCerts, TlsConfig};

        let roots = vec![Certificate::from_pem(AUTHORITY)?];
        let tls = TlsConfig::builder().root_certs(RootCerts::Specific(roots.into())).build();
        let config = ureq::Agent::config_builder().proxy(None).tls_config(tls).build();
        let agent = ureq::Agent::from(config);
        let (mut memory, mut total) = (Vec::new(), 0);
        let buffer = aligned(&mut memory, BUFFER_BYTES);
        for _ in 0..self.times {
            let mut response = agent.get(&self.url).call()?;
            let reader = response.body_mut().with_config().limit(u64::MAX).reader();
            total += read_all(reader, buffer)?;
        }
        Ok(total)
    }

    fn by_reqwest(&self) -> Result<u64> {
        let client = reqwest::blocking::ClientBuilder::new().no_proxy().timeout(None);
        let authority = reqwest::Certificate::from_pem(AUTHORITY)?;
        let client = client.add_root_certificate(authority).build()?;
        let (mut memory, mut total) = (Vec::new(), 0);
        let buffer = aligned(&mut memory, BUFFER_BYTES);
        for _ in 0..self.times {
            total += read_all(client.get(&self.url).send()?.error_for_status()?, buffer)?;
        }
        Ok(total)
    }

    fn by_async_reqwest(&self) -> Result<u64> {
        let authority = reqwest::Certificate::from_pem(AUTHORITY)?;
        let client = reqwest::Client::builder().no_proxy();
        let client = client.add_root_certificate(authority).build()?;
        let mut total = 0;
        runtime()?.block_on(async {
            for _ in 0..self.times {
                let mut response = client.get(&self.url).send().await?.error_for_status()?;
                while let Some(chunk) = response.chunk().await? {
                    total += chunk.len() as u64;
                }
            }
            Ok(total)
        })
    }
}

fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// A buffer in this memory, to the start of which the kernel copies fastest.
fn aligned(memory: &mut Vec<u8>, bytes: usize) -> &mut [u8] {
    *memory = vec![0; bytes + PAGE_BYTES];
    let start = memory.as_ptr().align_offset(PAGE_BYTES);
    &mut memory[start..start + bytes]
}

fn read_all(mut reader: impl Read, buffer: &mut [u8]) -> Result<u64> {
    let mut total = 0;
    loop {
        match reader.read(buffer)? {
            0 => return Ok(total),
            n => total += n as u64,
        }
    }
}

fn trusting() -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(AUTHORITY)?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

/// A socket that is read in large steps: rustls itself reads a record at a time.
struct Buffered {
    reader: BufReader<TcpStream>,
}

impl Read for Buffered {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.reader.read(buffer)
    }
}

impl Write for Buffered {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.reader.get_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.reader.get_mut().flush()
    }
}
