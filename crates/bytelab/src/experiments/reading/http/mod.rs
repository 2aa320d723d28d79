//! The sources `http` and `https`: the server that is started, and the clients that are compared.

pub(super) mod certificate;
mod client;
mod others;
mod raw;
mod remote;
pub(crate) mod serve;
mod server;

use lab::experiment::Method;

pub(super) use self::server::start;

/// The first one is the reference.
pub(super) fn methods() -> Vec<Method> {
    [client::methods(), others::methods(), raw::methods()].concat()
}
