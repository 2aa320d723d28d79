//! The file is mapped: as a whole, with and without the hints that are reported to make it faster,
//! or with only a window of it resident.

#![expect(unsafe_code, reason = "maps files")]

use anyhow::{Context, Result};
use measure::experiment::{Method, Task};
use memmap2::{Advice, Mmap, MmapOptions, UncheckedAdvice};
use model::param::Point;

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

/// The size of a huge page: the kernel can map such a window with one entry.
const WINDOW: usize = 2 << 20;

/// The file is mapped, but only 2 MiB of it are resident: pages behind the window are released at
/// once.
pub(super) fn window() -> Method {
    contender("mmap-window", "mapped, 2 MiB of it resident at a time", &[], build_window)
}

struct MmapWindow(Input);

fn build_window(point: &Point) -> Result<Box<dyn Task>> {
    reading(point, |input| Ok(MmapWindow(input)))
}

impl Source for MmapWindow {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let input = &self.0;
        let file = input.open_checked()?;
        // SAFETY: no process may change the file while it is measured; its size has just been
        // checked.
        let map = unsafe { Mmap::map(&file) }.with_context(|| input.doing("mapping"))?;
        for start in (0..map.len()).step_by(WINDOW) {
            let window = &map[start..map.len().min(start + WINDOW)];
            fold.chunk(window);
            // This takes a third less time than mapping and unmapping each window. SAFETY: the
            // mapping is read-only; a released page has the same bytes when it is read again.
            unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, window.len()) }
                .with_context(|| input.doing("giving back pages of"))?;
        }
        input.ended(map.len() as u64)
    }
}
