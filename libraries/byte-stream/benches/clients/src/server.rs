//! A server on 127.0.0.1 that keeps connections, plain or TLS: `/N` has N bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

pub(crate) const AUTHORITY_PATH: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("../../../tests/data/server.pem");
const KEY: &[u8] = include_bytes!("../../../tests/data/key.pem");
/// The number of bytes that are written at once.
const SLAB_BYTES: u64 = 256 << 10;

pub(crate) struct Server {
    address: SocketAddr,
    scheme: &'static str,
}

impl Server {
    /// It ends with this process.
    pub(crate) fn start(secure: bool) -> Result<Server> {
        let config = secure.then(config).transpose()?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let slab: Arc<[u8]> = (0..SLAB_BYTES).map(|i| (i * i >> 7) as u8).collect();
        std::thread::spawn(move || {
            for tcp in listener.incoming().flatten() {
                let (config, slab) = (config.clone(), slab.clone());
                // A client that goes away ends its thread.
                std::thread::spawn(move || drop(serve(tcp, config, &slab)));
            }
        });
        Ok(Server { address, scheme: if secure { "https" } else { "http" } })
    }

    pub(crate) fn url(&self, bytes: u64) -> String {
        format!("{}://{}/{bytes}", self.scheme, self.address)
    }
}

fn config() -> Result<Arc<ServerConfig>> {
    let certificates =
        CertificateDer::pem_slice_iter(CERTIFICATE).collect::<std::result::Result<_, _>>()?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, PrivateKeyDer::from_pem_slice(KEY)?)?;
    Ok(Arc::new(config))
}

fn serve(tcp: TcpStream, config: Option<Arc<ServerConfig>>, slab: &[u8]) -> Result<()> {
    tcp.set_nodelay(true)?;
    let Some(config) = config else { return answer_all(&mut BufReader::new(tcp), slab) };
    let mut tls = BufReader::new(StreamOwned::new(ServerConnection::new(config)?, tcp));
    answer_all(&mut tls, slab)?;
    tls.get_mut().conn.send_close_notify();
    Ok(tls.get_mut().flush()?)
}

/// Answers requests until the client closes the connection, or wants it to be closed.
fn answer_all<S: Read + Write>(stream: &mut BufReader<S>, slab: &[u8]) -> Result<()> {
    while let Some((bytes, closes)) = request(stream)? {
        let close = if closes { "Connection: close\r\n" } else { "" };
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\nETag: \"v\"\r\n{close}\r\n");
        let first = bytes.min(SMALL_FIRST) as usize;
        let socket = stream.get_mut();
        socket.write_all(&[head.as_bytes(), &slab[..first]].concat())?;
        let mut left = bytes - first as u64;
        while left > 0 {
            let n = left.min(SLAB_BYTES);
            socket.write_all(&slab[..n as usize])?;
            left -= n;
        }
        socket.flush()?;
        if closes {
            break;
        }
    }
    Ok(())
}

/// A small body is sent with its head.
const SMALL_FIRST: u64 = 8 << 10;

/// The requested number of bytes, and whether the connection is to be closed behind them.
fn request(stream: &mut impl BufRead) -> Result<Option<(u64, bool)>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.strip_prefix("GET /").context("not a GET request")?;
    let bytes = path.split([' ', '?']).next().unwrap_or_default().parse()?;
    let mut closes = false;
    loop {
        line.clear();
        match stream.read_line(&mut line)? {
            0 => bail!("the head ends early"),
            2 => return Ok(Some((bytes, closes))),
            _ => closes |= line.trim_end().eq_ignore_ascii_case("connection: close"),
        }
    }
}
