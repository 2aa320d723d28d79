//! The file is mapped, but only 2 MiB of it are resident: pages behind the window are released at
//! once.

#![expect(unsafe_code, reason = "maps files")]

use anyhow::{Context, Result};
use lab::experiment::{Method, Task};
use lab::param::Point;
use memmap2::{Mmap, UncheckedAdvice};

use super::fold::Fold;
use super::source::{Input, Source, contender, reading};

/// The size of a huge page: the kernel can map such a window with one entry.
const WINDOW: usize = 2 << 20;

pub(super) fn method() -> Method {
    contender("mmap-window", "mapped, 2 MiB of it resident at a time", &[], build)
}

struct Window(Input);

fn build(point: &Point) -> Result<Box<dyn Task>> {
    reading(point, |input| Ok(Window(input)))
}

impl Source for Window {
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
