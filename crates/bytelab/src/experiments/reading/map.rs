//! The whole file is mapped, with and without the hints that are reported to make it faster.

#![expect(unsafe_code, reason = "maps files")]

use anyhow::{Context, Result};
use lab::experiment::{Method, Task};
use lab::param::Point;
use memmap2::{Advice, MmapOptions};

use super::fold::Fold;
use super::source::{Input, Source, contender, reading};

pub(super) fn methods() -> Vec<Method> {
    vec![
        contender("mmap", "the whole file mapped", &[], |point| build(point, Hint::None)),
        contender("mmap-populate", "mapped with MAP_POPULATE", &[], |point| {
            build(point, Hint::Populate)
        }),
        contender("mmap-sequential", "mapped, then madvise(MADV_SEQUENTIAL)", &[], |point| {
            build(point, Hint::Sequential)
        }),
    ]
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hint {
    None,
    Populate,
    Sequential,
}

struct Mapped(Input, Hint);

fn build(point: &Point, hint: Hint) -> Result<Box<dyn Task>> {
    reading(point, |input| Ok(Mapped(input, hint)))
}

impl Source for Mapped {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let Mapped(input, hint) = self;
        let file = input.open_checked()?;
        let mut options = MmapOptions::new();
        if *hint == Hint::Populate {
            options.populate();
        }
        // SAFETY: no process may change the file while it is measured; its size has just been
        // checked.
        let map = unsafe { options.map(&file) }.with_context(|| input.doing("mapping"))?;
        if *hint == Hint::Sequential {
            map.advise(Advice::Sequential).with_context(|| input.doing("advising on"))?;
        }
        fold.chunk(&map);
        input.ended(map.len() as u64)
    }
}
