//! The method of the study that needed a sampler: read every record, and keep it with a
//! probability.

use std::fs::File;
use std::io::{BufWriter, Write};

use anyhow::Result;
use lab::experiment::{Method, Task};
use lab::param::Point;
use record_sampler::Rng;

use super::check::Promise;
use super::drawing::{DrawUsage, Drawing, Request, contender};
use super::one_by_one::OneByOne;

pub(super) fn method() -> Method {
    let about = "every record read (`getline`, or `read` of 64 bytes), kept with a probability";
    contender("scan", about, build)
}

/// The number of drawn records is approximate: within 8 standard deviations, which is checked
/// untimed.
fn build(point: &Point) -> Result<Box<dyn Task>> {
    Drawing::task(point, Promise { is_exact: false, in_order: true }, Box::new(scan))
}

fn scan(job: &Request, seed: u64, out: &mut File) -> Result<DrawUsage> {
    let mut rng = Rng::new(seed);
    let p = job.samples as f64 / job.records as f64;
    let mut is_kept = || rng.unit() <= p;
    let mut records = OneByOne::new(job.open()?, &job.layout)?;
    let mut out = BufWriter::new(out);
    out.write_all(&records.header)?;
    let mut record = Vec::new();
    while records.next(&mut record)? {
        if is_kept() {
            out.write_all(&record)?;
        }
    }
    out.flush()?;
    Ok(DrawUsage::default())
}
