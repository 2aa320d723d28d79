//! Trusted certificates: those of the system, and those that the caller adds.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::{Error, ErrorKind, Result};

/// The system's certificates, read once.
pub(crate) fn system() -> Result<Arc<ClientConfig>> {
    static SYSTEM: OnceLock<Option<Arc<ClientConfig>>> = OnceLock::new();
    let made = SYSTEM.get_or_init(|| {
        let roots = system_roots();
        if roots.is_empty() { None } else { config(roots).ok() }
    });
    made.clone().ok_or_else(|| {
        let text =
            "the system has no certificates to trust; install ca-certificates or set SSL_CERT_FILE";
        Error::new(ErrorKind::Tls, text)
    })
}

/// The system's certificates and those in the text. The last configuration is cached, as a program
/// usually passes the same text again.
pub(crate) fn trusting(pem: &[u8]) -> Result<Arc<ClientConfig>> {
    static LAST: Mutex<Option<(Vec<u8>, Arc<ClientConfig>)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, config)) = last.as_ref().filter(|(of, _)| of == pem) {
        return Ok(config.clone());
    }
    let made = load_trusted(pem)?;
    *last = Some((pem.to_owned(), made.clone()));
    Ok(made)
}

fn load_trusted(pem: &[u8]) -> Result<Arc<ClientConfig>> {
    let wrong = |text: String| Error::new(ErrorKind::Tls, text);
    let mut roots = system_roots();
    let mut added = 0;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| wrong(format!("a certificate: {error}")))?;
        roots.add(certificate).map_err(|error| wrong(format!("a certificate: {error}")))?;
        added += 1;
    }
    if added == 0 {
        return Err(wrong("no certificate in the PEM text".to_owned()));
    }
    config(roots)
}

fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn config(roots: RootCertStore) -> Result<Arc<ClientConfig>> {
    // Not the process default, which another crate may have set.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| Error::new(ErrorKind::Tls, error.to_string()))?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
