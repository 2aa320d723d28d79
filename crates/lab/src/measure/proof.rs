//! Whether a sample counts, and whether its method did the whole job.

use crate::clock;
use crate::experiment::Data;
use crate::launch::{RawSample, RunError};
use crate::run::{CacheState, Cell, INTERRUPTED, Role, STOPPED, SUSPENDED, Sample};
use crate::stop::was_stopped_meanwhile;

/// A warm sample must not read from the device; a cold one must.
pub(super) fn disproved_by_device(
    cache: CacheState,
    taken: &RawSample,
    data: &Data,
    bypasses_cache: bool,
) -> Option<String> {
    let read_bytes = taken.used.device_read_bytes?;
    match cache {
        CacheState::Warm if read_bytes > 0 && !bypasses_cache => {
            Some(format!("not warm: {read_bytes} bytes came from the device"))
        }
        CacheState::Cold => {
            let sizes = data.files.iter().filter_map(|file| Some(file.metadata().ok()?.len()));
            // A job without a fixed payload may read only a part of its files.
            let expected = data.payload_bytes.map_or(1, |payload| payload.min(sizes.sum()));
            (read_bytes < expected - expected / 50).then(|| {
                format!(
                    "not cold: {read_bytes} of {expected} bytes came from the device (something else \
                     reads the file, or its file system compresses)"
                )
            })
        }
        _ => None,
    }
}

/// What stopped the lab while a sample was taken.
pub(super) struct Pauses {
    suspended_ns: u64,
}

impl Pauses {
    pub(super) fn begin() -> Pauses {
        was_stopped_meanwhile();
        Pauses { suspended_ns: clock::suspended_ns() }
    }

    /// Why the sample does not count, if the lab or the machine was stopped since.
    pub(super) fn end(&self) -> Option<String> {
        let was_suspended = clock::suspended_ns() > self.suspended_ns + SUSPENDED_NS;
        match (was_suspended, was_stopped_meanwhile()) {
            (true, _) => Some(SUSPENDED.to_owned()),
            (_, true) => Some(STOPPED.to_owned()),
            _ => None,
        }
    }
}

/// The two clocks are not read at once.
const SUSPENDED_NS: u64 = 10_000_000;

pub(super) fn clock_stood(taken: &RawSample) -> Option<String> {
    (taken.done.wall_ns == 0).then(|| "too short: its own clock did not move".to_owned())
}

pub(super) fn wrong_payload(cell: &Cell, data: &Data, taken: &RawSample) -> Option<RunError> {
    let expected = u128::from(data.payload_bytes?) * u128::from(taken.done.ops);
    let got = u128::from(taken.done.bytes);
    // A plain command cannot report how much it delivered, and a yardstick may deliver nothing.
    let says = taken.startup_ns.is_none();
    (says && cell.role == Role::Contender && got != expected)
        .then(|| RunError::Failed(format!("handed over {got} bytes instead of {expected}")))
}

pub(super) fn never_proved(cell: &Cell) -> Option<RunError> {
    let is_aside = |sample: &&Sample| {
        let reason = sample.not_counted.as_deref();
        reason.is_some_and(|reason| [INTERRUPTED, STOPPED, SUSPENDED].contains(&reason))
    };
    let own = cell.samples.iter().filter(|sample| !is_aside(sample));
    let last = own.rev().take(UNPROVED_LIMIT);
    let reasons: Vec<&String> = last.filter_map(|sample| sample.not_counted.as_ref()).collect();
    if reasons.len() < UNPROVED_LIMIT || cell.samples.iter().any(Sample::counts) {
        return None;
    }
    Some(RunError::Skipped(format!(
        "{} samples in a row did not count: {}; --cache as-is takes them as they are",
        reasons.len(),
        reasons[0]
    )))
}

/// After this number of consecutive samples that were not in the requested cache state, measuring
/// of a cell ends.
const UNPROVED_LIMIT: usize = 5;
