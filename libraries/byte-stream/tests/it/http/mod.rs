//! URLs against good and hostile servers: the right bytes or an error, never wrong bytes.

mod answers;
mod bodies;
mod cost;
pub(crate) mod hostile;
mod requests;
mod resume;
mod reuse;
mod socks;

use std::io::Write;
use std::time::Duration;

use byte_stream::{ErrorKind, Options, Stream};

#[cfg(feature = "async")]
pub(crate) use self::reuse::keeping;

use crate::server::{Server, head};

/// Options for a server on this machine that may fail often.
pub(crate) fn patient() -> Options {
    Stream::options().proxy(None).retries(100, Duration::ZERO)
}

pub(crate) fn once() -> Options {
    Stream::options().proxy(None).retries(0, Duration::ZERO)
}

pub(crate) fn get(options: Options, url: &str) -> byte_stream::Result<Vec<u8>> {
    let mut stream = options.open(url)?;
    let mut all = Vec::new();
    while let Some(chunk) = stream.next_chunk()? {
        assert!(!chunk.is_empty());
        all.extend_from_slice(chunk);
    }
    if let Some(size) = stream.choice().size_bytes {
        assert_eq!(size, all.len() as u64);
    }
    Ok(all)
}

fn kind(options: Options, server: &Server) -> ErrorKind {
    let error = get(options, &server.url()).expect_err("an error");
    assert!(error.to_string().starts_with(&server.url()), "{error}");
    error.kind()
}

/// A server that gives this answer to everything.
fn answering(status: &'static str, lines: &'static [&'static str], body: &'static [u8]) -> Server {
    Server::new(move |_, socket| {
        head(socket, status, lines)?;
        socket.write_all(body)
    })
}
