//! The settings of HTTP, and the trusted certificates: those of the system, and those that the
//! caller adds.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::certificates::{CertificateVerifier, TrustedCertificates};
use super::connection::Connections;
use super::proxy::Proxy;
use crate::s3::S3;
use crate::{Error, ErrorKind, Result};

/// Large enough to make the cost of a request negligible, small enough to hold several in memory.
const PART_BYTES: usize = 1 << 20;
const PART_LIMIT_BYTES: usize = 16 << 20;
const CONNECTIONS_LIMIT: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Other methods than `GET`, and a body, are for services that give credentials.
    pub(crate) method: &'static str,
    pub(crate) body: String,
    pub(crate) headers: Vec<(String, String)>,
    /// The whole value of `Authorization`.
    pub(crate) authorization: Option<String>,
    /// The text of a netrc file.
    pub(crate) netrc: Option<String>,
    /// The largest number of bytes in a second.
    pub(crate) rate: Option<u64>,
    pub(crate) redirects: u32,
    pub(crate) connect_limit: Duration,
    pub(crate) idle_limit: Duration,
    pub(crate) total_limit: Option<Duration>,
    pub(crate) retries: u32,
    pub(crate) back_off: Duration,
    pub(crate) decode: bool,
    pub(crate) expansion: u64,
    pub(crate) proxy: Proxy,
    pub(crate) pem: Pem,
    /// The configuration of `pem`.
    pub(crate) tls: Option<Arc<ClientConfig>>,
    pub(crate) unframed: bool,
    /// An invalid setting, reported when the stream is opened.
    pub(crate) wrong: Option<&'static str>,
    /// Where idle connections are kept.
    pub(crate) connections: Option<Connections>,
    /// The number of parts in flight, and their size.
    pub(crate) parallel: usize,
    pub(crate) part_bytes: usize,
    /// The length and the validator of the bytes that exist already.
    pub(crate) from: Option<(u64, String)>,
    /// The version that is known already, and is not wanted again.
    pub(crate) unless: Option<String>,
    /// The requested part: its first byte, and the byte behind it.
    pub(crate) range: Option<(u64, Option<u64>)>,
    /// How objects of buckets are requested.
    pub(crate) s3: Option<S3>,
    /// The query of a list of objects, which is requested instead of one of them.
    pub(crate) listing: Option<String>,
    /// Whether the bodies of refusals are XML that says what is wrong.
    pub(crate) explains_in_xml: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            method: "GET",
            body: String::new(),
            headers: Vec::new(),
            authorization: None,
            netrc: None,
            rate: None,
            redirects: 10,
            connect_limit: Duration::from_secs(10),
            idle_limit: Duration::from_secs(30),
            total_limit: None,
            retries: 3,
            back_off: Duration::from_millis(200),
            decode: false,
            expansion: 200,
            proxy: Proxy::Environment,
            pem: Pem::default(),
            tls: None,
            unframed: false,
            wrong: None,
            connections: None,
            parallel: 1,
            part_bytes: PART_BYTES,
            from: None,
            unless: None,
            range: None,
            s3: None,
            listing: None,
            explains_in_xml: false,
        }
    }
}

impl Settings {
    pub(crate) fn check(&self) -> Result<()> {
        let Settings { parallel, part_bytes, decode, ref from, ref unless, range, .. } = *self;
        let wrong = match self.wrong {
            Some(wrong) => wrong,
            None if !(1..=CONNECTIONS_LIMIT).contains(&parallel) => {
                "the number of parallel parts must be from 1 to 16"
            }
            None if !(1..=PART_LIMIT_BYTES).contains(&part_bytes) => {
                "the size of a part must be from 1 byte to 16 MiB"
            }
            None if self.rate == Some(0) => "the rate must be at least 1 byte per second",
            None if self.rate.is_some() && parallel > 1 => {
                "a rate limit cannot be combined with parallel parts"
            }
            None if from.is_some() && decode => "decoding cannot be combined with resuming",
            None if parallel > 1 && decode => "decoding cannot be combined with parallel parts",
            None if range.is_some() && (decode || parallel > 1 || from.is_some()) => {
                "a range cannot be combined with decoding, parallel parts or resuming"
            }
            None if unless.is_some() && (range.is_some() || from.is_some()) => {
                "a version that is known cannot be combined with a range or resuming"
            }
            None => return Ok(()),
        };
        Err(Error::new(ErrorKind::InvalidUse, wrong))
    }
}

/// The system's certificates, read once.
pub(crate) fn system_tls() -> Result<Arc<ClientConfig>> {
    static SYSTEM: OnceLock<Option<Arc<ClientConfig>>> = OnceLock::new();
    let made = SYSTEM.get_or_init(|| {
        let trusted = system_certificates();
        if trusted.roots.is_empty() { None } else { config(trusted, None).ok() }
    });
    made.clone().ok_or_else(|| {
        let text =
            "the system has no certificates to trust; install ca-certificates or set SSL_CERT_FILE";
        Error::new(ErrorKind::Tls, text)
    })
}

/// The caller's additions in PEM: certificates to trust, and its own certificate with the key.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pem {
    pub(crate) trusted: Option<Vec<u8>>,
    pub(crate) identity: Option<Vec<u8>>,
}

/// The system's certificates and those in the texts. The last configuration is cached, as a program
/// usually passes the same texts again.
pub(crate) fn tls_with(pem: &Pem) -> Result<Arc<ClientConfig>> {
    static LAST: Mutex<Option<(Pem, Arc<ClientConfig>)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, config)) = last.as_ref().filter(|(of, _)| of == pem) {
        return Ok(config.clone());
    }
    let mut trusted = system_certificates();
    for certificate in pem.trusted.iter().flat_map(|text| certificates(text)) {
        let certificate = certificate?;
        let added = trusted.roots.add(certificate.clone());
        added.map_err(|_| wrong("a certificate to trust is malformed"))?;
        trusted.certificates.push(certificate);
    }
    let made = config(trusted, pem.identity.as_deref())?;
    *last = Some((pem.clone(), made.clone()));
    Ok(made)
}

/// The certificates in the text; an error if there are none.
fn certificates(pem: &[u8]) -> impl Iterator<Item = Result<CertificateDer<'static>>> {
    let mut found = CertificateDer::pem_slice_iter(pem)
        .map(|found| found.map_err(|error| wrong(&format!("a certificate: {error}"))))
        .peekable();
    let none = found.peek().is_none().then(|| Err(wrong("no certificate in the PEM text")));
    none.into_iter().chain(found.collect::<Vec<_>>())
}

/// The certificates of the system. `SSL_CERT_FILE` may name a server's own certificate as well.
fn system_certificates() -> TrustedCertificates {
    let certificates = rustls_native_certs::load_native_certs().certs;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates.iter().cloned());
    TrustedCertificates { roots, certificates }
}

fn config(trusted: TrustedCertificates, identity: Option<&[u8]>) -> Result<Arc<ClientConfig>> {
    // This is not the process default, which another crate may have set.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| wrong(&error.to_string()))?;
    // A verifier cannot be made without any authority.
    let builder = if trusted.roots.is_empty() {
        builder.with_root_certificates(trusted.roots)
    } else {
        let verifier = CertificateVerifier::new(trusted, provider);
        let verifier = verifier.map_err(|error| wrong(&error.to_string()))?;
        builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
    };
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let chain = certificates(pem).collect::<Result<Vec<_>>>()?;
            let key = PrivateKeyDer::from_pem_slice(pem);
            let key = key.map_err(|error| wrong(&format!("the private key: {error}")))?;
            let config = builder.with_client_auth_cert(chain, key);
            config.map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => {
                    wrong("the private key is not that of the certificate of the client")
                }
                rustls::Error::InvalidCertificate(_) => {
                    wrong("the certificate of the client is malformed")
                }
                error => wrong(&format!("the certificate of the client: {error}")),
            })?
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn wrong(text: &str) -> Error {
    Error::new(ErrorKind::Tls, text.to_owned())
}
