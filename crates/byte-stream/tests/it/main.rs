//! The library as a program uses it: real files, pipes, sockets and servers of our own.

#![expect(clippy::unwrap_used, reason = "a test may end at what it does not expect")]

mod allocations;
mod copy;
mod kinds;
mod stream;
