//! The methods of `record-sampler`: unwanted records are skipped.

use std::fs::File;

use anyhow::Result;
use lab::experiment::{Method, Task, skip};
use lab::param::Point;
use record_sampler::{Method as DrawMethod, Population, Sampler};

use super::check::Promise;
use super::drawing::{DrawUsage, Drawing, Request, contender, of_kind};

const PROMISE: Promise = Promise { is_exact: true, in_order: true };

pub(super) fn methods() -> Vec<Method> {
    vec![
        contender("auto", "what `bytelab sample` chooses", |point| build(point, DrawMethod::Auto)),
        contender("pread", "pread of what is wanted; lines are counted first", |point| {
            build(point, DrawMethod::Pread)
        }),
        contender("mmap", "the same, through a mapping", |point| {
            Request::from_point(point)?.must_be_numbered()?;
            build(point, DrawMethod::Mmap)
        }),
        of_kind("binary", "sequential", "large reads in order, binary only", |point| {
            Request::from_point(point)?.must_be_uncompressed()?;
            build(point, DrawMethod::Sequential)
        }),
        #[cfg(target_os = "linux")]
        of_kind("binary", "io-uring", "64 reads in flight in a ring, binary only", |point| {
            Request::from_point(point)?.must_be_uncompressed()?;
            let refused = |error| skip(format!("the kernel gives no ring: {error}"));
            io_uring::IoUring::new(1).map_err(refused)?;
            build(point, DrawMethod::Uring)
        }),
        contender("reservoir", "one pass as over a pipe, algorithm L", |point| {
            Drawing::task(point, PROMISE, Box::new(reservoir))
        }),
        of_kind(
            "text",
            "index",
            "the lines counted once, kept beside the file; text only",
            |point| {
                Request::from_point(point)?.must_be_numbered()?;
                Drawing::task(
                    point,
                    PROMISE,
                    Box::new(|job, seed, out| {
                        draw(job, &Sampler::exactly(job.samples).seed(seed).with_index(), out)
                    }),
                )
            },
        ),
        of_kind("text", "probe", "random byte offsets, length bias rejected; text only", |point| {
            let job = Request::from_point(point)?;
            job.must_be_plain()?;
            let Request { samples, records, .. } = job;
            if samples > records / 2 {
                return Err(skip(
                    "finds mostly lines that it has already: more than half are wanted",
                ));
            }
            build(point, DrawMethod::Probe { min_len: 1 })
        }),
    ]
}

fn build(point: &Point, method: DrawMethod) -> Result<Box<dyn Task>> {
    let draw = move |job: &Request, seed: u64, out: &mut File| {
        draw(job, &Sampler::exactly(job.samples).seed(seed).by(method).with_mapping(), out)
    };
    Drawing::task(point, PROMISE, Box::new(draw))
}

fn draw(job: &Request, sampler: &Sampler, out: &mut File) -> Result<DrawUsage> {
    Ok(sampler.write(&mut job.population()?, out)?.into())
}

/// The file as a stream that can be read only once.
fn reservoir(job: &Request, seed: u64, out: &mut File) -> Result<DrawUsage> {
    let population = Population::stream(job.open()?, job.layout.format);
    let mut population = population.with_header_rule(job.layout.header.clone());
    Ok(Sampler::exactly(job.samples).seed(seed).write(&mut population, out)?.into())
}
