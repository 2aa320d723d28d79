//! The two ends of a counting signal, which one thread gives and another takes. A method of
//! `handover` is a way to create such a pair, and is measured here; `uncontended` is the same with
//! one thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use anyhow::{Result, ensure};
use lab::clock;
use lab::experiment::{Build, Method, Task, Work};
use lab::param::Point;

use super::awake::KeepAwake;
use super::placement::CpuPlacement;
use crate::experiments::shared::window::window;

/// The end that signals.
pub(super) trait Give: Send + 'static {
    fn give(&mut self) -> Result<()>;
}

/// The end that waits for a signal.
pub(super) trait Take: Send + 'static {
    fn take(&mut self) -> Result<()>;
}

pub(super) fn handover(name: &str, about: &str, build: Build) -> Method {
    Method::built_in(name, about, build).job("handover").reads(&["job", "placement"])
}

pub(super) fn uncontended(name: &str, about: &str, build: Build) -> Method {
    Method::built_in(name, about, build).job("uncontended").reads(&["job"])
}

/// The minimum number of round trips in a sample, so that the first one, for which the partner must
/// be woken from a long sleep, has little influence.
const ROUND_TRIPS_MIN: u64 = 100;

/// Two threads that alternate; one operation is one hand-over.
struct Handover<G: Give, T: Take> {
    give: G,
    take: T,
    partner: Option<JoinHandle<Option<Result<()>>>>,
    end: Arc<AtomicBool>,
    /// The signals that the partner took, and those that it should have taken.
    taken: Arc<AtomicU64>,
    given: u64,
    awake: Option<KeepAwake>,
    /// The time of one hand-over in the last sample.
    one_ns: f64,
}

/// Prepares two threads with a signal in each direction.
pub(super) fn between_threads<G: Give, T: Take>(
    point: &Point,
    pair: impl Fn() -> Result<(G, T)>,
) -> Result<Box<dyn Task>> {
    let (there, back) = (pair()?, pair()?);
    hand_over(point, there, back)
}

/// The same if both directions are created together, like those of a socket.
pub(super) fn hand_over<G: Give, T: Take>(
    point: &Point,
    (give, mut partner_take): (G, T),
    (mut partner_give, take): (G, T),
) -> Result<Box<dyn Task>> {
    let place = CpuPlacement::take(point)?;
    let end = Arc::new(AtomicBool::new(false));
    let taken = Arc::new(AtomicU64::new(0));
    let (its_end, its_taken) = (Arc::clone(&end), Arc::clone(&taken));
    let partner = place.partner(move || {
        loop {
            partner_take.take()?;
            if its_end.load(Ordering::Acquire) {
                return Ok(());
            }
            its_taken.fetch_add(1, Ordering::Relaxed);
            partner_give.give()?;
        }
    })?;
    let awake = place.keep_awake()?;
    let partner = Some(partner);
    Ok(Box::new(Handover { give, take, partner, end, taken, given: 0, awake, one_ns: 0.0 }))
}

impl<G: Give, T: Take> Handover<G, T> {
    fn round_trips(&mut self, n: u64) -> Result<()> {
        for _ in 0..n {
            self.give.give()?;
            self.take.take()?;
        }
        Ok(())
    }
}

impl<G: Give, T: Take> Task for Handover<G, T> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let round_trips = ops.div_ceil(2).max(ROUND_TRIPS_MIN);
        if let Some(awake) = &self.awake {
            awake.start();
        }
        let start_ns = clock::now_ns();
        let outcome = self.round_trips(round_trips);
        let ns = clock::now_ns() - start_ns;
        if let Some(awake) = &self.awake {
            awake.rest();
        }
        outcome?;
        self.given += round_trips;
        let (given, taken) = (self.given, self.taken.load(Ordering::Relaxed));
        ensure!(given == taken, "of {given} signals {taken} were taken: it does not wait");
        self.one_ns = ns as f64 / (2 * round_trips) as f64;
        Ok(Work { ops: 2 * round_trips, bytes: 0, answer: None })
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        vec![("handover_ns", self.one_ns)]
    }
}

impl<G: Give, T: Take> Drop for Handover<G, T> {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Release);
        if self.give.give().is_ok()
            && let Some(partner) = self.partner.take()
        {
            let _ = partner.join();
        }
    }
}

/// One thread that gives to itself and takes, so that it never waits.
struct Alone<G, T>(G, T);

/// Prepares one thread with one signal; one operation is one `give` and one `take`.
pub(super) fn with_oneself<G: Give, T: Take>((give, take): (G, T)) -> Result<Box<dyn Task>> {
    window(Box::new(Alone(give, take)))
}

impl<G: Give, T: Take> Task for Alone<G, T> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        for _ in 0..ops {
            self.0.give()?;
            self.1.take()?;
        }
        Ok(Work { ops, bytes: 0, answer: None })
    }
}
