//! Trusted certificates: those of the system, and those that the caller adds.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::{Error, ErrorKind, Result};

/// The system's certificates, read once.
pub(crate) fn system() -> Result<Arc<ClientConfig>> {
    static SYSTEM: OnceLock<Option<Arc<ClientConfig>>> = OnceLock::new();
    let made = SYSTEM.get_or_init(|| {
        let roots = system_roots();
        if roots.is_empty() { None } else { config(roots, None).ok() }
    });
    made.clone().ok_or_else(|| {
        let text =
            "the system has no certificates to trust; install ca-certificates or set SSL_CERT_FILE";
        Error::new(ErrorKind::Tls, text)
    })
}

/// What a caller adds: certificates to trust, and its own with the key. All are texts in PEM.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pem {
    pub(crate) trusted: Option<Vec<u8>>,
    pub(crate) identity: Option<Vec<u8>>,
}

/// The system's certificates and those in the texts. The last configuration is cached, as a program
/// usually passes the same texts again.
pub(crate) fn with(pem: &Pem) -> Result<Arc<ClientConfig>> {
    static LAST: Mutex<Option<(Pem, Arc<ClientConfig>)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, config)) = last.as_ref().filter(|(of, _)| of == pem) {
        return Ok(config.clone());
    }
    let mut roots = system_roots();
    for certificate in pem.trusted.iter().flat_map(|text| certificates(text)) {
        roots.add(certificate?).map_err(|error| wrong(&format!("a certificate: {error}")))?;
    }
    let made = config(roots, pem.identity.as_deref())?;
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

fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn config(roots: RootCertStore, identity: Option<&[u8]>) -> Result<Arc<ClientConfig>> {
    // Not the process default, which another crate may have set.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| wrong(&error.to_string()))?;
    let builder = builder.with_root_certificates(roots);
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let chain = certificates(pem).collect::<Result<Vec<_>>>()?;
            let key = PrivateKeyDer::from_pem_slice(pem);
            let key = key.map_err(|error| wrong(&format!("the private key: {error}")))?;
            let config = builder.with_client_auth_cert(chain, key);
            config.map_err(|error| wrong(&format!("the certificate of the client: {error}")))?
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn wrong(text: &str) -> Error {
    Error::new(ErrorKind::Tls, text.to_owned())
}
