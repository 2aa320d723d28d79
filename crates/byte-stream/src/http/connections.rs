//! Idle connections, kept for later requests to the same server.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::ClientConfig;

use super::connection::Idle;
use super::proxy::Via;
use super::url::Url;

/// The most connections that are kept; the oldest is closed first.
const IDLE_LIMIT: usize = 16;

/// Idle connections of streams that have ended, which later streams from the same servers use.
/// Clones are the same pool. When the last one is dropped, the connections are closed.
///
/// ```
/// use byte_stream::{Connections, Stream};
/// let connections = Connections::new();
/// let first = Stream::options().connections(&connections);
/// let second = Stream::options().connections(&connections);
/// ```
#[derive(Clone, Default)]
pub struct Connections(Arc<Mutex<Vec<(Route, Idle)>>>);

/// Where a connection leads, and how: only a request with the same route may use it.
#[derive(Clone)]
pub(crate) struct Route {
    secure: bool,
    host: String,
    port: u16,
    pub(crate) proxy: Option<Via>,
    /// The trusted certificates.
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

impl Route {
    pub(crate) fn new(url: &Url, proxy: Option<Via>, tls: Option<Arc<ClientConfig>>) -> Route {
        Route { secure: url.secure, host: url.host.clone(), port: url.port, proxy, tls }
    }

    fn is_same(&self, other: &Route) -> bool {
        let same_tls = match (&self.tls, &other.tls) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        (self.secure, &self.host, self.port) == (other.secure, &other.host, other.port)
            && self.proxy == other.proxy
            && same_tls
    }
}

impl Connections {
    /// A pool without connections.
    ///
    /// ```
    /// let connections = byte_stream::Connections::new();
    /// ```
    pub fn new() -> Connections {
        Connections::default()
    }

    /// The youngest connection with this route that is still open.
    pub(crate) fn take(&self, route: &Route) -> Option<Idle> {
        let mut idle = self.lock();
        while let Some(at) = idle.iter().rposition(|(of, _)| of.is_same(route)) {
            let (_, mut connection) = idle.remove(at);
            if connection.is_idle() {
                return Some(connection);
            }
        }
        None
    }

    pub(crate) fn put(&self, route: Route, connection: Idle) {
        let mut idle = self.lock();
        idle.push((route, connection));
        if idle.len() > IDLE_LIMIT {
            idle.remove(0);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Route, Idle)>> {
        // Every change is a single operation of the list, so it is valid even after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").field("idle", &self.lock().len()).finish()
    }
}
