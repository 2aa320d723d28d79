//! A limit for the rate at which a body is received.

use std::time::Duration;

use crate::Result;
use crate::cancel::Cancel;
use crate::clock::Deadline;
use crate::wait::{self, Mode};

pub(crate) struct Rate {
    bytes_per_s: u64,
    /// When the bytes received so far may be followed by others.
    next: Option<Deadline>,
}

impl Rate {
    pub(crate) fn new(bytes_per_s: u64) -> Rate {
        Rate { bytes_per_s, next: None }
    }

    /// The most bytes for one read: those of a tenth of a second, so that they come evenly.
    pub(crate) fn step(&self) -> usize {
        (self.bytes_per_s / 10).clamp(1, 1 << 20) as usize
    }

    pub(crate) fn took(&mut self, bytes: usize) {
        // The time of a reader that is slower than the limit is not made up for.
        let from = self.next.max(Deadline::after(Duration::ZERO));
        self.next = from.and_then(|from| from.plus(self.time_of(bytes)));
    }

    fn time_of(&self, bytes: usize) -> Duration {
        let ns = bytes as u128 * 1_000_000_000 / u128::from(self.bytes_per_s.max(1));
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// Waits until the next bytes may be read, or until the total limit.
    pub(crate) async fn wait(
        &self,
        mode: Mode,
        cancel: Option<&Cancel>,
        total: Option<Deadline>,
    ) -> Result<()> {
        let Some(next) = self.next else { return Ok(()) };
        let until = total.map_or(next, |total| total.min(next));
        wait::until(mode, cancel, Some(until)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_their_time() {
        let rate = Rate::new(1000);
        assert_eq!((rate.step(), rate.time_of(250)), (100, Duration::from_millis(250)));
        assert_eq!((Rate::new(1).step(), Rate::new(1).time_of(2)), (1, Duration::from_secs(2)));
        assert_eq!(Rate::new(u64::MAX).time_of(1 << 20), Duration::ZERO);
    }

    #[test]
    fn received_bytes_delay_the_next_read() {
        let mut rate = Rate::new(1);
        assert_eq!(rate.next, None);
        rate.took(1000);
        let first = rate.next;
        assert!(first > Deadline::after(Duration::from_secs(500)));
        rate.took(1000);
        assert_eq!(rate.next, first.and_then(|first| first.plus(Duration::from_secs(1000))));
    }
}
