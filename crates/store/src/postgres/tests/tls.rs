//! To whom a password is sent, and whose certificate is believed.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::*;

const PASSWORD: &str = "SEKRETPW";

/// The result, or the error as one line.
fn tried(url: &str) -> Result<usize, String> {
    let listed = open(url).and_then(|mut store| store.list());
    listed.map(|runs| runs.len()).map_err(|error| format!("{error:#}"))
}

#[test]
fn a_certificate_is_verified_as_sslmode_says() {
    let Some(server) = TestServer::start_with_tls() else { return };
    let Some(other) = TestServer::start_with_tls() else { return };
    open(&server.url()).unwrap();
    server.sql("runs", &format!("CREATE USER ada SUPERUSER PASSWORD '{PASSWORD}'"));
    server.allow_first("hostnossl all all all reject\nhostssl all ada all scram-sha-256");
    let connected = |host: &str, parameters: &str| {
        let port = server.port();
        tried(&format!("postgres://ada:{PASSWORD}@{host}:{port}/runs?{parameters}"))
    };
    let [own, others] = [&server, &other].map(|server| server.authority().display().to_string());
    let verified = |mode: &str, authority: &str| format!("sslmode={mode}&sslrootcert={authority}");
    assert_eq!(connected("localhost", &verified("verify-full", &own)), Ok(0));
    assert_eq!(connected("127.0.0.1", &verified("verify-ca", &own)), Ok(0));
    // Without a mode, TLS is tried on this machine, and needed elsewhere.
    for (host, mode) in [("localhost", ""), ("0.0.0.0", ""), ("127.0.0.1", "sslmode=require")] {
        assert_eq!(connected(host, mode), Ok(0), "{host} {mode}");
    }
    for (host, parameters) in [
        // It has a certificate for another name, or one of another authority.
        ("127.0.0.1", verified("verify-full", &own)),
        ("localhost", verified("verify-full", &others)),
        ("localhost", verified("verify-ca", &others)),
        // The authorities of the system do not know it.
        ("localhost", "sslmode=verify-full".to_owned()),
        ("localhost", "sslmode=disable".to_owned()),
    ] {
        let error = connected(host, &parameters).unwrap_err();
        assert!(!error.contains(PASSWORD) && !error.contains('\n'), "{error}");
    }
}

/// A message has its own length in it, which has 4 bytes.
#[test]
fn a_message_that_is_shorter_than_its_length_is_an_error() {
    for length in 0..4 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut bytes = [0; 4096];
            client.read_exact(&mut bytes[..8]).unwrap();
            client.write_all(b"N").unwrap();
            assert!(client.read(&mut bytes).unwrap() > 0);
            client.write_all(&[b'R', 0, 0, 0, length]).unwrap();
            client
        });
        let error = tried(&format!("postgres://ada@127.0.0.1:{port}/lab")).unwrap_err();
        assert!(error.contains("its answer is no message of PostgreSQL"), "{length}: {error}");
        drop(server.join().unwrap());
    }
}

/// A server without TLS that asks for the password as it is; returns what it was sent.
fn asked_in_clear_text(host: &str, parameters: &str) -> (String, Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut sent = Vec::new();
        let mut take = |client: &mut std::net::TcpStream| {
            let mut bytes = [0; 4096];
            let n = client.read(&mut bytes).unwrap_or(0);
            sent.extend_from_slice(&bytes[..n]);
            bytes[..n].to_vec()
        };
        let first = take(&mut client);
        // The request for TLS has 8 bytes.
        if first.len() == 8 {
            let _ = client.write_all(b"N");
            take(&mut client);
        }
        let _ = client.write_all(b"R\0\0\0\x08\0\0\0\x03");
        take(&mut client);
        sent
    });
    let error = tried(&format!("postgres://ada:{PASSWORD}@{host}:{port}/lab{parameters}"));
    (error.unwrap_err(), server.join().unwrap())
}

#[test]
fn a_server_without_tls_gets_no_password_unless_it_is_of_this_machine() {
    let has_password =
        |sent: &[u8]| sent.windows(PASSWORD.len()).any(|bytes| bytes == PASSWORD.as_bytes());
    // 0.0.0.0 is this machine, but no loopback address.
    for (host, parameters) in [
        ("0.0.0.0", ""),
        ("0.0.0.0", "?sslmode=require"),
        ("localhost", "?sslmode=require"),
        ("localhost", "?sslmode=verify-full"),
    ] {
        let (error, sent) = asked_in_clear_text(host, parameters);
        assert!(!has_password(&sent), "{host}{parameters} {sent:?}");
        assert!(error.contains("it has no TLS"), "{error}");
    }
    // Otherwise the test would find no password that is sent.
    for (host, parameters) in [("127.0.0.1", ""), ("0.0.0.0", "?sslmode=disable")] {
        let (_, sent) = asked_in_clear_text(host, parameters);
        assert!(has_password(&sent), "{host}{parameters} {sent:?}");
    }
}
