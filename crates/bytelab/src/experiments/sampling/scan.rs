//! The method of the study that needed a sampler: read every record, and keep it with a
//! probability.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};

use anyhow::{Context, Result};
use lab::experiment::{Method, Task};
use lab::param::Point;
use record_sampler::Rng;

use super::check::Promise;
use super::data::RECORD_BYTES;
use super::drawing::{Drawing, Job, Told, contender};

pub(super) fn method() -> Method {
    let about = "every record read (`getline`, or `read` of 64 bytes), kept with a probability";
    contender("scan", about, build)
}

/// The number of drawn records is approximate: within 8 standard deviations, which is checked
/// untimed.
fn build(point: &Point) -> Result<Box<dyn Task>> {
    Drawing::task(point, Promise { is_exact: false, in_order: true }, Box::new(scan))
}

fn scan(job: &Job, seed: u64, out: &mut File) -> Result<Told> {
    let mut rng = Rng::new(seed);
    let p = job.samples as f64 / job.records as f64;
    let mut is_kept = || rng.unit() <= p;
    let file = File::open(&job.file).with_context(|| job.file.display().to_string())?;
    let mut reader = BufReader::new(file);
    let mut out = BufWriter::new(out);
    if job.is_text {
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            if is_kept() {
                out.write_all(&line)?;
            }
            line.clear();
        }
    } else {
        let mut record = [0; RECORD_BYTES as usize];
        for _ in 0..job.records {
            reader.read_exact(&mut record)?;
            if is_kept() {
                out.write_all(&record)?;
            }
        }
    }
    out.flush()?;
    Ok(Told::default())
}
