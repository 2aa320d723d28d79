//! The cost of the first access to a page: the kernel allocates a page, clears it and maps it.

use anyhow::{Context, Result};
use lab::experiment::{Build, Method, Task, Work, skip};
use lab::param::Point;
use memmap2::MmapMut;

use super::pages::{fits, huge_page_bytes};

pub(super) fn methods() -> Vec<Method> {
    let fault = |name: &str, about: &str, build: Build| {
        Method::built_in(name, about, build).job("page-fault").reads(&["job", "pages"])
    };
    vec![
        fault("map-anew", "a new mapping, each page of which is touched", build::<false>),
        fault("give-back", "the same mapping after MADV_DONTNEED", build::<true>),
    ]
}

struct Touch {
    map: Option<MmapMut>,
    len: usize,
    page: usize,
    keep: bool,
}

fn build<const KEEP: bool>(point: &Point) -> Result<Box<dyn Task>> {
    let (page, pages) = match point.text("pages")? {
        "huge" => (huge_page_bytes().context("no huge pages").map_err(|e| skip(e.to_string()))?, 8),
        _ => (small_page_bytes(), 512),
    };
    fits(page * (pages + 1))?;
    let (page, len) = (usize::try_from(page)?, usize::try_from(page * pages)?);
    let mut touch = Touch { map: None, len, page, keep: KEEP };
    touch.before()?;
    Ok(Box::new(touch))
}

#[cfg(target_os = "linux")]
fn small_page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

#[cfg(not(target_os = "linux"))]
fn small_page_bytes() -> u64 {
    16384
}

impl Touch {
    /// The offset of the first whole page.
    fn start(&self, map: &MmapMut) -> usize {
        map.as_ptr().align_offset(self.page)
    }

    #[cfg(target_os = "linux")]
    fn make_ready(&mut self) -> Result<()> {
        use memmap2::{Advice, UncheckedAdvice};
        if let Some(map) = self.map.as_ref().filter(|_| self.keep) {
            #[expect(unsafe_code, reason = "what is given back reads as zeros afterwards")]
            // SAFETY: no reference into the mapping exists.
            unsafe { map.unchecked_advise(UncheckedAdvice::DontNeed) }.context("giving it back")?;
            return Ok(());
        }
        self.map = None;
        let map = MmapMut::map_anon(self.len + self.page)
            .map_err(|error| skip(format!("no memory: {error}")))?;
        let small = self.page < 1 << 20;
        let advice = if small { Advice::NoHugePage } else { Advice::HugePage };
        match map.advise(advice) {
            Err(error) if !small => {
                return Err(skip(format!("the kernel refuses huge pages: {error}")));
            }
            _ => {}
        }
        self.map = Some(map);
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn make_ready(&mut self) -> Result<()> {
        if self.keep {
            return Err(skip("this system does not drop pages at MADV_DONTNEED"));
        }
        self.map = Some(MmapMut::map_anon(self.len + self.page).context("mapping memory")?);
        Ok(())
    }
}

impl Task for Touch {
    fn before(&mut self) -> Result<()> {
        self.make_ready()
    }

    fn run(&mut self, _ops: u64) -> Result<Work> {
        let (len, page) = (self.len, self.page);
        let start = self.map.as_ref().map_or(0, |map| self.start(map));
        let map = self.map.as_mut().context("there is no mapping")?;
        for byte in map[start..start + len].iter_mut().step_by(page) {
            *byte = 1;
        }
        Ok(Work { ops: (len / page) as u64, bytes: len as u64, answer: None })
    }
}
