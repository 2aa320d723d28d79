//! SOCKS5 proxies, of which one is made here (RFC 1928, RFC 1929).

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpStream};

use byte_stream::ErrorKind;

use super::{get, once};
use crate::server::{Server, good};

/// What a proxy answers to the greeting, the credentials and the request.
#[derive(Clone, Copy)]
struct ProxyReplies {
    method: [u8; 2],
    status: [u8; 2],
    reply: &'static [u8],
}

const OPEN: ProxyReplies =
    ProxyReplies { method: [5, 0], status: [1, 0], reply: &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0] };

fn read(socket: &mut TcpStream, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    socket.read_exact(&mut bytes).map(|()| bytes)
}

/// A proxy that wants these credentials, if any, in front of a server; its request names `host`.
fn proxy(to: &Server, says: ProxyReplies, user: &'static str, host: &'static str) -> Server {
    let port = to.address.port();
    Server::raw(move |_, mut socket, _| {
        let methods = read(&mut socket, 2)?[1];
        read(&mut socket, usize::from(methods))?;
        socket.write_all(&says.method)?;
        if says.method[1] == 2 {
            let mut parts = Vec::new();
            assert_eq!(read(&mut socket, 1)?, [1]);
            for _ in 0..2 {
                let len = read(&mut socket, 1)?[0];
                parts.push(String::from_utf8(read(&mut socket, usize::from(len))?).unwrap());
            }
            assert_eq!(parts.join(":"), user);
            socket.write_all(&says.status)?;
        }
        let named = match read(&mut socket, 4)?.as_slice() {
            [5, 1, 0, 1] => {
                let four: [u8; 4] = read(&mut socket, 4)?.try_into().unwrap();
                IpAddr::from(Ipv4Addr::from(four)).to_string()
            }
            [5, 1, 0, 3] => {
                let len = read(&mut socket, 1)?[0];
                String::from_utf8(read(&mut socket, usize::from(len))?).unwrap()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!((named.as_str(), read(&mut socket, 2)?), (host, port.to_be_bytes().to_vec()));
        socket.write_all(says.reply)?;
        let mut further = TcpStream::connect(("127.0.0.1", port))?;
        let (mut back_from, mut back_to) = (further.try_clone()?, socket.try_clone()?);
        let back = std::thread::spawn(move || io::copy(&mut back_from, &mut back_to));
        let _ = io::copy(&mut socket, &mut further);
        let _ = further.shutdown(Shutdown::Write);
        let _ = back.join();
        Ok(())
    })
}

fn by(proxy: &Server, scheme: &str, user: &str) -> byte_stream::Options {
    once().proxy(Some(&format!("{scheme}://{user}{}", proxy.address)))
}

#[test]
fn a_socks_proxy_connects_to_an_address_or_a_name() {
    let server = Server::new(|r, s| good(r, s, b"there", "\"v\""));
    let direct = proxy(&server, OPEN, "", "127.0.0.1");
    assert_eq!(get(by(&direct, "socks5", ""), &server.url()).unwrap(), b"there");
    assert_eq!(get(by(&direct, "socks5h", ""), &server.url()).unwrap(), b"there");
    let url = format!("http://host.invalid:{}/x", server.address.port());
    let named = proxy(&server, OPEN, "", "host.invalid");
    assert_eq!(get(by(&named, "socks5h", ""), &url).unwrap(), b"there");
    let request = server.requests().pop().unwrap();
    assert_eq!(request.line, "GET /x HTTP/1.1");
    assert_eq!(request.header("proxy-authorization"), None);
}

#[test]
fn a_socks_proxy_gets_its_credentials_and_the_server_does_not() {
    let server = Server::new(|r, s| good(r, s, b"there", "\"v\""));
    let says = ProxyReplies { method: [5, 2], ..OPEN };
    let asking = proxy(&server, says, "u:p:q", "127.0.0.1");
    assert_eq!(get(by(&asking, "socks5", "u:p%3aq@"), &server.url()).unwrap(), b"there");
    assert!(server.requests().iter().all(|request| request.header("authorization").is_none()));
    let kind = |says: ProxyReplies, user: &str| {
        let proxy = proxy(&server, says, "u:p", "127.0.0.1");
        get(by(&proxy, "socks5", user), &server.url()).unwrap_err().kind()
    };
    assert_eq!(kind(says, ""), ErrorKind::Connect);
    assert_eq!(kind(ProxyReplies { status: [1, 1], ..says }, "u:p@"), ErrorKind::Connect);
    assert_eq!(kind(ProxyReplies { method: [5, 255], ..OPEN }, ""), ErrorKind::Connect);
    assert_eq!(kind(says, &format!("{}@", "u".repeat(256))), ErrorKind::InvalidUse);
}

#[test]
fn a_socks_proxy_that_refuses_or_is_none_is_an_error() {
    let server = Server::new(|r, s| good(r, s, b"there", "\"v\""));
    let kind = |says: ProxyReplies| {
        let proxy = proxy(&server, says, "", "127.0.0.1");
        get(by(&proxy, "socks5", ""), &server.url()).unwrap_err().kind()
    };
    for reply in 1..=8 {
        let reply: &[u8] = Box::leak(Box::new([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]));
        assert_eq!(kind(ProxyReplies { reply, ..OPEN }), ErrorKind::Connect, "{reply:?}");
    }
    assert_eq!(kind(ProxyReplies { reply: &[4, 0, 0, 1], ..OPEN }), ErrorKind::Protocol);
    assert_eq!(kind(ProxyReplies { reply: &[5, 0, 0, 9], ..OPEN }), ErrorKind::Protocol);
    assert_eq!(kind(ProxyReplies { method: *b"HT", ..OPEN }), ErrorKind::Protocol);
    let silent = Server::raw(|_, mut socket, _| read(&mut socket, 3).map(drop));
    let error = get(by(&silent, "socks5", ""), &server.url()).unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Truncated, true));
    // The addresses that a proxy names may have other lengths.
    for reply in [
        &[5, 0, 0, 3, 2, b'a', b'b', 0, 0][..],
        &[5, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ] {
        let named = proxy(
            &server,
            ProxyReplies { reply: Box::leak(reply.to_vec().into()), ..OPEN },
            "",
            "127.0.0.1",
        );
        assert_eq!(get(by(&named, "socks5", ""), &server.url()).unwrap(), b"there");
    }
}
