//! hyper: its HTTP/1 connection over tokio's TCP, with tokio-rustls where it is TLS; a connection
//! for each request.

use std::sync::Arc;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::rt::{Read, Write};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsConnector;

use crate::jobs::{Pass, Remote, Result, Taker, message};

pub(crate) struct Hyper {
    runtime: Runtime,
    uri: Uri,
    tls: Option<TlsConnector>,
}

impl Hyper {
    pub(crate) fn new(remote: &Remote) -> Result<Hyper> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(message)?;
        let uri = remote.url.parse::<Uri>().map_err(message)?;
        let tls = remote.certificates.as_deref().map(trusting).transpose()?;
        Ok(Hyper { runtime, uri, tls })
    }
}

fn trusting(pem: &[u8]) -> Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate.map_err(message)?).map_err(message)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(message)?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

impl Pass for Hyper {
    fn pass(&mut self, fold: &mut Taker) -> Result<u64> {
        let Hyper { runtime, uri, tls } = self;
        let host = uri.host().unwrap_or_default().to_owned();
        let port = uri.port_u16().unwrap_or_default();
        runtime.block_on(async {
            let tcp = TcpStream::connect((host.as_str(), port)).await.map_err(message)?;
            // As the other clients do: else the request waits, behind the end of the handshake, for
            // the server.
            tcp.set_nodelay(true).map_err(message)?;
            let Some(tls) = tls else { return get(TokioIo::new(tcp), uri, fold).await };
            let name = ServerName::try_from(host).map_err(message)?;
            let stream = tls.connect(name, tcp).await.map_err(message)?;
            get(TokioIo::new(stream), uri, fold).await
        })
    }
}

async fn get<S>(stream: S, uri: &Uri, fold: &mut Taker) -> Result<u64>
where
    S: Read + Write + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(stream).await.map_err(message)?;
    let driver = tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let request = Request::get(path).header("Host", authority).body(Empty::<Bytes>::new());
    let mut response = sender.send_request(request.map_err(message)?).await.map_err(message)?;
    if !response.status().is_success() {
        return Err(format!("the server answered {}", response.status()));
    }
    let mut total = 0;
    while let Some(frame) = response.frame().await {
        if let Ok(chunk) = frame.map_err(message)?.into_data() {
            fold.chunk(&chunk);
            total += chunk.len() as u64;
        }
    }
    driver.abort();
    Ok(total)
}
