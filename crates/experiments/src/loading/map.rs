//! The file is mapped, with each advice about how it will be read. What is wanted of it is touched
//! by the sum.

#![expect(unsafe_code, reason = "maps files")]

use std::io::{self, ErrorKind};

use anyhow::{Context, Result, anyhow};
use measure::experiment::{Method, Task, skip};
use memmap2::{Advice, Mmap};
use model::param::Point;

use super::contender;
use super::job::{LoadJob, Loaded, mapping};

pub(super) fn methods() -> Vec<Method> {
    let mut methods = vec![
        contender("mmap", "the whole file mapped", &[], |point| build(point, |_, _| Ok(()))),
        contender("mmap-sequential", "mapped, then madvise(MADV_SEQUENTIAL)", &[], |point| {
            build(point, |map, _| map.advise(Advice::Sequential))
        }),
        contender("mmap-random", "mapped, then madvise(MADV_RANDOM)", &[], |point| {
            build(point, |map, _| map.advise(Advice::Random))
        }),
        contender("mmap-willneed", "mapped, MADV_WILLNEED of what is wanted", &[], |point| {
            build(point, |map, job| each_range(map, job, Advice::WillNeed))
        }),
    ];
    #[cfg(target_os = "linux")]
    methods.extend([
        contender("mmap-populate", "mapped, MADV_POPULATE_READ of what is wanted", &[], |point| {
            build(point, |map, job| each_range(map, job, Advice::PopulateRead))
        }),
        contender("mmap-huge-pages", "mapped, then madvise(MADV_HUGEPAGE)", &[], |point| {
            build(point, |map, _| map.advise(Advice::HugePage))
        }),
    ]);
    methods
}

fn each_range(map: &Mmap, job: &LoadJob, advice: Advice) -> io::Result<()> {
    for place in &job.places {
        map.advise_range(advice, place.offset as usize, place.len)?;
    }
    Ok(())
}

type Advise = fn(&Mmap, &LoadJob) -> io::Result<()>;

fn build(point: &Point, advise: Advise) -> Result<Box<dyn Task>> {
    let load = move |job: &LoadJob| {
        let file = job.input.open_checked()?;
        // SAFETY: no process may change the file while it is measured; its size has just been
        // checked.
        let map = unsafe { Mmap::map(&file) }.with_context(|| job.input.doing("mapping"))?;
        if (map.len() as u64) < job.input.size {
            return Err(job.input.cut(map.len() as u64));
        }
        advise(&map, job).map_err(|error| match error.kind() {
            ErrorKind::InvalidInput => skip(format!("the kernel refuses the advice: {error}")),
            // Reading has failed, or the file has been cut.
            _ => anyhow!(error).context(job.input.doing("advising about the mapping of")),
        })?;
        Ok(Loaded::Mapped(map))
    };
    mapping(point, Box::new(load))
}
