//! https: a server of our own with a certificate of our own.

use std::io::{Read, Write};
use std::sync::Arc;

use byte_stream::{ErrorKind, Options};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::http::{get, once, patient};
use crate::kinds::{bytes, reset_on_close};
use crate::server::{Request, Server, good, head, partial, read_request};

const AUTHORITY: &[u8] = include_bytes!("../data/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("../data/server.pem");
/// With the extension by which `openssl req -x509` marks the certificate of an authority.
const SELF_SIGNED: &[u8] = include_bytes!("../data/self-signed.pem");
const CLIENTS: &[u8] = include_bytes!("../data/client-ca.pem");
const CLIENT: &[u8] = include_bytes!("../data/client.pem");
const KEY: &[u8] = include_bytes!("../data/key.pem");

pub(crate) type Tls = StreamOwned<ServerConnection, std::net::TcpStream>;

/// How the connection ends.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum End {
    Proper,
    /// Without TLS's own end.
    Cut,
    Reset,
}

pub(crate) fn server(
    serve: impl Fn(&Request, &mut Tls) -> std::io::Result<End> + Send + Sync + 'static,
) -> (Server, String) {
    server_for(CERTIFICATE, false, serve)
}

/// A server with this certificate that may require one of its clients.
fn server_for(
    certificate: &[u8],
    known_clients: bool,
    serve: impl Fn(&Request, &mut Tls) -> std::io::Result<End> + Send + Sync + 'static,
) -> (Server, String) {
    let certificates = CertificateDer::pem_slice_iter(certificate).map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier: Arc<dyn ClientCertVerifier> = if known_clients {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(CLIENTS).unwrap()).unwrap();
        let builder =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        builder.build().unwrap()
    } else {
        WebPkiClientVerifier::no_client_auth()
    };
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(certificates, key)
        .unwrap();
    let config = Arc::new(config);
    let server = Server::raw(move |n, socket, requests| {
        let connection = ServerConnection::new(config.clone()).unwrap();
        let mut tls = StreamOwned::new(connection, socket);
        let request = read_request(&mut tls, n)?;
        requests.lock().unwrap().push(request.clone());
        match serve(&request, &mut tls)? {
            End::Proper => tls.conn.send_close_notify(),
            End::Cut => {}
            End::Reset => reset_on_close(&tls.sock),
        }
        tls.flush()
    });
    let url = format!("https://localhost:{}/file", server.address.port());
    (server, url)
}

pub(crate) fn trusting(options: Options) -> Options {
    options.certificates(AUTHORITY).unwrap()
}

#[test]
fn a_certificate_is_checked() {
    let (_server, url) = server(|r, s| good(r, s, b"secret", "\"v\"").map(|()| End::Proper));
    assert_eq!(get(trusting(once()), &url).unwrap(), b"secret");
    assert_eq!(get(trusting(once()), &url.replace("localhost", "127.0.0.1")).unwrap(), b"secret");
    let error = get(once(), &url).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
    assert!(!error.is_retryable());
    let plain = Server::new(|r, s| good(r, s, b"", "\"v\""));
    let url = format!("https://localhost:{}/", plain.address.port());
    // What it answers is not TLS.
    assert!(get(trusting(once()), &url).is_err());
}

#[test]
fn a_certificate_that_is_trusted_itself_is_accepted_for_its_own_names() {
    let naming = |pem: &[u8]| once().certificates(pem).unwrap();
    let refusal = |options: Options, url: &str| {
        let error = get(options, url).unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Tls, false), "{error}");
        error.message().to_owned()
    };
    let serve = |r: &Request, s: &mut Tls| good(r, s, b"secret", "\"v\"").map(|()| End::Proper);
    let (_server, url) = server_for(SELF_SIGNED, false, serve);
    assert_eq!(get(naming(SELF_SIGNED), &url).unwrap(), b"secret");
    let text = "TLS: the certificate of the server is not for 127.0.0.1";
    assert_eq!(refusal(naming(SELF_SIGNED), &url.replace("localhost", "127.0.0.1")), text);
    let text = "TLS: the certificate of the server is not one that an authority issues to servers, \
                and is not trusted itself";
    assert_eq!(refusal(naming(AUTHORITY), &url), text);
    // Its authority is not known.
    let (_server, url) = server(serve);
    assert_eq!(get(naming(CERTIFICATE), &url).unwrap(), b"secret");
    let text = "TLS: the certificate of the server is not from an authority that is trusted here";
    assert_eq!(refusal(naming(SELF_SIGNED), &url), text);
}

#[test]
fn a_server_without_tls_is_said_to_have_none() {
    let plain = Server::raw(|_, mut s, _| {
        // What is not read would reset the connection.
        assert!(s.read(&mut [0; 16 << 10])? > 0);
        s.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    });
    let url = format!("https://localhost:{}/", plain.address.port());
    let error = get(trusting(once()), &url).unwrap_err();
    let text = "TLS: the server does not speak TLS, or it is that of an http:// URL";
    assert_eq!((error.kind(), error.message()), (ErrorKind::Tls, text));
}

#[test]
fn a_client_identifies_itself_by_its_certificate() {
    let serve = |r: &Request, s: &mut Tls| good(r, s, b"secret", "\"v\"").map(|()| End::Proper);
    let (_server, url) = server_for(CERTIFICATE, true, serve);
    let identified = trusting(once()).client_certificate(CLIENT).unwrap();
    assert_eq!(get(identified, &url).unwrap(), b"secret");
    // In either order.
    let identified = trusting(once().client_certificate(CLIENT).unwrap());
    assert_eq!(get(identified, &url).unwrap(), b"secret");
    assert!(get(trusting(once()), &url).is_err());
    // One that the server has not requested is not sent.
    let (_server, url) = server(serve);
    let identified = trusting(once()).client_certificate(CLIENT).unwrap();
    assert_eq!(get(identified, &url).unwrap(), b"secret");
    for wrong in [CERTIFICATE, KEY, b"", &[CLIENTS, KEY].concat()] {
        let error = once().client_certificate(wrong).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
    }
}

#[test]
fn a_cut_or_reset_connection_is_resumed() {
    for end in [End::Proper, End::Cut, End::Reset] {
        let data = bytes(300_000);
        let body = data.clone();
        let (server, url) = server(move |r, s| {
            partial(r, s, &body, "\"v\"", if r.n < 3 { 50_000 } else { usize::MAX })?;
            Ok(if r.n < 3 { end } else { End::Proper })
        });
        assert!(get(trusting(patient()), &url).unwrap() == data);
        assert_eq!(server.requests().len(), 4);
    }
}

#[test]
fn the_end_of_an_unframed_body_is_known_only_if_tls_ends_properly() {
    let unframed = |end| {
        server(move |_, s| {
            head(s, "200 OK", &[])?;
            s.write_all(b"hello").map(|()| end)
        })
    };
    let (_server, url) = unframed(End::Proper);
    assert_eq!(get(trusting(once()), &url).unwrap(), b"hello");
    let (_server, url) = unframed(End::Cut);
    assert_eq!(get(trusting(once()), &url).unwrap_err().kind(), ErrorKind::Truncated);
}

#[test]
fn https_is_never_left_for_http() {
    let plain = Server::new(|r, s| good(r, s, b"plain", "\"v\""));
    let to = format!("Location: {}", plain.url());
    let (_server, url) = server(move |_, s| head(s, "302 Found", &[&to]).map(|()| End::Proper));
    let error = get(trusting(once()), &url).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Redirect);
    assert!(plain.requests().is_empty());
}

#[test]
fn a_proxy_makes_a_tunnel_and_sees_nothing() {
    let (server, url) = server(|r, s| good(r, s, b"secret", "\"v\"").map(|()| End::Proper));
    let to = server.address;
    let proxy = Server::raw(move |n, mut socket, requests| {
        let request = read_request(&mut socket, n)?;
        requests.lock().unwrap().push(request);
        head(&mut socket, "200 Connected", &[])?;
        let mut further = std::net::TcpStream::connect(to)?;
        let (mut back_from, mut back_to) = (further.try_clone()?, socket.try_clone()?);
        let back = std::thread::spawn(move || std::io::copy(&mut back_from, &mut back_to));
        let _ = std::io::copy(&mut socket, &mut further);
        let _ = further.shutdown(std::net::Shutdown::Write);
        let _ = back.join();
        Ok(())
    });
    let by = format!("http://u:p@{}", proxy.address);
    let options = trusting(once()).bearer_auth("token").proxy(Some(&by));
    assert_eq!(get(options, &url).unwrap(), b"secret");
    let request = proxy.requests().remove(0);
    assert_eq!(request.line, format!("CONNECT localhost:{} HTTP/1.1", to.port()));
    assert_eq!(request.header("proxy-authorization"), Some("Basic dTpw"));
    assert_eq!(request.header("authorization"), None);
    assert_eq!(server.requests()[0].header("proxy-authorization"), None);
    let refusing = Server::new(|_, s| head(s, "407 Proxy Authentication Required", &[]));
    // A user without a password has a colon, too.
    let by = format!("http://me@{}", refusing.address);
    let error = get(trusting(once()).proxy(Some(&by)), &url).unwrap_err();
    assert_eq!(error.status(), Some(407));
    assert_eq!(refusing.requests()[0].header("proxy-authorization"), Some("Basic bWU6"));
}

#[test]
fn a_chunk_over_tls_is_read_into_one_buffer() {
    let (_server, url) = server(|r, s| good(r, s, &bytes(3 << 20), "\"v\"").map(|()| End::Proper));
    let mut stream = trusting(once()).open(&url).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    assert!(all == bytes(3 << 20));
}

#[test]
fn records_that_came_together_are_received_by_one_call() {
    let (sent, is_sent) = std::sync::mpsc::channel();
    let (_server, url) = server(move |r, s| {
        good(r, s, &bytes(60_000), "\"v\"")?;
        s.flush()?;
        // The test ends if it has gone away.
        let _ = sent.send(());
        Ok(End::Proper)
    });
    let mut stream = trusting(once()).open(&url).unwrap();
    is_sent.recv().unwrap();
    // The first one may have come with the head.
    let mut lengths = Vec::new();
    while let Some(chunk) = stream.next_chunk().unwrap() {
        lengths.push(chunk.len());
    }
    assert!(lengths.iter().any(|len| *len > 16_384), "{lengths:?}");
}
