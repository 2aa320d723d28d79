//! Deadlines. The only module of this crate that reads the clock.

use std::time::{Duration, Instant};

/// A point in time by which something must be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only servers have time limits"))]
    /// The deadline `time` from now; `None` if the clock cannot represent it.
    pub(crate) fn after(time: Duration) -> Option<Deadline> {
        now().checked_add(time).map(Deadline)
    }

    #[cfg(feature = "http")]
    pub(crate) fn plus(self, time: Duration) -> Option<Deadline> {
        self.0.checked_add(time).map(Deadline)
    }

    #[cfg(feature = "async")]
    pub(crate) fn instant(self) -> tokio::time::Instant {
        self.0.into()
    }

    pub(crate) fn left(self) -> Duration {
        self.0.saturating_duration_since(now())
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads the clock")]
fn now() -> Instant {
    Instant::now()
}
