//! Libraries that choose the way themselves.

#![expect(unsafe_code, reason = "allows byte-stream to map the file")]

use anyhow::Error;
use byte_stream::{ErrorKind, LoadChoice, LoadOptions, LoadWay};
use measure::experiment::{Method, skip};

use super::contender;
use super::job::{LoadJob, Loaded, mapping};

pub(super) fn methods() -> Vec<Method> {
    vec![contender(
        "byte-stream-load",
        "byte_stream::load, which chooses the way and may map the file",
        &[],
        // What does not fit into the memory is mapped, so that it is not skipped for that.
        |point| mapping(point, Box::new(byte_stream_load)),
    )]
}

fn byte_stream_load(job: &LoadJob) -> anyhow::Result<Loaded> {
    let ranges = job.places.iter().map(|place| place.offset..place.offset + place.len as u64);
    // SAFETY: no process may change the file while it is measured.
    let options = unsafe { LoadOptions::new().parts(ranges).allow_map() };
    let loaded =
        byte_stream::load(&job.input.path, &options).map_err(|error| match error.kind() {
            // Parts that are not one range cannot be mapped.
            ErrorKind::TooLarge => skip(error.to_string()),
            _ => Error::new(error),
        })?;
    Ok(Loaded::Parts(loaded))
}

/// The metrics whose names tell the way.
const WAY_METRICS: [(LoadWay, &str); 4] = [
    (LoadWay::Read, "read_threads"),
    (LoadWay::Pread, "pread_threads"),
    (LoadWay::Map, "map_threads"),
    (LoadWay::Direct, "direct_threads"),
];

/// The way that was chosen, as the name of a metric whose value is the number of threads.
pub(super) fn choice_metric(choice: LoadChoice) -> (&'static str, f64) {
    let known = WAY_METRICS.iter().find(|(way, _)| *way == choice.way);
    (known.map_or("other_threads", |(_, name)| *name), choice.threads as f64)
}
