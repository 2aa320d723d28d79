//! Requests a connection to a server from a SOCKS5 proxy (RFC 1928, and 1929 for credentials).

use std::net::IpAddr;

use super::connection::Connection;
use crate::{Error, ErrorKind, Result};

const VERSION: u8 = 5;
const NO_CREDENTIALS: u8 = 0;
const CREDENTIALS: u8 = 2;

/// Where the proxy is to connect to.
pub(super) enum Target<'a> {
    Address(IpAddr),
    /// The proxy looks the name up.
    Name(&'a str),
}

/// `user` is `user:password`. Afterwards the connection leads to the server.
pub(super) async fn connect(
    connection: &mut Connection,
    target: &Target<'_>,
    port: u16,
    user: Option<&[u8]>,
) -> Result<()> {
    let methods: &[u8] =
        if user.is_some() { &[NO_CREDENTIALS, CREDENTIALS] } else { &[NO_CREDENTIALS] };
    let greeting = [&[VERSION, methods.len() as u8], methods].concat();
    connection.write(&greeting).await?;
    let [version, method] = read(connection).await?;
    if version != VERSION {
        return Err(wrong("the proxy does not speak SOCKS5"));
    }
    match (method, user) {
        (NO_CREDENTIALS, _) => {}
        (CREDENTIALS, Some(user)) => authenticate(connection, user).await?,
        _ => return Err(refused("the SOCKS proxy requires other credentials")),
    }
    connection.write(&request(target, port)?).await?;
    let [version, reply, _reserved, kind] = read(connection).await?;
    if version != VERSION {
        return Err(wrong("the SOCKS proxy sent a malformed answer"));
    }
    if reply != 0 {
        return Err(refused(meaning(reply)));
    }
    // The address that the proxy connects from is of no interest.
    let len = match kind {
        1 => 4,
        3 => read::<1>(connection).await?[0],
        4 => 16,
        _ => return Err(wrong("the SOCKS proxy sent a malformed answer")),
    };
    for _ in 0..u16::from(len) + 2 {
        read::<1>(connection).await?;
    }
    Ok(())
}

/// RFC 1929.
async fn authenticate(connection: &mut Connection, user: &[u8]) -> Result<()> {
    let mut parts = user.splitn(2, |byte| *byte == b':');
    let mut text = vec![1];
    for part in [parts.next().unwrap_or_default(), parts.next().unwrap_or_default()] {
        text.push(length(part, "the user and the password of a SOCKS proxy")?);
        text.extend_from_slice(part);
    }
    connection.write(&text).await?;
    match read(connection).await? {
        [_, 0] => Ok(()),
        _ => Err(refused("the SOCKS proxy did not accept the credentials")),
    }
}

fn request(target: &Target<'_>, port: u16) -> Result<Vec<u8>> {
    let mut text = vec![VERSION, 1, 0];
    match target {
        Target::Address(IpAddr::V4(address)) => {
            text.push(1);
            text.extend(address.octets());
        }
        Target::Address(IpAddr::V6(address)) => {
            text.push(4);
            text.extend(address.octets());
        }
        Target::Name(name) => {
            text.extend([3, length(name.as_bytes(), "a host name for a SOCKS proxy")?]);
            text.extend(name.bytes());
        }
    }
    text.extend(port.to_be_bytes());
    Ok(text)
}

fn length(bytes: &[u8], what: &str) -> Result<u8> {
    u8::try_from(bytes.len()).map_err(|_| {
        Error::new(ErrorKind::InvalidUse, format!("{what} must have at most 255 bytes"))
    })
}

/// Reads no more than this, because what follows is the server's.
async fn read<const N: usize>(connection: &mut Connection) -> Result<[u8; N]> {
    let (mut bytes, mut len) = ([0; N], 0);
    while len < N {
        match connection.read(&mut bytes[len..]).await? {
            0 => {
                let text = "the SOCKS proxy closed the connection";
                return Err(Error::new(ErrorKind::Truncated, text).retryable(true));
            }
            n => len += n,
        }
    }
    Ok(bytes)
}

fn meaning(reply: u8) -> &'static str {
    match reply {
        2 => "the SOCKS proxy does not allow the connection",
        3 => "the SOCKS proxy cannot reach the network",
        4 => "the SOCKS proxy cannot reach the host",
        5 => "the host refused the connection of the SOCKS proxy",
        6 => "the connection of the SOCKS proxy timed out",
        _ => "the SOCKS proxy could not connect",
    }
}

fn refused(text: &'static str) -> Error {
    Error::new(ErrorKind::Connect, text).retryable(true)
}

fn wrong(text: &'static str) -> Error {
    Error::new(ErrorKind::Protocol, text)
}
