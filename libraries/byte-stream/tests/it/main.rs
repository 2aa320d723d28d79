//! The library as a program uses it: real files, pipes, sockets and servers of our own.

#![expect(clippy::unwrap_used, reason = "a test may end at what it does not expect")]

mod allocations;
#[cfg(all(feature = "async", feature = "http"))]
mod asynchronous;
mod copy;
#[cfg(feature = "decode")]
mod decode;
#[cfg(feature = "http")]
mod decoding;
#[cfg(feature = "http")]
mod faults;
#[cfg(feature = "http")]
mod hostile;
#[cfg(feature = "http")]
mod http;
mod kinds;
mod load;
#[cfg(feature = "http")]
mod ranges;
#[cfg(feature = "http")]
mod s3;
#[cfg(feature = "http")]
mod server;
mod stream;
#[cfg(feature = "http")]
mod tls;
